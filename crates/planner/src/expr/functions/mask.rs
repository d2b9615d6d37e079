// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A value where a condition holds, and NULL elsewhere.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::nullif;
use arrow::datatypes::FieldRef;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::get_item::has_validity;
use super::{arity, boolean_argument, type_error};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Guarded, Nulls, Printer, ScalarFnVTable};

/// A value where a condition is TRUE, and NULL where it is FALSE or NULL.
///
/// What can fail is evaluated only where the condition is TRUE: hidden values never raise errors.
#[derive(Debug)]
pub struct Mask;

impl Mask {
    /// `value` where `valid`.
    ///
    /// # Errors
    /// When `valid` isn't boolean.
    pub fn of(value: BoundExpression, valid: BoundExpression) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>((), vec![valid, value])
    }
}

/// Where the condition and the value are among the arguments: the guard comes before what it guards.
const VALID: usize = 0;
const VALUE: usize = 1;

impl ScalarFnVTable for Mask {
    type Options = ();

    const ID: FnId = FnId::new("trommel.mask");

    fn return_field(_options: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 2)?;
        boolean_argument(Self::ID, args, VALID)?;
        if !has_validity(args[VALUE].data_type()) {
            return Err(type_error(Self::ID, args, VALUE, "a type with validity"));
        }
        Ok(Arc::new(args[VALUE].as_ref().clone().with_nullable(true)))
    }

    fn facts(_options: &(), _args: &[FieldRef]) -> Facts {
        let nulls = Nulls::Strict { null_only_from_null: false };
        Facts { guarded: Guarded::from(VALUE as u32), ..Facts::infallible(nulls) }
    }

    fn evaluate(_options: &(), args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        let valid = match args.value(VALID)? {
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => return args.value(VALUE),
            ColumnarValue::Scalar(_) => {
                let null = ScalarValue::try_new_null(args.field(VALUE).data_type())?;
                return Ok(ColumnarValue::Scalar(null));
            }
            ColumnarValue::Array(valid) => valid,
        };
        let Some(valid) = valid.as_boolean_opt().map(is_true) else {
            return internal_err!("a mask of type {}", valid.data_type());
        };
        let value = match valid.count_set_bits() {
            0 => new_null_array(args.field(VALUE).data_type(), rows),
            all if all == rows => return args.value(VALUE),
            _ if args.can_fail(VALUE) => args.value_where(VALUE, &valid)?,
            _ => {
                let value = args.value(VALUE)?.into_array_of_size(rows)?;
                nullif(&value, &BooleanArray::new(!&valid, None))?
            }
        };
        Ok(ColumnarValue::Array(value))
    }

    fn fmt<'a>(_options: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("mask(")?;
        out.argument(&args[VALUE])?;
        out.write_str(", ")?;
        out.argument(&args[VALID])?;
        out.write_str(")")
    }
}

fn is_true(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        None => values.values().clone(),
    }
}
