// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x >= 1 AND x > 3 → x > 3; x < 1 AND x > 3 → FALSE; x >= 1 AND x IN (0, 1, 2) → x IN (1, 2); x IN A AND
//! x IN B → x IN A∩B; x <> 1 AND x <> 2 → x NOT IN (1, 2)*: all tests of one operand against constants
//! become its tightest bounds, or one set.
//!
//! Requires that x can't fail and isn't volatile, that tests are by SQL order, and where nothing is left,
//! that x is never NULL or the AND is a filter; sets with NULL only in a filter. Errors: the outcome stands
//! where the first of the tests did, and lets no more rows pass, so what comes after stays guarded.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{and, concat, filter, not};
use datafusion_common::Result;

use super::connective::constant;
use super::operand_test::{End, OperandTest, Range, Test, by_operand, replaced};
use super::{Rewrite, RewriteContext, RuleError, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{And, CompareOp, InSet, ValueSet};
use crate::floats::fold_zeros;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct IntersectTests;

impl TypedExprRewriteRule<And> for IntersectTests {
    fn name(&self) -> &'static str {
        "intersect_tests"
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        // Elsewhere what NULL among the values says of other values can't be told by ranges and sets.
        let wanted =
            |test: &Test<'_>| ctx.is_filter() || !matches!(test, Test::In { set, .. } if set.has_null());
        let mut changed = Vec::new();
        for group in by_operand(node.children(), wanted) {
            if group.len() < 2 {
                continue;
            }
            let decided = ctx.is_filter() || !group[0].operand.field().is_nullable();
            match Intersection::of(&group)?.terms()? {
                Outcome::Never if decided => changed.push((group, vec![constant(false)])),
                Outcome::Terms(terms) => changed.push((group, terms)),
                Outcome::Never | Outcome::Unchanged => {}
            }
        }
        if changed.is_empty() {
            return Ok(Rewrite::Unchanged);
        }
        Ok(Rewrite::Rewritten(And::of(replaced(node.children(), changed))?))
    }
}

enum Outcome {
    /// No value passes all tests.
    Never,
    Terms(Vec<BoundExpression>),
    Unchanged,
}

