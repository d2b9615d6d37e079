// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What is run: suites of queries.
//!
//! | file | suite |
//! |---|---|
//! | `tpch`, `tpch/*.sql` | the 22 queries of TPC-H |
//! | `scan` | no filter |
//! | `nohelp` | filters that leave nothing out |
//! | `dynamic` | filters that exist only at run time |

mod dynamic;
mod nohelp;
mod scan;
mod tpch;

use anyhow::{Result, bail};
use trommel::demo::layout::TpchTable;

use crate::data::SOURCE;

/// Queries that belong together.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Its queries, in the order they run.
    pub queries: Vec<Query>,
}

/// Every suite, for data of this scale.
pub fn suites(scale: f64) -> Vec<Suite> {
    vec![tpch::suite(scale), scan::suite(), nohelp::suite(), dynamic::suite()]
}

/// The suites and queries of these names; all where no name is given.
///
/// A query is named alone, or as `suite/query`.
///
/// # Errors
/// There is no such suite, or no such query in the suites chosen.
pub fn select(scale: f64, suite_names: &[String], query_names: &[String]) -> Result<Vec<Suite>> {
    let mut chosen = suites(scale);
    let known: Vec<&str> = chosen.iter().map(|suite| suite.name).collect();
    if let Some(unknown) = suite_names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no suite {unknown}: the suites are {}", known.join(", "));
    }
    let is_called = |suite: &str, query: &str, name: &str| match name.split_once('/') {
        Some((of, name)) => of == suite && name == query,
        None => name == query,
    };
    chosen.retain(|suite| suite_names.is_empty() || suite_names.iter().any(|name| name == suite.name));
    for name in query_names {
        let mut queries = chosen.iter().flat_map(|s| s.queries.iter().map(|q| (s.name, q.name)));
        if !queries.any(|(suite, query)| is_called(suite, query, name)) {
            bail!("there is no query {name} in these suites: see them with `list`");
        }
    }
    for suite in &mut chosen {
        let wanted = |query: &Query| query_names.iter().any(|name| is_called(suite.name, query.name, name));
        suite.queries.retain(|query| query_names.is_empty() || wanted(query));
    }
    chosen.retain(|suite| !suite.queries.is_empty());
    Ok(chosen)
}

/// One query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Its name in its suite.
    pub name: &'static str,
    /// What is particular about it, in a few words.
    pub about: &'static str,
    /// The text.
    pub sql: String,
    /// Options of the session it runs in, the same for every engine.
    pub settings: Vec<(&'static str, &'static str)>,
    /// The rows and columns that any reader must see, where the page oracle is asked.
    pub needed: Vec<Needed>,
}

/// Values of a table that are needed for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Needed {
    /// The table.
    pub table: &'static str,
    /// The columns; all where empty.
    pub columns: Vec<&'static str>,
    /// A query for the needed rows: their places in the file, counted from 0. Every table `t` has a view
    /// `t_rows` with the place of each row in its column `row`.
    pub rows: String,
}

impl Needed {
    /// All columns of these rows.
    pub fn all(table: &'static str, rows: impl Into<String>) -> Self {
        Self::columns(table, &[], rows)
    }

    /// These columns of these rows.
    pub fn columns(table: &'static str, columns: &[&'static str], rows: impl Into<String>) -> Self {
        Self { table, columns: columns.to_vec(), rows: rows.into() }
    }
}

/// How the rows of an answer are ordered, and how many of them are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order<'a> {
    /// The query before its ORDER BY.
    pub unordered: &'a str,
    /// What follows ORDER BY.
    pub by: &'a str,
    /// LIMIT.
    pub limit: Option<usize>,
}

impl Order<'_> {
    /// The names of the sort keys, which are columns of the answer.
    pub fn keys(&self) -> Vec<&str> {
        self.by.split(',').filter_map(|key| key.split_whitespace().next()).collect()
    }
}

impl Query {
    /// A query in a session with the usual settings.
    pub fn new(name: &'static str, about: &'static str, sql: impl Into<String>) -> Self {
        Self { name, about, sql: sql.into(), settings: Vec::new(), needed: Vec::new() }
    }

    /// The same query in a session with this setting.
    #[must_use]
    pub fn with_setting(mut self, key: &'static str, value: &'static str) -> Self {
        self.settings.push((key, value));
        self
    }

    /// The same query, of which it is known that no reader can do without these values.
    #[must_use]
    pub fn needing(mut self, needed: Needed) -> Self {
        self.needed.push(needed);
        self
    }

