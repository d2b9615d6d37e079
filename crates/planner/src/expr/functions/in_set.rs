// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Membership in a set of constants, in SQL order (±0.0 are equal, NaNs by their bits).

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::FieldRef;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{ValueSet, any_nullable, arity, boolean_field, type_error};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// How many values of a set are printed.
const PRINTED: usize = 10;

/// The set and whether the test is `NOT IN`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InSetOptions {
    /// The set.
    pub set: Arc<ValueSet>,
    /// `NOT IN`.
    pub negated: bool,
}

/// Membership in a set of constants, in SQL order (±0.0 are equal, NaNs by their bits).
///
/// NULL is in no set: a NULL gives NULL, and so does a value that isn't found when NULL was listed. In an
/// empty set there is nothing, not even unknowingly: the result is FALSE for NULL too.
///
/// The argument is of the set's type or a dictionary of it. Structs are compared field by field, where
/// a NULL field equals a NULL field.
#[derive(Debug)]
pub struct InSet;

impl InSet {
    /// `arg IN set`, or `arg NOT IN set` when negated.
    ///
    /// # Errors
    /// When the argument isn't of the set's type or a dictionary of it.
    pub fn of(arg: BoundExpression, set: Arc<ValueSet>, negated: bool) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(InSetOptions { set, negated }, vec![arg])
    }
}

impl ScalarFnVTable for InSet {
    type Options = InSetOptions;

    const ID: FnId = FnId::new("trommel.in_set");

    fn return_field(options: &InSetOptions, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        if !options.set.takes(args[0].data_type()) {
            return Err(type_error(Self::ID, args, 0, options.set.values().data_type().to_string()));
        }
        let nullable = options.set.has_null() || any_nullable(args) && !options.set.is_empty();
        Ok(boolean_field(nullable))
    }

    fn facts(options: &InSetOptions, _args: &[FieldRef]) -> Facts {
        Facts::infallible(match options.set.has_null() || options.set.is_empty() {
            true => Nulls::Other,
            false => Nulls::Strict { null_only_from_null: true },
        })
    }

    fn evaluate(options: &InSetOptions, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        match args.value(0)? {
            ColumnarValue::Array(needles) => {
                Ok(ColumnarValue::Array(Arc::new(membership(options, &needles)?)))
            }
            ColumnarValue::Scalar(needle) => {
                let found = membership(options, &needle.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?))
            }
        }
    }

    fn fmt<'a>(options: &InSetOptions, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        let not = if options.negated { "NOT " } else { "" };
        out.operand(&args[0])?;
        write!(out, " {not}IN (")?;
        let set = &options.set;
        for row in 0..set.len().min(PRINTED) {
            let value = ScalarValue::try_from_array(set.values(), row).map_err(|_| fmt::Error)?;
            write!(out, "{}{}", if row == 0 { "" } else { ", " }, BoundExpression::literal(value))?;
        }
        if set.len() > PRINTED {
            write!(out, ", … {} values", set.len())?;
        }
        if set.has_null() {
            write!(out, "{}NULL", if set.is_empty() { "" } else { ", " })?;
        }
        out.write_str(")")
    }
}

fn membership(options: &InSetOptions, needles: &ArrayRef) -> Result<BooleanArray> {
    let set = &options.set;
    if set.is_empty() && !set.has_null() {
        return Ok(BooleanArray::from(vec![options.negated; needles.len()]));
    }
    let (found, valid) = set.contains(needles)?.into_parts();
    let valid = match set.has_null() {
        true => NullBuffer::union(valid.as_ref(), Some(&NullBuffer::new(found.clone()))),
        false => valid,
    };
    Ok(BooleanArray::new(if options.negated { !&found } else { found }, valid))
}
