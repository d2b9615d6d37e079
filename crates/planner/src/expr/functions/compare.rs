// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A comparison of two values of one type.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
    /// `IS DISTINCT FROM`: never NULL, two NULLs are alike.
    IsDistinctFrom,
    /// `IS NOT DISTINCT FROM`
    IsNotDistinctFrom,
}

/// A comparison of two values of one type.
#[derive(Debug)]
pub struct Compare;

impl ScalarFnVTable for Compare {
    type Options = CompareOp;

    const ID: FnId = FnId::new("trommel.compare");

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
