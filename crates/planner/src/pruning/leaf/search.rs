// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The least of many sorted members that isn't below a zone's lower bound, for zone after zone.
//!
//! A search starts where the last one ended: zones in order make one merge of the whole. For zones in no order,
//! integers are looked up in a [`Table`] of where members of each size begin, once that pays; others cost a
//! binary search each.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, DynComparator, PrimitiveArray,
    downcast_primitive_array, make_comparator,
};
use arrow::buffer::NullBuffer;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};

use super::Ask;
use crate::pruning::known::Bounds;
use crate::pruning::words::{self, Words};

/// How many steps a search takes from where the last one ended before it looks elsewhere.
const NEAR: usize = 4;

/// Distinct members in ascending order, and what speeds up finding among them.
#[derive(Debug, Clone)]
pub(super) struct Members {
    values: ArrayRef,
    table: Arc<OnceLock<Option<Table>>>,
    /// How many members follow each other without a gap, at most.
    longest_run: Arc<OnceLock<usize>>,
}

impl Members {
    /// These values, which are distinct, ascending and not NULL.
    pub fn new(values: &ArrayRef) -> Self {
        Self { values: Arc::clone(values), table: Arc::default(), longest_run: Arc::default() }
    }

    /// The values.
    pub fn values(&self) -> ArrayRef {
        Arc::clone(&self.values)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The live intervals in which some value is a member, or in which some value may be none.
    ///
    /// # Errors
    /// When the bounds aren't of the members' type.
    pub fn may(&self, ask: Ask, bounds: &Bounds, live: &[u64]) -> Result<Words> {
        let members: &dyn Array = self.values.as_ref();
        for side in [&bounds.lower, &bounds.upper].into_iter().flatten() {
            if side.data_type() != members.data_type() {
                return exec_err!("bounds are of {}, members of {}", side.data_type(), members.data_type());
            }
        }
        Ok(downcast_primitive_array! {
            members => self.primitive(members, ask, bounds, live),
            _ => decide(&mut Any::new(&self.values, bounds)?, members.len(), members.len(), ask, live)
        })
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        members: &PrimitiveArray<T>,
        ask: Ask,
        bounds: &Bounds,
        live: &[u64],
    ) -> Words {
        let members = members.values();
        let zones = live.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        // The table costs a step per member, a search a step per halving.
        let pays = zones > members.len() / 8;
        let table = match self.table.get() {
            None if pays => self.table.get_or_init(|| Table::of(members)),
            known => known.unwrap_or(&None),
        };
        let side = |bounds: &'_ Option<ArrayRef>| -> Option<_> {
            let bounds = bounds.as_ref()?.as_primitive::<T>().clone();
            Some((bounds.values().clone(), bounds.nulls().cloned().filter(|known| known.null_count() > 0)))
        };
        let (lower, upper) = (side(&bounds.lower), side(&bounds.upper));
        let lower = lower.as_ref().map(|(values, known)| (values.as_ref(), known.as_ref()));
        let upper = upper.as_ref().map(|(values, known)| (values.as_ref(), known.as_ref()));
        let mut native = Native { members, table: table.as_ref(), lower, upper, last: 0 };
        let longest_run = match ask {
            Ask::Holds => 0,
            Ask::Fails => *self.longest_run.get_or_init(|| longest_run(members)),
        };
        decide(&mut native, members.len(), longest_run, ask, live)
    }
}

/// Intervals beside members, by the numbers of both.
trait Beside {
    /// The least member that isn't below the lower bound; the least of all where that isn't known.
    fn least(&mut self, zone: usize) -> usize;
    /// Whether the upper bound isn't below the member, or isn't known.
    fn reaches(&self, zone: usize, member: usize) -> bool;
    /// How many values there are from one bound to the other, less one; `None` when that isn't known.
    fn width(&self, zone: usize) -> Option<usize>;
    /// Whether the bounds are these members.
    fn are(&self, zone: usize, members: [usize; 2]) -> bool;
}

fn decide(beside: &mut impl Beside, members: usize, longest_run: usize, ask: Ask, live: &[u64]) -> Words {
    words::select_each(live, |zone| {
        match ask {
            Ask::Holds => {
                let least = beside.least(zone);
                least < members && beside.reaches(zone, least)
            }
            // Members are distinct: as many as there are values are all of them.
            Ask::Fails => beside.width(zone).filter(|width| *width < longest_run).is_none_or(|width| {
                let least = beside.least(zone);
                least + width >= members || !beside.are(zone, [least, least + width])
            }),
        }
    })
}

/// How many integers follow each other, at most; 1 for values of other types.
fn longest_run<N: ArrowNativeTypeOp>(members: &[N]) -> usize {
    let (mut longest, mut run, mut last) = (1, 0, None);
    for member in members.iter().map(|member| member.to_i64()) {
        let follows =
            member.zip(last).is_some_and(|(member, last): (i64, i64)| last.checked_add(1) == Some(member));
        run = if follows { run + 1 } else { 1 };
        longest = longest.max(run);
        last = member;
    }
    longest
}

