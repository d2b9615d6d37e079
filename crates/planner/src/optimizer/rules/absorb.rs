// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *a AND (a OR b) → a; a OR (a AND b) → a*.
//!
//! Requires that a can't fail and isn't volatile. Errors: a takes the first of the two places, so that what
//! stands between is guarded as before; those of b are dropped, since a decides alone.

use datafusion_common::HashMap;

use super::connective::Connective;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Absorb;

impl<C: Connective> TypedExprRewriteRule<C> for Absorb {
    fn name(&self) -> &'static str {
        "absorb"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let terms = node.children();
        let is_wide = |term: &BoundExpression| term.as_opt::<C::Dual>().is_some();
        if !terms.iter().any(is_wide) {
            return Ok(Rewrite::Unchanged);
        }
        let movable = |term: &BoundExpression| !term.can_fail() && !term.is_volatile();
        let mut place_of: HashMap<&BoundExpression, usize> =
            terms.iter().enumerate().filter(|(_, term)| movable(term)).map(|(i, term)| (term, i)).collect();
        let mut kept: Vec<_> = terms.iter().map(Some).collect();
        for (wide, term) in terms.iter().enumerate().filter(|(_, term)| is_wide(term)) {
            let Some(decider) = term.children().iter().find(|part| place_of.contains_key(part)) else {
                continue;
            };
            let place = place_of.insert(decider, wide.min(place_of[decider])).unwrap_or(wide);
            kept[wide] = None;
            kept[place] = None;
            kept[wide.min(place)] = Some(decider);
        }
        let kept: Vec<_> = kept.into_iter().flatten().cloned().collect();
        if kept.len() == terms.len() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(C::of(kept)?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn b() -> BoundExpression {
        column("bn")
    }

    #[rstest]
    #[case::and_or(and([b(), or([column("b"), b()])]), Value, "absorb: $.bn")]
    #[case::or_and(or([and([b(), column("b")]), b()]), Value, "absorb: $.bn")]
    #[case::takes_the_first_place(and([or([b(), column("b")]), fallible(1), b()]), Filter,
        "absorb: ($.bn AND CAST($.sn AS Int32) = 1)")]
    #[case::twice(and([b(), or([column("b"), b()]), or([b(), fallible(1)])]), Value, "absorb: $.bn")]
    #[case::fallible_stays_guarded(and([or([column("b"), fallible(1)]), b(), fallible(1)]), Value, "unchanged")]
    #[case::nothing_in_common(and([b(), or([column("b"), is_null(column("in"))])]), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
