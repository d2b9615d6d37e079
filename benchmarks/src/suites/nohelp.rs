// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `nohelp`: filters and live filters that leave nothing out, or come too late; what listening costs.

use super::{Query, Suite};

/// Joins read ahead on their probe side this many bytes while the build side is still running: the filter
/// of the join comes late.
const BUFFERING: &str = "16777216";

/// The suite.
pub fn suite() -> Suite {
    Suite {
        name: "nohelp",
        about: "filters that help nobody",
        queries: vec![
            Query::new(
                "join_unclustered",
                "half of all part keys, which lie anywhere in lineitem",
                "SELECT count(*), sum(l_quantity) FROM lineitem JOIN part ON l_partkey = p_partkey WHERE p_size <= 25",
            ),
            Query::new(
                "filter_proven",
                "every row passes, and the statistics say so",
                "SELECT sum(l_extendedprice) FROM lineitem WHERE l_quantity > 0",
            ),
            Query::new(
                "filter_unproven",
                "every row passes, and no statistics say so",
                "SELECT sum(l_extendedprice) FROM lineitem WHERE l_comment NOT LIKE '%trommel%'",
            ),
            Query::new(
                "late_filter",
                "a join that reads its probe side before its filter is known",
                "SELECT sum(l_extendedprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
                 WHERE o_orderpriority = '1-URGENT'",
            )
            .with_setting("datafusion.execution.hash_join_buffering_capacity", BUFFERING),
            Query::new(
                "tiny_join",
                "25 rows joined with 5",
                "SELECT n_name, r_name FROM nation JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA'",
            ),
            Query::new("tiny_topk", "5 of 25 rows", "SELECT * FROM nation ORDER BY n_name DESC LIMIT 5"),
            Query::new(
                "topk_million",
                "a heap so large that its threshold says little",
                "SELECT l_orderkey, l_extendedprice FROM lineitem ORDER BY l_extendedprice DESC LIMIT 1000000",
            ),
        ],
    }
}
