// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *f(…, NULL, …) → NULL* for functions that are NULL whenever an argument is: comparisons above all.
//!
//! Requires that the facts say so. Type: NULL of the function's type. Errors: those of the function and of
//! the other arguments are dropped, since no value of theirs is needed.

use datafusion_common::ScalarValue;

use super::{Rewrite, RewriteContext, RuleResult};
use crate::expr::{BoundExpression, Nulls};
use crate::optimizer::ExprRewriteRule;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct NullArgument;

impl ExprRewriteRule for NullArgument {
    fn name(&self) -> &'static str {
        "null_argument"
    }

    fn rewrite(&self, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let is_null = |e: &BoundExpression| e.as_literal().is_some_and(ScalarValue::is_null);
        let strict = matches!(node.facts().nulls, Nulls::Strict { .. });
        if !strict || !node.field().is_nullable() || !node.children().iter().any(is_null) {
            return Ok(Rewrite::Unchanged);
        }
        let null = ScalarValue::try_new_null(node.field().data_type());
        Ok(null.ok().map(BoundExpression::literal).into())
    }
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, GtEq, IsDistinctFrom};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::comparison(is("in", Eq, ScalarValue::Int32(None)), Value, "null_argument: NULL")]
    #[case::bound_of_an_empty_build_side(
        and([is("in", GtEq, ScalarValue::Int32(None)), column("bn")]), Filter, "null_argument, boolean_constants: false")]
    #[case::operand_that_fails(
        compare(cast_to_int("sn"), Eq, lit(ScalarValue::Int32(None))),
        Value,
        "null_argument: NULL"
    )]
    #[case::not_strict(
        is("in", IsDistinctFrom, ScalarValue::Int32(None)),
        Value,
        "distinct: $.in IS NOT NULL"
    )]
    #[case::not_null(is("in", Eq, 1), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
