// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random predicates over the columns of a random table.
//!
//! Left out, since there the in-memory scan isn't a judge:
//! * zeros in IN lists over floats: DataFusion's IN compares bits (−0.0 isn't 0.0 there, but is in `=`);
//! * `CASE x WHEN` and `nullif` over floats, for the same reason;
//! * fields of nullable structs: DataFusion's `get_field` shows values under a NULL struct.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::kind::Kind;

/// A predicate in SQL.
#[derive(Debug, Clone)]
pub struct Predicate {
    /// The text, which needs no brackets around it.
    pub sql: String,
    /// Which forms it is made of, for counting.
    pub forms: Vec<&'static str>,
}

/// Every form a predicate may have.
pub const FORMS: [&str; 14] = [
    "compare",
    "columns",
    "between",
    "in",
    "not-in",
    "in-null",
    "like",
    "is-null",
    "boolean",
    "case",
    "arithmetic",
    "and",
    "or",
    "not",
];

/// Indexes of literals: the special values, those of the data, and some beyond.
fn index() -> impl Strategy<Value = i64> {
    prop_oneof![1 => -8i64..0, 6 => 0i64..24, 2 => 24i64..50]
}

fn kind() -> impl Strategy<Value = Kind> {
    select(&Kind::ALL[..])
}

fn comparison() -> impl Strategy<Value = &'static str> {
    select(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"][..])
}

fn leaf(form: &'static str, sql: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Predicate> {
    sql.prop_map(move |sql| Predicate { sql: format!("({sql})"), forms: vec![form] }).boxed()
}

fn literals() -> impl Strategy<Value = (Kind, Vec<i64>)> {
    let few = vec(index(), 1..6);
    let many = vec(index(), 20..40);
    (kind(), prop_oneof![4 => few, 1 => many]).prop_map(|(kind, indexes)| {
        let is_zero = |index: &i64| kind == Kind::Float64 && kind.literal(*index).contains("0.0'");
        let mut kept: Vec<i64> = indexes.into_iter().filter(|index| !is_zero(index)).collect();
        if kept.is_empty() {
            kept.push(3);
        }
        (kind, kept)
    })
}

fn list(kind: Kind, indexes: &[i64], more: &[&str]) -> String {
    let literals = indexes.iter().map(|index| kind.literal(*index));
    literals.chain(more.iter().map(|text| (*text).to_owned())).collect::<Vec<_>>().join(", ")
}

fn compare() -> BoxedStrategy<Predicate> {
    let sql = (kind(), comparison(), index(), any::<bool>()).prop_map(|(kind, op, index, flipped)| {
        let (column, literal) = (kind.name(), kind.literal(index));
        if flipped { format!("{literal} {op} {column}") } else { format!("{column} {op} {literal}") }
    });
    let id = (comparison(), 0i64..400).prop_map(|(op, id)| format!("id {op} {id}"));
    leaf("compare", prop_oneof![5 => sql, 1 => id])
}

fn columns() -> BoxedStrategy<Predicate> {
    let pairs =
        select(&[("i", "l"), ("l", "i"), ("i", "f"), ("l", "id"), ("n", "i"), ("ts", "d"), ("i", "i")][..]);
    leaf("columns", (pairs, comparison()).prop_map(|((a, b), op)| format!("{a} {op} {b}")))
}

fn between() -> BoxedStrategy<Predicate> {
    let sql = (kind(), index(), index(), any::<bool>()).prop_map(|(kind, low, high, negated)| {
        let not = if negated { "NOT " } else { "" };
        format!("{} {not}BETWEEN {} AND {}", kind.name(), kind.literal(low), kind.literal(high))
    });
    leaf("between", sql)
}

fn membership() -> BoxedStrategy<Predicate> {
    let of = |form, not: &'static str, more: &'static [&'static str]| {
        leaf(
            form,
            literals().prop_map(move |(kind, indexes)| {
                format!("{} {not}IN ({})", kind.name(), list(kind, &indexes, more))
            }),
        )
    };
    prop_oneof![
        3 => of("in", "", &[]),
        2 => of("not-in", "NOT ", &[]),
        1 => of("in-null", "", &["NULL"]),
        1 => of("in-null", "NOT ", &["NULL"]),
    ]
    .boxed()
}

