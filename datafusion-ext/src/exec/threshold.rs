// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A TopK's first threshold, before the first byte is read.
//!
//! A TopK publishes a threshold once it has seen K rows. But zones tell that there are K rows before any is
//! seen: a zone of n values holds n that are no worse than its worst bound, and one that equals its best
//! bound, if that is exact. Once K rows are known to be no worse than some value, a row that is worse than
//! that value isn't among the best K, whatever else is read.
//!
//! This holds only if those K rows reach the TopK: every node in between hands on each row, no other live
//! filter may drop one, the static filters are proven for the whole zone, and every zone counted is read by
//! this execution. Ties with the threshold stay.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{SortOptions, concat, sort_to_indices};
use datafusion::common::ScalarValue;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{Compare, CompareOp, GetItem, IsNull, Or};
use trommel_planner::floats::is_float;
use trommel_planner::pruning::{Bound, Level, ZoneColumn};
use trommel_planner::rows::{FragmentRows, RowRanges};

use super::FilteredReadExec;
use super::judged::StaticVerdicts;
use super::priority::Promise;
use super::queue::Sharing;
use crate::live::Origin;
use crate::translate::table_root;

/// What a row must satisfy to be among the best K of those that a TopK above `scan` will see; `None` where
/// zones don't tell, or where not all rows that they tell of may get there. `judged` tells of the static filters.
pub fn first_threshold(scan: &FilteredReadExec, judged: &StaticVerdicts) -> Option<BoundExpression> {
    let [only] = scan.live.as_slice() else { return None };
    let Origin::TopK { k, order, rows_preserved: true } = only.origin() else { return None };
    if scan.sharing != Sharing::Queue || scan.fetch.is_some() || scan.snapshot.options.distrust_statistics {
        return None;
    }
    let promise = Promise::of_key(order.first()?, &scan.snapshot.table)?;
    let (unfiltered, mut sure) = (scan.filters.is_empty(), Vec::new());
    for (at, fragment) in scan.snapshot.fragments.iter().enumerate() {
        let zones = scan.snapshot.zones(at);
        let path = &promise.column;
        let column = zones.zones(path, Level::Page).or_else(|| zones.zones(path, Level::RowGroup));
        let Some(column) = column else { continue };
        let all = unfiltered.then(|| RowRanges::all(fragment.open.metadata.rows()));
        let Some(proven) = all.as_ref().or_else(|| Some(&judged.of(at)?.all)) else { continue };
        sure.extend(Sure::of(&column, promise.descending, proven).into_iter().flatten());
    }
    let threshold = kth_best(&sure, *k, promise.descending)?;

    let key = GetItem::at(table_root(&scan.snapshot.table), &promise.column).ok()?;
    let op = if promise.descending { CompareOp::GtEq } else { CompareOp::LtEq };
    let reaches = Compare::of(op, key.clone(), BoundExpression::literal(threshold)).ok()?;
    match promise.nulls_first {
        true => Or::of([IsNull::of(key, false).ok()?, reaches]).ok(),
        false => Some(reaches),
    }
}

/// Rows that are known to be there: for each value, how many are no worse.
#[derive(Debug)]
struct Sure {
    values: ArrayRef,
    rows: Vec<u64>,
}

impl Sure {
    /// What the zones of a column tell of the proven rows.
    fn of(zones: &ZoneColumn, descending: bool, proven: &RowRanges<FragmentRows>) -> [Option<Self>; 2] {
        // NaNs lie outside a float's bounds, and its zeros are widened.
        if is_float(zones.data_type()) || zones.data_type().is_nested() {
            return [None, None];
        }
        let (best, worst) = match descending {
            true => (zones.upper(), zones.lower()),
            false => (zones.lower(), zones.upper()),
        };
        let counted = |zone| proven.covers(&zones.rows(zone));
        let is_value = |bound: &Bound, zone| bound.values.is_valid(zone) && bound.exact.value(zone);
        let has_best = |zone| best.is_some_and(|best| is_value(best, zone));
        // Of the rows that aren't NULL the best one is counted by itself.
        let others = |zone| {
            let rows = zones.rows(zone);
            let nulls = zones.null_count(zone).unwrap_or(u64::MAX);
            (rows.end - rows.start).saturating_sub(nulls).saturating_sub(u64::from(has_best(zone)))
        };
        let sure = |bound: Option<&Bound>, rows: &dyn Fn(usize) -> u64| {
            let bound = bound?;
            let known =
                |zone: usize| if counted(zone) && bound.values.is_valid(zone) { rows(zone) } else { 0 };
            let rows = (0..zones.len()).map(known).collect();
            Some(Self { values: Arc::clone(&bound.values), rows })
        };
        [sure(best, &|zone| u64::from(has_best(zone))), sure(worst, &others)]
    }
}