/// A side's bounds, and which are known if some aren't.
type NativeSide<'a, N> = Option<(&'a [N], Option<&'a NullBuffer>)>;

struct Native<'a, N> {
    members: &'a [N],
    table: Option<&'a Table>,
    lower: NativeSide<'a, N>,
    upper: NativeSide<'a, N>,
    last: usize,
}

fn bound<N: Copy>(side: NativeSide<'_, N>, zone: usize) -> Option<N> {
    side.filter(|(_, known)| known.is_none_or(|known| known.is_valid(zone))).map(|(bounds, _)| bounds[zone])
}

impl<N: ArrowNativeTypeOp> Beside for Native<'_, N> {
    fn least(&mut self, zone: usize) -> usize {
        let Some(value) = bound(self.lower, zone) else { return 0 };
        let mut at = self.last;
        if at == 0 || self.members[at - 1].is_lt(value) {
            let near = self.members.len().min(at + NEAR);
            while at < near && self.members[at].is_lt(value) {
                at += 1;
            }
            let found = at < near || at == self.members.len();
            at = if found { at } else { Table::find(self.table, self.members, value) };
        } else {
            at = Table::find(self.table, self.members, value);
        }
        self.last = at;
        at
    }

    fn reaches(&self, zone: usize, member: usize) -> bool {
        bound(self.upper, zone).is_none_or(|upper| upper.is_ge(self.members[member]))
    }

    fn width(&self, zone: usize) -> Option<usize> {
        let (lower, upper) = (bound(self.lower, zone)?, bound(self.upper, zone)?);
        if lower.is_eq(upper) {
            return Some(0);
        }
        usize::try_from(upper.to_i64()?.checked_sub(lower.to_i64()?)?).ok()
    }

    fn are(&self, zone: usize, [first, last]: [usize; 2]) -> bool {
        let is = |side: NativeSide<'_, N>, member: usize| {
            bound(side, zone).is_some_and(|bound| bound.is_eq(self.members[member]))
        };
        is(self.lower, first) && is(self.upper, last)
    }
}

/// Where the members of each size begin: sizes are differences to the least member, in equal steps.
#[derive(Debug)]
struct Table {
    least: i64,
    shift: u32,
    starts: Vec<u32>,
}

impl Table {
    /// The table of ascending members, with about as many steps as members; `None` unless they are integers.
    fn of<N: ArrowNativeTypeOp>(members: &[N]) -> Option<Self> {
        let (least, most) = (members.first()?.to_i64()?, members.last()?.to_i64()?);
        let steps = u32::try_from(members.len()).ok()?.max(2).ilog2();
        let shift = (64 - most.wrapping_sub(least).cast_unsigned().leading_zeros()).saturating_sub(steps);
        let mut table = Self { least, shift, starts: Vec::new() };
        for (at, member) in (0u32..).zip(members) {
            let step = table.step(member.to_i64()?);
            let new = (step + 1).saturating_sub(table.starts.len());
            table.starts.extend(std::iter::repeat_n(at, new));
        }
        table.starts.push(u32::try_from(members.len()).ok()?);
        Some(table)
    }

    fn step(&self, value: i64) -> usize {
        (value.wrapping_sub(self.least).cast_unsigned() >> self.shift) as usize
    }

    /// The first member that isn't below a value, with the help of a table if there is one.
    fn find<N: ArrowNativeTypeOp>(table: Option<&Self>, members: &[N], value: N) -> usize {
        let whole = 0..members.len();
        let within = match (members.first(), members.last()) {
            (Some(least), Some(most)) if least.is_lt(value) && value.is_le(*most) => {
                let step = table.and_then(|table| Some(table.step(value.to_i64()?)));
                let starts = table.zip(step).and_then(|(table, step)| table.starts.get(step..step + 2));
                starts.map_or(whole, |starts| starts[0] as usize..starts[1] as usize)
            }
            (Some(least), _) if least.is_lt(value) => return members.len(),
            _ => return 0,
        };
        within.start + members[within].partition_point(|member| member.is_lt(value))
    }
}

/// Values of any type that has an order.
struct Any<'a> {
    members: usize,
    lower: Option<(&'a ArrayRef, DynComparator)>,
    upper: Option<(&'a ArrayRef, DynComparator)>,
    constant: Option<DynComparator>,
    booleans: bool,
    last: usize,
}

impl<'a> Any<'a> {
    fn new(members: &ArrayRef, bounds: &'a Bounds) -> Result<Self> {
        let compare = |a: &ArrayRef, b: &ArrayRef| make_comparator(a, b, SortOptions::default());
        let side = |side: &'a Option<ArrayRef>| -> Result<_> {
            Ok(match side {
                Some(bounds) => Some((bounds, compare(bounds, members)?)),
                None => None,
            })
        };
        let constant = match (&bounds.lower, &bounds.upper) {
            (Some(lower), Some(upper)) => Some(compare(lower, upper)?),
            _ => None,
        };
        let (lower, upper) = (side(&bounds.lower)?, side(&bounds.upper)?);
        let booleans = members.data_type() == &DataType::Boolean;
        Ok(Self { members: members.len(), lower, upper, constant, booleans, last: 0 })
    }
}

