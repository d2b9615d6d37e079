// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x AND TRUE → x; x AND FALSE → FALSE; x OR FALSE → x; x OR TRUE → TRUE*; and where NULL and FALSE are
//! alike, *x AND NULL → FALSE; x OR NULL → x*.
//!
//! Type: the remaining terms are no more nullable than all were. Errors: those of terms beside a constant
//! that decides are dropped, since no value of theirs is needed.

use super::connective::{Connective, as_constant, constant};
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct BooleanConstants;

impl<C: Connective> TypedExprRewriteRule<C> for BooleanConstants {
    fn name(&self) -> &'static str {
        "boolean_constants"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let mut terms = Vec::new();
        let constant_of = |term| match as_constant(term)? {
            None if ctx.is_filter() => Some(false),
            value => value,
        };
        for term in node.children() {
            match constant_of(term) {
                Some(value) if value == C::ABSORBING => return Ok(Rewrite::Rewritten(constant(value))),
                Some(_) => {}
                None => terms.push(term),
            }
        }
        if terms.len() == node.children().len() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(C::of(terms.into_iter().cloned().collect())?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::and_true(and([column("bn"), boolean(true)]), Value, "boolean_constants: $.bn")]
    #[case::and_false(and([column("bn"), boolean(false)]), Value, "boolean_constants: false")]
    #[case::or_false(or([boolean(false), column("bn"), boolean(false)]), Value, "boolean_constants: $.bn")]
    #[case::or_true(or([column("bn"), boolean(true)]), Value, "boolean_constants: true")]
    #[case::the_operand_that_fails_is_not_needed(and([fallible(1), boolean(false)]), Value,
        "boolean_constants: false")]
    #[case::and_null_in_a_filter(and([column("bn"), boolean(None)]), Filter, "boolean_constants: false")]
    #[case::or_null_in_a_filter(or([column("bn"), boolean(None)]), Filter, "boolean_constants: $.bn")]
    #[case::and_null_as_a_value(and([column("bn"), boolean(None)]), Value, "unchanged")]
    #[case::or_null_as_a_value(or([column("bn"), boolean(None)]), Value, "unchanged")]
    #[case::or_null_before_a_guarded_term(and([or([column("bn"), boolean(None)]), fallible(1)]), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
