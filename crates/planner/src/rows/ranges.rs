// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Sorted, disjoint ranges of rows.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use arrow::buffer::BooleanBuffer;

use super::{Domain, FragmentRows, RowGroupRows};

/// A set of rows as ranges that are sorted, disjoint, non-empty, and not adjacent.
///
/// The work of every operation is linear in the number of ranges, never in the number of rows.
#[derive(Clone, PartialEq, Eq)]
pub struct RowRanges<D> {
    ranges: Vec<Range<u64>>,
    domain: PhantomData<D>,
}

impl<D: Domain> RowRanges<D> {
    /// No row.
    pub fn empty() -> Self {
        Self { ranges: Vec::new(), domain: PhantomData }
    }

    /// The rows of one range; an empty range gives no row.
    pub fn single(range: Range<u64>) -> Self {
        let mut rows = Self::empty();
        rows.push(range);
        rows
    }

    /// All rows of a domain of `len` rows.
    pub fn all(len: u64) -> Self {
        Self::single(0..len)
    }

    /// Adds the rows of `range`, which must not start before the end of the last range.
    ///
    /// An empty range adds nothing; a range that touches the last one extends it.
    ///
    /// # Panics
    /// In debug builds, when the range starts before the end of the last one.
    pub fn push(&mut self, range: Range<u64>) {
        if range.start >= range.end {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if range.start <= last.end => {
                debug_assert!(range.start >= last.start, "ranges must be pushed in order");
                last.end = last.end.max(range.end);
            }
            _ => self.ranges.push(range),
        }
    }

    /// The ranges, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// How many ranges there are.
    pub fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// How many rows there are.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|r| r.end - r.start).sum()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The first row and the row after the last one; `None` when there is no row.
    pub fn span(&self) -> Option<Range<u64>> {
        Some(self.ranges.first()?.start..self.ranges.last()?.end)
    }

    /// Whether any row of `range` is in the set.
    pub fn overlaps(&self, range: &Range<u64>) -> bool {
        let at = self.ranges.partition_point(|r| r.end <= range.start);
        range.start < range.end && self.ranges.get(at).is_some_and(|r| r.start < range.end)
    }

    /// Whether every row of `range` is in the set.
    pub fn covers(&self, range: &Range<u64>) -> bool {
        let at = self.ranges.partition_point(|r| r.end <= range.start);
        range.start >= range.end
            || self.ranges.get(at).is_some_and(|r| r.start <= range.start && range.end <= r.end)
    }

    /// The rows that are in the set and in `range`.
    pub fn clip(&self, range: &Range<u64>) -> Self {
        let mut out = Self::empty();
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        for r in &self.ranges[from..] {
            if r.start >= range.end {
                break;
            }
            out.push(r.start.max(range.start)..r.end.min(range.end));
        }
        out
    }

    /// The rows in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut out, mut a, mut b) = (Self::empty(), 0, 0);
        while let (Some(x), Some(y)) = (self.ranges.get(a), other.ranges.get(b)) {
            out.push(x.start.max(y.start)..x.end.min(y.end));
            if x.end <= y.end {
                a += 1;
            } else {
                b += 1;
            }
        }
        out
    }

    /// The rows in either set.
    pub fn union(&self, other: &Self) -> Self {
        let mut all: Vec<_> = self.ranges.iter().chain(&other.ranges).cloned().collect();
        all.sort_unstable_by_key(|r| r.start);
        let mut out = Self::empty();
        all.into_iter().for_each(|r| out.push(r));
        out
    }

    /// The rows of this set that are not in `other`.
    pub fn subtract(&self, other: &Self) -> Self {
        let (mut out, mut b) = (Self::empty(), 0);
        for range in &self.ranges {
            let mut start = range.start;
            while let Some(gap) = other.ranges.get(b) {
                if gap.start >= range.end {
                    break;
                }
                out.push(start..gap.start.max(start));
                start = start.max(gap.end);
                if gap.end > range.end {
                    break;
                }
                b += 1;
            }
            out.push(start..range.end.max(start));
        }
        out
    }

    /// The first `n` rows, and the rest.
    pub fn split_at(&self, n: u64) -> (Self, Self) {
        let (mut head, mut tail, mut left) = (Self::empty(), Self::empty(), n);
        for r in self.iter() {
            let take = left.min(r.end - r.start);
            head.push(r.start..r.start + take);
            tail.push(r.start + take..r.end);
            left -= take;
        }
        (head, tail)
    }

    /// How many rows of the set lie before `row`.
    pub fn rank(&self, row: u64) -> u64 {
        self.ranges.iter().take_while(|r| r.start < row).map(|r| r.end.min(row) - r.start).sum()
    }
}

