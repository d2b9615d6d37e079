// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The number of elements of a list.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{arity, type_error};
use crate::expr::{Args, BindError, BoundExpression, Cost, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// How many elements a list or map has, NULLs included; NULL for a NULL list.
#[derive(Debug)]
pub struct ListLength;

impl ListLength {
    /// The length of `list`.
    ///
    /// # Errors
    /// When it is neither a list nor a map.
    pub fn of(list: BoundExpression) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>((), vec![list])
    }
}

impl ScalarFnVTable for ListLength {
    type Options = ();

    const ID: FnId = FnId::new("trommel.list_length");

    fn return_field(_options: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        match args[0].data_type() {
            DataType::List(_) | DataType::LargeList(_) | DataType::Map(_, _) => {
                Ok(Arc::new(Field::new(Self::ID.as_str(), DataType::UInt64, args[0].is_nullable())))
            }
            _ => Err(type_error(Self::ID, args, 0, "a list or a map")),
        }
    }

    fn facts(_options: &(), _args: &[FieldRef]) -> Facts {
        let nulls = Nulls::Strict { null_only_from_null: true };
        Facts { cost: Cost::Negative, ..Facts::infallible(nulls) }
    }

    fn evaluate(_options: &(), args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        Ok(match args.value(0)? {
            ColumnarValue::Array(lists) => ColumnarValue::Array(Arc::new(lengths(&lists)?)),
            ColumnarValue::Scalar(list) => {
                let length = lengths(&list.to_array()?)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&length, 0)?)
            }
        })
    }

    fn fmt<'a>(_options: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("list_length(")?;
        out.argument(&args[0])?;
        out.write_str(")")
    }
}

fn lengths(lists: &ArrayRef) -> Result<UInt64Array> {
    fn of<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> Vec<u64> {
        offsets.lengths().map(|length| length as u64).collect()
    }
    let lengths = match lists.data_type() {
        DataType::List(_) => of(lists.as_list::<i32>().offsets()),
        DataType::LargeList(_) => of(lists.as_list::<i64>().offsets()),
        DataType::Map(_, _) => of(lists.as_map().offsets()),
        other => return internal_err!("the length of {other}"),
    };
    Ok(UInt64Array::new(lengths.into(), lists.nulls().cloned()))
}
