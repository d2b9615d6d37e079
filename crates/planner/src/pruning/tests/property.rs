// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What must hold of every predicate over every table, and how good verdicts must be.

use proptest::prelude::*;

use super::model::{Kind, Layout, Table, Val, tables};
use super::predicate::{Item, OPS, Of, Pred, Sum, leaves, predicates};
use crate::expr::Shape;
use crate::expr::functions::CompareOp;
use crate::pruning::{Level, PrunePredicate, Truth};
use crate::rows::{FragmentRows, RowRanges};

/// How many cases of each property: as `PROPTEST_CASES` says, but enough to meet every family.
fn cases() -> u32 {
    ProptestConfig::default().cases.max(600)
}

fn truth(value: Option<bool>) -> Truth {
    value.map_or(Truth::NULL, |v| Truth::of(v, !v))
}

fn contains(set: Truth, value: Truth) -> bool {
    set.or_else(value) == set
}

/// Checks a predicate's verdicts over `within` row by row.
fn check(table: &Table, pred: &Pred, within: &RowRanges<FragmentRows>) -> Result<(), TestCaseError> {
    let mut params = Vec::new();
    let bound = pred.bind(&mut params);
    let compiled = PrunePredicate::compile(&bound);
    for level in [Level::RowGroup, Level::Page] {
        let truths = compiled.truths(table, level, within, &params);
        let judged: RowRanges<FragmentRows> = truths.iter().map(|(rows, _)| rows).collect();
        prop_assert_eq!(&judged, within, "{} judges other rows", bound);
        for (rows, set) in truths.iter() {
            for row in rows {
                let value = truth(pred.eval(table, row as usize));
                prop_assert!(
                    contains(set, value),
                    "{} is {:?}, not in {:?}, for row {}",
                    bound,
                    value,
                    set,
                    row
                );
            }
        }
    }
    let verdicts = compiled.judge(table, within, &params);
    prop_assert_eq!(verdicts.errors, 0, "{}", bound);
    prop_assert_eq!(&verdicts.may.intersect(within), &verdicts.may);
    prop_assert_eq!(&verdicts.all.intersect(&verdicts.may), &verdicts.all);
    if !compiled.can_prune() {
        prop_assert!(verdicts.may == *within && verdicts.all.is_empty(), "{} prunes after all", bound);
    }
    for row in within.iter().flatten() {
        let (at, matches) = (row..row + 1, pred.eval(table, row as usize) == Some(true));
        prop_assert!(!matches || verdicts.may.covers(&at), "{} loses row {}", bound, row);
        prop_assert!(matches || !verdicts.all.overlaps(&at), "{} is proven for row {}", bound, row);
    }
    Ok(())
}

