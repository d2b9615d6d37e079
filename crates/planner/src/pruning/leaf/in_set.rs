// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x [NOT] IN (constants)`, however many.
//!
//! Over the values in [lower, upper] the test may hold iff the least member ≥ lower is ≤ upper, and it
//! may fail unless lower, upper and all values between them are members (of integers that is known, of other types
//! only where lower = upper). An unknown lower bound starts the search at the least member,
//! an unknown upper bound ends it nowhere. Sound because a member equal to some value of the zone lies
//! between the bounds.
//!
//! A NULL in the set makes every failure NULL. Only an empty set could make `NULL IN ()` anything but
//! NULL, so it is both NULL and FALSE here.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion_common::Result;

use super::search::Members;
use super::{Ask, Outcomes, Test};
use crate::expr::functions::{InSetOptions, ValueSet};
use crate::pruning::Truth;
use crate::pruning::known::Bounds;
use crate::pruning::words::Words;

/// `x [NOT] IN (constants)`.
#[derive(Debug, Clone)]
pub(in crate::pruning) struct Membership {
    members: Members,
    has_null: bool,
    negated: bool,
}

impl Membership {
    /// The test with these options.
    pub fn new(options: &InSetOptions) -> Self {
        Self::of(&options.set, options.negated)
    }

    /// Whether a value is among these, or negated, isn't.
    pub fn of(set: &Arc<ValueSet>, negated: bool) -> Self {
        Self { members: Members::new(set.values()), has_null: set.has_null(), negated }
    }
}

impl Test for Membership {
    fn outcomes(&self) -> Outcomes {
        let (held, failed) =
            if self.negated { (Truth::FALSE, Truth::TRUE) } else { (Truth::TRUE, Truth::FALSE) };
        Outcomes {
            on_hold: held,
            on_fail: if self.has_null { Truth::NULL } else { failed },
            on_null: if self.members.is_empty() { failed.or_null(true) } else { Truth::NULL },
        }
    }

    fn sought(&self) -> Option<ArrayRef> {
        Some(self.members.values())
    }

    fn may(&self, ask: Ask, bounds: &Bounds, live: &[u64]) -> Result<Words> {
        self.members.may(ask, bounds, live)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;

    use super::*;

    #[test]
    fn a_set_of_nothing_but_null_makes_everything_null() {
        let nothing: ArrayRef = Arc::new(Int32Array::from(vec![None::<i32>]));
        let test = Membership::of(&Arc::new(ValueSet::try_new(&nothing).unwrap()), true);
        let bounds = Bounds { lower: Some(Arc::new(Int32Array::from(vec![1]))), upper: None };
        assert_eq!(test.may(Ask::Holds, &bounds, &[1]).unwrap(), [0]);
        assert_eq!(test.may(Ask::Fails, &bounds, &[1]).unwrap(), [1]);
        assert_eq!(test.outcomes().on_fail, Truth::NULL);
        assert!(test.outcomes().on_null.may_be_null());
    }
}
