// Licensed under the Apache License, Version 2.0. See LICENSE.

//! CASE, searched or with an operand.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, Facts, FnId, ScalarFnVTable};

/// Which parts a CASE has.
///
/// The arguments are: the operand if there is one, then WHEN and THEN for each arm, then ELSE if there
/// is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CaseShape {
    /// `CASE operand WHEN …`: an arm is taken where the operand equals its WHEN (in arrow's total
    /// order, which for floats is not the `=` of SQL).
    pub operand: bool,
    /// How many arms there are.
    pub arms: usize,
    /// Whether there is an ELSE.
    pub otherwise: bool,
}

/// CASE, searched or with an operand.
#[derive(Debug)]
pub struct Case;

impl ScalarFnVTable for Case {
    type Options = CaseShape;

    const ID: FnId = FnId::new("trommel.case");

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