fn like() -> BoxedStrategy<Predicate> {
    let patterns = ["k00%", "k0_5", "%5", "%01%", "k", "", "%", "50%", "äö%", "kxxxx%", "K%", "k01%9", "__"];
    let sql = (select(patterns.to_vec()), select(&["LIKE", "NOT LIKE", "ILIKE"][..]))
        .prop_map(|(pattern, like)| format!("s {like} '{pattern}'"));
    leaf("like", sql)
}

fn is_null() -> BoxedStrategy<Predicate> {
    leaf(
        "is-null",
        (kind(), select(&["", "NOT "][..])).prop_map(|(kind, not)| format!("{} IS {not}NULL", kind.name())),
    )
}

fn boolean() -> BoxedStrategy<Predicate> {
    leaf(
        "boolean",
        select(&["b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "b IS UNKNOWN", "true", "NULL"][..])
            .prop_map(str::to_owned),
    )
}

fn case() -> BoxedStrategy<Predicate> {
    let arm = |kind: Kind, op: &str, index: i64| format!("{} {op} {}", kind.name(), kind.literal(index));
    let sql =
        (kind(), comparison(), index(), index(), comparison()).prop_map(move |(kind, op, a, b, outer)| {
            let first = arm(kind, op, a);
            let second = Kind::Int32.literal(b);
            format!("CASE WHEN {first} THEN i WHEN l > 2 THEN {second} ELSE NULL END {outer} {second}")
        });
    let coalesce = (comparison(), index())
        .prop_map(|(op, index)| format!("coalesce(i, 3) {op} {}", Kind::Int32.literal(index)));
    leaf("case", prop_oneof![2 => sql, 1 => coalesce])
}

fn arithmetic() -> BoxedStrategy<Predicate> {
    let terms =
        ["i + 1", "l - 3", "i * 2", "l % 3", "i + l", "f * 2", "CAST(i AS BIGINT)", "CAST(i AS DOUBLE)"];
    let sql = (select(terms.to_vec()), comparison(), -6i64..20)
        .prop_map(|(term, op, n)| format!("{term} {op} {n}"));
    let text = (select(&["lower(s)", "substr(s, 1, 3)", "s || 'x'"][..]), comparison(), index())
        .prop_map(|(term, op, index)| format!("{term} {op} {}", Kind::Utf8.literal(index)));
    let part = (select(&["year", "month", "day"][..]), comparison(), 1i64..32)
        .prop_map(|(part, op, n)| format!("date_part('{part}', d) {op} {n}"));
    leaf("arithmetic", prop_oneof![3 => sql, 1 => text, 1 => part])
}

fn joined(form: &'static str, word: &'static str, terms: Vec<Predicate>) -> Predicate {
    let forms = terms.iter().flat_map(|term| term.forms.clone()).chain([form]).collect();
    let terms: Vec<String> = terms.into_iter().map(|term| term.sql).collect();
    Predicate { sql: format!("({})", terms.join(word)), forms }
}

/// A strategy for predicates.
pub fn predicate() -> impl Strategy<Value = Predicate> + Clone {
    let leaves = prop_oneof![
        8 => compare(),
        1 => columns(),
        2 => between(),
        3 => membership(),
        2 => like(),
        1 => is_null(),
        1 => boolean(),
        1 => case(),
        2 => arithmetic(),
    ];
    // A single leaf skips most: beside other terms a wrong verdict often changes nothing.
    let nested = leaves.clone().prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(|terms| joined("and", " AND ", terms)),
            2 => vec(inner.clone(), 2..4).prop_map(|terms| joined("or", " OR ", terms)),
            1 => inner.prop_map(|Predicate { sql, mut forms }| {
                forms.push("not");
                Predicate { sql: format!("(NOT {sql})"), forms }
            }),
        ]
    });
    prop_oneof![1 => leaves, 1 => nested]
}
