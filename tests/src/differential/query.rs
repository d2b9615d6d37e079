// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random queries over a random table `t` and a small build side `u`.
//!
//! Each comes with the query that gives its full answer and with the freedom it has (see [`crate::relation`]).

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::kind::Kind;
use super::predicate::{Predicate, predicate};
use crate::relation::{Relation, Window};

/// A query.
#[derive(Debug, Clone)]
pub struct Query {
    /// What kind of query it is: one of [`SHAPES`].
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
pub const SHAPES: [&str; 21] = [
    "filter",
    "count",
    "inner-join",
    "left-join",
    "right-join",
    "full-join",
    "join-two-keys",
    "join-residual",
    "self-join",
    "join-count",
    "semi",
    "exists",
    "not-exists",
    "not-in",
    "mark",
    "topk",
    "topk-over-join",
    "min-max",
    "group",
    "union",
    "limit",
];

/// Shapes made to bring out a wrong use of limits and filters together.
pub const LIMIT_INSIDE_SHAPES: [&str; 2] = ["join-over-limit", "topk-over-limit"];

const COLUMNS: &str = "id, i, l, f, s, d, n, ts, b";
/// The magnitude of what `sum(f)` adds up, far above the largest sum of ordinary values.
const MAGNITUDE: f64 = 1e6;

impl Query {
    /// A query whose answer has no freedom but the order of rows.
    fn plain(shape: &'static str, sql: String, forms: Vec<&'static str>) -> Self {
        Self { shape, reference: sql.clone(), sql, relation: Relation::default(), forms }
    }

    /// A strategy for queries; `tame` ones leave out what DataFusion's own scan is known to get wrong.
    pub fn strategy(tame: bool) -> impl Strategy<Value = Self> {
        let others = prop_oneof![
            4 => filter(),
            2 => count(),
            10 => join(tame),
            8 => subquery(tame),
            8 => topk(),
            4 => topk_over_join(tame),
            3 => min_max(tame),
            2 => group(),
            2 => union(),
            2 => limit(),
        ];
        if tame { others.boxed() } else { prop_oneof![15 => others, 2 => over_limit()].boxed() }
    }
}

/// ` WHERE …` or nothing.
fn condition() -> impl Strategy<Value = Predicate> {
    prop_oneof![
        1 => Just(Predicate { sql: String::new(), forms: Vec::new() }),
        3 => predicate().prop_map(|Predicate { sql, forms }| Predicate { sql: format!(" WHERE {sql}"), forms }),
    ]
}

/// As [`condition`], but seldom: joins of small tables have few rows to lose.
fn seldom() -> impl Strategy<Value = Predicate> {
    prop_oneof![3 => Just(Predicate { sql: String::new(), forms: Vec::new() }), 1 => condition()]
}

fn filter() -> BoxedStrategy<Query> {
    let columns = select(&[COLUMNS, "id", "s, id", "f, b", "1 AS one"][..]);
    (columns, predicate())
        .prop_map(|(columns, Predicate { sql, forms })| {
            Query::plain("filter", format!("SELECT {columns} FROM t WHERE {sql}"), forms)
        })
        .boxed()
}

fn count() -> BoxedStrategy<Query> {
    condition()
        .prop_map(|Predicate { sql, forms }| Query {
            relation: Relation { sums: vec![(3, MAGNITUDE)], ..Relation::default() },
            ..Query::plain("count", format!("SELECT count(*), count(i), sum(i), sum(f) FROM t{sql}"), forms)
        })
        .boxed()
}

/// Equal columns of `t` and the other side, whose names are after `prefix`.
fn on(keys: &[Kind], prefix: &str) -> String {
    let equal = keys.iter().map(|key| format!("t.{0} = {prefix}{0}", key.name()));
    equal.collect::<Vec<_>>().join(" AND ")
}

/// Key columns of a join. Float keys meet ±0.0, for which DataFusion hands down a wrong filter.
fn keys(number: usize, tame: bool) -> impl Strategy<Value = Vec<Kind>> {
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| !(tame && *kind == Kind::Float64)).collect();
    subsequence(kinds, number)
}

