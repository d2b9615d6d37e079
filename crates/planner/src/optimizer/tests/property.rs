// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whatever the expression, the rules and their order: the same rows, and no new errors.
//!
//! The oracle is the expression as it was, evaluated row by row, left to right.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef};
use datafusion_common::{Result, ScalarValue};
use proptest::prelude::*;

use super::generate::{Random, predicate, rows, value};
use super::support::*;
use crate::expr::functions::CompareOp;
use crate::expr::{BoundExpression, ExprKind, Input, evaluate};
use crate::optimizer::rules::BUILT_IN;
use crate::optimizer::*;

/// The values of an expression, one for each row of the root.
fn values(expression: &BoundExpression, root: &ArrayRef) -> Result<Vec<ScalarValue>> {
    let array = evaluate(expression, Input { root, params: &[] })?.into_array_of_size(root.len())?;
    (0..array.len()).map(|row| ScalarValue::try_from_array(&array, row)).collect()
}

/// What counts of a value.
fn counts(value: &ScalarValue, position: Position) -> ScalarValue {
    match position {
        Position::Value => value.clone(),
        Position::Filter => ScalarValue::from(value == &ScalarValue::from(true)),
    }
}

/// Why `after` can't stand for `before`.
fn difference(
    before: &BoundExpression,
    after: &BoundExpression,
    position: Position,
    root: &ArrayRef,
) -> Option<String> {
    let mut all_well = Some(Vec::new());
    for row in 0..root.len() {
        let one = root.slice(row, 1);
        let Ok(expect) = values(before, &one) else {
            all_well = None;
            continue;
        };
        match values(after, &one) {
            Err(error) => return Some(format!("row {row} fails: {error}")),
            Ok(actual) if counts(&actual[0], position) != counts(&expect[0], position) => {
                return Some(format!("row {row}: {} instead of {}", actual[0], expect[0]));
            }
            Ok(_) => {}
        }
        if let Some(all) = &mut all_well {
            all.extend(expect);
        }
    }
    // What fails for no row alone doesn't for all of them either.
    let expect = all_well?;
    match values(after, root) {
        Err(error) => Some(format!("the batch fails: {error}")),
        Ok(actual) => {
            let differs =
                actual.iter().zip(&expect).position(|(a, b)| counts(a, position) != counts(b, position));
            differs.map(|row| format!("in the batch, row {row}: {} instead of {}", actual[row], expect[row]))
        }
    }
}

/// Optimizes a random expression in both positions and compares; gives the traces.
fn check(optimizer: &ExpressionOptimizer, seed: u64) -> Vec<Trace> {
    let mut random = Random::new(seed);
    let table = rows(&mut random, 12);
    let depth = 1 + random.below(3);
    let any = match random.one_in(5) {
        true => {
            let data_type =
                random.pick(&[arrow::datatypes::DataType::Int32, arrow::datatypes::DataType::Float64]);
            value(&mut random, &data_type, depth)
        }
        false => predicate(&mut random, depth),
    };
    let is_boolean = any.field().data_type() == &arrow::datatypes::DataType::Boolean;
    let positions = [Position::Value, Position::Filter].into_iter().take(1 + usize::from(is_boolean));
    let check = |position| {
        let (result, trace) = optimizer.optimize_traced(&any, position);
        let result = match result {
            Ok(result) => result,
            Err(error) => panic!("seed {seed}, {position:?} of {any}: {error}\n{trace}"),
        };
        if let Some(difference) = difference(&any, &result, position, &table) {
            panic!("seed {seed}, {position:?}: {any} became {result}\n{difference}\n{trace}");
        }
        let again = optimizer.optimize(&result, position).unwrap();
        assert!(again.ptr_eq(&result), "seed {seed}: {result} became {again}");
        trace
    };
    positions.map(check).collect()
}

/// How many expressions are tried.
const EXPRESSIONS: u64 = 1500;

#[test]
fn the_built_in_rules_keep_values_and_all_of_them_fire() {
    let optimizer = ExpressionOptimizer::default();
    let mut fired: BTreeMap<_, usize> = optimizer.rules().into_iter().map(|rule| (rule, 0)).collect();
    for seed in 0..EXPRESSIONS {
        for event in check(&optimizer, seed).iter().flat_map(Trace::events) {
            let Event::Fired { rule, before, .. } = event else { continue };
            let ExprKind::Call(function) = before.kind() else { panic!("{before}") };
            for root in [Some(function.id()), None] {
                fired.entry((root, *rule)).and_modify(|count| *count += 1);
            }
        }
    }
    let never: Vec<_> = fired.iter().filter(|(_, count)| **count == 0).map(|(rule, _)| rule).collect();
    assert!(never.is_empty(), "never fired: {never:?}");
}

/// An optimizer of some of the built-in rules, in any order.
fn some_rules(seed: u64) -> ExpressionOptimizer {
    let (mut random, mut rules) = (Random::new(seed), BUILT_IN.to_vec());
    random.shuffle(&mut rules);
    rules.truncate(random.below(rules.len() + 1));
    let session = ExpressionOptimizerSession::empty();
    rules.iter().for_each(|install| {
        install(&session);
    });
    session.snapshot()
}

#[test]
fn any_of_the_rules_in_any_order_keep_values() {
    (0..EXPRESSIONS).for_each(|seed| {
        check(&some_rules(seed ^ 0xdead_beef), seed + EXPRESSIONS);
    });
}

proptest! {
    #[test]
    fn values_are_kept(seed in any::<u64>()) {
        check(&ExpressionOptimizer::default(), seed);
    }

    #[test]
    fn two_runs_leave_the_same_trace(seed in any::<u64>()) {
        let run = || check(&ExpressionOptimizer::default(), seed).iter().map(Trace::to_string).collect::<Vec<_>>();
        prop_assert_eq!(run(), run());
    }
}

/// The checks above would notice: each of these is wrong in the way it says.
#[test]
fn the_oracle_sees_differences() {
    let table = rows(&mut Random::new(7), 64);
    let differs = |before: &BoundExpression, after: &BoundExpression, position| {
        difference(before, after, position, &table).is_some()
    };
    let (x, y) = (is("in", CompareOp::Gt, 1), fallible(1));
    let (guarded, unguarded) =
        (and([is_null(column("sn")), y.clone()]), and([y.clone(), is_null(column("sn"))]));
    assert!(differs(&x, &boolean(true), Position::Filter), "rows");
    assert!(differs(&x, &and([x.clone(), is_not_null(column("in"))]), Position::Value), "NULL to FALSE");
    assert!(
        !differs(&x, &and([x.clone(), is_not_null(column("in"))]), Position::Filter),
        "alike in a filter"
    );
    assert!(differs(&guarded, &unguarded, Position::Filter), "an error added");
    assert!(!differs(&unguarded, &guarded, Position::Filter), "an error dropped");
}
