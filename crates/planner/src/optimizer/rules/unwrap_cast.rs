// Licensed under the Apache License, Version 2.0. See LICENSE.

//! *CAST(x AS T) < v → x < v', CAST(x AS T) IN (v, …) → x IN (v', …)*, with the constants in x's own type.
//!
//! Requires that the cast is exact: it never fails, maps different values to different ones and keeps their
//! order; and that the constant is the image of a value. Members of a set that aren't images of one match
//! nothing and are dropped, as long as some are left. An integer beyond the range of x decides: *CAST(x AS
//! Int64) < 10¹² → TRUE* where x is never NULL, else in a filter *x IS NOT NULL*; NaN declines.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::kernels::cmp;
use arrow::compute::{CastOptions as ArrowCastOptions, cast_with_options, concat, filter};
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

use super::connective::constant;
use super::integers::{number, value_of};
use super::operand_test::plain;
use super::{Rewrite, RewriteContext, RuleError, RuleResult, TypedExprRewriteRule};
use crate::expr::BoundExpression;
use crate::expr::functions::{Cast, Compare, CompareOp, InSet, InSetOptions, IsNull, ValueSet};
use crate::floats::{is_float, load_lower};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct UnwrapCast;

impl TypedExprRewriteRule<Compare> for UnwrapCast {
    fn name(&self) -> &'static str {
        "unwrap_cast"
    }

    fn rewrite(&self, op: &CompareOp, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let [left, right] = node.children() else { return Ok(Rewrite::Unchanged) };
        let (Some(inner), Some(value)) = (unwrapped(left), right.as_literal()) else {
            return Ok(Rewrite::Unchanged);
        };
        if value.is_null() || &value.data_type() != left.field().data_type() {
            return Ok(Rewrite::Unchanged);
        }
        if let Some(original) = preimage(value, inner)? {
            let value = BoundExpression::literal(original);
            return Ok(Rewrite::Rewritten(Compare::of(*op, inner.clone(), value)?));
        }
        let Some(holds) = beyond(inner, value, *op) else { return Ok(Rewrite::Unchanged) };
        Ok(match (node.field().is_nullable(), ctx.is_filter(), holds) {
            (false, _, _) | (_, true, false) => Rewrite::Rewritten(constant(holds)),
            (true, true, true) => Rewrite::Rewritten(IsNull::of(inner.clone(), true)?),
            (true, false, _) => Rewrite::Unchanged,
        })
    }
}

impl TypedExprRewriteRule<InSet> for UnwrapCast {
    fn name(&self) -> &'static str {
        "unwrap_cast"
    }

    fn rewrite(&self, options: &InSetOptions, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        let Some(inner) = unwrapped(&node.children()[0]) else { return Ok(Rewrite::Unchanged) };
        let Some(originals) = preimages(options.set.values(), inner)?.filter(|o| !o.is_empty()) else {
            return Ok(Rewrite::Unchanged);
        };
        let null = new_null_array(originals.data_type(), usize::from(options.set.has_null()));
        let set = Arc::new(ValueSet::try_new(&concat(&[&originals, &null])?)?);
        Ok(Rewrite::Rewritten(InSet::of(inner.clone(), set, options.negated)?))
    }
}

/// What an exact cast is of.
fn unwrapped(expression: &BoundExpression) -> Option<&BoundExpression> {
    let to = &expression.as_opt::<Cast>()?.to;
    let inner = expression.children().first()?;
    is_exact(inner.field().data_type(), to).then_some(inner)
}

/// The value of the operand's type that a value is the image of.
fn preimage(value: &ScalarValue, operand: &BoundExpression) -> Result<Option<ScalarValue>, RuleError> {
    let from = plain(operand.field().data_type());
    // By far the most frequent, and in no need of kernels.
    if let Some(number) = number(value).filter(|_| from.is_integer()) {
        return Ok(value_of(from, number));
    }
    let originals = preimages(&value.to_array()?, operand)?.filter(|originals| originals.len() == 1);
    Ok(originals.map(|original| ScalarValue::try_from_array(&original, 0)).transpose()?)
}

/// Those values of the operand's type that the values are images of; `None` when NaNs make it hard to say.
fn preimages(values: &ArrayRef, operand: &BoundExpression) -> Result<Option<ArrayRef>, RuleError> {
    let from = plain(operand.field().data_type());
    if is_float(values.data_type()) && load_lower(values).null_count() > 0 {
        return Ok(None);
    }
    let lenient = ArrowCastOptions { safe: true, ..ArrowCastOptions::default() };
    let originals = cast_with_options(values, from, &lenient)?;
    let images = cast_with_options(&originals, values.data_type(), &lenient)?;
    Ok(Some(filter(&originals, &cmp::eq(&images, values)?)?))
}

