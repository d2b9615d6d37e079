// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x = 1 OR x = 2 OR x IN (2, 3) → x IN (1, 2, 3); x < 5 OR x < 3 → x < 5; x < 5 OR x = 3 → x < 5; x < 5 OR
//! x = 5 → x <= 5*: of all tests of one operand against constants, the widest bounds and one set are left.
//!
//! Requires that x can't fail and isn't volatile, and that tests are by SQL order. NULL among the values
//! stays there, save in a filter. Errors: the outcome stands where the first of the tests did and holds
//! wherever any of them does, so what comes after is evaluated for no more rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::compute::{concat, filter, not, or};
use datafusion_common::ScalarValue;

use super::operand_test::{End, OperandTest, Test, by_operand, replaced};
use super::{Rewrite, RewriteContext, RuleError, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{CompareOp, InSet, Or, ValueSet};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct UniteTests;

impl TypedExprRewriteRule<Or> for UniteTests {
    fn name(&self) -> &'static str {
        "unite_tests"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let wanted = |test: &Test<'_>| {
            !matches!(test, Test::Compare(CompareOp::NotEq, _) | Test::In { negated: true, .. })
        };
        let mut changed = Vec::new();
        for group in by_operand(node.children(), wanted) {
            if group.len() < 2 {
                continue;
            }
            if let Some(terms) = united(&group, ctx.is_filter())? {
                changed.push((group, terms));
            }
        }
        if changed.is_empty() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(Or::of(replaced(node.children(), changed))?))
    }
}

