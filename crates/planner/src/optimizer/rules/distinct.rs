// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x IS DISTINCT FROM NULL → x IS NOT NULL; x IS DISTINCT FROM y → x <> y* when neither is ever NULL; in a
//! filter, *x IS NOT DISTINCT FROM 5 → x = 5*; and the negations.
//!
//! Requires that the operands aren't nested.

use datafusion_common::ScalarValue;

use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Compare, CompareOp, IsNull};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Distinct;

impl TypedExprRewriteRule<Compare> for Distinct {
    fn name(&self) -> &'static str {
        "distinct"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        let plain = match op {
            CompareOp::IsDistinctFrom => CompareOp::NotEq,
            CompareOp::IsNotDistinctFrom => CompareOp::Eq,
            _ => return Ok(Rewrite::Unchanged),
        };
        if left.field().data_type().is_nested() {
            return Ok(Rewrite::Unchanged);
        }
        if right.as_literal().is_some_and(ScalarValue::is_null) {
            return Ok(Rewrite::Rewritten(IsNull::of(left.clone(), plain == CompareOp::NotEq)?));
        }
        let (left_nullable, right_nullable) = (left.field().is_nullable(), right.field().is_nullable());
        // NULL and a value make `=` NULL where IS NOT DISTINCT FROM is FALSE; two NULLs are another matter.
        let alike = ctx.is_filter() && plain == CompareOp::Eq && !(left_nullable && right_nullable);
        if alike || !left_nullable && !right_nullable {
            return Ok(Rewrite::Rewritten(Compare::of(plain, left.clone(), right.clone())?));
        }
        Ok(Rewrite::Unchanged)
    }
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{IsDistinctFrom, IsNotDistinctFrom};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::from_null(
        is("in", IsDistinctFrom, ScalarValue::Int32(None)),
        Value,
        "distinct: $.in IS NOT NULL"
    )]
    #[case::not_from_null(
        is("in", IsNotDistinctFrom, ScalarValue::Int32(None)),
        Value,
        "distinct: $.in IS NULL"
    )]
    #[case::never_null(is("i", IsDistinctFrom, 5), Value, "distinct: $.i <> 5")]
    #[case::equal_in_a_filter(is("in", IsNotDistinctFrom, 5), Filter, "distinct: $.in = 5")]
    #[case::equal_as_a_value(is("in", IsNotDistinctFrom, 5), Value, "unchanged")]
    #[case::differs_in_a_filter(is("in", IsDistinctFrom, 5), Filter, "unchanged")]
    #[case::two_nulls(compare(column("in"), IsNotDistinctFrom, cast_to_int("ln")), Filter, "unchanged")]
    #[case::before_a_guarded_term(and([is("in", IsNotDistinctFrom, 5), fallible(1)]), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
