// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How much of what statistics could prove verdicts do prove, shape by shape.
//!
//! The oracle knows the same of a zone as the judge: bounds, and whether there may be NULLs and NaNs. It makes a
//! table of all rows that fit, as far as they can matter to a predicate with constants near them, and evaluates
//! the predicate for each. Where no row matches, or every row does, a perfect judge says so.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, UInt64Array};
use datafusion_common::ScalarValue;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::model::{COLUMNS, Kind, Table, Val, one_zone, path};
use super::predicate::{
    OPS, Of, Pred, Sum, among, comparisons, likes, mapped, null_tests, pairs, sums, tuples,
};
use crate::expr::functions::{ArithmeticOp, CompareOp};
use crate::pruning::{Bound, Level, PrunePredicate, ZoneColumn, ZoneSource};
use crate::rows::RowRanges;

/// How many zones of each shape.
const ZONES: u32 = 300;

/// All values of a column that may matter, in a zone that says so much of itself; rows of NULL included.
fn possible(kind: Kind, zones: &ZoneColumn) -> Vec<Option<Val>> {
    let bound = |values: Option<&ArrayRef>| {
        values.filter(|v| v.is_valid(0)).map(|v| val(&ScalarValue::try_from_array(v, 0).unwrap()))
    };
    let lower = bound(zones.lower().map(|b| &b.values));
    let upper = bound(zones.upper().map(|b| &b.values));
    let rows = zones.rows(0).end;
    let crossed = lower.as_ref().zip(upper.as_ref()).is_some_and(|(low, high)| low.order(high).is_gt());
    let inside = |v: &Val| {
        crossed
            || lower.as_ref().is_none_or(|low| low.order(v).is_le())
                && upper.as_ref().is_none_or(|high| v.order(high).is_le())
    };
    let nans = kind == Kind::Float64 && zones.nans().is_none_or(|n| n.is_null(0) || n.value(0) > 0);
    let near = [&lower, &upper].into_iter().flatten().flat_map(|bound| match bound {
        // What comes next to a bound, so that no set fills an interval.
        Val::Str(s) => vec![bound.clone(), Val::Str(format!("{s}\u{1}"))],
        Val::Float(v) => vec![bound.clone(), Val::Float(v.next_up()), Val::Float(v.next_down())],
        _ => vec![bound.clone()],
    });
    let values =
        kind.all_values().into_iter().chain(near).filter(|v| if v.is_nan() { nans } else { inside(v) });
    let mut all: Vec<_> = values.map(Some).collect();
    match zones.null_count(0) {
        Some(0) => {}
        Some(nulls) if nulls == rows => all = vec![None],
        _ => all.push(None),
    }
    all
}

fn val(value: &ScalarValue) -> Val {
    match value {
        ScalarValue::Float64(Some(v)) => Val::Float(*v),
        ScalarValue::Boolean(Some(v)) => Val::Bool(*v),
        ScalarValue::Decimal128(Some(v), ..) => Val::Int(*v as i64),
        ScalarValue::Dictionary(_, value) => val(value),
        value => match value.try_as_str() {
            Some(text) => Val::Str(text.unwrap().to_owned()),
            None => match value.cast_to(&arrow::datatypes::DataType::Int64).unwrap() {
                ScalarValue::Int64(Some(v)) => Val::Int(v),
                other => panic!("{other}"),
            },
        },
    }
}

/// The table of all combinations of possible values of the columns that the predicate reads.
fn all_rows(table: &Table, columns: &[usize]) -> Table {
    let each: Vec<_> = columns
        .iter()
        .map(|column| match table.zones(&path(*column), Level::Page) {
            Some(zones) => possible(COLUMNS[*column], &zones),
            None => panic!("every column has zones"),
        })
        .collect();
    let rows: usize = each.iter().map(Vec::len).product();
    let mut all = vec![vec![None; rows]; COLUMNS.len()];
    let mut repeat = 1;
    for (column, values) in columns.iter().zip(&each) {
        all[*column] = (0..rows).map(|row| values[row / repeat % values.len()].clone()).collect();
        repeat *= values.len();
    }
    Table { columns: all, zones: Default::default() }
}

