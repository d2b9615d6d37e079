// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random queries over a random table `t` and a small build side `u`.
//!
//! Each comes with the query that gives its full answer and with the freedom it has (see [`crate::relation`]).
//!
//! Left out, since there the in-memory scan isn't a judge:
//! * OFFSET in a limit below another limit or a join: DataFusion 55.2 itself loses rows there, in memory too. `SELECT
//!   id, d, id AS k0, d AS k1 FROM (SELECT * FROM t ORDER BY id LIMIT 18 OFFSET 1) t ORDER BY id, d` over 19 rows
//!   gives 17;
//! * LIMIT under ORDER BY a nested column: DataFusion's TopK compares those in two ways;
//! * DISTINCT and set operations on floats: which of −0.0 and 0.0 stands for both depends on the order of rows.

mod joins;
mod limits;
mod predicate;
mod sets;
mod simple;
mod subqueries;
mod windows;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::kind::Kind;
use super::kinds::Kinds;
use super::order::Order;
use crate::relation::{Relation, Window};

pub use predicate::FORMS;
use predicate::{Predicate, predicate};

/// A query.
#[derive(Debug, Clone)]
pub struct Query {
    /// What kind of query it is: one of [`SHAPES`], [`LIMIT_INSIDE_SHAPES`] or [`ORDER_SHAPES`].
    pub shape: &'static str,
    /// The query to judge.
    pub sql: String,
    /// The query for the full answer.
    pub reference: String,
    /// The freedom the answer has.
    pub relation: Relation,
    /// The forms of its predicates, for counting.
    pub forms: Vec<&'static str>,
}

/// Every shape of query.
pub const SHAPES: [&str; 41] = [
    "filter",
    "count",
    "inner-join",
    "left-join",
    "right-join",
    "full-join",
    "join-two-keys",
    "join-residual",
    "join-expression",
    "join-nulls-equal",
    "join-three",
    "self-join",
    "join-count",
    "left-semi-join",
    "left-anti-join",
    "right-semi-join",
    "right-anti-join",
    "semi",
    "exists",
    "not-exists",
    "not-in",
    "mark",
    "scalar-subquery",
    "correlated-subquery",
    "subquery-column",
    "topk",
    "topk-over-join",
    "topk-over-semi",
    "min-max",
    "min-max-and-more",
    "group",
    "distinct",
    "union",
    "union-distinct",
    "intersect",
    "except",
    "limit",
    "window",
    "top-of-each",
    "recursive",
    "recursive-distinct",
];

/// Shapes made to bring out a wrong use of limits and filters together.
pub const LIMIT_INSIDE_SHAPES: [&str; 4] =
    ["join-over-limit", "topk-over-limit", "join-over-sorted-limit", "topk-over-sorted-limit"];

/// Shapes that ask for the order a table is declared in.
pub const ORDER_SHAPES: [&str; 4] = ["sorted", "sorted-limit", "sorted-join", "sorted-window"];

/// The magnitude of what `sum(f)` adds up, far above the largest sum of ordinary values.
const MAGNITUDE: f64 = 1e6;

impl Query {
    /// A query whose answer has no freedom but the order of rows.
    fn plain(shape: &'static str, sql: String, forms: Vec<&'static str>) -> Self {
        Self { shape, reference: sql.clone(), sql, relation: Relation::default(), forms }
    }

    /// The same query, with so many columns sums of floats.
    fn with_sums(self, columns: impl IntoIterator<Item = usize>) -> Self {
        let sums = columns.into_iter().map(|column| (column, MAGNITUDE)).collect();
        Self { relation: Relation { sums, ..self.relation }, ..self }
    }
}

/// What queries are made over.
#[derive(Debug, Clone)]
pub struct Grammar {
    /// The columns of `t` and `u`.
    pub kinds: Kinds,
    /// Whether `t` has a partition column too, `part`.
    pub has_partitions: bool,
    /// Whether to leave out what DataFusion's own scan is known to get wrong.
    pub tame: bool,
    /// The order that `t` is in and says it is in.
    pub order: Option<Order>,
}

impl Grammar {
    /// A strategy for queries.
    pub fn query(&self) -> BoxedStrategy<Query> {
        match self.order {
            None => self.of_any_table(),
            Some(order) => prop_oneof![1 => self.of_any_table(), 1 => self.of_sorted_table(order)].boxed(),
        }
    }

