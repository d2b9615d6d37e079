// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The leaves of a compiled predicate: tests of one operand, a family a file.
//!
//! A test is judged on intervals: it says whether it may hold, or whether it may fail, for some value of
//! each. That is all a family has to know; NULLs and NaNs, unknown and crossed bounds are the
//! [`Domain`](super::domain::Domain)'s business, the same for all.

mod compare;
mod in_set;
mod is_null;
mod like;
mod pair;
mod search;

use arrow::array::ArrayRef;
use datafusion_common::{Result, ScalarValue};

pub(super) use compare::Comparison;
pub(super) use in_set::Membership;
pub(super) use is_null::NullTest;
pub(super) use like::string;
pub(crate) use like::{Pattern, next_prefix};
pub(super) use pair::may_compare;

use super::Truth;
use super::known::Bounds;
use super::words::Words;

/// What is asked of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Whether it may hold.
    Holds,
    /// Whether it may fail.
    Fails,
}

/// What a predicate is where its test holds, where it fails, and for NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub on_hold: Truth,
    pub on_fail: Truth,
    pub on_null: Truth,
}

/// A test of one operand's value.
pub(super) trait Test {
    /// What its results mean.
    fn outcomes(&self) -> Outcomes;

    /// The values for one of which, distinct and ascending, the test holds, if it is one of a few values.
    fn sought(&self) -> Option<ArrayRef> {
        None
    }

    /// The live intervals that hold a value of which what is asked is so. Not asked when holding and failing
    /// mean the same.
    ///
    /// # Errors
    /// When values of the bounds' type can't be tested.
    fn may(&self, ask: Ask, bounds: &Bounds, live: &[u64]) -> Result<Words>;
}

/// A test as compiled: what is judged once the parameters are known.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    /// See [`Comparison`].
    Compare(Comparison),
    /// See [`Membership`].
    InSet(Membership),
    /// See [`NullTest`].
    IsNull(NullTest),
}

impl Leaf {
    /// Whether it holds for a few values, once it knows its parameters.
    pub fn seeks(&self) -> bool {
        match self {
            Self::Compare(comparison) => comparison.is_equality(),
            Self::InSet(_) => true,
            Self::IsNull(_) => false,
        }
    }

    /// The test, given the values of the parameter slots.
    ///
    /// # Errors
    /// When a slot has no value.
    pub fn with_params<R>(
        &self,
        params: &[ScalarValue],
        then: impl FnOnce(&dyn Test) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Compare(comparison) => then(&comparison.with_params(params)?),
            Self::InSet(membership) => then(membership),
            Self::IsNull(test) => then(test),
        }
    }
}
