// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x op constant`, the constant known now or given as a parameter.
//!
//! Over the values in [lower, upper], in SQL order:
//!
//! | test | may hold iff | may fail iff |
//! |---|---|---|
//! | `x = c` | lower ≤ c and c ≤ upper | lower < c or c < upper |
//! | `x < c` | lower < c | upper ≥ c |
//! | `x <= c` | lower ≤ c | upper > c |
//!
//! and an unknown bound makes what is asked of it possible. Sound because any value v has lower ≤ v ≤ upper:
//! if v < c then lower < c, and so on; the bounds themselves need not occur. The other operators are these
//! with holding and failing swapped.
//!
//! A NULL constant makes every comparison NULL; `IS [NOT] DISTINCT FROM` is then a NULL test.

use arrow::array::{ArrayRef, BooleanArray, Datum, Scalar};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::{gt, gt_eq, lt, lt_eq};
use arrow::error::ArrowError;
use datafusion_common::{Result, ScalarValue};

use super::{Split, Test};
use crate::expr::functions::CompareOp;
use crate::floats::fold_zeros;
use crate::pruning::Truth;
use crate::pruning::domain::{Bounds, or_unknown};
use crate::pruning::judge::param;

/// `x op constant`.
#[derive(Debug, Clone)]
pub(in crate::pruning) struct Comparison {
    op: CompareOp,
    constant: Constant,
}

#[derive(Debug, Clone)]
enum Constant {
    Value(Value),
    Param(u16),
}

/// A constant as a kernel takes it, zeros folded; `None` is NULL.
type Value = Option<Scalar<ArrayRef>>;

impl Comparison {
    /// The comparison with a value.
    ///
    /// # Errors
    /// When there are no arrays of the value's type.
    pub fn with_value(op: CompareOp, value: &ScalarValue) -> Result<Self> {
        Ok(Self { op, constant: Constant::Value(constant(value)?) })
    }

    /// The comparison with the value of a parameter slot.
    pub fn with_param(op: CompareOp, slot: u16) -> Self {
        Self { op, constant: Constant::Param(slot) }
    }

    /// The test, given the values of the parameter slots.
    ///
    /// # Errors
    /// When the slot has no value.
    pub fn with_params(&self, params: &[ScalarValue]) -> Result<impl Test + use<>> {
        let value = match &self.constant {
            Constant::Value(value) => value.clone(),
            Constant::Param(slot) => constant(param(*slot, params)?)?,
        };
        Ok(Against { op: self.op, value })
    }
}

fn constant(value: &ScalarValue) -> Result<Value> {
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(Scalar::new(fold_zeros(&value.to_array()?))))
}

struct Against {
    op: CompareOp,
    value: Value,
}

impl Test for Against {
    fn split(&self, bounds: &Bounds) -> Result<Split> {
        use CompareOp::*;
        let Some(value) = &self.value else {
            return Ok(match self.op {
                IsDistinctFrom => Split::constant(bounds.len, Truth::TRUE, Truth::FALSE),
                IsNotDistinctFrom => Split::constant(bounds.len, Truth::FALSE, Truth::TRUE),
                _ => Split::constant(bounds.len, Truth::NULL, Truth::NULL),
            });
        };
        let lower = |kernel| side(bounds.lower.as_ref(), kernel, value, bounds.len);
        let upper = |kernel| side(bounds.upper.as_ref(), kernel, value, bounds.len);
        let (may_hold, may_fail) = match self.op {
            Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom => {
                (&lower(lt_eq)? & &upper(gt_eq)?, &lower(lt)? | &upper(gt)?)
            }
            Lt | GtEq => (lower(lt)?, upper(gt_eq)?),
            LtEq | Gt => (lower(lt_eq)?, upper(gt)?),
        };
        let (on_hold, on_fail) = match self.op {
            Eq | IsNotDistinctFrom | Lt | LtEq => (Truth::TRUE, Truth::FALSE),
            NotEq | IsDistinctFrom | Gt | GtEq => (Truth::FALSE, Truth::TRUE),
        };
        let on_null = match self.op {
            IsDistinctFrom => Truth::TRUE,
            IsNotDistinctFrom => Truth::FALSE,
            _ => Truth::NULL,
        };
        Ok(Split { may_hold, may_fail, on_hold, on_fail, on_null })
    }
}

/// Where one bound compares so with the constant, or isn't known.
fn side(
    bound: Option<&ArrayRef>,
    kernel: fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>,
    value: &Scalar<ArrayRef>,
    len: usize,
) -> Result<BooleanBuffer> {
    match bound {
        Some(bound) => Ok(or_unknown(kernel(bound, value)?)),
        None => Ok(BooleanBuffer::new_set(len)),
    }
}
