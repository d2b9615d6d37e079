// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Addition, subtraction and multiplication, as arrow's wrapping kernels do them.

use std::fmt;

use arrow::array::new_empty_array;
use arrow::compute::kernels::numeric::{add_wrapping, mul_wrapping, sub_wrapping};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_physical_expr_common::datum::apply;

use super::{any_nullable, arity, type_error};
use crate::expr::{Args, BindError, BoundExpression, Errors, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
}

impl ArithmeticOp {
    fn apply(self, left: &ColumnarValue, right: &ColumnarValue) -> Result<ColumnarValue> {
        match self {
            Self::Add => apply(left, right, add_wrapping),
            Self::Sub => apply(left, right, sub_wrapping),
            Self::Mul => apply(left, right, mul_wrapping),
        }
    }
}

impl fmt::Display for ArithmeticOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
        })
    }
}

/// Addition, subtraction and multiplication of numbers of one type, of decimals, and of what else arrow adds:
/// a date and an interval, say.
///
/// Integers wrap, so neither they nor floats ever fail; decimals and everything temporal can. The
/// difference of two dates isn't among them: engines don't agree on its type.
#[derive(Debug)]
pub struct Arithmetic;

impl Arithmetic {
    /// `left op right`.
    ///
    /// # Errors
    /// When there is no such operation on the two types.
    pub fn of(
        op: ArithmeticOp,
        left: BoundExpression,
        right: BoundExpression,
    ) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(op, vec![left, right])
    }
}

impl ScalarFnVTable for Arithmetic {
    type Options = ArithmeticOp;

    const ID: FnId = FnId::new("trommel.arithmetic");

    fn return_field(op: &ArithmeticOp, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 2)?;
        let data_type = result_type(*op, args[0].data_type(), args[1].data_type()).ok_or_else(|| {
            type_error(Self::ID, args, 1, format!("a type for {} {op} _", args[0].data_type()))
        })?;
        Ok(Field::new(Self::ID.as_str(), data_type, any_nullable(args)).into())
    }

    fn facts(_op: &ArithmeticOp, args: &[FieldRef]) -> Facts {
        let wraps = |arg: &FieldRef| arg.data_type().is_integer() || arg.data_type().is_floating();
        let errors = if args.iter().all(wraps) { Errors::Never } else { Errors::Possible };
        Facts { errors, ..Facts::infallible(Nulls::Strict { null_only_from_null: true }) }
    }

    fn evaluate(op: &ArithmeticOp, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        op.apply(&args.value(0)?, &args.value(1)?)
    }

    fn fmt<'a>(op: &ArithmeticOp, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.operand(&args[0])?;
        write!(out, " {op} ")?;
        out.operand(&args[1])
    }
}

/// The type of the result. Other than for the common case of two equal numbers, the kernel itself is asked: it
/// decides by types alone, before it looks at rows.
fn result_type(op: ArithmeticOp, left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right && (left.is_integer() || left.is_floating()) {
        return Some(left.clone());
    }
    if matches!((left, right), (DataType::Date32 | DataType::Date64, DataType::Date32 | DataType::Date64)) {
        return None;
    }
    let empty = |t: &DataType| ColumnarValue::Array(new_empty_array(t));
    op.apply(&empty(left), &empty(right)).ok().map(|result| result.data_type())
}
