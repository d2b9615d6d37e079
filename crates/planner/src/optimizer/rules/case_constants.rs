// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *CASE WHEN FALSE THEN a WHEN TRUE THEN b … → b*; arms that give what ELSE gives are dropped: the last ones
//! always, others when no two arms of a CASE with an operand can match the same value.
//!
//! In a filter a THEN of FALSE is like an ELSE of NULL. Requires that a dropped result isn't volatile.
//! Type: the results left have the same type. Errors: those of conditions that decide nothing are dropped.

use std::ops::Range;

use datafusion_common::{HashSet, ScalarValue};

use super::connective::as_constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Case, CaseShape};
use crate::floats::is_float;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct CaseConstants;

impl TypedExprRewriteRule<Case> for CaseConstants {
    fn name(&self) -> &'static str {
        "case_constants"
    }

    fn rewrite(&self, shape: &CaseShape, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let args = node.children();
        let mut otherwise = shape.otherwise().map(|i| args[i].clone());
        let arm = |i: usize| (args[shape.when(i)].clone(), args[shape.when(i) + 1].clone());
        let mut arms = Vec::with_capacity(shape.arms);
        for (when, then) in (0..shape.arms).map(arm) {
            match as_constant(&when).filter(|_| !shape.operand) {
                None => arms.push((when, then)),
                Some(Some(true)) => {
                    otherwise = Some(then);
                    break;
                }
                Some(_) => {}
            }
        }
        let as_otherwise = |then: &BoundExpression| match &otherwise {
            Some(otherwise) => then == otherwise && !then.is_volatile(),
            None => then.as_literal().is_some_and(ScalarValue::is_null),
        } || ctx.is_filter() && never_true(Some(then)) && never_true(otherwise.as_ref());
        if shape.operand && are_disjoint(args, shape.when(0)..shape.when(shape.arms)) {
            arms.retain(|(_, then)| !as_otherwise(then));
        }
        while arms.last().is_some_and(|(_, then)| as_otherwise(then)) {
            arms.pop();
        }
        if arms.len() == shape.arms {
            return Ok(Rewrite::Unchanged);
        }
        if !arms.is_empty() {
            let operand = shape.operand.then(|| args[0].clone());
            return Ok(Rewrite::Rewritten(Case::of(operand, arms, otherwise)?));
        }
        match otherwise {
            Some(otherwise) => Ok(Rewrite::Rewritten(otherwise)),
            None => {
                let null = ScalarValue::try_new_null(node.field().data_type());
                Ok(null.ok().map(BoundExpression::literal).into())
            }
        }
    }
}

fn never_true(result: Option<&BoundExpression>) -> bool {
    result.is_none_or(|result| matches!(as_constant(result), Some(None | Some(false))))
}

/// Whether the WHENs, every other argument of these, are constants of which no two are equal.
fn are_disjoint(args: &[BoundExpression], arms: Range<usize>) -> bool {
    let mut seen = HashSet::new();
    args[arms].iter().step_by(2).all(|when| {
        let data_type = when.field().data_type();
        when.as_literal().is_some_and(|value| seen.insert(value))
            && !data_type.is_nested()
            && !is_float(data_type)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, Gt};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn partitions(arms: [(i32, BoundExpression); 3], otherwise: BoundExpression) -> BoundExpression {
        case(Some(column("i")), arms.map(|(n, then)| (lit(n), then)), Some(otherwise))
    }

    fn x(bound: i32) -> BoundExpression {
        is("in", Gt, bound)
    }

    #[rstest]
    #[case::false_condition(case(None, [(boolean(false), lit(1)), (column("bn"), lit(2))], Some(lit(3))), Value,
        "case_constants: CASE WHEN $.bn THEN 2 ELSE 3 END")]
    #[case::null_condition(case(None, [(boolean(None), lit(1))], Some(lit(3))), Value, "case_constants: 3")]
    #[case::true_condition(case(None, [(column("bn"), lit(1)), (boolean(true), lit(2)), (column("b"), lit(4))], None),
        Value, "case_constants: CASE WHEN $.bn THEN 1 ELSE 2 END")]
    #[case::no_arm_left(case(None, [(boolean(false), lit(1))], None), Value, "case_constants: NULL")]
    #[case::results_agree(case(None, [(fallible(1), lit(7)), (column("b"), lit(7))], Some(lit(7))), Value,
        "case_constants: 7")]
    #[case::last_results_agree(case(None, [(column("bn"), lit(7)), (column("b"), lit(1))], Some(lit(1))), Value,
        "case_constants: CASE WHEN $.bn THEN 7 ELSE 1 END")]
    #[case::hash_partitions(
        partitions([(0, boolean(false)), (1, x(5)), (2, boolean(false))], boolean(false)), Value,
        "case_constants: CASE $.i WHEN 1 THEN $.in > 5 ELSE false END")]
    #[case::all_partitions_empty(
        partitions([(0, boolean(false)), (1, boolean(false)), (2, boolean(false))], boolean(false)), Value,
        "case_constants: false")]
    #[case::filter_without_else(case(None, [(column("bn"), x(1)), (column("b"), boolean(false))], None), Filter,
        "case_constants, case_boolean: ($.bn AND $.in > 1)")]
    #[case::partition_of_a_simplified_filter(
        partitions([(0, and([x(5), x(7)])), (1, x(5)), (2, x(6))], boolean(false)), Filter,
        "intersect_tests: CASE $.i WHEN 0 THEN $.in > 7 WHEN 1 THEN $.in > 5 WHEN 2 THEN $.in > 6 ELSE false END")]
    #[case::equal_whens(
        partitions([(0, boolean(false)), (0, x(5)), (2, x(6))], boolean(false)), Value, "unchanged")]
    #[case::float_operand_stays(
        case(Some(column("f")), [(lit(0.0), boolean(false)), (lit(-0.0), boolean(true))], Some(boolean(false))), Value,
        "unchanged")]
    #[case::first_result_agrees(case(None, [(column("bn"), lit(1)), (column("b"), lit(2))], Some(lit(1))), Value,
        "unchanged")]
    #[case::condition_is_a_filter(case(None, [(or([is("in", Eq, 1), boolean(None)]), lit(1))], Some(lit(2))), Value,
        "boolean_constants: CASE WHEN $.in = 1 THEN 1 ELSE 2 END")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
