// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `scan`: reading without a filter, where a scan that listens can only lose.

use super::{Query, Suite};

/// The suite.
pub fn suite() -> Suite {
    Suite {
        name: "scan",
        about: "no filter: nothing to skip",
        queries: vec![
            Query::new(
                "narrow",
                "three narrow columns",
                "SELECT l_orderkey, l_linenumber, l_quantity FROM lineitem",
            ),
            Query::new("wide", "all columns", "SELECT * FROM lineitem"),
            Query::new(
                "strings",
                "strings only",
                "SELECT l_returnflag, l_linestatus, l_shipinstruct, l_shipmode, l_comment FROM lineitem",
            ),
            Query::new("count", "no column at all", "SELECT count(*) FROM lineitem"),
        ],
    }
}
