// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Evaluating a bound expression over arrays.

use arrow::array::{ArrayRef, BooleanArray};
use datafusion_common::{Result, ScalarValue, not_impl_err};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::BoundExpression;

/// What an expression is evaluated over.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The root's value for each row.
    pub root: &'a ArrayRef,
    /// The values of the expression's parameter slots.
    pub params: &'a [ScalarValue],
}

/// The expression's value for each row of the input.
///
/// # Errors
/// When the value of some row can't be computed.
pub fn evaluate(_expr: &BoundExpression, _input: Input<'_>) -> Result<ColumnarValue> {
    not_impl_err!("evaluation")
}

/// A predicate's value for each row of the input, as booleans.
///
/// # Errors
/// When the value of some row can't be computed, or the expression isn't boolean.
pub fn evaluate_predicate(_expr: &BoundExpression, _input: Input<'_>) -> Result<BooleanArray> {
    not_impl_err!("evaluation")
}