/// What any of the tests of one operand says; `None` when that is what they are.
fn united(group: &[OperandTest<'_>], filter_only: bool) -> Result<Option<Vec<BoundExpression>>, RuleError> {
    let (mut low, mut high): (Option<End>, Option<End>) = (None, None);
    let (mut values, mut sets, mut sources) = (Vec::new(), Vec::<ArrayRef>::new(), Vec::new());
    let mut has_null = false;
    for OperandTest { term, test, .. } in group {
        match test {
            Test::Compare(CompareOp::Eq, value) => {
                values.push(ScalarValue::clone(value));
                sources.push(*term);
            }
            Test::Compare(op, value) => {
                let upper = matches!(op, CompareOp::Lt | CompareOp::LtEq);
                let (end, new) = (if upper { &mut high } else { &mut low }, End::new(*op, value, term));
                *end = Some(match end.take() {
                    Some(old) => old.wider(new)?,
                    None => new,
                });
            }
            Test::In { set, .. } => {
                has_null |= set.has_null() && !filter_only;
                sets.push(Arc::clone(set.values()));
                sources.push(*term);
            }
        }
    }
    if !values.is_empty() {
        sets.push(ScalarValue::iter_to_array(values)?);
    }
    let mut ends: Vec<End> = low.into_iter().chain(high).collect();
    let mut terms = Vec::new();
    if !sets.is_empty() {
        if has_null {
            sets.push(new_null_array(sets[0].data_type(), 1));
        }
        let all = ValueSet::try_new(&concat(&sets.iter().map(|s| s as &dyn Array).collect::<Vec<_>>())?)?;
        let values = all.values();
        let mut covered = BooleanArray::from(vec![false; values.len()]);
        for end in &mut ends {
            let at_end = end.equals(values)?;
            if at_end.true_count() > 0 && end.holds(values)?.true_count() < values.len() {
                *end = end.with_inclusive(true)?;
            }
            covered = or(&covered, &end.holds(values)?)?;
        }
        match (covered.true_count(), &sources[..]) {
            (0, [source]) => terms.push(BoundExpression::clone(source)),
            (0, _) => terms.push(InSet::of(group[0].operand.clone(), Arc::new(all), false)?),
            (some, _) if some < values.len() || has_null => {
                let left = filter(values, &not(&covered)?)?;
                let null = new_null_array(left.data_type(), usize::from(has_null));
                let set = Arc::new(ValueSet::try_new(&concat(&[&left, &null])?)?);
                terms.push(InSet::of(group[0].operand.clone(), set, false)?);
            }
            _ => {}
        }
    }
    terms.splice(0..0, ends.into_iter().map(|end| end.term));
    let same =
        terms.len() == group.len() && terms.iter().all(|term| group.iter().any(|test| test.term == term));
    Ok((!same).then_some(terms))
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn x() -> BoundExpression {
        column("in")
    }

    fn with_null(values: &[i32]) -> Vec<ScalarValue> {
        values.iter().map(|v| ScalarValue::from(*v)).chain([ScalarValue::Int32(None)]).collect()
    }

    #[rstest]
    #[case::equals(or([is("in", Eq, 2), is("in", Eq, 1)]), Value, "unite_tests: $.in IN (1, 2)")]
    #[case::zeros_are_equal(or([is("fn", Eq, 0.0), is("fn", Eq, -0.0)]), Value,
        "unite_tests, small_sets: $.fn = 0")]
    #[case::sets(or([in_set(x(), [1, 2]), column("bn"), in_set(x(), [2, 3]), is("in", Eq, 9)]), Value,
        "unite_tests: ($.in IN (1, 2, 3, 9) OR $.bn)")]
    #[case::null_stays(or([in_set(x(), with_null(&[1, 2])), is("in", Eq, 9)]), Value,
        "unite_tests: $.in IN (1, 2, 9, NULL)")]
    #[case::null_stays_alone(or([in_set(x(), with_null(&[1, 2])), is("in", Lt, 9)]), Value,
        "unite_tests, small_sets: ($.in < 9 OR NULL)")]
    #[case::null_in_a_filter(or([in_set(x(), with_null(&[1, 2])), is("in", Lt, 2)]), Filter,
        "small_sets, unite_tests: $.in <= 2")]
    #[case::two_generations_of_a_minimum(or([is("in", Lt, 5), is("ln", Gt, 7i64), is("in", Lt, 3)]), Filter,
        "unite_tests: ($.in < 5 OR $.ln > 7)")]
    #[case::covered(or([is("in", Lt, 5), is("in", Eq, 3)]), Value, "unite_tests: $.in < 5")]
    #[case::at_the_end(or([is("in", Lt, 5), is("in", Eq, 5)]), Value, "unite_tests: $.in <= 5")]
    #[case::partly_covered(or([is("in", GtEq, 5), in_set(x(), [3, 5, 7])]), Value,
        "unite_tests, small_sets: ($.in >= 5 OR $.in = 3)")]
    #[case::goes_ahead(or([is("in", Eq, 1), fallible(1), is("in", Eq, 2)]), Value,
        "unite_tests: ($.in IN (1, 2) OR CAST($.sn AS Int32) = 1)")]
    #[case::top_k(or([is("in", Gt, 5), and([is("in", Eq, 5), or([is_null(column("sn")), is("sn", Lt, "m")])])]), Filter,
        "unchanged")]
    #[case::outside(or([is("in", Lt, 5), is("in", Eq, 9)]), Value, "unchanged")]
    #[case::two_ends(or([is("in", Lt, 5), is("in", Gt, 9)]), Value, "unchanged")]
    #[case::different(or([is("in", NotEq, 5), is("in", NotEq, 9)]), Value, "unchanged")]
    #[case::inclusive_already(or([is("in", LtEq, 5), is("in", GtEq, 9), is("in", Eq, 7)]), Value, "unchanged")]
    #[case::operand_that_fails(or([fallible(1), fallible(2)]), Filter, "unchanged")]
    #[case::slots(or([compare(x(), Eq, param(0)), is("in", Eq, 5)]), Filter, "unchanged")]
    #[case::structs(or([compare(column("pn"), Eq, lit(point(Some(1), 2))), compare(column("pn"), Eq, lit(point(Some(3), 2)))]),
        Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
