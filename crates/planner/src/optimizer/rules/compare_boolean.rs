// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *b = TRUE → b; b = FALSE → NOT b*, and so for `<>`. NULL stays NULL.

use super::connective::as_constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Compare, CompareOp, Not};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct CompareBoolean;

impl TypedExprRewriteRule<Compare> for CompareBoolean {
    fn name(&self) -> &'static str {
        "compare_boolean"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        let Some(Some(value)) = as_constant(right) else { return Ok(Rewrite::Unchanged) };
        if left.field().data_type() != right.field().data_type() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(match (op, value) {
            (CompareOp::Eq, true) | (CompareOp::NotEq, false) => Rewrite::Rewritten(left.clone()),
            (CompareOp::Eq, false) | (CompareOp::NotEq, true) => Rewrite::Rewritten(Not::of(left.clone())?),
            _ => Rewrite::Unchanged,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, IsDistinctFrom, NotEq};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::is_true(is("bn", Eq, true), Value, "compare_boolean: $.bn")]
    #[case::is_false(is("bn", Eq, false), Value, "compare_boolean: NOT $.bn")]
    #[case::is_not_true(is("bn", NotEq, true), Value, "compare_boolean: NOT $.bn")]
    #[case::is_not_false(is("bn", NotEq, false), Value, "compare_boolean: $.bn")]
    #[case::distinct(is("bn", IsDistinctFrom, true), Value, "unchanged")]
    #[case::two_columns(compare(column("bn"), Eq, column("b")), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