impl RowRanges<FragmentRows> {
    /// These fragment rows as rows of the row group that holds the fragment's rows `group`.
    ///
    /// Rows outside the row group are left out.
    pub fn in_row_group(&self, group: &Range<u64>) -> RowRanges<RowGroupRows> {
        let mut out = RowRanges::empty();
        self.clip(group).iter().for_each(|r| out.push(r.start - group.start..r.end - group.start));
        out
    }
}

impl RowRanges<RowGroupRows> {
    /// The rows that are set in `bits`, which has one bit for each of these rows.
    pub fn select(&self, bits: &BooleanBuffer) -> Self {
        let mut out = Self::empty();
        let mut slices = bits.set_slices().map(|(start, end)| start as u64..end as u64).peekable();
        let mut at = 0;
        for range in self.iter() {
            let end = at + range.end - range.start;
            while let Some(slice) = slices.peek().filter(|slice| slice.start < end).cloned() {
                out.push(range.start + slice.start.max(at) - at..range.start + slice.end.min(end) - at);
                if slice.end > end {
                    break;
                }
                slices.next();
            }
            at = end;
        }
        out
    }

    /// The same rows counted from another row on, which is none after the first of them.
    pub fn counted_from(&self, start: u64) -> Self {
        let mut out = Self::empty();
        self.iter().for_each(|r| out.push(r.start.saturating_sub(start)..r.end.saturating_sub(start)));
        out
    }

    /// These rows of a row group that starts at fragment row `start`, as fragment rows.
    pub fn in_fragment(&self, start: u64) -> RowRanges<FragmentRows> {
        let mut out = RowRanges::empty();
        self.iter().for_each(|r| out.push(r.start + start..r.end + start));
        out
    }
}

impl<D: Domain> FromIterator<Range<u64>> for RowRanges<D> {
    /// Collects ranges in any order, overlapping or not.
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let ranges: Vec<_> = ranges.into_iter().filter(|r| r.start < r.end).collect();
        Self { ranges, domain: PhantomData }.union(&Self::empty())
    }
}

impl<D: Domain> fmt::Debug for RowRanges<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", D::NAME)?;
        f.debug_list().entries(&self.ranges).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Rows = RowRanges<FragmentRows>;

    fn rows(bits: &[bool]) -> Rows {
        bits.iter().enumerate().filter(|(_, b)| **b).map(|(i, _)| i as u64..i as u64 + 1).collect()
    }

    fn bits(rows: &Rows, len: usize) -> Vec<bool> {
        (0..len as u64).map(|i| rows.iter().any(|r| r.contains(&i))).collect()
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_bits(pairs in prop::collection::vec(any::<(bool, bool)>(), 0..60), from in 0u64..60, n in 0u64..60) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let (x, y, len) = (rows(&a), rows(&b), a.len());
            let zip = |f: fn(bool, bool) -> bool| pairs.iter().map(|(p, q)| f(*p, *q)).collect::<Vec<_>>();
            prop_assert_eq!(bits(&x.intersect(&y), len), zip(|p, q| p && q));
            prop_assert_eq!(bits(&x.union(&y), len), zip(|p, q| p || q));
            prop_assert_eq!(bits(&x.subtract(&y), len), zip(|p, q| p && !q));
            prop_assert_eq!(x.len() as usize, a.iter().filter(|p| **p).count());
            let range = from..from + n;
            let inside: Vec<_> = (0..len as u64).map(|i| a[i as usize] && range.contains(&i)).collect();
            prop_assert_eq!(bits(&x.clip(&range), len), inside.clone());
            prop_assert_eq!(x.overlaps(&range), inside.iter().any(|p| *p));
            prop_assert_eq!(x.covers(&range), range.clone().all(|i| a.get(i as usize).copied().unwrap_or(false)));
            prop_assert_eq!(x.rank(from) as usize, a.iter().take(from as usize).filter(|p| **p).count());
            let (head, tail) = x.split_at(n);
            prop_assert_eq!(head.len(), n.min(x.len()));
            prop_assert_eq!(head.union(&tail), x);
        }
    }
}
