// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *a AND (b AND c) → a AND b AND c*, and so for OR, through nests of any depth at once.
//!
//! Requires nothing. Type and value: AND and OR are associative in three-valued logic. Errors: terms keep
//! their order, so each is evaluated for the same rows.

use super::connective::Connective;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Flatten;

impl<C: Connective> TypedExprRewriteRule<C> for Flatten {
    fn name(&self) -> &'static str {
        "flatten"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        if !node.children().iter().any(|term| term.as_opt::<C>().is_some()) {
            return Ok(Rewrite::Unchanged);
        }
        let (mut terms, mut stack) = (Vec::new(), vec![node]);
        while let Some(term) = stack.pop() {
            match term.as_opt::<C>() {
                Some(()) => stack.extend(term.children().iter().rev()),
                None => terms.push(term.clone()),
            }
        }
        Ok(Rewrite::Rewritten(C::of(terms)?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Gt, Lt};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::left(and([and([column("b"), is_null(column("in"))]), column("bn")]), Value,
        "flatten: ($.b AND $.in IS NULL AND $.bn)")]
    #[case::deep(or([column("b"), or([column("bn"), or([is_null(column("in")), is_null(column("sn"))])])]), Filter,
        "flatten: ($.b OR $.bn OR $.in IS NULL OR $.sn IS NULL)")]
    #[case::guards_stay_in_order(and([column("b"), and([fallible(1), column("bn")])]), Filter,
        "flatten: ($.b AND CAST($.sn AS Int32) = 1 AND $.bn)")]
    #[case::other_connective(or([and([column("b"), is("in", Gt, 1)]), and([column("bn"), is("in", Lt, 1)])]), Value,
        "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