fn some_rows(table: &Table, bits: &[bool]) -> RowRanges<FragmentRows> {
    (0..table.len()).filter(|row| bits[row % bits.len()]).map(|row| row as u64..row as u64 + 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_matching_row_is_lost_and_no_other_is_proven(
        table in tables(), pred in predicates(), bits in prop::collection::vec(prop::bool::weighted(0.8), 1..24),
    ) {
        check(&table, &pred, &RowRanges::all(table.len() as u64))?;
        check(&table, &pred, &some_rows(&table, &bits))?;
    }

    /// A shape, compiled once and given the constants, judges as the predicate with these constants does.
    #[test]
    fn shapes_judge_as_predicates_do(table in tables(), pred in predicates(), other in predicates()) {
        let [bound, other] = [pred, other].map(|pred| pred.bind(&mut Vec::new()));
        let Some((shape, values)) = Shape::of(&bound) else { return Ok(()) };
        let compiled = PrunePredicate::compile(shape.expression());
        let all = RowRanges::all(table.len() as u64);
        // Something else in between leaves no trace.
        if let Some(values) = shape.values_of(&other) {
            compiled.judge(&table, &all, &values);
        }
        let (ours, expect) = (
            compiled.judge(&table, &all, &values), PrunePredicate::compile(&bound).judge(&table, &all, &[]),
        );
        prop_assert_eq!((ours.may, ours.all, ours.errors), (expect.may, expect.all, expect.errors), "{}", bound);
    }

    #[test]
    fn leaves_hold_to_it_too(table in tables(), pred in leaves()) {
        check(&table, &pred, &RowRanges::all(table.len() as u64))?;
    }
}

/// All that could be in a zone of these rows, as far as its bounds tell.
fn universe(kind: Kind, rows: &[Option<Val>]) -> Vec<Option<Val>> {
    let values = || rows.iter().flatten().filter(|v| !v.is_nan());
    let (min, max) = (values().min_by(|a, b| a.order(b)), values().max_by(|a, b| a.order(b)));
    let all: Vec<Val> = match kind {
        Kind::Float64 => [-2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, f64::INFINITY, f64::NEG_INFINITY]
            .map(Val::Float)
            .to_vec(),
        Kind::Text => {
            let letters = ["", "a", "b", "c", "d", "%", "_", "ž", "\u{10ffff}"];
            let two = letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")));
            let more = two.flat_map(|ab| letters.iter().map(move |c| format!("{ab}{c}")));
            // And what comes right after each, so that sets never fill an interval here either.
            let own = rows.iter().flatten().flat_map(|v| match v {
                Val::Str(s) => vec![s.clone(), format!("{s}\u{1}")],
                _ => vec![],
            });
            more.chain(own).map(Val::Str).collect()
        }
        _ => (-300..=300).map(Val::Int).collect(),
    };
    let inside =
        |v: &Val| min.is_some_and(|min| min.order(v).is_le()) && max.is_some_and(|max| v.order(max).is_le());
    let nulls = rows.iter().filter(|v| v.is_none()).take(1).cloned();
    // A NaN count tells that there are some, not which.
    let all_nans = || [f64::NAN, -f64::NAN].map(|v| Some(Val::Float(v)));
    let nans = rows.iter().flatten().any(Val::is_nan).then(all_nans).into_iter().flatten();
    let none_known = min.is_none() && rows.iter().any(Option::is_some);
    let values = all.into_iter().filter(|v| none_known || inside(v)).map(Some);
    values.chain(nulls).chain(nans).collect()
}

fn exact_zone() -> impl Strategy<Value = (Of, Pred, Vec<Option<Val>>)> {
    // Ten apart, so that sets never fill an interval.
    let columns = prop::sample::select(vec![(1usize, Kind::Int64), (2, Kind::Float64), (3, Kind::Text)]);
    columns.prop_flat_map(|(index, kind)| {
        let of = Of(index, false);
        let finite = move || kind.values().prop_filter("a NaN", |v| !v.is_nan());
        let compare = (prop::sample::select(&OPS[..]), finite())
            .prop_map(move |(op, value)| Pred::Compare(of, op, Some(value), false, false));
        let among = (prop::collection::vec(finite(), 1..4), any::<bool>())
            .prop_map(move |(values, negated)| Pred::In(of, values.into_iter().map(Some).collect(), negated));
        let null = any::<bool>().prop_map(move |negated| Pred::IsNull(of, negated));
        let rows = prop::collection::vec(prop::option::weighted(0.8, kind.values()), 1..5);
        (prop_oneof![4 => compare, 4 => among, 1 => null], rows)
            .prop_map(move |(pred, rows)| (of, pred, rows))
    })
}

/// A table of nothing but one column, in one zone with all statistics.
fn single(of: Of, rows: Vec<Option<Val>>) -> Table {
    let mut columns = vec![vec![None; rows.len()]; super::model::COLUMNS.len()];
    columns[of.0] = rows;
    let layouts = vec![[Some(Layout::default()), Some(Layout::default())]; columns.len()];
    Table::new(columns, &layouts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// With all statistics a leaf's truth set is exactly what the values that fit the bounds give.
    #[test]
    fn leaves_are_as_sharp_as_bounds_allow((of, pred, rows) in exact_zone()) {
        let kind = super::model::COLUMNS[of.0];
        let possible = single(of, universe(kind, &rows));
        let values = (0..possible.len()).map(|row| truth(pred.eval(&possible, row)));
        let best = values.fold(Truth::NONE, Truth::or_else);

        let table = single(of, rows);
        let all = RowRanges::all(table.len() as u64);
        let found = PrunePredicate::compile(&pred.bind(&mut Vec::new())).truths(&table, Level::Page, &all, &[]);
        prop_assert_eq!(found.iter().next(), Some((0..table.len() as u64, best)), "{:?}", pred);
    }

    /// Zones of one value each are decided: for them bounds are the rows.
    #[test]
    fn constant_zones_are_decided(
        table in tables(), pred in predicates().prop_filter("opaque", |pred| !opaque(pred)),
    ) {
        let layout = Layout { cuts: (0..table.len()).collect(), ..Layout::default() };
        let layouts = vec![[None, Some(layout)]; table.columns.len()];
        let table = Table::new(table.columns, &layouts);
        let mut params = Vec::new();
        let bound = pred.bind(&mut params);
        let all = RowRanges::all(table.len() as u64);
        for (rows, set) in PrunePredicate::compile(&bound).truths(&table, Level::Page, &all, &params).iter() {
            for row in rows {
                prop_assert_eq!(set, truth(pred.eval(&table, row as usize)), "{} for row {}", &bound, row);
            }
        }
    }
}

/// Whether some part can't be decided even for a single row.
fn opaque(pred: &Pred) -> bool {
    let floats = |of: &Of| of.0 == 2 || *of == Of(0, true);
    let lossy = |of: &Of| of.1 && matches!(of.0, 1 | 5);
    match pred {
        // Of tuples, all that is known is that some other tuple has each term.
        Pred::Opaque(_) | Pred::Routed(_) | Pred::Tuple(..) => true,
        Pred::Like(_, _, _, true) => true,
        Pred::Like(_, pattern, ..) => {
            let plain = pattern.trim_end_matches('%').replace("\\%", "").replace("\\_", "");
            plain.contains(['%', '_'])
        }
        // A NaN's payload isn't known, nor what a value that can't be cast is.
        Pred::Compare(of, ..) | Pred::In(of, ..) => of.0 == 2 || lossy(of),
        Pred::Pair(a, _, b) => [a, b].into_iter().any(|of| of.0 == 2 || lossy(of)),
        // A sum that wraps isn't known.
        Pred::Sum(Sum(_, kind, terms), ..) => {
            let wraps = |item: &Item| matches!(item, Item::Constant(Some(Val::Int(v)), _) if v.abs() > 1000);
            *kind == Kind::Float64 || terms.iter().any(wraps)
        }
        Pred::Mapped(..) => true,
        Pred::IsNull(of, _) => lossy(of),
        Pred::Literal(_) | Pred::Column(_) => false,
        Pred::And(terms) | Pred::Or(terms) => terms.iter().any(opaque),
        Pred::Not(pred) | Pred::Is(pred, ..) | Pred::NullTest(pred, _) => opaque(pred),
        Pred::Case(arms, otherwise) => {
            arms.iter().any(|(w, t)| opaque(w) || opaque(t)) || otherwise.as_deref().is_some_and(opaque)
        }
        Pred::Switch(of, arms, otherwise) => {
            floats(of)
                || lossy(of)
                || arms.iter().any(|(_, then)| opaque(then))
                || otherwise.as_deref().is_some_and(opaque)
        }
    }
}

/// Ten thousand terms are compiled and judged in no time to speak of, whatever the depth.
#[test]
fn long_and_deep_predicates_are_judged() {
    let of = Of(1, false);
    let table = single(of, (0..50).map(|i| Some(Val::Int(i))).collect());
    let all = RowRanges::all(50);
    let equals = |i: i64| Pred::Compare(of, CompareOp::Eq, Some(Val::Int(i)), false, false);
    let long = Pred::Or((100..10_100).map(equals).collect()).bind(&mut Vec::new());
    let verdicts = PrunePredicate::compile(&long).judge(&table, &all, &[]);
    assert!(verdicts.may.is_empty());

    let mut deep = equals(100).bind(&mut Vec::new());
    for _ in 0..10_000 {
        deep = crate::expr::functions::Not::of(deep).unwrap();
    }
    let compiled = PrunePredicate::compile(&deep);
    assert!(!compiled.can_prune(), "beyond the depth that is looked into nothing is known");
    assert_eq!(compiled.judge(&table, &all, &[]).may, all);
}