    fn of_any_table(&self) -> BoxedStrategy<Query> {
        let others = prop_oneof![
            4 => self.filter(),
            2 => self.count(),
            10 => self.join(),
            3 => self.semi_join(),
            8 => self.subquery(),
            3 => self.scalar_subquery(),
            8 => self.topk(),
            5 => self.topk_over_join(),
            4 => self.min_max(),
            3 => self.group(),
            5 => self.set(),
            2 => self.limit(),
            4 => self.window(),
            3 => self.recursive(),
        ];
        if self.tame { others.boxed() } else { prop_oneof![15 => others, 2 => self.over_limit()].boxed() }
    }

    fn predicate(&self) -> BoxedStrategy<Predicate> {
        predicate(&self.kinds, self.has_partitions)
    }

    /// ` WHERE …` or nothing.
    fn condition(&self) -> BoxedStrategy<Predicate> {
        let asked = self
            .predicate()
            .prop_map(|Predicate { sql, forms }| Predicate { sql: format!(" WHERE {sql}"), forms });
        prop_oneof![1 => Just(Predicate::default()), 3 => asked].boxed()
    }

    /// As [`condition`](Self::condition), but seldom: joins of small tables have few rows to lose.
    fn seldom(&self) -> BoxedStrategy<Predicate> {
        prop_oneof![3 => Just(Predicate::default()), 1 => self.condition()].boxed()
    }

    /// ORDER BY keys: each an expression and a direction.
    fn keys_of_order(&self) -> BoxedStrategy<Keys> {
        let columns = prop_oneof![1 => Just("id"), 8 => self.kinds.one().prop_map(Kind::name)];
        let terms = select(
            &["l + 1", "i % 3", "lower(s)", "f * 2", "CAST(i AS BIGINT)", "coalesce(l, 2)", "-id"][..],
        );
        let key = (prop_oneof![5 => columns, 1 => terms], direction());
        prop_oneof![3 => vec(key.clone(), 1), 2 => vec(key, 2..4)].boxed()
    }
}

/// ORDER BY keys: each an expression and a direction.
type Keys = Vec<(&'static str, &'static str)>;

fn direction() -> impl Strategy<Value = &'static str> + Clone {
    let directions =
        ["", " ASC NULLS FIRST", " ASC NULLS LAST", " DESC", " DESC NULLS FIRST", " DESC NULLS LAST"];
    select(directions.to_vec())
}

/// Equal columns of `t` and the other side, whose names are after `prefix`.
fn on(keys: &[Kind], prefix: &str) -> String {
    let equal = keys.iter().map(|key| format!("t.{0} = {prefix}{0}", key.name()));
    equal.collect::<Vec<_>>().join(" AND ")
}

fn window() -> impl Strategy<Value = Window> {
    (prop_oneof![2 => Just(0usize), 1 => 1usize..8], prop_oneof![1 => Just(0usize), 12 => 1usize..25])
        .prop_map(|(skip, fetch)| Window { skip, fetch })
}

/// As [`window`], but mostly many rows: a limit above a few row groups, and above what the other side of a join has.
fn wide_window() -> impl Strategy<Value = Window> {
    prop_oneof![1 => window(), 2 => (0usize..8, 20usize..250).prop_map(|(skip, fetch)| Window { skip, fetch })]
}

/// ` LIMIT … OFFSET …`
fn clause(window: Window) -> String {
    let Window { skip, fetch } = window;
    if skip == 0 { format!(" LIMIT {fetch}") } else { format!(" LIMIT {fetch} OFFSET {skip}") }
}

/// `SELECT columns body ORDER BY order` under a window, and its full answer with the keys at its end.
fn ordered(
    shape: &'static str,
    columns: &str,
    body: &str,
    order: &[(&str, &str)],
    window: impl Into<Option<Window>>,
    forms: Vec<&'static str>,
) -> Query {
    let window = window.into();
    let by =
        order.iter().map(|(term, direction)| format!("{term}{direction}")).collect::<Vec<_>>().join(", ");
    let keys: String = order.iter().enumerate().map(|(n, (term, _))| format!(", {term} AS key{n}")).collect();
    Query {
        shape,
        sql: format!("SELECT {columns} {body} ORDER BY {by}{}", window.map(clause).unwrap_or_default()),
        reference: format!("SELECT {columns}{keys} {body} ORDER BY {by}"),
        relation: Relation { keys: order.len(), window, ..Relation::default() },
        forms,
    }
}
