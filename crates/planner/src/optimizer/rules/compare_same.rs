// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x = x → TRUE; x < x → FALSE* when x is never NULL; in a filter, *x = x → x IS NOT NULL; x < x → FALSE*.
//!
//! Requires that x isn't volatile. Floats too: a NaN equals itself here. Errors: when the constant is the
//! answer whatever x is, its value isn't needed.

use super::connective::constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Compare, CompareOp, IsNull};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct CompareSame;

impl TypedExprRewriteRule<Compare> for CompareSame {
    fn name(&self) -> &'static str {
        "compare_same"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        if left != right || left.is_volatile() {
            return Ok(Rewrite::Unchanged);
        }
        let holds =
            matches!(op, CompareOp::Eq | CompareOp::LtEq | CompareOp::GtEq | CompareOp::IsNotDistinctFrom);
        if !node.field().is_nullable() || ctx.is_filter() && !holds {
            return Ok(Rewrite::Rewritten(constant(holds)));
        }
        match ctx.is_filter() {
            true => Ok(Rewrite::Rewritten(IsNull::of(left.clone(), true)?)),
            false => Ok(Rewrite::Unchanged),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{self, Eq, IsDistinctFrom, Lt};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn same(name: &str, op: CompareOp) -> BoundExpression {
        compare(column(name), op, column(name))
    }

    #[rstest]
    #[case::equal(same("i", Eq), Value, "compare_same: true")]
    #[case::less(same("i", Lt), Value, "compare_same: false")]
    #[case::nan(same("f", Eq), Value, "compare_same: true")]
    #[case::distinct(same("in", IsDistinctFrom), Value, "compare_same: false")]
    #[case::equal_in_a_filter(same("in", Eq), Filter, "compare_same: $.in IS NOT NULL")]
    #[case::less_in_a_filter(same("in", Lt), Filter, "compare_same: false")]
    #[case::nullable(same("in", Eq), Value, "unchanged")]
    #[case::volatile(compare(volatile(), Eq, volatile()), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
