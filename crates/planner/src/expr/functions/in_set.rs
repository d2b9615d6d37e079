// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Membership in a set of constants, in SQL order (±0.0 are equal, NaNs by their bits).

use std::fmt;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};
use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;
use std::sync::Arc;

/// A set of constants of one type, sorted once.
#[derive(Debug)]
pub struct ValueSet {
    /// The distinct non-null values in ascending SQL order (see [`crate::floats`]).
    values: ArrayRef,
    /// Whether NULL was listed too.
    has_null: bool,
}

/// The set and whether the test is `NOT IN`.
#[derive(Debug, Clone)]
pub struct InSetOptions {
    /// The set.
    pub set: Arc<ValueSet>,
    /// `NOT IN`.
    pub negated: bool,
}

impl PartialEq for InSetOptions {
    fn eq(&self, other: &Self) -> bool {
        self.negated == other.negated && Arc::ptr_eq(&self.set, &other.set)
    }
}

impl Eq for InSetOptions {}

impl std::hash::Hash for InSetOptions {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.negated.hash(state);
    }
}

impl ValueSet {
    /// The set of an array's values, in any order, with duplicates and NULLs.
    ///
    /// # Errors
    /// When values of the type can't be ordered.
    pub fn try_new(values: &ArrayRef) -> Result<Self> {
        let _ = values;
        todo!()
    }

    /// The distinct non-null values in ascending SQL order.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// Whether NULL was listed too.
    pub fn has_null(&self) -> bool {
        self.has_null
    }
}

/// Membership in a set of constants, in SQL order (±0.0 are equal, NaNs by their bits).
#[derive(Debug)]
pub struct InSet;

impl ScalarFnVTable for InSet {
    type Options = InSetOptions;

    const ID: FnId = FnId::new("trommel.in_set");

    fn return_field(options: &Self::Options, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        let _ = (options, args);
        todo!()
    }

    fn facts(options: &Self::Options, args: &[FieldRef]) -> Facts {
        let _ = (options, args);
        Facts::UNKNOWN
    }

    fn evaluate(options: &Self::Options, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        let _ = (options, args, rows);
        todo!()
    }

    fn fmt(options: &Self::Options, args: &[&dyn fmt::Display], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = (options, args, f);
        todo!()
    }
}
