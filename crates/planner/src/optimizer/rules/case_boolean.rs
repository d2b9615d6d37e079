// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A CASE of one condition that is something simpler:
//!
//! * *CASE WHEN c THEN TRUE ELSE FALSE END → c; CASE WHEN c THEN FALSE ELSE TRUE END → NOT c*
//! * *CASE WHEN c THEN p ELSE FALSE END → c AND p*
//! * *CASE WHEN x IS NULL THEN NULL ELSE x END → x; CASE WHEN x IS NOT NULL THEN x END → x*
//!
//! Requires of the first two that c is never NULL, or in a filter (where ELSE may be NULL or missing, too)
//! that p can't fail: `c AND p` evaluates p where c is NULL. NOT c only when c is never NULL. Of the third,
//! that x isn't volatile. A CASE with an operand is left alone: of floats, it compares in another order.

use datafusion_common::ScalarValue;

use super::connective::as_constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{And, Case, CaseShape, IsNull, Not};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct CaseBoolean;

impl TypedExprRewriteRule<Case> for CaseBoolean {
    fn name(&self) -> &'static str {
        "case_boolean"
    }

    fn rewrite(&self, shape: &CaseShape, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let (when, then, otherwise) = match (shape.operand, shape.arms, node.children()) {
            (false, 1, [when, then]) => (when, then, None),
            (false, 1, [when, then, otherwise]) => (when, then, Some(otherwise)),
            _ => return Ok(Rewrite::Unchanged),
        };
        if let Some(value) = guarded_by_null(when, then, otherwise) {
            return Ok(Rewrite::Rewritten(value.clone()));
        }
        let decided = !when.field().is_nullable();
        let is_false = match otherwise.map(as_constant) {
            Some(Some(Some(false))) => decided || ctx.is_filter(),
            Some(Some(None)) | None => ctx.is_filter(),
            _ => false,
        };
        let constant = |e: Option<&BoundExpression>| e.and_then(as_constant).flatten();
        if is_false && constant(Some(then)) == Some(true) {
            return Ok(Rewrite::Rewritten(when.clone()));
        }
        if is_false && (decided || !then.can_fail()) {
            return Ok(Rewrite::Rewritten(And::of([when.clone(), then.clone()])?));
        }
        if decided && constant(Some(then)) == Some(false) && constant(otherwise) == Some(true) {
            return Ok(Rewrite::Rewritten(Not::of(when.clone())?));
        }
        Ok(Rewrite::Unchanged)
    }
}

/// What the CASE gives when it only says NULL where that is NULL anyway.
fn guarded_by_null<'a>(
    when: &BoundExpression,
    then: &'a BoundExpression,
    otherwise: Option<&'a BoundExpression>,
) -> Option<&'a BoundExpression> {
    let is_null =
        |e: Option<&BoundExpression>| e.is_none_or(|e| e.as_literal().is_some_and(ScalarValue::is_null));
    let value = match when.as_opt::<IsNull>()? {
        false if is_null(Some(then)) => otherwise?,
        true if is_null(otherwise) => then,
        _ => return None,
    };
    (when.children().first() == Some(value) && !value.is_volatile()).then_some(value)
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::Gt;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn when(
        condition: BoundExpression,
        then: BoundExpression,
        otherwise: impl Into<Option<BoundExpression>>,
    ) -> BoundExpression {
        case(None, [(condition, then)], otherwise.into())
    }

    #[rstest]
    #[case::condition(when(column("b"), boolean(true), boolean(false)), Value, "case_boolean: $.b")]
    #[case::condition_in_a_filter(when(column("bn"), boolean(true), None), Filter, "case_boolean: $.bn")]
    #[case::nullable_condition_in_a_filter(
        when(column("bn"), boolean(true), boolean(false)),
        Filter,
        "case_boolean: $.bn"
    )]
    #[case::negated(when(column("b"), boolean(false), boolean(true)), Value, "case_boolean: NOT $.b")]
    #[case::conjunction(
        when(column("b"), is("in", Gt, 1), boolean(false)),
        Value,
        "case_boolean: ($.b AND $.in > 1)"
    )]
    #[case::conjunction_in_a_filter(
        when(column("bn"), is("in", Gt, 1), boolean(None)),
        Filter,
        "case_boolean: ($.bn AND $.in > 1)"
    )]
    #[case::guarded_but_decided(
        when(column("b"), fallible(1), boolean(false)),
        Value,
        "case_boolean: ($.b AND CAST($.sn AS Int32) = 1)"
    )]
    #[case::null_where_null(
        when(is_null(column("fn")), lit(ScalarValue::Float64(None)), column("fn")),
        Value,
        "case_boolean: $.fn"
    )]
    #[case::value_where_not_null(
        when(is_not_null(column("sn")), column("sn"), None),
        Value,
        "case_boolean: $.sn"
    )]
    #[case::nullable_condition(when(column("bn"), boolean(true), boolean(false)), Value, "unchanged")]
    #[case::nullable_negated(when(column("bn"), boolean(false), boolean(true)), Filter, "unchanged")]
    #[case::guarded(when(column("bn"), fallible(1), boolean(false)), Filter, "unchanged")]
    #[case::another_column(
        when(is_null(column("in")), lit(ScalarValue::Int64(None)), column("ln")),
        Value,
        "unchanged"
    )]
    #[case::nullif_of_floats(
        case(Some(column("fn")), [(lit(0.0), lit(ScalarValue::Float64(None)))], Some(column("fn"))), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
