// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *a AND b AND a → a AND b; a AND NOT a → FALSE*, and so for OR.
//!
//! Requires that the term isn't volatile; of a term and its negation, also that it is never NULL, or that
//! the AND is a filter. Errors: the first of equal terms stays, and decides for the later ones.

use datafusion_common::HashSet;

use super::connective::{Connective, constant};
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{IsNull, Not};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Duplicates;

impl<C: Connective> TypedExprRewriteRule<C> for Duplicates {
    fn name(&self) -> &'static str {
        "duplicates"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let terms = node.children();
        let mut seen = HashSet::with_capacity(terms.len());
        let distinct: Vec<_> = terms.iter().filter(|t| t.is_volatile() || seen.insert(*t)).collect();
        let decided =
            |term: &BoundExpression| !term.field().is_nullable() || ctx.is_filter() && !C::ABSORBING;
        for term in &distinct {
            let contradicted = match (term.as_opt::<Not>(), term.as_opt::<IsNull>()) {
                (Some(()), _) => decided(term) && seen.contains(&term.children()[0]),
                (_, Some(true)) => seen.contains(&IsNull::of(term.children()[0].clone(), false)?),
                _ => false,
            };
            if contradicted {
                return Ok(Rewrite::Rewritten(constant(C::ABSORBING)));
            }
        }
        if distinct.len() == terms.len() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(C::of(distinct.into_iter().cloned().collect())?))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::twice(and([column("bn"), column("b"), column("bn")]), Value, "duplicates: ($.bn AND $.b)")]
    #[case::all_the_same(or([column("bn"), column("bn")]), Value, "duplicates: $.bn")]
    #[case::the_first_one_stays(and([fallible(1), column("b"), fallible(1)]), Value,
        "duplicates: (CAST($.sn AS Int32) = 1 AND $.b)")]
    #[case::contradiction(and([column("b"), not(column("b"))]), Value, "duplicates: false")]
    #[case::excluded_middle(or([not(column("b")), column("b")]), Value, "duplicates: true")]
    #[case::null_test(or([is_null(column("in")), is_not_null(column("in"))]), Value, "duplicates: true")]
    #[case::nullable_contradiction_in_a_filter(and([column("bn"), not(column("bn"))]), Filter, "duplicates: false")]
    #[case::nullable_contradiction_as_a_value(and([column("bn"), not(column("bn"))]), Value, "unchanged")]
    #[case::nullable_middle_is_not_excluded(or([column("bn"), not(column("bn"))]), Filter, "unchanged")]
    #[case::volatile(and([volatile(), volatile()]), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
