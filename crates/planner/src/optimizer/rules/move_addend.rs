// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *x + 1 = 5 → x = 4; x - 1 IN (2, 3) → x IN (3, 4); 7 - x < 5 → x > 2*: an addend goes to the constants.
//!
//! Requires integers. They wrap, so adding maps them one to one: `=`, IN and their like always hold for the
//! same values. An order is kept only where nothing wraps, so there x must be known to stay within bounds,
//! those of a narrower type it was cast from. Nothing temporal moves: months differ in length, and so do
//! the days of a time zone. Type, NULL and errors: as of the sum, which can't fail.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::kernels::numeric::{add_wrapping, sub_wrapping};
use datafusion_common::ScalarValue;

use super::integers::{number, range_of};
use super::unwrap_cast::is_exact;
use super::{Rewrite, RewriteContext, RuleError, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{
    Arithmetic, ArithmeticOp, Cast, Compare, CompareOp, InSet, InSetOptions, ValueSet,
};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct MoveAddend;

impl TypedExprRewriteRule<Compare> for MoveAddend {
    fn name(&self) -> &'static str {
        "move_addend"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        let (Some(sum), Some(value)) = (Sum::of(left), right.as_literal()) else {
            return Ok(Rewrite::Unchanged);
        };
        let ordered = matches!(op, CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq);
        if value.is_null() || ordered && !sum.keeps_order_around(value) {
            return Ok(Rewrite::Unchanged);
        }
        let value = ScalarValue::try_from_array(&sum.operand_for(&value.to_array()?)?, 0)?;
        let op = if sum.is_reversed() { op.swap() } else { *op };
        Ok(Rewrite::Rewritten(Compare::of(op, sum.operand.clone(), BoundExpression::literal(value))?))
    }
}

impl TypedExprRewriteRule<InSet> for MoveAddend {
    fn name(&self) -> &'static str {
        "move_addend"
    }

    fn rewrite(&self, options: &InSetOptions, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let InSetOptions { set, negated } = options;
        // NULL among the values is left where it is: in a filter other rules take it out.
        let Some(sum) = Sum::of(&node.children()[0]).filter(|_| !set.has_null() && !set.is_empty()) else {
            return Ok(Rewrite::Unchanged);
        };
        let set = Arc::new(ValueSet::try_new(&sum.operand_for(set.values())?)?);
        Ok(Rewrite::Rewritten(InSet::of(sum.operand.clone(), set, *negated)?))
    }
}

/// An integer and a constant, added or subtracted.
struct Sum<'a> {
    operand: &'a BoundExpression,
    constant: &'a ScalarValue,
    op: ArithmeticOp,
    /// Whether the constant comes first.
    constant_first: bool,
}

impl<'a> Sum<'a> {
    fn of(expression: &'a BoundExpression) -> Option<Self> {
        let op = *expression.as_opt::<Arithmetic>().filter(|op| **op != ArithmeticOp::Mul)?;
        let [left, right] = expression.children() else { return None };
        let (operand, constant, constant_first) = match (left.as_literal(), right.as_literal()) {
            (None, Some(constant)) => (left, constant, false),
            (Some(constant), None) => (right, constant, true),
            _ => return None,
        };
        let usable = expression.field().data_type().is_integer() && !constant.is_null();
        usable.then_some(Self { operand, constant, op, constant_first })
    }

    /// Whether the sum falls where the operand rises.
    fn is_reversed(&self) -> bool {
        self.op == ArithmeticOp::Sub && self.constant_first
    }

    /// The operand for which the sum takes each of these values.
    fn operand_for(&self, sums: &ArrayRef) -> Result<ArrayRef, RuleError> {
        let constant = self.constant.to_scalar()?;
        Ok(match self.op {
            ArithmeticOp::Add => sub_wrapping(sums, &constant)?,
            _ if self.constant_first => sub_wrapping(&constant, sums)?,
            _ => add_wrapping(sums, &constant)?,
        })
    }

    /// Whether neither the sum nor the operand for which it takes this value leaves the type.
    fn keeps_order_around(&self, value: &ScalarValue) -> bool {
        let bounds = || {
            let (constant, value) = (number(self.constant)?, number(value)?);
            let (low, high) = bounds(self.operand, DEPTH)?;
            Some(match (self.op, self.constant_first) {
                (ArithmeticOp::Add, _) => [low + constant, high + constant, value - constant],
                (_, false) => [low - constant, high - constant, value + constant],
                (_, true) => [constant - low, constant - high, constant - value],
            })
        };
        let whole = range_of(self.operand.field().data_type());
        bounds().zip(whole).is_some_and(|(all, (low, high))| all.iter().all(|v| low <= *v && *v <= high))
    }
}

/// How far bounds are looked for.
const DEPTH: usize = 8;

