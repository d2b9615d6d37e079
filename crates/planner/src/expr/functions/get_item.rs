// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A field of a struct: NULL where the struct is.
//!
//! The masking is deliberate: statistics of a leaf count NULLs of enclosing structs as its own, so only a
//! masked field may be judged by them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};
use datafusion_expr_common::columnar_value::ColumnarValue;
use smallvec::SmallVec;

use super::{arity, type_error};
use crate::expr::{Args, BindError, BoundExpression, Cost, Facts, FnId, Nulls, Printer, ScalarFnVTable};
use crate::index::{ColumnPath, TableCol};

/// A field of a struct: NULL where the struct is.
#[derive(Debug)]
pub struct GetItem;

impl GetItem {
    /// Field number `field` of `of`.
    ///
    /// # Errors
    /// When `of` isn't a struct or has no such field.
    pub fn of(of: BoundExpression, field: usize) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(field, vec![of])
    }

    /// The field of the root's fields that a path leads to.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(root: BoundExpression, path: &ColumnPath) -> Result<BoundExpression, BindError> {
        let column = Self::of(root, path.column.0)?;
        path.fields.iter().try_fold(column, |of, field| Self::of(of, *field as usize))
    }

    /// The path of an expression that reads a field of the root, or of the root's fields, and does no more.
    pub fn path(expr: &BoundExpression) -> Option<ColumnPath> {
        let (mut fields, mut inner) = (SmallVec::<[u32; 4]>::new(), expr);
        while let Some(field) = inner.as_opt::<Self>() {
            fields.push(u32::try_from(*field).ok()?);
            inner = inner.children().first()?;
        }
        let column = fields.pop().filter(|_| inner.is_root())?;
        fields.reverse();
        Some(ColumnPath { column: TableCol(column as usize), fields })
    }

    /// Field number `field` of each struct of an array, NULL where the struct is.
    pub(crate) fn of_array(structs: &ArrayRef, field: usize) -> Result<ArrayRef> {
        let column = structs
            .as_struct_opt()
            .and_then(|s| s.columns().get(field))
            .ok_or_else(|| internal_datafusion_err!("no field {field} in {}", structs.data_type()))?;
        match structs.nulls().filter(|n| n.null_count() > 0) {
            None => Ok(Arc::clone(column)),
            Some(nulls) => Ok(nullif(column, &BooleanArray::new(!nulls.inner(), None))?),
        }
    }
}

impl ScalarFnVTable for GetItem {
    type Options = usize;

    const ID: FnId = FnId::new("trommel.get_item");

    fn return_field(field: &usize, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        let DataType::Struct(fields) = args[0].data_type() else {
            return Err(type_error(Self::ID, args, 0, "a struct"));
        };
        let item =
            fields.get(*field).ok_or(BindError::NoSuchField { field: *field, fields: fields.len() })?;
        if !args[0].is_nullable() || item.is_nullable() && has_validity(item.data_type()) {
            return Ok(Arc::clone(item));
        }
        if !has_validity(item.data_type()) {
            return Err(type_error(Self::ID, args, 0, "a struct of types with validity"));
        }
        Ok(Arc::new(item.as_ref().clone().with_nullable(true)))
    }

    fn facts(_field: &usize, _args: &[FieldRef]) -> Facts {
        let nulls = Nulls::Strict { null_only_from_null: false };
        Facts { cost: Cost::Negative, ..Facts::infallible(nulls) }
    }

    fn evaluate(field: &usize, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        match args.value(0)? {
            ColumnarValue::Array(structs) => Ok(ColumnarValue::Array(Self::of_array(&structs, *field)?)),
            ColumnarValue::Scalar(value) => {
                let item = Self::of_array(&value.to_array()?, *field)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&item, 0)?))
            }
        }
    }

    fn fmt<'a>(field: &usize, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.operand(&args[0])?;
        match args[0].field().data_type() {
            DataType::Struct(fields) if *field < fields.len() => write!(out, ".{}", fields[*field].name()),
            _ => write!(out, ".{field}"),
        }
    }
}

/// Whether arrays of the type can be masked by setting validity bits.
pub(super) fn has_validity(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Union(_, _) | DataType::RunEndEncoded(_, _))
}
