// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which of a number of rows are selected.

use std::ops::Range;

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;

use super::{Domain, RowRanges};

/// A choice among `len` rows of a domain, kept in the form that suits its density.
#[derive(Debug, Clone)]
pub enum Selection<D: Domain> {
    /// All of this many rows.
    All(u64),
    /// The rows of some ranges among this many rows.
    Ranges(RowRanges<D>, u64),
    /// One bit a row.
    Bitmap(BooleanBuffer),
}

impl<D: Domain> Selection<D> {
    /// Among how many rows this chooses.
    pub fn len(&self) -> u64 {
        match self {
            Self::All(len) | Self::Ranges(_, len) => *len,
            Self::Bitmap(bits) => bits.len() as u64,
        }
    }

    /// Whether it chooses among no rows at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows are selected.
    pub fn count(&self) -> u64 {
        match self {
            Self::All(len) => *len,
            Self::Ranges(rows, _) => rows.len(),
            Self::Bitmap(bits) => bits.count_set_bits() as u64,
        }
    }

    /// One bit a row.
    pub fn to_bits(&self) -> BooleanBuffer {
        match self {
            Self::All(len) => BooleanBuffer::new_set(*len as usize),
            Self::Ranges(rows, len) => {
                let mut bits = BooleanBufferBuilder::new(*len as usize);
                rows.iter().for_each(|Range { start, end }| {
                    bits.append_n(start as usize - bits.len(), false);
                    bits.append_n((end - start) as usize, true);
                });
                bits.append_n(*len as usize - bits.len(), false);
                bits.finish()
            }
            Self::Bitmap(bits) => bits.clone(),
        }
    }

    /// The rows selected here for which `keep` is true; `keep` has one value per *selected* row, and
    /// NULL counts as false.
    ///
    /// # Panics
    /// In debug builds, when `keep` is not [`count`](Self::count) long.
    pub fn refine(&self, keep: &BooleanArray) -> Self {
        debug_assert_eq!(keep.len() as u64, self.count());
        let kept = match keep.nulls() {
            Some(nulls) => keep.values() & nulls.inner(),
            None => keep.values().clone(),
        };
        match self {
            _ if kept.count_set_bits() == kept.len() => self.clone(),
            Self::All(_) => Self::Bitmap(kept),
            _ => {
                let mut bits = BooleanBufferBuilder::new(self.len() as usize);
                bits.append_n(self.len() as usize, false);
                let selected = self.to_bits();
                selected
                    .set_indices()
                    .zip(kept.iter())
                    .filter(|(_, k)| *k)
                    .for_each(|(at, _)| bits.set_bit(at, true));
                Self::Bitmap(bits.finish())
            }
        }
    }

    /// The rows selected in both; both choose among the same rows.
    ///
    /// # Panics
    /// In debug builds, when they choose among different numbers of rows.
    pub fn and(&self, other: &Self) -> Self {
        debug_assert_eq!(self.len(), other.len());
        match (self, other) {
            (Self::All(_), x) | (x, Self::All(_)) => x.clone(),
            (Self::Ranges(a, len), Self::Ranges(b, _)) => Self::Ranges(a.intersect(b), *len),
            (a, b) => Self::Bitmap(&a.to_bits() & &b.to_bits()),
        }
    }

    /// The rows selected in either; both choose among the same rows.
    ///
    /// # Panics
    /// In debug builds, when they choose among different numbers of rows.
    pub fn or(&self, other: &Self) -> Self {
        debug_assert_eq!(self.len(), other.len());
        match (self, other) {
            (Self::All(len), _) | (_, Self::All(len)) => Self::All(*len),
            (Self::Ranges(a, len), Self::Ranges(b, _)) => Self::Ranges(a.union(b), *len),
            (a, b) => Self::Bitmap(&a.to_bits() | &b.to_bits()),
        }
    }

    /// The rows not selected.
    pub fn not(&self) -> Self {
        match self {
            Self::All(len) => Self::Ranges(RowRanges::empty(), *len),
            Self::Ranges(rows, len) => Self::Ranges(RowRanges::all(*len).subtract(rows), *len),
            Self::Bitmap(bits) => Self::Bitmap(!bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rows::MorselRows;

    fn forms(bits: &[bool]) -> Vec<Selection<MorselRows>> {
        let ranges = bits.iter().enumerate().filter(|(_, b)| **b).map(|(i, _)| i as u64..i as u64 + 1);
        let mut forms = vec![
            Selection::Ranges(ranges.collect(), bits.len() as u64),
            Selection::Bitmap(bits.iter().copied().collect()),
        ];
        if bits.iter().all(|b| *b) {
            forms.push(Selection::All(bits.len() as u64));
        }
        forms
    }

    fn bits(selection: &Selection<MorselRows>) -> Vec<bool> {
        selection.to_bits().iter().collect()
    }

    proptest! {
        #[test]
        fn every_form_agrees_with_bits(pairs in prop::collection::vec(any::<(bool, bool)>(), 0..40), keep in prop::collection::vec(any::<Option<bool>>(), 40)) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            let selected: Vec<_> = (0..a.len()).filter(|i| a[*i]).collect();
            let keep = BooleanArray::from_iter(keep.into_iter().take(selected.len()));
            let refined: Vec<_> = (0..a.len())
                .map(|i| selected.iter().position(|s| *s == i).is_some_and(|s| keep.is_valid(s) && keep.value(s)))
                .collect();
            for x in forms(&a) {
                prop_assert_eq!(bits(&x), a.clone());
                prop_assert_eq!(x.count() as usize, selected.len());
                prop_assert_eq!(bits(&x.not()), a.iter().map(|p| !p).collect::<Vec<_>>());
                prop_assert_eq!(bits(&x.refine(&keep)), refined.clone());
                for y in forms(&b) {
                    prop_assert_eq!(bits(&x.and(&y)), pairs.iter().map(|(p, q)| *p && *q).collect::<Vec<_>>());
                    prop_assert_eq!(bits(&x.or(&y)), pairs.iter().map(|(p, q)| *p || *q).collect::<Vec<_>>());
                }
            }
        }
    }
}
