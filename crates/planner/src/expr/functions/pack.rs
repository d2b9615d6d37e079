// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A struct of its arguments, never NULL itself.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{arity, type_error};
use crate::expr::{Args, BindError, BoundExpression, Cost, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// A struct of its arguments, never NULL itself.
#[derive(Debug)]
pub struct Pack;

impl Pack {
    /// The struct with these fields.
    ///
    /// # Errors
    /// When the values don't fit the fields.
    pub fn of(fields: Fields, values: Vec<BoundExpression>) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(fields, values)
    }
}

impl ScalarFnVTable for Pack {
    type Options = Fields;

    const ID: FnId = FnId::new("trommel.pack");

    fn return_field(fields: &Fields, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, fields.len())?;
        for (argument, (field, arg)) in fields.iter().zip(args).enumerate() {
            if field.data_type() != arg.data_type() {
                return Err(type_error(Self::ID, args, argument, field.data_type().to_string()));
            }
            if arg.is_nullable() && !field.is_nullable() {
                let expected = format!("a value for the non-nullable field {}", field.name());
                return Err(type_error(Self::ID, args, argument, expected));
            }
        }
        Ok(Arc::new(Field::new(Self::ID.as_str(), DataType::Struct(fields.clone()), false)))
    }

    fn facts(_fields: &Fields, _args: &[FieldRef]) -> Facts {
        Facts { cost: Cost::Negative, ..Facts::infallible(Nulls::Other) }
    }

    fn evaluate(fields: &Fields, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        let columns = (0..args.len())
            .map(|argument| args.value(argument)?.into_array_of_size(rows))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let packed = StructArray::try_new_with_length(fields.clone(), columns, None, rows)?;
        Ok(ColumnarValue::Array(Arc::new(packed)))
    }

    fn fmt<'a>(fields: &Fields, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("{")?;
        for (i, (field, arg)) in fields.iter().zip(args).enumerate() {
            write!(out, "{}{}: ", if i == 0 { "" } else { ", " }, field.name())?;
            out.argument(arg)?;
        }
        out.write_str("}")
    }
}