/// What the tests of one operand say together.
struct Intersection<'a> {
    operand: &'a BoundExpression,
    tests: usize,
    low: Option<End>,
    high: Option<End>,
    among: Vec<(Arc<ValueSet>, &'a BoundExpression)>,
    not_among: Vec<(Arc<ValueSet>, &'a BoundExpression)>,
    /// A value would have to differ from NULL.
    never: bool,
}

impl<'a> Intersection<'a> {
    fn of(group: &[OperandTest<'a>]) -> Result<Self> {
        let (mut low, mut high): (Option<End>, Option<End>) = (None, None);
        let (mut among, mut not_among, mut never) = (Vec::new(), Vec::new(), false);
        for OperandTest { term, test, .. } in group {
            match test {
                Test::Compare(op @ (CompareOp::Eq | CompareOp::NotEq), value) => {
                    let set = Arc::new(ValueSet::try_new(&fold_zeros(&value.to_array()?))?);
                    let sets = if *op == CompareOp::Eq { &mut among } else { &mut not_among };
                    sets.push((set, *term));
                }
                Test::Compare(op, value) => {
                    let upper = matches!(op, CompareOp::Lt | CompareOp::LtEq);
                    let (end, new) = (if upper { &mut high } else { &mut low }, End::new(*op, value, term));
                    *end = Some(match end.take() {
                        Some(old) => old.tighter(new)?,
                        None => new,
                    });
                }
                Test::In { set, negated: false } => among.push((Arc::clone(set), *term)),
                Test::In { set, negated: true } => {
                    never |= set.has_null();
                    not_among.push((Arc::clone(set), *term));
                }
            }
        }
        let (operand, tests) = (group[0].operand, group.len());
        Ok(Self { operand, tests, low, high, among, not_among, never })
    }

    fn terms(mut self) -> Result<Outcome, RuleError> {
        if self.never {
            return Ok(Outcome::Never);
        }
        if !self.among.is_empty() {
            return self.members();
        }
        let excluded = self.excluded()?;
        let mut terms = match (&self.low, &self.high) {
            (Some(low), Some(high)) => match low.range_to(high)? {
                Range::Empty => return Ok(Outcome::Never),
                Range::One => vec![low.compare(CompareOp::Eq)?],
                Range::Many => vec![low.term.clone(), high.term.clone()],
            },
            (low, high) => low.iter().chain(high).map(|end| end.term.clone()).collect(),
        };
        let kept = terms.len() + self.not_among.len();
        terms.extend(excluded);
        if kept == self.tests && terms.len() == self.tests {
            return Ok(Outcome::Unchanged);
        }
        Ok(Outcome::Terms(terms))
    }

    /// The one set of values that pass, when there is a set to start from.
    fn members(&self) -> Result<Outcome, RuleError> {
        let Some((smallest, term)) = self.among.iter().min_by_key(|(set, _)| set.len()) else {
            return Ok(Outcome::Unchanged);
        };
        let values = smallest.values();
        let mut passes = BooleanArray::from(vec![true; values.len()]);
        for (set, _) in self.among.iter().filter(|(set, _)| !Arc::ptr_eq(set, smallest)) {
            passes = and(&passes, &set.contains(values)?)?;
        }
        for (set, _) in &self.not_among {
            passes = and(&passes, &not(&set.contains(values)?)?)?;
        }
        for end in self.low.iter().chain(&self.high) {
            passes = and(&passes, &end.holds(values)?)?;
        }
        if passes.true_count() == 0 {
            return Ok(Outcome::Never);
        }
        if passes.true_count() == values.len() && !smallest.has_null() {
            return Ok(Outcome::Terms(vec![BoundExpression::clone(term)]));
        }
        let set = Arc::new(ValueSet::try_new(&filter(values, &passes)?)?);
        Ok(Outcome::Terms(vec![InSet::of(self.operand.clone(), set, false)?]))
    }

    /// What is left of the values to differ from, when the bounds are told of them.
    fn excluded(&mut self) -> Result<Option<BoundExpression>, RuleError> {
        let values: Vec<&dyn Array> =
            self.not_among.iter().map(|(set, _)| set.values() as &dyn Array).collect();
        if values.is_empty() {
            return Ok(None);
        }
        let all: ArrayRef = concat(&values)?;
        let mut inside = BooleanArray::from(vec![true; all.len()]);
        for end in [&mut self.low, &mut self.high] {
            let Some(current) = end.as_ref() else { continue };
            inside = and(&inside, &current.holds(&all)?)?;
            let at_end = current.equals(&all)?;
            if current.holds(&all)?.true_count() > 0 && and(&at_end, &inside)?.true_count() > 0 {
                inside = and(&inside, &not(&at_end)?)?;
                *end = Some(current.with_inclusive(false)?);
            }
        }
        let left = filter(&all, &inside)?;
        if left.is_empty() {
            self.not_among.clear();
            return Ok(None);
        }
        if let ([(_, term)], true) = (&self.not_among[..], left.len() == all.len()) {
            return Ok(Some(BoundExpression::clone(term)));
        }
        self.not_among.clear();
        let set = Arc::new(ValueSet::try_new(&left)?);
        Ok(Some(InSet::of(self.operand.clone(), set, true)?))
    }
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
    #[case::join_filter(and([is("in", GtEq, 1), is("in", LtEq, 9), in_set(x(), [1, 5, 9])]), Value,
        "intersect_tests: $.in IN (1, 5, 9)")]
    #[case::bounds_cut_a_set(and([is("in", Gt, 1), in_set(x(), [1, 5, 9])]), Value,
        "intersect_tests: $.in IN (5, 9)")]
    #[case::set_with_null_in_a_filter(and([is("in", GtEq, 1), in_set(x(), with_null(&[1, 5]))]), Filter,
        "small_sets, intersect_tests: $.in IN (1, 5)")]
    #[case::set_with_null_as_a_value(and([is("in", GtEq, 1), in_set(x(), with_null(&[1, 5]))]), Value, "unchanged")]
    #[case::two_sets(and([in_set(x(), [1, 2, 3]), in_set(x(), [2, 3, 4, 5])]), Value,
        "intersect_tests: $.in IN (2, 3)")]
    #[case::one_common(and([in_set(x(), [1, 2]), in_set(x(), [2, 3])]), Value,
        "intersect_tests, small_sets: $.in = 2")]
    #[case::nothing_common_in_a_filter(and([in_set(x(), [1, 2]), in_set(x(), [3, 4])]), Filter,
        "intersect_tests: false")]
    #[case::nothing_common_as_a_value(and([in_set(x(), [1, 2]), in_set(x(), [3, 4])]), Value, "unchanged")]
    #[case::nothing_common_never_null(and([is("i", Eq, 1), is("i", Eq, 2)]), Value, "intersect_tests: false")]
    #[case::in_and_not_in(and([in_set(x(), [1, 2, 3]), is("in", NotEq, 2)]), Value,
        "intersect_tests: $.in IN (1, 3)")]
    #[case::subsumed(and([is("in", Gt, 3), column("bn"), is("in", GtEq, 3), is("in", GtEq, 1)]), Value,
        "intersect_tests: ($.in > 3 AND $.bn)")]
    #[case::between(and([is("in", GtEq, 3), is("in", Lt, 9), is("in", LtEq, 9)]), Value,
        "intersect_tests: ($.in >= 3 AND $.in < 9)")]
    #[case::one_value(and([is("in", GtEq, 3), is("in", LtEq, 3)]), Value, "intersect_tests: $.in = 3")]
    #[case::empty_range(and([is("in", Gt, 3), is("in", LtEq, 3)]), Filter, "intersect_tests: false")]
    #[case::contradiction(and([is("in", Gt, 5), is("in", Lt, 3), fallible(1)]), Filter,
        "intersect_tests, boolean_constants: false")]
    #[case::contradiction_as_a_value(and([is("in", Gt, 5), is("in", Lt, 3)]), Value, "unchanged")]
    #[case::zeros_are_equal(and([is("fn", GtEq, -0.0), is("fn", LtEq, 0.0)]), Value, "intersect_tests: $.fn = -0")]
    #[case::nan_is_above_all(and([is("fn", Gt, f64::INFINITY), is("fn", LtEq, f64::NAN), is("fn", Gt, 0.0)]), Value,
        "intersect_tests: ($.fn > inf AND $.fn <= NaN)")]
    #[case::differ(and([is("in", NotEq, 1), is("in", NotEq, 2)]), Value, "intersect_tests: $.in NOT IN (1, 2)")]
    #[case::differ_from_null(and([not_in_set(x(), with_null(&[1])), is("in", NotEq, 2)]), Filter,
        "small_sets, boolean_constants: false")]
    #[case::differ_outside(and([is("in", Lt, 5), not_in_set(x(), [3, 7, 8])]), Value,
        "intersect_tests, small_sets: ($.in < 5 AND $.in <> 3)")]
    #[case::differ_from_the_end(and([is("in", LtEq, 5), is("in", NotEq, 5)]), Value, "intersect_tests: $.in < 5")]
    #[case::dictionary(and([is("dn", GtEq, "b"), in_set(column("dn"), ["a", "c", "d"])]), Value,
        "intersect_tests: $.dn IN ('c', 'd')")]
    #[case::stays_ahead_of_what_it_guards(and([is("in", Lt, 5), fallible(1), is("in", Lt, 3)]), Filter,
        "intersect_tests: ($.in < 3 AND CAST($.sn AS Int32) = 1)")]
    #[case::operand_that_fails(and([compare(cast_to_int("sn"), Gt, lit(1)), compare(cast_to_int("sn"), Gt, lit(2))]),
        Filter, "unchanged")]
    #[case::two_operands(and([is("in", Gt, 5), is("i", Lt, 3)]), Filter, "unchanged")]
    #[case::a_range(and([is("in", Gt, 5), is("in", Lt, 9), is("in", NotEq, 7)]), Filter, "unchanged")]
    #[case::slots(and([compare(x(), Gt, param(0)), is("in", Gt, 5)]), Filter, "unchanged")]
    #[case::nested(and([compare(column("pn"), Gt, lit(point(Some(1), 2))), compare(column("pn"), Gt, lit(point(Some(3), 2)))]),
        Filter, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
