// Licensed under the Apache License, Version 2.0. See LICENSE.

//! In a filter: *x IS NOT NULL AND x > 5 → x > 5; x IS NULL AND x > 5 → FALSE*, for any term that is NULL
//! when x is.
//!
//! Requires that x isn't volatile, and to drop IS NOT NULL, that no term can fail: FALSE guards, NULL doesn't.

use datafusion_common::HashSet;

use super::connective::constant;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::functions::{And, IsNull};
use crate::expr::{BoundExpression, Nulls};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct NullTests;

impl TypedExprRewriteRule<And> for NullTests {
    fn name(&self) -> &'static str {
        "null_tests"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let tested = |term: &BoundExpression| {
            let negated = *term.as_opt::<IsNull>()?;
            (!term.is_volatile()).then_some(negated)
        };
        if !ctx.is_filter() || !node.children().iter().any(|term| tested(term).is_some()) {
            return Ok(Rewrite::Unchanged);
        }
        let never_null = never_null(node.children());
        let mut terms = Vec::new();
        for term in node.children() {
            match tested(term).filter(|_| never_null.contains(&term.children()[0])) {
                Some(false) => return Ok(Rewrite::Rewritten(constant(false))),
                Some(true) if !node.can_fail() => {}
                _ => terms.push(term.clone()),
            }
        }
        if terms.len() == node.children().len() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(And::of(terms)?))
    }
}

/// What isn't NULL wherever all of the terms hold.
fn never_null(terms: &[BoundExpression]) -> HashSet<&BoundExpression> {
    let mut found = HashSet::new();
    let mut stack: Vec<_> = terms.iter().collect();
    while let Some(node) = stack.pop() {
        if found.insert(node) && matches!(node.facts().nulls, Nulls::Strict { .. }) {
            stack.extend(node.children());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Gt, IsDistinctFrom};
    use crate::expr::functions::GetItem;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    #[rstest]
    #[case::not_null(and([is_not_null(column("in")), is("in", Gt, 5)]), Filter, "null_tests: $.in > 5")]
    #[case::null(and([is("in", Gt, 5), is_null(column("in"))]), Filter, "null_tests: false")]
    #[case::boolean(and([is_not_null(column("bn")), column("bn")]), Filter, "null_tests: $.bn")]
    #[case::struct_of_a_field(
        and([is_not_null(column("pn")), compare(GetItem::of(column("pn"), 0).unwrap(), Gt, lit(5))]),
        Filter, "null_tests: $.pn.xn > 5")]
    #[case::like(and([is_not_null(column("sn")), like("sn", "_a")]), Filter, "null_tests: $.sn LIKE '_a'")]
    #[case::null_beside_what_fails(and([is_null(column("sn")), fallible(1)]), Filter, "null_tests: false")]
    #[case::as_a_value(and([is_not_null(column("in")), is("in", Gt, 5)]), Value, "unchanged")]
    #[case::guards(and([is_not_null(column("in")), is("in", Gt, 5), fallible(1)]), Filter, "unchanged")]
    #[case::not_strict(and([is_not_null(column("in")), is("in", IsDistinctFrom, 5)]), Filter, "unchanged")]
    #[case::another_column(and([is_not_null(column("in")), is("ln", Gt, 5i64)]), Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
