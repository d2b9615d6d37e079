// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The filters that DataFusion really sends: from hash joins, TopK, min and max, and static predicates as its
//! logical optimizer leaves them; before, after, and by which rules.

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

use super::support::*;
use crate::expr::BoundExpression;
use crate::expr::functions::CompareOp::{Eq, Gt, GtEq, Lt, LtEq};
use crate::optimizer::{ExpressionOptimizer, Position};

fn steps(filter: &BoundExpression) -> String {
    let (result, trace) = ExpressionOptimizer::default().optimize_traced(filter, Position::Filter);
    let result = result.unwrap();
    format!("{filter}\n→ {result}\n\n{trace}")
}

/// Bounds and members of a build side, for one join key.
fn build_side(column_name: &str, keys: &[i32]) -> BoundExpression {
    let (low, high) = (keys.iter().min().unwrap(), keys.iter().max().unwrap());
    and([
        is(column_name, GtEq, *low),
        is(column_name, LtEq, *high),
        in_set(column(column_name), keys.iter().copied()),
    ])
}

#[test]
fn join_on_one_key() {
    insta::assert_snapshot!(steps(&build_side("in", &[3, 1, 7])), @"
    ($.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7))
    → $.in IN (1, 3, 7)
    
    intersect_tests: ($.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7)) → $.in IN (1, 3, 7)
    ");
}

#[test]
fn join_beside_a_static_range() {
    let filter = and([is_not_null(column("in")), is("in", Gt, 1), build_side("in", &[3, 1, 7])]);
    insta::assert_snapshot!(steps(&filter), @"
    ($.in IS NOT NULL AND $.in > 1 AND ($.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7)))
    → $.in IN (3, 7)
    
    flatten: ($.in IS NOT NULL AND $.in > 1 AND ($.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7))) → ($.in IS NOT NULL AND $.in > 1 AND $.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7))
    null_tests: ($.in IS NOT NULL AND $.in > 1 AND $.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7)) → ($.in > 1 AND $.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7))
    intersect_tests: ($.in > 1 AND $.in >= 1 AND $.in <= 7 AND $.in IN (1, 3, 7)) → $.in IN (3, 7)
    ");
}

