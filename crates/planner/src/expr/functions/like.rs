// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A LIKE or ILIKE match; backslash escapes.

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, new_empty_array};
use arrow::compute::take;
use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_expr_common::operator::Operator;
use datafusion_physical_expr_common::datum::apply_cmp;

use super::{any_nullable, arity, boolean_field, type_error, value_type};
use crate::expr::{Args, BindError, BoundExpression, Cost, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// How to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LikeOptions {
    /// `NOT LIKE`.
    pub negated: bool,
    /// `ILIKE`.
    pub case_insensitive: bool,
}

impl LikeOptions {
    fn operator(self) -> Operator {
        match (self.negated, self.case_insensitive) {
            (false, false) => Operator::LikeMatch,
            (false, true) => Operator::ILikeMatch,
            (true, false) => Operator::NotLikeMatch,
            (true, true) => Operator::NotILikeMatch,
        }
    }
}

/// A LIKE or ILIKE match; backslash escapes.
#[derive(Debug)]
pub struct Like;

impl Like {
    /// `value LIKE pattern`, or a variant of it.
    ///
    /// # Errors
    /// When the two aren't strings of one kind (a dictionary counts as its values).
    pub fn of(
        options: LikeOptions,
        value: BoundExpression,
        pattern: BoundExpression,
    ) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(options, vec![value, pattern])
    }
}

impl ScalarFnVTable for Like {
    type Options = LikeOptions;

    const ID: FnId = FnId::new("trommel.like");

    fn return_field(options: &LikeOptions, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 2)?;
        let empty = |field: &FieldRef| ColumnarValue::Array(new_empty_array(value_type(field.data_type())));
        // The kernel knows what it takes, and decides by types alone.
        if apply_cmp(options.operator(), &empty(&args[0]), &empty(&args[1])).is_err() {
            let expected = format!("a pattern for {}", args[0].data_type());
            return Err(type_error(Self::ID, args, 1, expected));
        }
        Ok(boolean_field(any_nullable(args)))
    }

    fn facts(_options: &LikeOptions, _args: &[FieldRef]) -> Facts {
        Facts { cost: Cost::Expensive, ..Facts::infallible(Nulls::Strict { null_only_from_null: true }) }
    }

    fn evaluate(options: &LikeOptions, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        let (value, pattern) = (args.value(0)?, plain(args.value(1)?)?);
        if let (ColumnarValue::Array(array), ColumnarValue::Scalar(_)) = (&value, &pattern)
            && let Some(dictionary) = array.as_any_dictionary_opt()
        {
            let entries = ColumnarValue::Array(Arc::clone(dictionary.values()));
            let matches = apply_cmp(options.operator(), &entries, &pattern)?.into_array(0)?;
            return Ok(ColumnarValue::Array(take(&matches, dictionary.keys(), None)?));
        }
        apply_cmp(options.operator(), &plain(value)?, &pattern)
    }

    fn fmt<'a>(options: &LikeOptions, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        let not = if options.negated { "NOT " } else { "" };
        let like = if options.case_insensitive { "ILIKE" } else { "LIKE" };
        out.operand(&args[0])?;
        write!(out, " {not}{like} ")?;
        out.operand(&args[1])
    }
}

/// The value without its dictionary: the kernel panics on one without entries.
fn plain(value: ColumnarValue) -> Result<ColumnarValue> {
    let data_type = value.data_type();
    match value_type(&data_type) {
        plain if *plain == data_type => Ok(value),
        plain => value.cast_to(plain, None),
    }
}
