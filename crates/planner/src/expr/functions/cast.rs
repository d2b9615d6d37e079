// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A cast to another type.

use std::fmt;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};
use arrow::datatypes::DataType;
use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

/// What to cast to, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CastOptions {
    /// The target type.
    pub to: DataType,
    /// `TRY_CAST`: a value that can't be cast gives NULL instead of an error.
    pub try_cast: bool,
}

/// A cast to another type.
#[derive(Debug)]
pub struct Cast;

impl ScalarFnVTable for Cast {
    type Options = CastOptions;

    const ID: FnId = FnId::new("trommel.cast");

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
