// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A struct of its arguments, never NULL itself.

use std::fmt;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};
use arrow::datatypes::FieldRef;
use arrow::datatypes::Fields;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

/// A struct of its arguments, never NULL itself.
#[derive(Debug)]
pub struct Pack;

impl ScalarFnVTable for Pack {
    type Options = Fields;

    const ID: FnId = FnId::new("trommel.pack");

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