/// The best value that `k` rows are known to be no worse than.
fn kth_best(sure: &[Sure], k: usize, descending: bool) -> Option<ScalarValue> {
    let values: Vec<&dyn Array> = sure.iter().map(|sure| sure.values.as_ref()).collect();
    let rows: Vec<u64> = sure.iter().flat_map(|sure| sure.rows.iter().copied()).collect();
    let values = concat(&values).ok()?;
    let options = SortOptions { descending, nulls_first: false };
    let order = sort_to_indices(&values, Some(options), None).ok()?;
    let mut left = k as u64;
    for at in order.values().iter().map(|at| *at as usize) {
        left = left.saturating_sub(rows[at]);
        if left == 0 {
            let value = ScalarValue::try_from_array(&values, at).ok()?;
            return (k > 0 && !value.is_null()).then_some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, UInt64Array};
    use arrow::buffer::BooleanBuffer;
    use arrow::datatypes::DataType;
    use rstest::rstest;

    use super::*;

    fn bound(values: &[Option<i64>], exact: bool) -> Bound {
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let exact = BooleanBuffer::collect_bool(values.len(), |_| exact);
        Bound { values, exact }
    }

    /// Four zones of ten rows: 1..=50, 20..=40 with two NULLs, 5..=60 with who knows how many, and NULLs only.
    fn zones(exact: bool) -> ZoneColumn {
        ZoneColumn::unknown(DataType::Int64, Arc::from([0, 10, 20, 30, 40]))
            .with_lower(bound(&[Some(1), Some(20), Some(5), None], exact))
            .with_upper(bound(&[Some(50), Some(40), Some(60), None], exact))
            .with_nulls(UInt64Array::from(vec![Some(0), Some(2), None, Some(10)]))
    }

    #[rstest]
    #[case::the_best(1, true, true, 0..40, Some(60))]
    #[case::each_zone_has_its_best(3, true, true, 0..40, Some(40))]
    #[case::the_others_are_no_worse_than_the_worst(4, true, true, 0..40, Some(20))]
    #[case::nulls_are_no_values(10, true, true, 0..40, Some(20))]
    #[case::of_unknown_nulls_only_the_bounds_are_sure(11, true, true, 0..40, Some(1))]
    #[case::all_that_are_sure(20, true, true, 0..40, None)]
    #[case::bounds_are_no_values(1, true, false, 0..40, Some(20))]
    #[case::eight_of_the_second_zone(8, true, false, 0..40, Some(20))]
    #[case::then_the_first(9, true, false, 0..40, Some(1))]
    #[case::zones_not_wholly_proven(1, true, true, 0..25, Some(50))]
    #[case::ascending(1, false, true, 0..40, Some(1))]
    #[case::ascending_best_of_each(3, false, true, 0..40, Some(20))]
    #[case::ascending_then_the_worst(4, false, true, 0..40, Some(40))]
    #[case::nothing_wanted(0, true, true, 0..40, None)]
    fn kth(
        #[case] k: usize,
        #[case] descending: bool,
        #[case] exact: bool,
        #[case] proven: std::ops::Range<u64>,
        #[case] expect: Option<i64>,
    ) {
        let sure = Sure::of(&zones(exact), descending, &RowRanges::single(proven));
        let sure: Vec<_> = sure.into_iter().flatten().collect();
        let expect = expect.map(|value| ScalarValue::Int64(Some(value)));
        assert_eq!(kth_best(&sure, k, descending), expect);
    }
}
