// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Comparisons of arrays of bounds, one typed loop each: which zones' bounds lie so.
//!
//! The order is arrow's: floats by total order, strings and binaries by their bytes.

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, PrimitiveArray, Scalar,
    downcast_primitive_array,
};
use arrow::compute::kernels::cmp;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};

use super::known::unknown;
use super::words::{self, Words};

/// How a bound lies to what it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Below.
    Lt,
    /// Not above.
    LtEq,
    /// Above.
    Gt,
    /// Not below.
    GtEq,
}

/// The live zones whose bound lies so to a constant (an array of one), or isn't known.
///
/// # Errors
/// When the two are of different types, or of one without an order.
pub(super) fn against(
    bounds: Option<&ArrayRef>,
    side: Side,
    constant: &ArrayRef,
    live: &[u64],
) -> Result<Words> {
    let Some(bounds) = bounds else { return Ok(live.to_vec()) };
    if bounds.data_type() != constant.data_type() {
        return exec_err!("bounds are of {}, not {}", bounds.data_type(), constant.data_type());
    }
    let values: &dyn Array = bounds.as_ref();
    let mut found = downcast_primitive_array! {
        values => primitive(values, side, constant, live),
        DataType::Utf8 => bytes(values.as_string::<i32>(), side, constant.as_string::<i32>(), live),
        DataType::LargeUtf8 => bytes(values.as_string::<i64>(), side, constant.as_string::<i64>(), live),
        DataType::Utf8View => bytes(values.as_string_view(), side, constant.as_string_view(), live),
        DataType::Binary => bytes(values.as_binary::<i32>(), side, constant.as_binary::<i32>(), live),
        DataType::LargeBinary => bytes(values.as_binary::<i64>(), side, constant.as_binary::<i64>(), live),
        DataType::BinaryView => bytes(values.as_binary_view(), side, constant.as_binary_view(), live),
        _ => {
            let constant = Scalar::new(ArrayRef::clone(constant));
            let lies = match side {
                Side::Lt => cmp::lt(bounds, &constant)?,
                Side::LtEq => cmp::lt_eq(bounds, &constant)?,
                Side::Gt => cmp::gt(bounds, &constant)?,
                Side::GtEq => cmp::gt_eq(bounds, &constant)?,
            };
            words::and(live, &words::of(lies.values()))
        }
    };
    words::add(&mut found, &unknown(Some(bounds), live));
    Ok(found)
}

fn primitive<T: ArrowPrimitiveType>(
    bounds: &PrimitiveArray<T>,
    side: Side,
    constant: &ArrayRef,
    live: &[u64],
) -> Words {
    native(bounds.values(), side, constant.as_primitive::<T>().value(0), live)
}

fn native<N: ArrowNativeTypeOp>(bounds: &[N], side: Side, constant: N, live: &[u64]) -> Words {
    match side {
        Side::Lt => words::select(bounds, live, |bound| bound.is_lt(constant)),
        Side::LtEq => words::select(bounds, live, |bound| bound.is_le(constant)),
        Side::Gt => words::select(bounds, live, |bound| bound.is_gt(constant)),
        Side::GtEq => words::select(bounds, live, |bound| bound.is_ge(constant)),
    }
}

fn bytes<'a, A>(bounds: &'a A, side: Side, constant: &'a A, live: &[u64]) -> Words
where
    &'a A: ArrayAccessor<Item: AsRef<[u8]>>,
{
    let constant = constant.value(0);
    let constant = constant.as_ref();
    let select = |test: fn(&[u8], &[u8]) -> bool| {
        words::select_each(live, |zone| test(bounds.value(zone).as_ref(), constant))
    };
    match side {
        Side::Lt => select(|bound, constant| bound < constant),
        Side::LtEq => select(|bound, constant| bound <= constant),
        Side::Gt => select(|bound, constant| bound > constant),
        Side::GtEq => select(|bound, constant| bound >= constant),
    }
}