fn join(tame: bool) -> BoxedStrategy<Query> {
    let one = (0usize..7, keys(1, tame), seldom(), any::<bool>());
    let one = one.prop_map(|(form, keys, Predicate { sql, forms }, swapped)| {
        let on = on(&keys, "u");
        let (shape, word) = match form {
            0 => ("left-join", "LEFT JOIN"),
            1 => ("right-join", "RIGHT JOIN"),
            2 => ("full-join", "FULL JOIN"),
            _ => ("inner-join", "JOIN"),
        };
        match form {
            0..=3 => {
                let (left, right) = if swapped { ("u", "t") } else { ("t", "u") };
                Query::plain(
                    shape,
                    format!("SELECT id, uid, s, ui FROM {left} {word} {right} ON {on}{sql}"),
                    forms,
                )
            }
            4 => {
                let select = "SELECT id, uid FROM t JOIN u";
                Query::plain("join-residual", format!("{select} ON {on} AND t.id % 7 < u.ui{sql}"), forms)
            }
            5 => Query {
                relation: Relation { sums: vec![(1, MAGNITUDE)], ..Relation::default() },
                ..Query::plain(
                    "join-count",
                    format!("SELECT count(*), sum(f) FROM t JOIN u ON {on}{sql}"),
                    forms,
                )
            },
            _ => {
                let renamed = Kind::ALL.map(|kind| format!("{0} AS r{0}", kind.name())).join(", ");
                let few = format!("(SELECT id AS rid, {renamed} FROM t WHERE id % 23 = 3) r");
                let on = on.replace("= u", "= r");
                Query::plain("self-join", format!("SELECT id, rid FROM t JOIN {few} ON {on}{sql}"), forms)
            }
        }
    });
    let two = (keys(2, tame), seldom()).prop_map(|(keys, Predicate { sql, forms })| {
        let on = on(&keys, "u");
        Query::plain("join-two-keys", format!("SELECT id, uid, n FROM t JOIN u ON {on}{sql}"), forms)
    });
    prop_oneof![4 => one, 1 => two].boxed()
}

fn subquery(tame: bool) -> BoxedStrategy<Query> {
    let mostly = Predicate { sql: "id % 5 <> 2".to_owned(), forms: Vec::new() };
    let predicate = prop_oneof![2 => Just(mostly), 1 => predicate()];
    (0usize..5, keys(1, tame), predicate, 0i64..8)
        .prop_map(|(form, keys, Predicate { sql, forms }, bound)| {
            let key = keys.first().map_or("l", |kind| kind.name());
            let exists = format!("EXISTS (SELECT 1 FROM u WHERE u.u{key} = t.{key} AND u.uid >= {bound})");
            let list = format!("(SELECT u{key} FROM u WHERE uid <= {bound})");
            let (shape, condition) = match form {
                0 => ("semi", format!("{key} IN {list} AND {sql}")),
                1 => ("exists", format!("{exists} AND {sql}")),
                2 => ("not-exists", format!("NOT {exists} AND {sql}")),
                3 => ("not-in", format!("{key} NOT IN {list}")),
                _ => ("mark", format!("{exists} OR {sql}")),
            };
            Query::plain(shape, format!("SELECT id, s FROM t WHERE {condition}"), forms)
        })
        .boxed()
}

fn window() -> impl Strategy<Value = Window> {
    (prop_oneof![2 => Just(0usize), 1 => 1usize..8], prop_oneof![1 => Just(0usize), 12 => 1usize..25])
        .prop_map(|(skip, fetch)| Window { skip, fetch })
}

fn clause(window: Window) -> String {
    let Window { skip, fetch } = window;
    if skip == 0 { format!(" LIMIT {fetch}") } else { format!(" LIMIT {fetch} OFFSET {skip}") }
}

/// ORDER BY keys: each an expression and a direction.
fn order() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let columns = select(&["id", "i", "l", "f", "s", "d", "n", "ts", "b"][..]);
    let terms =
        select(&["l + 1", "i % 3", "lower(s)", "f * 2", "CAST(i AS BIGINT)", "coalesce(l, 2)", "-id"][..]);
    let directions =
        ["", " ASC NULLS FIRST", " ASC NULLS LAST", " DESC", " DESC NULLS FIRST", " DESC NULLS LAST"];
    let key = (prop_oneof![5 => columns, 1 => terms], select(directions.to_vec()));
    prop_oneof![3 => vec(key.clone(), 1), 2 => vec(key, 2..4)]
}

/// `SELECT columns body ORDER BY order` under a window, and its full answer with the keys at its end.
fn ordered(
    shape: &'static str,
    columns: &str,
    body: &str,
    order: &[(&str, &str)],
    window: Window,
    forms: Vec<&'static str>,
) -> Query {
    let by =
        order.iter().map(|(term, direction)| format!("{term}{direction}")).collect::<Vec<_>>().join(", ");
    let keys: String = order.iter().enumerate().map(|(n, (term, _))| format!(", {term} AS key{n}")).collect();
    Query {
        shape,
        sql: format!("SELECT {columns} {body} ORDER BY {by}{}", clause(window)),
        reference: format!("SELECT {columns}{keys} {body} ORDER BY {by}"),
        relation: Relation { keys: order.len(), window: Some(window), ..Relation::default() },
        forms,
    }
}

