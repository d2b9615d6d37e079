// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A comparison of two values of one type.

use std::fmt;

use arrow::array::new_empty_array;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_expr_common::operator::Operator;
use datafusion_physical_expr_common::datum::apply_cmp;

use super::{any_nullable, arity, boolean_field, type_error};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Nulls, Printer, ScalarFnVTable};

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

impl CompareOp {
    /// Whether the operator treats NULL as a value: its result is never NULL.
    pub const fn is_distinct(self) -> bool {
        matches!(self, Self::IsDistinctFrom | Self::IsNotDistinctFrom)
    }

    /// The operator with its sides exchanged: `a < b` is `b > a`.
    #[must_use]
    pub const fn swap(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::LtEq => Self::GtEq,
            Self::Gt => Self::Lt,
            Self::GtEq => Self::LtEq,
            symmetric => symmetric,
        }
    }

    /// The operator that holds exactly where this one is false.
    #[must_use]
    pub const fn negate(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::GtEq,
            Self::LtEq => Self::Gt,
            Self::Gt => Self::LtEq,
            Self::GtEq => Self::Lt,
            Self::IsDistinctFrom => Self::IsNotDistinctFrom,
            Self::IsNotDistinctFrom => Self::IsDistinctFrom,
        }
    }
}

impl From<CompareOp> for Operator {
    fn from(op: CompareOp) -> Self {
        match op {
            CompareOp::Eq => Operator::Eq,
            CompareOp::NotEq => Operator::NotEq,
            CompareOp::Lt => Operator::Lt,
            CompareOp::LtEq => Operator::LtEq,
            CompareOp::Gt => Operator::Gt,
            CompareOp::GtEq => Operator::GtEq,
            CompareOp::IsDistinctFrom => Operator::IsDistinctFrom,
            CompareOp::IsNotDistinctFrom => Operator::IsNotDistinctFrom,
        }
    }
}

impl fmt::Display for CompareOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::IsDistinctFrom => "IS DISTINCT FROM",
            Self::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
        })
    }
}

/// A comparison of two values of one type; a dictionary also compares with its value type.
///
/// Floats are in SQL order (see [`crate::floats`]), save inside structs and lists, where DataFusion
/// compares in total order.
#[derive(Debug)]
pub struct Compare;

impl Compare {
    /// `left op right`.
    ///
    /// # Errors
    /// When the two don't compare.
    pub fn of(
        op: CompareOp,
        left: BoundExpression,
        right: BoundExpression,
    ) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>(op, vec![left, right])
    }
}

impl ScalarFnVTable for Compare {
    type Options = CompareOp;

    const ID: FnId = FnId::new("trommel.compare");

    fn return_field(op: &CompareOp, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 2)?;
        if !comparable(args[0].data_type(), args[1].data_type()) {
            return Err(type_error(Self::ID, args, 1, format!("comparable with {}", args[0].data_type())));
        }
        Ok(boolean_field(!op.is_distinct() && any_nullable(args)))
    }

    fn facts(op: &CompareOp, _args: &[FieldRef]) -> Facts {
        Facts::infallible(match op.is_distinct() {
            true => Nulls::Other,
            false => Nulls::Strict { null_only_from_null: true },
        })
    }

    fn evaluate(op: &CompareOp, args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        apply_cmp((*op).into(), &args.value(0)?, &args.value(1)?)
    }

    fn fmt<'a>(op: &CompareOp, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.operand(&args[0])?;
        write!(out, " {op} ")?;
        out.operand(&args[1])
    }
}

/// Whether the kernel compares the two types. Other than for the common case of one plain type, the kernel
/// itself is asked: it decides by types alone, before it looks at rows.
fn comparable(left: &DataType, right: &DataType) -> bool {
    if left == right && (left.is_primitive() || left.is_string() || left == &DataType::Boolean) {
        return true;
    }
    let empty = |t: &DataType| ColumnarValue::Array(new_empty_array(t));
    // The NULL type compares to NULL of no use to anyone; leave it to whoever made it.
    left != &DataType::Null
        && right != &DataType::Null
        && apply_cmp(Operator::Eq, &empty(left), &empty(right)).is_ok()
}