impl Beside for Any<'_> {
    fn least(&mut self, zone: usize) -> usize {
        let lower = self.lower.as_ref().filter(|(bounds, _)| bounds.is_valid(zone));
        let Some((_, compare)) = lower else { return 0 };
        self.last = first_at_least(self.members, self.last, |member| compare(zone, member).is_gt());
        self.last
    }

    fn reaches(&self, zone: usize, member: usize) -> bool {
        let upper = self.upper.as_ref().filter(|(bounds, _)| bounds.is_valid(zone));
        upper.is_none_or(|(_, compare)| compare(zone, member).is_ge())
    }

    fn width(&self, zone: usize) -> Option<usize> {
        let compare = self.constant.as_ref().filter(|_| {
            [&self.lower, &self.upper].into_iter().flatten().all(|(bounds, _)| bounds.is_valid(zone))
        })?;
        match compare(zone, zone) {
            Ordering::Equal => Some(0),
            // There is nothing between FALSE and TRUE.
            _ if self.booleans => Some(1),
            _ => None,
        }
    }

    fn are(&self, zone: usize, members: [usize; 2]) -> bool {
        let is = |side: &Option<(&ArrayRef, DynComparator)>, member: usize| {
            side.as_ref().is_some_and(|(bounds, compare)| {
                bounds.is_valid(zone) && compare(zone, member) == Ordering::Equal
            })
        };
        is(&self.lower, members[0]) && is(&self.upper, members[1])
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
    use arrow::array::{Int32Array, UInt64Array};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn galloping_finds_what_a_partition_point_does(
            mut members in prop::collection::vec(0u32..50, 0..40), value in 0u32..52, near in 0usize..45,
        ) {
            members.sort_unstable();
            let found = first_at_least(members.len(), near, |i| members[i] < value);
            prop_assert_eq!(found, members.partition_point(|m| *m < value));
        }

        #[test]
        fn tables_find_what_a_partition_point_does(
            mut members in prop::collection::vec(prop_oneof![-99i64..99, any::<i64>()], 0..40),
            values in prop::collection::vec(prop_oneof![-99i64..99, any::<i64>()], 1..9),
        ) {
            members.sort_unstable();
            members.dedup();
            let table = Table::of(&members);
            prop_assert_eq!(table.is_some(), !members.is_empty());
            for value in values.iter().chain(&members) {
                let expect = members.partition_point(|m| m < value);
                prop_assert_eq!(Table::find(table.as_ref(), &members, *value), expect);
                prop_assert_eq!(Table::find(None, &members, *value), expect);
            }
        }

        /// Typed searches and searches through comparators, with tables and without, in any order of zones.
        #[test]
        fn every_search_agrees_with_looking_at_each_member(
            members in prop::collection::btree_set(-40i32..40, 0..30),
            zones in prop::collection::vec(prop::option::weighted(0.9, (-45i32..45, prop_oneof![Just(0), 0i32..9])), 1..90),
            sorted: bool, no_lower in prop::bool::weighted(0.1), table: bool,
        ) {
            let mut zones = zones;
            if sorted {
                zones.sort();
            }
            let lower: ArrayRef = Arc::new(zones.iter().map(|z| z.map(|(low, _)| low)).collect::<Int32Array>());
            let upper: ArrayRef = Arc::new(zones.iter().map(|z| z.map(|(low, wide)| low + wide)).collect::<Int32Array>());
            let bounds = Bounds { lower: Some(lower).filter(|_| !no_lower), upper: Some(upper) };
            let values: ArrayRef = Arc::new(members.iter().copied().collect::<Int32Array>());
            let live = words::all(zones.len());
            let typed = Members::new(&values);
            if !table {
                typed.table.set(None).unwrap();
            }
            for ask in [Ask::Holds, Ask::Fails] {
                let whole = |low: i32, high: i32| (low..=high).all(|value| members.contains(&value));
                let expect = words::select_each(&live, |zone| {
                    let (low, high) = zones[zone].map_or((i32::MIN, i32::MAX), |(low, wide)| (low, low + wide));
                    let low = if no_lower { i32::MIN } else { low };
                    match ask {
                        Ask::Holds => members.range(low..=high).next().is_some(),
                        Ask::Fails => low == i32::MIN || !whole(low, high),
                    }
                });
                prop_assert_eq!(&typed.may(ask, &bounds, &live).unwrap(), &expect);
                // That integers have no others between them isn't known of any type.
                let any = decide(&mut Any::new(&values, &bounds).unwrap(), values.len(), values.len(), ask, &live);
                let wider = words::select_each(&live, |zone| zones[zone].is_none_or(|(_, wide)| wide > 0));
                let expect = if ask == Ask::Fails { words::zip(&expect, &wider, |a, b| a | b) } else { expect };
                prop_assert_eq!(&any, &expect);
            }
        }
    }

    #[test]
    fn members_beyond_what_a_table_takes_are_found_all_the_same() {
        let members = UInt64Array::from(vec![1, u64::MAX]);
        assert!(Table::of(members.values()).is_none());
        assert_eq!(Table::find(None, members.values(), 2), 1);
    }
}
