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

use arrow::array::ArrayRef;
use datafusion_common::{Result, ScalarValue};

use super::{Ask, Outcomes, Test};
use crate::expr::functions::CompareOp;
use crate::floats::fold_zeros;
use crate::pruning::Truth;
use crate::pruning::judge::param;
use crate::pruning::known::Bounds;
use crate::pruning::ordered::{Side, against};
use crate::pruning::words::{self, Words};

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

/// A constant as an array of one, zeros folded; `None` is NULL.
type Value = Option<ArrayRef>;

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

    /// Whether it is a test for one value.
    pub fn is_equality(&self) -> bool {
        is_equality(self.op)
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
    Ok(Some(fold_zeros(&value.to_array()?)))
}

struct Against {
    op: CompareOp,
    value: Value,
}

impl Test for Against {
    fn outcomes(&self) -> Outcomes {
        outcomes(self.op, self.value.is_none())
    }

    fn sought(&self) -> Option<ArrayRef> {
        self.value.clone().filter(|_| is_equality(self.op))
    }

    fn may(&self, ask: Ask, bounds: &Bounds, live: &[u64]) -> Result<Words> {
        use CompareOp::*;
        let Some(value) = &self.value else { return Ok(live.to_vec()) };
        let lower = |side, live: &[u64]| against(bounds.lower.as_ref(), side, value, live);
        let upper = |side, live: &[u64]| against(bounds.upper.as_ref(), side, value, live);
        match (self.op, ask) {
            (Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom, Ask::Holds) => {
                upper(Side::GtEq, &lower(Side::LtEq, live)?)
            }
            (Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom, Ask::Fails) => {
                let mut found = lower(Side::Lt, live)?;
                let rest = words::minus(live, &found);
                words::add(&mut found, &upper(Side::Gt, &rest)?);
                Ok(found)
            }
            (Lt | GtEq, Ask::Holds) => lower(Side::Lt, live),
            (Lt | GtEq, Ask::Fails) => upper(Side::GtEq, live),
            (LtEq | Gt, Ask::Holds) => lower(Side::LtEq, live),
            (LtEq | Gt, Ask::Fails) => upper(Side::Gt, live),
        }
    }
}

/// Whether the test in the table above is `x = c`.
fn is_equality(op: CompareOp) -> bool {
    use CompareOp::*;
    matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// What the tests in the table above mean for each operator; `with_null` when one side is NULL for every row.
pub(super) fn outcomes(op: CompareOp, with_null: bool) -> Outcomes {
    use CompareOp::*;
    let all = |truth, on_null| Outcomes { on_hold: truth, on_fail: truth, on_null };
    match op {
        IsDistinctFrom if with_null => return all(Truth::TRUE, Truth::FALSE),
        IsNotDistinctFrom if with_null => return all(Truth::FALSE, Truth::TRUE),
        _ if with_null => return all(Truth::NULL, Truth::NULL),
        _ => {}
    }
    let (on_hold, on_fail) = match op {
        Eq | IsNotDistinctFrom | Lt | LtEq => (Truth::TRUE, Truth::FALSE),
        NotEq | IsDistinctFrom | Gt | GtEq => (Truth::FALSE, Truth::TRUE),
    };
    let on_null = match op {
        IsDistinctFrom => Truth::TRUE,
        IsNotDistinctFrom => Truth::FALSE,
        _ => Truth::NULL,
    };
    Outcomes { on_hold, on_fail, on_null }
}
