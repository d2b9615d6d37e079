// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x IN () → FALSE; x IN (v) → x = v; x IN (NULL) → NULL*; in a filter, *x IN (…, NULL) → x IN (…)* and
//! *x NOT IN (…, NULL) → FALSE*. NOT IN otherwise the same, negated.
//!
//! Requires for `x = v` that the operand isn't nested nor a dictionary of floats: those are compared in
//! total order, sets in SQL order. Sets are sorted and without duplicates from the start.

use std::sync::Arc;

use datafusion_common::ScalarValue;

use super::connective::constant;
use super::operand_test::compares_as_sets_do;
use super::{Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Compare, CompareOp, InSet, InSetOptions, ValueSet};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct SmallSets;

impl TypedExprRewriteRule<InSet> for SmallSets {
    fn name(&self) -> &'static str {
        "small_sets"
    }

    fn rewrite(
        &self,
        options: &InSetOptions,
        node: &BoundExpression,
        ctx: &RewriteContext<'_>,
    ) -> RuleResult {
        let InSetOptions { set, negated } = options;
        let argument = &node.children()[0];
        Ok(match (set.len(), set.has_null()) {
            (0, false) => Rewrite::Rewritten(constant(*negated)),
            (0, true) => Rewrite::Rewritten(constant(None)),
            (_, true) if ctx.is_filter() && *negated => Rewrite::Rewritten(constant(false)),
            (_, true) if ctx.is_filter() => {
                let set = Arc::new(ValueSet::try_new(set.values())?);
                Rewrite::Rewritten(InSet::of(argument.clone(), set, false)?)
            }
            (1, false) if compares_as_sets_do(argument.field().data_type()) => {
                let op = if *negated { CompareOp::NotEq } else { CompareOp::Eq };
                let value = BoundExpression::literal(ScalarValue::try_from_array(set.values(), 0)?);
                Rewrite::Rewritten(Compare::of(op, argument.clone(), value)?)
            }
            _ => Rewrite::Unchanged,
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::InSet;
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    const NULL: ScalarValue = ScalarValue::Int32(None);

    fn among(values: &[i32], null: bool, negated: bool) -> BoundExpression {
        let values = values.iter().map(|v| ScalarValue::from(*v)).chain(null.then_some(NULL));
        InSet::of(column("in"), set(values), negated).unwrap()
    }

    #[rstest]
    #[case::one(among(&[5, 5], false, false), Value, "small_sets: $.in = 5")]
    #[case::not_one(among(&[5], false, true), Value, "small_sets: $.in <> 5")]
    #[case::float(in_set(column("fn"), [0.0, -0.0]), Value, "small_sets: $.fn = 0")]
    #[case::dictionary(in_set(column("dn"), ["a"]), Value, "small_sets: $.dn = 'a'")]
    #[case::only_null(among(&[], true, false), Value, "small_sets: NULL")]
    #[case::null_in_a_filter(among(&[1, 2], true, false), Filter, "small_sets: $.in IN (1, 2)")]
    #[case::not_null_in_a_filter(among(&[1, 2], true, true), Filter, "small_sets: false")]
    #[case::empty(InSet::of(column("in"), empty_set(), false).unwrap(), Value, "small_sets: false")]
    #[case::not_empty(InSet::of(column("in"), empty_set(), true).unwrap(), Value, "small_sets: true")]
    #[case::null_as_a_value(among(&[1, 2], true, false), Value, "unchanged")]
    #[case::one_and_null(among(&[1], true, false), Value, "unchanged")]
    #[case::struct_of_one(in_set(column("pn"), [point(Some(1), 2)]), Value, "unchanged")]
    #[case::two(among(&[1, 2], false, false), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