/// Bounds of an integer's value.
fn bounds(expression: &BoundExpression, depth: usize) -> Option<(i128, i128)> {
    let data_type = expression.field().data_type();
    let whole = range_of(data_type)?;
    let Some(depth) = depth.checked_sub(1) else { return Some(whole) };
    if let Some(value) = expression.as_literal().and_then(number) {
        return Some((value, value));
    }
    if expression.as_opt::<Cast>().is_some()
        && is_exact(expression.children()[0].field().data_type(), data_type)
    {
        return bounds(&expression.children()[0], depth).or(Some(whole));
    }
    let Some(op) = expression.as_opt::<Arithmetic>() else { return Some(whole) };
    let ((a, b), (c, d)) =
        (bounds(&expression.children()[0], depth)?, bounds(&expression.children()[1], depth)?);
    let (low, high) = match op {
        ArithmeticOp::Add => (a + c, b + d),
        ArithmeticOp::Sub => (a - d, b - c),
        ArithmeticOp::Mul => {
            let products = [(a, c), (a, d), (b, c), (b, d)].map(|(a, b)| a.saturating_mul(b));
            (products.into_iter().min()?, products.into_iter().max()?)
        }
    };
    Some(if whole.0 <= low && high <= whole.1 { (low, high) } else { whole })
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType::Int64;
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::ArithmeticOp::{Add, Mul, Sub};
    use crate::expr::functions::CompareOp::{Eq, Gt, IsDistinctFrom, Lt, LtEq, NotEq};
    use crate::optimizer::Position::{self, Value};
    use crate::optimizer::tests::support::*;

    fn plus(x: BoundExpression, addend: impl Into<ScalarValue>) -> BoundExpression {
        arithmetic(x, Add, lit(addend))
    }

    fn wide() -> BoundExpression {
        cast(column("in"), Int64)
    }

    #[rstest]
    #[case::equal(compare(plus(column("in"), 1), Eq, lit(5)), Value, "move_addend: $.in = 4")]
    #[case::constant_first(
        compare(arithmetic(lit(1), Add, column("in")), NotEq, lit(5)),
        Value,
        "move_addend: $.in <> 4"
    )]
    #[case::difference(
        compare(arithmetic(column("in"), Sub, lit(1)), IsDistinctFrom, lit(5)),
        Value,
        "move_addend: $.in IS DISTINCT FROM 6"
    )]
    #[case::from_a_constant(
        compare(arithmetic(lit(1), Sub, column("in")), Eq, lit(5)),
        Value,
        "move_addend: $.in = -4"
    )]
    #[case::equal_wraps(compare(plus(column("in"), i32::MAX), Eq, lit(-2)), Value, "move_addend: $.in = 2147483647")]
    #[case::set(in_set(plus(column("in"), 1), [5, i32::MIN]), Value, "move_addend: $.in IN (4, 2147483647)")]
    #[case::twice(
        compare(plus(plus(column("ln"), 1i64), 2i64), Eq, lit(5i64)),
        Value,
        "move_addend: $.ln = 2"
    )]
    #[case::order_within_bounds(
        compare(plus(wide(), 1i64), Lt, lit(5i64)),
        Value,
        "move_addend, unwrap_cast: $.in < 4"
    )]
    #[case::order_reversed(
        compare(arithmetic(lit(7i64), Sub, wide()), LtEq, lit(5i64)),
        Value,
        "move_addend, unwrap_cast: $.in >= 2"
    )]
    #[case::order_of_a_sum_within_bounds(
        compare(plus(plus(wide(), 1i64), 1i64), Gt, lit(5i64)),
        Value,
        "move_addend, unwrap_cast: $.in > 3"
    )]
    #[case::order_may_wrap(compare(plus(column("in"), 1), Lt, lit(5)), Value, "unchanged")]
    #[case::order_may_wrap_far_out(compare(plus(wide(), i64::MAX), Lt, lit(5i64)), Value, "unchanged")]
    #[case::constant_would_wrap(compare(plus(wide(), 1i64), Gt, lit(i64::MIN)), Value, "unchanged")]
    #[case::unsigned(compare(plus(column("un"), 1u8), Lt, lit(5u8)), Value, "unchanged")]
    #[case::product(compare(arithmetic(column("in"), Mul, lit(2)), Eq, lit(4)), Value, "unchanged")]
    #[case::float(compare(plus(column("fn"), 1.0), Eq, lit(5.0)), Value, "unchanged")]
    #[case::decimal(
        compare(plus(column("decn"), decimal(100)), Eq, lit(ScalarValue::Decimal128(Some(7), 11, 2))),
        Value,
        "unchanged"
    )]
    #[case::months(
        compare(
            plus(column("dayn"), ScalarValue::new_interval_ym(0, 1)),
            Eq,
            lit(ScalarValue::Date32(Some(0)))
        ),
        Value,
        "unchanged"
    )]
    #[case::slot(compare(plus(column("in"), 1), Eq, param(0)), Value, "unchanged")]
    #[case::two_columns(compare(arithmetic(column("in"), Add, column("i")), Eq, lit(4)), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