/// The zones of the columns that a predicate reads, for people.
fn described(pred: &Pred, table: &Table) -> String {
    let each = pred.columns().into_iter().filter_map(|column| {
        let zones = table.zones(&path(column), Level::Page)?;
        let at = |array: &dyn Array| ScalarValue::try_from_array(array, 0).unwrap().to_string();
        let bound = |bound: Option<&Bound>| bound.map_or("?".to_owned(), |bound| at(&bound.values));
        let count = |counts: Option<&UInt64Array>| counts.map_or("?".to_owned(), |counts| at(counts));
        let (lower, upper) = (bound(zones.lower()), bound(zones.upper()));
        Some(format!(
            "c{column}: {lower} to {upper}, {} nulls, {} NaNs",
            count(zones.nulls()),
            count(zones.nans())
        ))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// What a zone's verdict could be.
#[derive(Debug, PartialEq)]
enum Verdict {
    None,
    Some,
    All,
}

fn shapes() -> Vec<(&'static str, f64, BoxedStrategy<Pred>)> {
    let compare = |index: usize| {
        let of = Of(index, false);
        let ops = prop::sample::select(&OPS[..]);
        (ops, of.constants()).prop_map(move |(op, value)| Pred::Compare(of, op, value, false, false)).boxed()
    };
    let either = (compare(0), compare(3));
    let between =
        (Of(1, false).constants(), Of(1, false).constants(), any::<bool>()).prop_map(|(a, b, negated)| {
            let (low, high) = match (&a, &b) {
                (Some(x), Some(y)) if x.order(y).is_gt() => (b, a),
                _ => (a, b),
            };
            let is = |op, value| Pred::Compare(Of(1, false), op, value, false, false);
            let between = Pred::And(vec![is(CompareOp::GtEq, low), is(CompareOp::LtEq, high)]);
            if negated { Pred::Not(Box::new(between)) } else { between }
        });
    let topk = (Of(0, false).constants(), Of(3, false).constants(), any::<(bool, bool)>()).prop_filter_map(
        "thresholds",
        |(first, second, (first_nulls, second_nulls))| {
            let (first, second) = (Some(first?), Some(second?));
            let beats = |of: Of, value: &Option<Val>, nulls_first: bool| {
                let less = Pred::Compare(of, CompareOp::Lt, value.clone(), false, true);
                if nulls_first { Pred::Or(vec![Pred::IsNull(of, false), less]) } else { less }
            };
            let tie = Pred::Compare(Of(0, false), CompareOp::Eq, first.clone(), false, true);
            let then = Pred::And(vec![tie, beats(Of(3, false), &second, second_nulls)]);
            Some(Pred::Or(vec![beats(Of(0, false), &first, first_nulls), then]))
        },
    );
    let case = (compare(0), compare(3), prop::option::of(compare(3)))
        .prop_map(|(when, then, otherwise)| Pred::Case(vec![(when, then)], otherwise.map(Box::new)));
    let not = compare(1).prop_map(|p| Pred::Not(Box::new(p)));
    let is = (compare(1), prop::sample::select(&OPS[..]), any::<Option<bool>>())
        .prop_map(|(p, op, value)| Pred::Is(Box::new(p), op, value, false));
    vec![
        ("comparison", 1.0, comparisons(false)),
        ("comparison of a cast", 0.99, comparisons(true)),
        ("IN", 1.0, among()),
        ("IS NULL", 1.0, null_tests()),
        ("LIKE", 0.99, likes().prop_filter("letters beyond ASCII", is_judged).boxed()),
        ("boolean column", 1.0, Just(Pred::Column(6)).boxed()),
        ("column against column", 0.99, pairs().prop_filter("one column", |p| p.columns().len() > 1).boxed()),
        ("sum", 0.99, sums().prop_filter("division", |p| !divides(p)).boxed()),
        ("monotone function", 0.99, mapped()),
        ("tuple IN", 0.99, tuples()),
        ("BETWEEN", 0.99, between.boxed()),
        ("AND", 1.0, either.clone().prop_map(|(a, b)| Pred::And(vec![a, b])).boxed()),
        ("OR", 1.0, either.prop_map(|(a, b)| Pred::Or(vec![a, b])).boxed()),
        ("NOT", 1.0, not.boxed()),
        ("IS TRUE and such", 1.0, is.boxed()),
        ("CASE", 0.99, case.boxed()),
        ("TopK of two keys", 0.99, topk.boxed()),
        ("FALSE", 1.0, Just(Pred::Literal(Some(false))).boxed()),
    ]
}

/// Whether a pattern says something of how its matches begin, in letters whose other case is known.
fn is_judged(pred: &Pred) -> bool {
    let Pred::Like(_, pattern, _, any_case) = pred else { return true };
    !(pattern.ends_with('b') && pattern.starts_with(['_', '%']) || *any_case && pattern.contains('ž'))
}

/// Whether deciding a predicate takes division: which products there are isn't in their bounds.
fn divides(pred: &Pred) -> bool {
    use CompareOp::*;
    let equality = |op: &CompareOp| matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom);
    matches!(pred, Pred::Sum(Sum(ArithmeticOp::Mul, ..), op, _) if equality(op))
}

/// Per shape, of the zones that a perfect judge decides, how many are decided.
#[test]
fn what_statistics_prove_is_proven() {
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (mut report, mut lacking) = (String::new(), Vec::new());
    for (name, least, shape) in shapes() {
        let (mut decidable, mut decided, mut missed) = (0u32, 0u32, Vec::new());
        for _ in 0..ZONES {
            let pred = shape.new_tree(&mut runner).unwrap().current();
            let table = one_zone().new_tree(&mut runner).unwrap().current();
            let possible = all_rows(&table, &pred.columns());
            if !(0..possible.len()).all(|row| pred.is_defined(&possible, row)) {
                continue;
            }
            let truths: Vec<_> = (0..possible.len()).map(|row| pred.eval(&possible, row)).collect();
            let best = match truths.iter().filter(|truth| **truth == Some(true)).count() {
                0 => Verdict::None,
                // The rows that a TopK is sure to want aren't marked: its filter moves on.
                matching if matching == truths.len() && name != "TopK of two keys" => Verdict::All,
                _ => continue,
            };
            decidable += 1;
            let mut params = Vec::new();
            let bound = pred.bind(&mut params);
            let rows = RowRanges::all(table.len() as u64);
            let verdicts = PrunePredicate::compile(&bound).judge(&table, &rows, &params);
            let found = match (verdicts.may.is_empty(), verdicts.all == rows) {
                (true, _) => Verdict::None,
                (_, true) => Verdict::All,
                _ => Verdict::Some,
            };
            if found == best {
                decided += 1;
            } else {
                assert_eq!(found, Verdict::Some, "{bound} is {best:?}");
                missed.push(format!("\n  {bound} is {best:?} where {}", described(&pred, &table)));
            }
        }
        let share = f64::from(decided) / f64::from(decidable.max(1));
        writeln!(report, "{name:>22}: {decided:3} of {decidable:3} ({:.1} %)", share * 100.0).unwrap();
        if share < least || decidable < ZONES / 20 {
            missed.truncate(6);
            lacking.push(format!("{name}: {}", missed.concat()));
        }
    }
    println!("{report}");
    assert!(lacking.is_empty(), "{report}\n{}", lacking.join("\n"));
}
