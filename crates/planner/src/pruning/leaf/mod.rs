// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The leaves of a compiled predicate: tests of one operand, a family a file.
//!
//! A test is judged on intervals: it says whether it may hold, and whether it may fail, for some value of
//! each. That is all a family has to know; NULLs and NaNs, unknown and crossed bounds are the
//! [`Domain`](super::domain::Domain)'s business, the same for all.

mod compare;
mod in_set;
mod is_null;
mod like;

use arrow::buffer::BooleanBuffer;
use datafusion_common::{Result, ScalarValue};

pub(super) use compare::Comparison;
pub(super) use in_set::Membership;
pub(super) use is_null::NullTest;
pub(crate) use like::{Pattern, next_prefix};

use super::Truth;
use super::domain::Bounds;
use super::lanes::{Lanes, words};

/// A test of one operand's value.
pub(super) trait Test {
    /// What the test says of the values in each interval.
    ///
    /// # Errors
    /// When values of the bounds' type can't be tested.
    fn split(&self, bounds: &Bounds) -> Result<Split>;
}

/// What a test says of the values in each of a number of intervals.
#[derive(Debug)]
pub(super) struct Split {
    /// The intervals in which the test may hold for some value.
    pub may_hold: BooleanBuffer,
    /// The intervals in which it may fail for some value.
    pub may_fail: BooleanBuffer,
    /// The predicate's truth where the test holds.
    pub on_hold: Truth,
    /// The predicate's truth where it fails.
    pub on_fail: Truth,
    /// The predicate's truth for NULL.
    pub on_null: Truth,
}

impl Split {
    /// A test that says the same of every value.
    pub fn constant(len: usize, on_value: Truth, on_null: Truth) -> Self {
        Self {
            may_hold: BooleanBuffer::new_set(len),
            may_fail: BooleanBuffer::new_unset(len),
            on_hold: on_value,
            on_fail: on_value,
            on_null,
        }
    }

    /// The truth sets of the values of 64 intervals at a time.
    pub fn lanes(&self) -> impl Iterator<Item = Lanes> + '_ {
        let (hold, fail) = (Lanes::splat(self.on_hold), Lanes::splat(self.on_fail));
        words(&self.may_hold)
            .zip(words(&self.may_fail))
            .map(move |(may_hold, may_fail)| hold.only(may_hold).or_else(fail.only(may_fail)))
    }
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
