// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A field of a struct: NULL where the struct is.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};

/// A field of a struct: NULL where the struct is.
#[derive(Debug)]
pub struct GetItem;

impl ScalarFnVTable for GetItem {
    type Options = usize;

    const ID: FnId = FnId::new("trommel.get_item");

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
