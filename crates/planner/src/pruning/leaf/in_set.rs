// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x [NOT] IN (constants)`, however many.
//!
//! Over the values in [lower, upper] the test may hold iff the least member ≥ lower is ≤ upper, and it
//! may fail unless lower = upper is a member. An unknown lower bound starts the search at the least member,
//! an unknown upper bound ends it nowhere. Sound because a member equal to some value of the zone lies
//! between the bounds.
//!
//! A NULL in the set makes every failure NULL. Only an empty set could make `NULL IN ()` anything but
//! NULL, so it is both NULL and FALSE here.
//!
//! Members are sorted. A zone's search starts where the last one's ended and doubles its step: zones in
//! order make one merge of the whole, and others cost a binary search each.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, DynComparator, make_comparator};
use arrow::buffer::BooleanBuffer;
use arrow::compute::SortOptions;
use arrow::error::ArrowError;
use datafusion_common::Result;

use super::{Split, Test};
use crate::expr::functions::{InSetOptions, ValueSet};
use crate::pruning::Truth;
use crate::pruning::domain::Bounds;

/// `x [NOT] IN (constants)`.
#[derive(Debug, Clone)]
pub(in crate::pruning) struct Membership {
    set: Arc<ValueSet>,
    negated: bool,
}

impl Membership {
    /// The test with these options.
    pub fn new(options: &InSetOptions) -> Self {
        Self { set: Arc::clone(&options.set), negated: options.negated }
    }
}

impl Test for Membership {
    fn split(&self, bounds: &Bounds) -> Result<Split> {
        let members = self.set.values();
        let (lower, upper) = (Side::new(&bounds.lower, members)?, Side::new(&bounds.upper, members)?);
        let mut may_fail = BooleanBufferBuilder::new(bounds.len);
        let mut last = 0;
        let may_hold = BooleanBuffer::collect_bool(bounds.len, |zone| {
            let least = match lower.compare(zone) {
                Some(compare) => first_at_least(members.len(), last, |member| compare(member).is_gt()),
                None => 0,
            };
            last = least;
            let is = |side: &Side<'_>, test: fn(Ordering) -> bool| side.compare(zone).map(|c| test(c(least)));
            let holds = least < members.len() && is(&upper, Ordering::is_ge).unwrap_or(true);
            let is_bound = |side| is(side, Ordering::is_eq).unwrap_or(false);
            may_fail.append(!(holds && is_bound(&lower) && is_bound(&upper)));
            holds
        });
        let (held, failed) =
            if self.negated { (Truth::FALSE, Truth::TRUE) } else { (Truth::TRUE, Truth::FALSE) };
        let null_or = |truth, null| if null { Truth::NULL } else { truth };
        Ok(Split {
            may_hold,
            may_fail: may_fail.finish(),
            on_hold: held,
            on_fail: null_or(failed, self.set.has_null()),
            on_null: if members.is_empty() { failed.or_null(true) } else { Truth::NULL },
        })
    }
}

/// One side's bounds, to be compared with members.
struct Side<'a>(Option<(&'a ArrayRef, DynComparator)>);

impl<'a> Side<'a> {
    fn new(bounds: &'a Option<ArrayRef>, members: &ArrayRef) -> Result<Self, ArrowError> {
        let Some(bounds) = bounds else { return Ok(Self(None)) };
        Ok(Self(Some((bounds, make_comparator(bounds, members, SortOptions::default())?))))
    }

    /// How a zone's bound compares with a member; `None` when the bound isn't known.
    fn compare(&self, zone: usize) -> Option<impl Fn(usize) -> Ordering + '_> {
        let (bounds, compare) = self.0.as_ref()?;
        bounds.is_valid(zone).then_some(move |member| compare(zone, member))
    }
}

/// The first of `len` sorted members that isn't below some value, searching outwards from `near`.
fn first_at_least(len: usize, near: usize, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, len, 1);
    let mut probe = near.min(len.saturating_sub(1));
    // Gallop until the border is between `low` and `high`, then halve.
    while low < high {
        if is_below(probe) {
            low = probe + 1;
            if high < len {
                break;
            }
            probe = (probe + step).min(len - 1);
        } else {
            high = probe;
            if low > 0 {
                break;
            }
            probe = probe.saturating_sub(step);
        }
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_set_of_nothing_but_null_makes_everything_null() {
        let nothing: ArrayRef = Arc::new(Int32Array::from(vec![None::<i32>]));
        let set = Arc::new(ValueSet::try_new(&nothing).unwrap());
        let bounds = Bounds { lower: Some(Arc::new(Int32Array::from(vec![1]))), upper: None, len: 1 };
        let split = Membership { set, negated: true }.split(&bounds).unwrap();
        assert_eq!(split.lanes().next().unwrap().get(0), Truth::NULL);
        assert!(split.on_null.may_be_null());
    }

    proptest! {
        #[test]
        fn galloping_finds_what_a_partition_point_does(
            mut members in prop::collection::vec(0u32..50, 0..40), value in 0u32..52, near in 0usize..45,
        ) {
            members.sort_unstable();
            let found = first_at_least(members.len(), near, |i| members[i] < value);
            prop_assert_eq!(found, members.partition_point(|m| *m < value));
        }
    }
}
