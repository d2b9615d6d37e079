// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *5 < x → x > 5*: the constant, or the slot of a live filter, goes right.
//!
//! Requires that the other side is no constant. Value, type, errors: the same comparison.

use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::functions::{Compare, CompareOp};
use crate::expr::{BoundExpression, ExprKind};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Flip;

impl TypedExprRewriteRule<Compare> for Flip {
    fn name(&self) -> &'static str {
        "flip"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let constant = |e: &BoundExpression| matches!(e.kind(), ExprKind::Literal(_) | ExprKind::Param(..));
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        if !constant(left) || constant(right) {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(Compare::of(op.swap(), right.clone(), left.clone())?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, Lt};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::ordered(compare(lit(5), Lt, column("in")), Value, "flip: $.in > 5")]
    #[case::symmetric(compare(lit("a"), Eq, column("sn")), Value, "flip: $.sn = 'a'")]
    #[case::slot(compare(param(3), Lt, column("in")), Value, "flip: $.in > ?3")]
    #[case::already_right(is("in", Lt, 5), Value, "unchanged")]
    #[case::two_columns(compare(column("in"), Lt, column("i")), Value, "unchanged")]
    #[case::two_slots(compare(param(0), Lt, param(1)), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
