// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A LIKE or ILIKE match; backslash escapes.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};

/// How to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LikeOptions {
    /// `NOT LIKE`.
    pub negated: bool,
    /// `ILIKE`.
    pub case_insensitive: bool,
}

/// A LIKE or ILIKE match; backslash escapes.
#[derive(Debug)]
pub struct Like;

impl ScalarFnVTable for Like {
    type Options = LikeOptions;

    const ID: FnId = FnId::new("trommel.like");

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
