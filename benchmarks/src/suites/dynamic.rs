// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `dynamic`: queries that tell their scans, while they run, which rows can still matter.

use super::{Needed, Query, Suite};
use crate::data::SOURCE;

/// Makes every join split both sides by the hash of their keys.
const PARTITIONED: [&str; 2] = [
    "datafusion.optimizer.hash_join_single_partition_threshold",
    "datafusion.optimizer.hash_join_single_partition_threshold_rows",
];

/// The suite.
pub fn suite() -> Suite {
    Suite {
        name: "dynamic",
        about: "filters that exist only at run time, and a few that don't",
        queries: vec![
            topk("topk_clustered_desc", "the end of the table", "*", "", "l_orderkey DESC LIMIT 10"),
            topk("topk_unclustered_wide", "rows that lie anywhere", "*", "", "l_extendedprice DESC LIMIT 10"),
            topk("topk_multi", "two keys", "*", "", "l_shipdate, l_orderkey LIMIT 100"),
            topk("topk_narrow", "the key alone", "l_orderkey", "", "l_orderkey DESC LIMIT 10"),
            topk(
                "topk_where",
                "with a filter of its own",
                "*",
                "WHERE l_shipmode = 'AIR' AND l_orderkey BETWEEN 1000000 AND 3000000 ",
                "l_orderkey DESC LIMIT 10",
            ),
            join_scattered("join_scattered_small", "a few orders, anywhere in the table", 500_000),
            join_scattered("join_scattered_mid", "some hundreds of orders", 450_000),
            join_part(),
            backfill("backfill", "1 000 keys of a table of their own"),
            PARTITIONED.iter().fold(
                backfill("backfill_partitioned", "the same, one filter for each partition"),
                |query, key| query.with_setting(key, "0"),
            ),
            Query::new(
                "max_min",
                "the best so far of two aggregates",
                "SELECT max(l_extendedprice), min(l_shipdate) FROM lineitem WHERE l_quantity > 10",
            ),
            Query::new(
                "like_dict",
                "patterns over a handful of distinct strings",
                "SELECT count(*) FROM lineitem WHERE l_shipinstruct LIKE '%PERSON%' AND l_shipmode LIKE '%AI%'",
            ),
            Query::new("q6", "TPC-H query 6", include_str!("tpch/q06.sql").trim()),
            Query::new("point", "one order", "SELECT * FROM lineitem WHERE l_orderkey = 3000000")
                .needing(Needed::all("lineitem", "SELECT row FROM lineitem_rows WHERE l_orderkey = 3000000")),
        ],
    }
}

fn topk(name: &'static str, about: &'static str, columns: &'static str, filter: &str, by: &str) -> Query {
    let rows = format!("SELECT row FROM lineitem_rows {filter}ORDER BY {by}");
    let needed = match columns {
        "*" => Needed::all("lineitem", rows),
        column => Needed::columns("lineitem", &[column], rows),
    };
    Query::new(name, about, format!("SELECT {columns} FROM lineitem {filter}ORDER BY {by}")).needing(needed)
}

fn join_scattered(name: &'static str, about: &'static str, price: u32) -> Query {
    let from = |lineitem: &str| {
        format!("{lineitem} l JOIN orders o ON l_orderkey = o_orderkey WHERE o_totalprice > {price}")
    };
    Query::new(name, about, format!("SELECT l.* FROM {}", from("lineitem")))
        .needing(Needed::all("lineitem", format!("SELECT l.row FROM {}", from("lineitem_rows"))))
        .needing(Needed::columns(
            "orders",
            &["o_orderkey", "o_totalprice"],
            format!("SELECT row FROM orders_rows WHERE o_totalprice > {price}"),
        ))
}

fn join_part() -> Query {
    const PARTS: &str = "WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX'";
    let from = |lineitem: &str| format!("FROM {lineitem} JOIN part ON l_partkey = p_partkey {PARTS}");
    Query::new(
        "join_part",
        "the lines of some two hundred parts",
        format!("SELECT sum(l_extendedprice) {}", from("lineitem")),
    )
    .needing(Needed::columns(
        "lineitem",
        &["l_partkey", "l_extendedprice"],
        format!("SELECT row {}", from("lineitem_rows")),
    ))
    .needing(Needed::columns(
        "part",
        &["p_partkey", "p_brand", "p_container"],
        format!("SELECT row FROM part_rows {PARTS}"),
    ))
}

fn backfill(name: &'static str, about: &'static str) -> Query {
    let from = |lineitem: &str| {
        format!("FROM {lineitem} t JOIN {SOURCE} s ON t.l_orderkey = s.k AND t.l_linenumber = s.n")
    };
    Query::new(name, about, format!("SELECT t.* {}", from("lineitem")))
        .needing(Needed::all("lineitem", format!("SELECT t.row {}", from("lineitem_rows"))))
        .needing(Needed::all(SOURCE, format!("SELECT row FROM {SOURCE}_rows")))
}