fn topk() -> BoxedStrategy<Query> {
    let columns = select(&[COLUMNS, "id", "s, f"][..]);
    (columns, condition(), order(), window())
        .prop_map(|(columns, Predicate { sql, forms }, order, window)| {
            ordered("topk", columns, &format!("FROM t{sql}"), &order, window, forms)
        })
        .boxed()
}

fn topk_over_join(tame: bool) -> BoxedStrategy<Query> {
    let words = select(&["JOIN", "LEFT JOIN", "RIGHT JOIN"][..]);
    (words, keys(1, tame), seldom(), order(), window())
        .prop_map(|(word, keys, Predicate { sql, forms }, order, window)| {
            let body = format!("FROM t {word} u ON {}{sql}", on(&keys, "u"));
            ordered("topk-over-join", "id, uid", &body, &order, window, forms)
        })
        .boxed()
}

fn min_max(tame: bool) -> BoxedStrategy<Query> {
    let column =
        prop_oneof![8 => select(&Kind::ALL[..7]).prop_map(Kind::name), 1 => Just("id"), 1 => Just("l + 1")];
    let filter = prop_oneof![3 => Just(String::new()), 1 => predicate().prop_map(|p| format!(" FILTER (WHERE {})", p.sql))];
    let aggregate = (select(&["min", "max"][..]), column, filter);
    // With several, DataFusion hands down a wrong filter now and then.
    let several = if tame { vec(aggregate, 1..2).boxed() } else { vec(aggregate, 1..4).boxed() };
    (several, condition())
        .prop_map(|(aggregates, Predicate { sql, forms })| {
            let aggregates: Vec<String> = aggregates
                .into_iter()
                .enumerate()
                .map(|(n, (name, column, filter))| format!("{name}({column}){filter} AS a{n}"))
                .collect();
            Query::plain("min-max", format!("SELECT {} FROM t{sql}", aggregates.join(", ")), forms)
        })
        .boxed()
}

fn group() -> BoxedStrategy<Query> {
    let column = select(&["i", "s", "b", "n"][..]);
    (column, condition(), any::<bool>(), window())
        .prop_map(|(column, Predicate { sql, forms }, limited, window)| {
            let body = format!("FROM t{sql} GROUP BY {column}");
            let columns = format!("{column}, max(l), min(ts), count(*)");
            if limited {
                ordered("group", &columns, &body, &[("max(l)", " DESC"), (column, "")], window, forms)
            } else {
                Query::plain("group", format!("SELECT {columns} {body}"), forms)
            }
        })
        .boxed()
}

fn union() -> BoxedStrategy<Query> {
    (predicate(), condition(), order(), window(), any::<bool>())
        .prop_map(|(first, second, order, window, limited)| {
            let forms = [first.forms, second.forms].concat();
            let both = format!("SELECT * FROM t WHERE {} UNION ALL SELECT * FROM t{}", first.sql, second.sql);
            if limited {
                ordered("union", COLUMNS, &format!("FROM ({both})"), &order, window, forms)
            } else {
                Query::plain("union", both, forms)
            }
        })
        .boxed()
}

fn limit() -> BoxedStrategy<Query> {
    (condition(), window())
        .prop_map(|(Predicate { sql, forms }, window)| {
            ordered_by_nothing("limit", &format!("SELECT id, s, f FROM t{sql}"), window, forms)
        })
        .boxed()
}

fn ordered_by_nothing(shape: &'static str, sql: &str, window: Window, forms: Vec<&'static str>) -> Query {
    Query {
        relation: Relation { window: Some(window), ..Relation::default() },
        sql: format!("{sql}{}", clause(window)),
        ..Query::plain(shape, sql.to_owned(), forms)
    }
}

/// A limit by a unique key, so that it leaves no choice, below a join or another limit.
fn over_limit() -> BoxedStrategy<Query> {
    let inner = (seldom(), select(&["", " DESC"][..]), window()).prop_map(
        |(Predicate { sql, forms }, direction, window)| {
            (format!("(SELECT * FROM t{sql} ORDER BY id{direction}{}) t", clause(window)), forms)
        },
    );
    (inner, keys(1, false), order(), window(), any::<bool>())
        .prop_map(|((inner, forms), keys, order, window, joined)| {
            if joined {
                let on = on(&keys, "u");
                Query::plain("join-over-limit", format!("SELECT id, uid FROM {inner} JOIN u ON {on}"), forms)
            } else {
                ordered("topk-over-limit", "id, s", &format!("FROM {inner}"), &order, window, forms)
            }
        })
        .boxed()
}
