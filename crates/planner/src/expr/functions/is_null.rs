// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether a value is NULL, or (negated) is not.

use std::fmt;
use std::sync::Arc;

use arrow::compute::{is_not_null, is_null};
use arrow::datatypes::FieldRef;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{arity, boolean_field};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// Whether a value is NULL, or (negated) is not.
#[derive(Debug)]
pub struct IsNull;

impl IsNull {
    /// `arg IS NULL`, or `arg IS NOT NULL` when negated.
    ///
    /// # Errors
    /// Never so far: every type has NULLs.
    pub fn of(arg: BoundExpression, negated: bool) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(negated, vec![arg])
    }
}

impl ScalarFnVTable for IsNull {
    type Options = bool;

    const ID: FnId = FnId::new("trommel.is_null");

    fn return_field(_negated: &bool, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        Ok(boolean_field(false))
    }

    fn facts(_negated: &bool, _args: &[FieldRef]) -> Facts {
        Facts::infallible(Nulls::Other)
    }

    fn evaluate(negated: &bool, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        Ok(match args.value(0)? {
            ColumnarValue::Array(array) => {
                ColumnarValue::Array(Arc::new(if *negated { is_not_null(&array)? } else { is_null(&array)? }))
            }
            ColumnarValue::Scalar(value) => {
                ColumnarValue::Scalar(ScalarValue::from(value.is_null() != *negated))
            }
        })
    }

    fn fmt<'a>(negated: &bool, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.operand(&args[0])?;
        out.write_str(if *negated { " IS NOT NULL" } else { " IS NULL" })
    }
}
