// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The zones of a column in the order in which a TopK, a minimum or a maximum wants them.
//!
//! Zones are sorted once, by the best value that each may hold. Those that may still beat a threshold are then the
//! first ones, and how many there are is a binary search, whatever the number of zones.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array, make_comparator, new_null_array};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::{SortOptions, nullif, sort_to_indices, take};
use arrow::datatypes::UInt32Type;
use datafusion_common::{Result, ScalarValue, exec_err};

use super::ZoneColumn;
use super::known::first;
use super::operand::{is_ordered, plain};
use super::words;
use crate::floats::fold_zeros;

/// The zones of a column, the most promising first.
#[derive(Debug)]
pub struct Ranked {
    zones: UInt32Array,
    /// The best values of the first zones: null where nothing beats it or nothing is known, those zones first.
    best: ArrayRef,
    descending: bool,
}

impl Ranked {
    /// Ranks the zones of a column by their least values, or if `descending` by their greatest ones; with
    /// `nulls_first`, NULL is better than any value.
    ///
    /// # Errors
    /// When values of the column can't be ordered.
    pub fn new(column: &ZoneColumn, descending: bool, nulls_first: bool) -> Result<Self> {
        if !is_ordered(column.data_type()) {
            return exec_err!("zones of {} can't be ranked", column.data_type());
        }
        let known = column.known();
        let all = words::all(column.len());
        // What always may be first: NaNs of both signs lie beyond all values.
        let mut first = known.nans.as_ref().map_or_else(|| vec![0; all.len()], |nans| words::and(&all, nans));
        first = words::and(&first, &known.values);
        if nulls_first {
            words::add(&mut first, &known.nulls);
        }
        let mut candidates = known.values.clone();
        words::add(&mut candidates, &first);
        let candidates =
            UInt32Array::from_iter_values(words::numbers(&candidates).into_iter().map(|zone| zone as u32));

        let side = if descending { &known.bounds.upper } else { &known.bounds.lower };
        let bounds = match side {
            Some(bounds) => {
                let bits = BooleanBuffer::new(Buffer::from_vec(first), 0, column.len());
                nullif(bounds, &BooleanArray::new(bits, None))?
            }
            None => new_null_array(plain(column.data_type()), column.len()),
        };
        let bounds = take(&bounds, &candidates, None)?;
        let order = sort_to_indices(&bounds, Some(SortOptions { descending, nulls_first: true }), None)?;
        let zones = take(&candidates, &order, None)?.as_primitive::<UInt32Type>().clone();
        Ok(Self { zones, best: take(&bounds, &order, None)?, descending })
    }

    /// The zones that may hold anything of use, the most promising first. Zones of NULLs alone are of use only
    /// where NULLs come first.
    pub fn zones(&self) -> &[u32] {
        self.zones.values()
    }

    /// The zones that may hold a value better than a threshold, or with `ties` one as good: the first of
    /// [`zones`](Self::zones). A threshold of NULL excludes none.
    ///
    /// # Errors
    /// When the threshold is of another type.
    pub fn beating(&self, threshold: &ScalarValue, ties: bool) -> Result<&[u32]> {
        if threshold.is_null() {
            return Ok(self.zones());
        }
        let threshold = fold_zeros(&threshold.to_array()?);
        if threshold.data_type() != self.best.data_type() {
            return exec_err!("a threshold of {} for {}", threshold.data_type(), self.best.data_type());
        }
        let options = SortOptions { descending: self.descending, nulls_first: true };
        let compare = make_comparator(&self.best, &threshold, options)?;
        let beats = |zone: usize| match compare(zone, 0) {
            Ordering::Less => true,
            Ordering::Equal => ties,
            Ordering::Greater => false,
        };
        Ok(&self.zones()[..first(self.best.len(), |zone| !beats(zone))])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expr::BoundExpression;
    use crate::expr::functions::CompareOp::{Gt, GtEq, Lt, LtEq};
    use crate::expr::functions::{Compare, IsNull, Or};
    use crate::pruning::tests::model::{Kind, column, path, scalar, tables};
    use crate::pruning::{Level, PrunePredicate, ZoneSource};
    use crate::rows::RowRanges;

    proptest! {
        /// The zones that beat a threshold are those in which the filter that a TopK publishes may be TRUE.
        #[test]
        fn zones_that_beat_a_threshold_are_those_of_the_comparison(
            table in tables(), which in prop::sample::select(vec![(0usize, Kind::Int32), (2, Kind::Float64), (3, Kind::Text)]),
            pick in 0usize..24, descending: bool, nulls_first: bool, ties: bool,
        ) {
            let (index, kind) = which;
            let Some(zones) = table.zones(&path(index), Level::Page) else { return Ok(()) };
            let Some(threshold) = table.columns[index][pick % table.len()].clone() else { return Ok(()) };
            let threshold = scalar(&kind.data_type(), Some(&threshold));
            let op = match (descending, ties) {
                (false, false) => Lt,
                (false, true) => LtEq,
                (true, false) => Gt,
                (true, true) => GtEq,
            };
            let beats = Compare::of(op, column(index), BoundExpression::literal(threshold.clone())).unwrap();
            let null = nulls_first.then(|| IsNull::of(column(index), false).unwrap());
            let filter = Or::of([beats].into_iter().chain(null)).unwrap();
            let all = RowRanges::all(table.len() as u64);
            let may = PrunePredicate::compile(&filter).truths(&table, Level::Page, &all, &[]);
            let wanted = |zone: &usize| may.iter().any(|(rows, truth)| {
                let of_zone = zones.rows(*zone);
                truth.may_be_true() && rows.start < of_zone.end && of_zone.start < rows.end
            });
            let expect: Vec<_> = (0..zones.len()).filter(|zone| !zones.rows(*zone).is_empty()).filter(wanted).map(|zone| zone as u32).collect();
            let ranked = Ranked::new(&zones, descending, nulls_first).unwrap();
            let beating = ranked.beating(&threshold, ties).unwrap();
            prop_assert_eq!(beating, &ranked.zones()[..beating.len()]);
            let mut beating: Vec<_> = beating.iter().copied().filter(|zone| !zones.rows(*zone as usize).is_empty()).collect();
            beating.sort_unstable();
            // Where only some NaNs are left out, all zones that may hold any are kept.
            if kind == Kind::Float64 {
                prop_assert!(expect.iter().all(|zone| beating.contains(zone)));
            } else {
                prop_assert_eq!(beating, expect);
            }
        }
    }
}
