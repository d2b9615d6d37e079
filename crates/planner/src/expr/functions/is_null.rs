// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether a value is NULL, or (negated) is not.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};

/// Whether a value is NULL, or (negated) is not.
#[derive(Debug)]
pub struct IsNull;

impl ScalarFnVTable for IsNull {
    type Options = bool;

    const ID: FnId = FnId::new("trommel.is_null");

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