/// What the comparison with an integer beyond the operand's range says of every value.
fn beyond(operand: &BoundExpression, value: &ScalarValue, op: CompareOp) -> Option<bool> {
    let integers = operand.field().data_type().is_integer() && value.data_type().is_integer();
    let above = integers.then(|| ScalarValue::new_zero(&value.data_type()).ok())?? < *value;
    match op {
        CompareOp::Eq => Some(false),
        CompareOp::NotEq => Some(true),
        CompareOp::Lt | CompareOp::LtEq => Some(above),
        CompareOp::Gt | CompareOp::GtEq => Some(!above),
        CompareOp::IsDistinctFrom | CompareOp::IsNotDistinctFrom => None,
    }
}

/// Whether a cast never fails, maps different values to different ones, and keeps their order.
pub(super) fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let integer_width = |t: &DataType| t.primitive_width().filter(|_| t.is_integer());
    match (from, to) {
        (Dictionary(_, values), to) => {
            !is_float(values) && (values.as_ref() == to && !to.is_nested() || is_exact(values, to))
        }
        (Utf8, LargeUtf8 | Utf8View) | (Binary, LargeBinary | BinaryView) | (Date32, Date64) => true,
        (Float16, Float32 | Float64) | (Float32, Float64) => true,
        (Int8 | UInt8 | Int16 | UInt16, Float32 | Float64) | (Int32 | UInt32, Float64) => true,
        _ => match (integer_width(from), integer_width(to)) {
            (Some(narrow), Some(wide)) => {
                narrow < wide && (to.is_signed_integer() || from.is_unsigned_integer())
            }
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType::{Float64, Int16, Int64, Utf8, Utf8View};
    use datafusion_common::ScalarValue;
    use rstest::rstest;

    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Eq, Gt, GtEq, IsDistinctFrom, Lt, NotEq};
    use crate::optimizer::Position::{self, Filter, Value};
    use crate::optimizer::tests::support::*;

    fn wide() -> BoundExpression {
        cast(column("in"), Int64)
    }

    fn view(text: &str) -> BoundExpression {
        lit(ScalarValue::Utf8View(Some(text.to_owned())))
    }

    #[rstest]
    #[case::integer(compare(wide(), Lt, lit(5i64)), Value, "unwrap_cast: $.in < 5")]
    #[case::least(compare(wide(), GtEq, lit(i64::from(i32::MIN))), Value, "unwrap_cast: $.in >= -2147483648")]
    #[case::distinct(
        compare(wide(), IsDistinctFrom, lit(5i64)),
        Value,
        "unwrap_cast: $.in IS DISTINCT FROM 5"
    )]
    #[case::integer_as_float(
        compare(cast(column("in"), Float64), Gt, lit(5.0)),
        Value,
        "unwrap_cast: $.in > 5"
    )]
    #[case::string(compare(cast(column("sn"), Utf8View), Eq, view("a")), Value, "unwrap_cast: $.sn = 'a'")]
    #[case::dictionary(compare(cast(column("dn"), Utf8), Eq, lit("a")), Value, "unwrap_cast: $.dn = 'a'")]
    #[case::set(in_set(wide(), [1i64, 2, 1 << 40]), Value, "unwrap_cast: $.in IN (1, 2)")]
    #[case::not_in_set(not_in_set(wide(), [1i64, 2]), Value, "unwrap_cast: $.in NOT IN (1, 2)")]
    #[case::beyond_in_a_filter(compare(wide(), Lt, lit(1i64 << 40)), Filter, "unwrap_cast: $.in IS NOT NULL")]
    #[case::beyond_and_false(compare(wide(), Gt, lit(1i64 << 40)), Filter, "unwrap_cast: false")]
    #[case::beyond_never_null(compare(cast(column("i"), Int64), NotEq, lit(-(1i64 << 40))), Value, "unwrap_cast: true")]
    #[case::beyond_as_a_value(compare(wide(), Lt, lit(1i64 << 40)), Value, "unchanged")]
    #[case::fraction(compare(cast(column("in"), Float64), Gt, lit(5.5)), Value, "unchanged")]
    #[case::nan(compare(cast(column("in"), Float64), Lt, lit(f64::NAN)), Value, "unchanged")]
    #[case::rounds(compare(cast(column("ln"), Float64), Eq, lit(5.0)), Value, "unchanged")]
    #[case::narrowing_can_fail(compare(cast(column("in"), Int16), Eq, lit(5i16)), Value, "unchanged")]
    #[case::text_has_another_order(compare(cast(column("in"), Utf8), Lt, lit("5")), Value, "unchanged")]
    #[case::set_of_none(in_set(wide(), [1i64 << 40, 1 << 41]), Value, "unchanged")]
    fn table(#[case] before: BoundExpression, #[case] position: Position, #[case] after: &str) {
        assert_eq!(optimized(&before, position), after);
    }
}
