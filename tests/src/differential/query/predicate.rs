// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random predicates over the columns of a random table.
//!
//! Left out, since there the in-memory scan isn't a judge:
//! * zeros in IN lists over floats: DataFusion's IN compares bits (−0.0 isn't 0.0 there, but is in `=`);
//! * `CASE x WHEN` and `nullif` over floats, for the same reason;
//! * fields of nullable structs: DataFusion's `get_field` shows values under a NULL struct.

use arrow::datatypes::DataType;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::super::kind::Kind;
use super::super::kinds::Kinds;

/// A predicate in SQL.
#[derive(Debug, Clone, Default)]
pub struct Predicate {
    /// The text, which needs no brackets around it.
    pub sql: String,
    /// Which forms it is made of, for counting.
    pub forms: Vec<&'static str>,
}

/// Every form a predicate may have.
pub const FORMS: [&str; 16] = [
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
    "nested",
    "partition",
];

/// Indexes of literals: the special values, those of the data, and some beyond.
fn index() -> impl Strategy<Value = i64> {
    prop_oneof![1 => -8i64..0, 6 => 0i64..24, 2 => 24i64..50]
}

fn comparison() -> impl Strategy<Value = &'static str> {
    select(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"][..])
}

fn leaf(form: &'static str, sql: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Predicate> {
    sql.prop_map(move |sql| Predicate { sql: format!("({sql})"), forms: vec![form] }).boxed()
}

fn literals(kinds: &Kinds) -> impl Strategy<Value = (Kind, Vec<i64>)> + use<> {
    let few = vec(index(), 1..6);
    let many = vec(index(), 20..40);
    (kinds.one(), prop_oneof![4 => few, 1 => many]).prop_map(|(kind, indexes)| {
        let is_zero = |index: &i64| {
            kind.is_float() && ["'0.0'", "'-0.0'"].iter().any(|zero| kind.literal(*index).contains(zero))
        };
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

fn compare(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let sql = (kinds.one(), comparison(), index(), any::<bool>()).prop_map(|(kind, op, index, flipped)| {
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

fn between(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let sql = (kinds.one(), index(), index(), any::<bool>()).prop_map(|(kind, low, high, negated)| {
        let not = if negated { "NOT " } else { "" };
        format!("{} {not}BETWEEN {} AND {}", kind.name(), kind.literal(low), kind.literal(high))
    });
    leaf("between", sql)
}

fn membership(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let of = |form, not: &'static str, more: &'static [&'static str]| {
        leaf(
            form,
            literals(kinds).prop_map(move |(kind, indexes)| {
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

fn like(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let patterns = [
        "k00%", "k0_5", "%5", "%01%", "k", "", "%", "50%", "äö%", "kxxxx%", "K%", "k01%9", "__", "ppp%",
        "p%7",
    ];
    let text = kinds
        .one_of(|kind| matches!(kind.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View));
    let sql = (text, select(patterns.to_vec()), select(&["LIKE", "NOT LIKE", "ILIKE"][..]))
        .prop_map(|(kind, pattern, like)| format!("{} {like} '{pattern}'", kind.name()));
    leaf("like", sql)
}

fn is_null(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    leaf(
        "is-null",
        (select(kinds.all().to_vec()), select(&["", "NOT "][..]))
            .prop_map(|(kind, not)| format!("{} IS {not}NULL", kind.name())),
    )
}

fn boolean() -> BoxedStrategy<Predicate> {
    leaf(
        "boolean",
        select(&["b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "b IS UNKNOWN", "true", "NULL"][..])
            .prop_map(str::to_owned),
    )
}

fn case(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let arm = |kind: Kind, op: &str, index: i64| format!("{} {op} {}", kind.name(), kind.literal(index));
    let sql = (kinds.one(), comparison(), index(), index(), comparison()).prop_map(
        move |(kind, op, a, b, outer)| {
            let first = arm(kind, op, a);
            let second = Kind::Int32.literal(b);
            format!("CASE WHEN {first} THEN i WHEN l > 2 THEN {second} ELSE NULL END {outer} {second}")
        },
    );
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

/// Of what is inside nested columns; of the columns themselves where there are none.
fn nested(kinds: &Kinds) -> BoxedStrategy<Predicate> {
    let terms = |kind: Kind| match kind {
        Kind::Struct => {
            vec!["st['a']", "st['a'] + 1", "coalesce(st['a'], 3)", "CASE WHEN st['b'] > 'k005' THEN 1 END"]
        }
        Kind::List => vec!["li[1]", "li[3]", "array_length(li)", "cardinality(li)"],
        _ => vec!["cardinality(mp)", "mp['k0']", "mp['k1']"],
    };
    let of = kinds.nested();
    if of.is_empty() {
        return boolean();
    }
    let compared =
        select(of.clone()).prop_flat_map(move |kind| (select(terms(kind)), comparison(), -2i64..30));
    let compared = compared.prop_map(|(term, op, n)| format!("{term} {op} {n}"));
    let tested = select(of).prop_flat_map(|kind| match kind {
        Kind::Struct => select(
            &["st['a'] IS NULL", "st['b'] IS NOT NULL", "st['b'] LIKE 'k00%'", "st['a'] IN (1, 4, 7)"][..],
        ),
        Kind::List => select(&["array_has(li, 7)", "li[2] IS NULL", "empty(li)", "NOT array_has(li, 3)"][..]),
        _ => select(&["mp IS NOT NULL", "mp['k0'] IS NULL", "cardinality(mp) = 0"][..]),
    });
    leaf("nested", prop_oneof![2 => compared, 1 => tested.prop_map(str::to_owned)])
}

/// Of the partition column.
fn partition() -> BoxedStrategy<Predicate> {
    let forms = [
        "= '0'",
        "<> '1'",
        "IN ('0', '3', 'x')",
        "IS NULL",
        "IS NOT NULL",
        "> '0'",
        "NOT IN ('0', '2')",
        "LIKE '%1'",
    ];
    leaf("partition", select(forms.to_vec()).prop_map(|form| format!("part {form}")))
}

/// A strategy for predicates over these columns, and over the partition column if there is one.
pub fn predicate(kinds: &Kinds, has_partitions: bool) -> BoxedStrategy<Predicate> {
    let mut leaves = vec![
        (8, compare(kinds)),
        (1, columns()),
        (2, between(kinds)),
        (3, membership(kinds)),
        (2, like(kinds)),
        (1, is_null(kinds)),
        (1, boolean()),
        (1, case(kinds)),
        (2, arithmetic()),
    ];
    if !kinds.nested().is_empty() {
        leaves.push((3, nested(kinds)));
    }
    if has_partitions {
        leaves.push((3, partition()));
    }
    let leaves = Union::new_weighted(leaves).boxed();
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
    prop_oneof![1 => leaves, 1 => nested].boxed()
}