    /// The order of the answer; `None` where the query leaves it open.
    pub fn order(&self) -> Option<Order<'_>> {
        let (unordered, tail) = self.sql.rsplit_once("ORDER BY ")?;
        let (by, limit) = match tail.split_once("LIMIT ") {
            Some((by, limit)) => (by, limit.trim().parse().ok()),
            None => (tail, None),
        };
        Some(Order { unordered, by: by.trim(), limit })
    }

    /// The tables whose names occur in the text.
    pub fn tables(&self) -> Vec<&'static str> {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: Vec<&str> = self.sql.split(|c| !is_in_name(c)).collect();
        let all = TpchTable::ALL.iter().map(|table| table.name()).chain([SOURCE]);
        all.filter(|name| words.contains(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rstest::rstest;

    use super::*;

    #[test]
    fn suites_have_the_queries_they_promise() {
        let counts: Vec<_> = suites(1.0).iter().map(|suite| (suite.name, suite.queries.len())).collect();
        assert_eq!(counts, [("tpch", 22), ("scan", 4), ("nohelp", 7), ("dynamic", 14)]);
        for suite in suites(1.0) {
            let names: HashSet<_> = suite.queries.iter().map(|query| query.name).collect();
            assert_eq!(names.len(), suite.queries.len(), "a name twice in {}", suite.name);
        }
    }

    #[test]
    fn the_dynamic_queries_say_what_they_should() {
        let suite = dynamic::suite();
        let sql = |name: &str| suite.queries.iter().find(|q| q.name == name).unwrap().sql.as_str();
        assert_eq!(sql("topk_multi"), "SELECT * FROM lineitem ORDER BY l_shipdate, l_orderkey LIMIT 100");
        assert_eq!(
            sql("topk_where"),
            "SELECT * FROM lineitem WHERE l_shipmode = 'AIR' AND l_orderkey BETWEEN 1000000 AND 3000000 \
             ORDER BY l_orderkey DESC LIMIT 10"
        );
        assert_eq!(
            sql("join_scattered_mid"),
            "SELECT l.* FROM lineitem l JOIN orders o ON l_orderkey = o_orderkey WHERE o_totalprice > 450000"
        );
        assert_eq!(
            sql("join_part"),
            "SELECT sum(l_extendedprice) FROM lineitem JOIN part ON l_partkey = p_partkey \
             WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX'"
        );
        assert_eq!(
            sql("backfill"),
            "SELECT t.* FROM lineitem t JOIN source s ON t.l_orderkey = s.k AND t.l_linenumber = s.n"
        );
    }

    #[rstest]
    #[case::none("SELECT 1", None)]
    #[case::plain("SELECT a FROM t ORDER BY a DESC, b", Some((vec!["a", "b"], None)))]
    #[case::limited("SELECT a FROM t\nORDER BY a\nLIMIT 10", Some((vec!["a"], Some(10))))]
    fn orders(#[case] sql: &str, #[case] expected: Option<(Vec<&str>, Option<usize>)>) {
        let query = Query::new("q", "", sql);
        let order = query.order();
        assert_eq!(order.as_ref().map(|order| (order.keys(), order.limit)), expected);
    }

    #[rstest]
    #[case::one("SELECT count(*) FROM lineitem", &["lineitem"])]
    #[case::no_part_of_a_word("SELECT p_partkey FROM partsupp", &["partsupp"])]
    #[case::source("SELECT * FROM part, source s", &["part", "source"])]
    fn tables(#[case] sql: &str, #[case] expected: &[&str]) {
        assert_eq!(Query::new("q", "", sql).tables(), expected);
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[rstest]
    #[case::all(&[], &[], 47)]
    #[case::one_suite(&["scan"], &[], 4)]
    #[case::by_name(&[], &["q06", "point"], 2)]
    #[case::by_path(&["dynamic", "tpch"], &["tpch/q06"], 1)]
    fn selections(#[case] suites: &[&str], #[case] queries: &[&str], #[case] count: usize) {
        let chosen = select(1.0, &owned(suites), &owned(queries)).unwrap();
        assert_eq!(chosen.iter().map(|suite| suite.queries.len()).sum::<usize>(), count);
    }

    #[rstest]
    #[case::suite(&["scam"], &[], "no suite scam: the suites are tpch, scan")]
    #[case::query(&["scan"], &["q06"], "no query q06 in these suites")]
    fn unknown_names(#[case] suites: &[&str], #[case] queries: &[&str], #[case] message: &str) {
        let error = select(1.0, &owned(suites), &owned(queries)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