#[test]
fn join_by_hash_partition() {
    let arms = [(0, boolean(false)), (1, build_side("in", &[3, 1])), (2, build_side("in", &[8]))];
    let filter = case(Some(column("i")), arms.map(|(n, then)| (lit(n), then)), Some(boolean(false)));
    insta::assert_snapshot!(steps(&filter), @"
    CASE $.i WHEN 0 THEN false WHEN 1 THEN ($.in >= 1 AND $.in <= 3 AND $.in IN (1, 3)) WHEN 2 THEN ($.in >= 8 AND $.in <= 8 AND $.in IN (8)) ELSE false END
    → CASE $.i WHEN 1 THEN $.in IN (1, 3) WHEN 2 THEN $.in = 8 ELSE false END
    
    intersect_tests: ($.in >= 1 AND $.in <= 3 AND $.in IN (1, 3)) → $.in IN (1, 3)
    small_sets: $.in IN (8) → $.in = 8
    intersect_tests: ($.in >= 8 AND $.in <= 8 AND $.in = 8) → $.in = 8
    case_constants: CASE $.i WHEN 0 THEN false WHEN 1 THEN $.in IN (1, 3) WHEN 2 THEN $.in = 8 ELSE false END → CASE $.i WHEN 1 THEN $.in IN (1, 3) WHEN 2 THEN $.in = 8 ELSE false END
    ");
}

#[test]
fn join_on_an_adapted_column() {
    let key = || cast(column("in"), DataType::Int64);
    let filter = and([
        compare(key(), GtEq, lit(1i64)),
        compare(key(), LtEq, lit(1i64 << 40)),
        in_set(key(), [1i64, 5, 1 << 40]),
    ]);
    insta::assert_snapshot!(steps(&filter), @"
    (CAST($.in AS Int64) >= 1 AND CAST($.in AS Int64) <= 1099511627776 AND CAST($.in AS Int64) IN (1, 5, 1099511627776))
    → $.in IN (1, 5)
    
    unwrap_cast: CAST($.in AS Int64) >= 1 → $.in >= 1
    unwrap_cast: CAST($.in AS Int64) <= 1099511627776 → $.in IS NOT NULL
    unwrap_cast: CAST($.in AS Int64) IN (1, 5, 1099511627776) → $.in IN (1, 5)
    null_tests: ($.in >= 1 AND $.in IS NOT NULL AND $.in IN (1, 5)) → ($.in >= 1 AND $.in IN (1, 5))
    intersect_tests: ($.in >= 1 AND $.in IN (1, 5)) → $.in IN (1, 5)
    ");
}

#[test]
fn build_side_of_nulls() {
    let null = || ScalarValue::Int32(None);
    let filter = and([is("in", GtEq, null()), is("in", LtEq, null()), in_set(column("in"), [null()])]);
    insta::assert_snapshot!(steps(&filter), @"
    ($.in >= NULL AND $.in <= NULL AND $.in IN (NULL))
    → false
    
    null_argument: $.in >= NULL → NULL
    null_argument: $.in <= NULL → NULL
    small_sets: $.in IN (NULL) → NULL
    boolean_constants: (NULL AND NULL AND NULL) → false
    ");
}

#[test]
fn null_equal_join() {
    let filter = or([is_null(column("in")), build_side("in", &[4])]);
    insta::assert_snapshot!(steps(&filter), @"
    ($.in IS NULL OR ($.in >= 4 AND $.in <= 4 AND $.in IN (4)))
    → ($.in IS NULL OR $.in = 4)
    
    small_sets: $.in IN (4) → $.in = 4
    intersect_tests: ($.in >= 4 AND $.in <= 4 AND $.in = 4) → $.in = 4
    ");
}

#[test]
fn top_k_whose_threshold_is_null() {
    let null = || ScalarValue::Int32(None);
    let tie = and([or([is_null(column("in")), is("in", Eq, null())]), is("ln", Lt, 9i64)]);
    let filter = or([boolean(false), tie]);
    insta::assert_snapshot!(steps(&filter), @"
    (false OR (($.in IS NULL OR $.in = NULL) AND $.ln < 9))
    → ($.in IS NULL AND $.ln < 9)
    
    null_argument: $.in = NULL → NULL
    boolean_constants: ($.in IS NULL OR NULL) → $.in IS NULL
    boolean_constants: (false OR ($.in IS NULL AND $.ln < 9)) → ($.in IS NULL AND $.ln < 9)
    ");
}

#[test]
fn top_k_of_two_keys_has_nothing_to_simplify() {
    let tie = and([is("in", Eq, 9998), or([is_null(column("sn")), is("sn", Lt, "s00002")])]);
    let filter = or([is("in", Gt, 9998), tie]);
    assert_eq!(optimized(&filter, Position::Filter), "unchanged");
}

#[test]
fn top_k_beside_its_static_filter() {
    let filter = and([is("in", Lt, 100), is("in", Lt, 7), like("sn", r"50\%%")]);
    insta::assert_snapshot!(steps(&filter), @r"
    ($.in < 100 AND $.in < 7 AND $.sn LIKE '50\%%')
    → ($.in < 7 AND $.sn >= '50%' AND $.sn < '50&')
    
    simple_like: $.sn LIKE '50\%%' → ($.sn >= '50%' AND $.sn < '50&')
    flatten: ($.in < 100 AND $.in < 7 AND ($.sn >= '50%' AND $.sn < '50&')) → ($.in < 100 AND $.in < 7 AND $.sn >= '50%' AND $.sn < '50&')
    intersect_tests: ($.in < 100 AND $.in < 7 AND $.sn >= '50%' AND $.sn < '50&') → ($.in < 7 AND $.sn >= '50%' AND $.sn < '50&')
    ");
}

#[test]
fn two_minimums() {
    let filter = or([is("in", Lt, 5), is("ln", Gt, 7i64), is("in", Lt, 3)]);
    insta::assert_snapshot!(steps(&filter), @"
    ($.in < 5 OR $.ln > 7 OR $.in < 3)
    → ($.in < 5 OR $.ln > 7)
    
    unite_tests: ($.in < 5 OR $.ln > 7 OR $.in < 3) → ($.in < 5 OR $.ln > 7)
    ");
}

#[test]
fn bounds_before_a_lookup_that_can_fail_stay() {
    let filter = and([is("in", GtEq, 1), is("in", LtEq, 5), fallible(1)]);
    assert_eq!(optimized(&filter, Position::Filter), "unchanged");
}
