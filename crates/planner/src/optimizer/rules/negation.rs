// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *NOT NOT x → x; NOT (a < b) → a >= b*, and so for the other comparisons, IS NULL, IN and LIKE;
//! *NOT (a AND b) → NOT a OR NOT b* and the other way round, when every term takes its negation in.
//!
//! Requires of a comparison that its operands aren't nested. Value: NULL stays NULL; floats are totally
//! ordered, so `<` and `>=` are exact opposites for NaN too. Errors: `NOT a OR NOT b` evaluates b where a
//! isn't FALSE, as `NOT (a AND b)` does.

use super::connective::{Connective, as_constant, constant};
use super::{RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::functions::{And, Compare, InSet, InSetOptions, IsNull, Like, LikeOptions, Not, Or};
use crate::expr::{BindError, BoundExpression};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Negation;

impl TypedExprRewriteRule<Not> for Negation {
    fn name(&self) -> &'static str {
        "negation"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let argument = &node.children()[0];
        let moved = match (argument.as_opt::<And>(), argument.as_opt::<Or>()) {
            (Some(()), _) => de_morgan::<And>(argument)?,
            (_, Some(())) => de_morgan::<Or>(argument)?,
            _ => negated(argument)?,
        };
        Ok(moved.into())
    }
}

fn de_morgan<C: Connective>(argument: &BoundExpression) -> Result<Option<BoundExpression>, BindError> {
    let terms: Option<Vec<_>> = argument.children().iter().map(|t| negated(t).transpose()).collect();
    terms.map(|terms| C::Dual::of(terms.into_iter().collect::<Result<_, _>>()?)).transpose()
}

/// The negation of an expression that takes it in.
fn negated(e: &BoundExpression) -> Result<Option<BoundExpression>, BindError> {
    let args = || e.children().to_vec();
    if e.as_opt::<Not>().is_some() {
        return Ok(Some(e.children()[0].clone()));
    }
    if let Some(value) = as_constant(e) {
        return Ok(Some(constant(value.map(|v| !v))));
    }
    if let Some(op) = e.as_opt::<Compare>() {
        let flat = !e.children().iter().any(|c| c.field().data_type().is_nested());
        return flat.then(|| BoundExpression::call::<Compare>(op.negate(), args())).transpose();
    }
    if let Some(negated) = e.as_opt::<IsNull>() {
        return BoundExpression::call::<IsNull>(!negated, args()).map(Some);
    }
    if let Some(InSetOptions { set, negated }) = e.as_opt::<InSet>() {
        let options = InSetOptions { set: std::sync::Arc::clone(set), negated: !negated };
        return BoundExpression::call::<InSet>(options, args()).map(Some);
    }
    if let Some(options) = e.as_opt::<Like>() {
        let options = LikeOptions { negated: !options.negated, ..*options };
        return BoundExpression::call::<Like>(options, args()).map(Some);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, IsDistinctFrom, Lt};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::twice(not(not(column("bn"))), Value, "negation: $.bn")]
    #[case::comparison(not(is("in", Lt, 5)), Value, "negation: $.in >= 5")]
    #[case::float(not(is("fn", Lt, f64::NAN)), Value, "negation: $.fn >= NaN")]
    #[case::distinct(not(is("in", IsDistinctFrom, 5)), Value, "negation: $.in IS NOT DISTINCT FROM 5")]
    #[case::null_test(not(is_null(column("in"))), Value, "negation: $.in IS NOT NULL")]
    #[case::set(not(in_set(column("in"), [1, 2])), Value, "negation: $.in NOT IN (1, 2)")]
    #[case::like(not(like("sn", "a_")), Value, "negation: $.sn NOT LIKE 'a_'")]
    #[case::de_morgan(not(and([is_null(column("in")), is("sn", Eq, "a")])), Filter,
        "negation: ($.in IS NOT NULL OR $.sn <> 'a')")]
    #[case::de_morgan_or(not(or([not(column("bn")), is("sn", Eq, "a")])), Filter,
        "negation: ($.bn AND $.sn <> 'a')")]
    #[case::de_morgan_keeps_guards(not(and([not(column("b")), fallible(1)])), Value,
        "negation: ($.b OR CAST($.sn AS Int32) <> 1)")]
    #[case::de_morgan_without_gain(not(and([column("b"), is("sn", Eq, "a")])), Filter, "unchanged")]
    #[case::column(not(column("bn")), Filter, "unchanged")]
    #[case::nested(not(compare(column("pn"), Lt, column("qn"))), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
