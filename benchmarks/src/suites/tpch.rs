// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `tpch`: the 22 queries of TPC-H with the parameters of its validation run.
//!
//! The fraction of query 11 depends on the scale, as the benchmark demands; query 15's view is a `WITH`.

use super::{Query, Suite};

/// The texts, from query 1 on.
const QUERIES: [(&str, &str, &str); 22] = [
    ("q01", "pricing summary report", include_str!("tpch/q01.sql")),
    ("q02", "minimum cost supplier", include_str!("tpch/q02.sql")),
    ("q03", "shipping priority", include_str!("tpch/q03.sql")),
    ("q04", "order priority checking", include_str!("tpch/q04.sql")),
    ("q05", "local supplier volume", include_str!("tpch/q05.sql")),
    ("q06", "forecasting revenue change", include_str!("tpch/q06.sql")),
    ("q07", "volume shipping", include_str!("tpch/q07.sql")),
    ("q08", "national market share", include_str!("tpch/q08.sql")),
    ("q09", "product type profit", include_str!("tpch/q09.sql")),
    ("q10", "returned item reporting", include_str!("tpch/q10.sql")),
    ("q11", "important stock identification", include_str!("tpch/q11.sql")),
    ("q12", "shipping modes and order priority", include_str!("tpch/q12.sql")),
    ("q13", "customer distribution", include_str!("tpch/q13.sql")),
    ("q14", "promotion effect", include_str!("tpch/q14.sql")),
    ("q15", "top supplier", include_str!("tpch/q15.sql")),
    ("q16", "parts and suppliers", include_str!("tpch/q16.sql")),
    ("q17", "small-quantity-order revenue", include_str!("tpch/q17.sql")),
    ("q18", "large volume customer", include_str!("tpch/q18.sql")),
    ("q19", "discounted revenue", include_str!("tpch/q19.sql")),
    ("q20", "potential part promotion", include_str!("tpch/q20.sql")),
    ("q21", "suppliers who kept orders waiting", include_str!("tpch/q21.sql")),
    ("q22", "global sales opportunity", include_str!("tpch/q22.sql")),
];

/// The suite for data of this scale.
pub fn suite(scale: f64) -> Suite {
    let fraction = format!("{:.12}", 0.0001 / scale);
    let query = |(name, about, sql): &(&'static str, &'static str, &str)| {
        Query::new(name, about, sql.trim().replace("{fraction}", &fraction))
    };
    Suite { name: "tpch", about: "the 22 queries of TPC-H", queries: QUERIES.iter().map(query).collect() }
}
