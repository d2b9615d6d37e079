// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The best rows of a part, by a key: those that a TopK above may want, whatever else there is.
//!
//! A TopK takes a row into its heap if it beats the worst one there. Where rows come the wrong way round (a key that
//! grows with the file's rows, the greatest wanted) each of them does, and the heap costs far more than decoding. But of
//! the rows of one part no more than K can be among the best K of all, and which they are is found at a few
//! nanoseconds a row.

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, Scalar};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::{gt_eq, lt_eq};
use arrow::compute::{SortOptions, concat, filter, sort_to_indices, take};
use arrow::error::ArrowError;
use trommel_planner::plan::PlanRef;
use trommel_planner::rows::scatter;

use super::Reading;
use super::filter::{MOST_REMEMBERED, STEP};
use super::prepared::{Part, Prepared};
use crate::ScanError;

/// For more rows than this the best so far would be sorted too often.
const MOST_WANTED: usize = STEP / 4;
/// So many rows there must be to one that is wanted.
const ROWS_PER_WANTED: usize = 4;

/// What a TopK wants at most of each part of a fragment: the rows whose key is no worse than that of the `wanted`
/// best ones; rows that tie with the last of them too.
#[derive(Debug, Clone)]
pub struct BestRows {
    key: PlanRef,
    wanted: usize,
    order: SortOptions,
}

impl BestRows {
    pub(crate) fn new(key: PlanRef, wanted: usize, order: SortOptions) -> Self {
        Self { key, wanted, order }
    }

    /// The best of the selected rows of a part (of all, when absent); as many as there were where that isn't worth
    /// finding out.
    pub(super) async fn of(
        &self,
        part: &Part,
        selected: Option<BooleanBuffer>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<BooleanBuffer>, ScanError> {
        let count = selected.as_ref().map_or(part.rows.len() as usize, BooleanBuffer::count_set_bits);
        if self.wanted > MOST_WANTED
            || count <= self.wanted.saturating_mul(ROWS_PER_WANTED)
            || count as u64 > MOST_REMEMBERED
        {
            return Ok(selected);
        }
        let prepared = Prepared::new(&self.key, 0, part, selected.as_ref(), reading.context())?;
        reading.fetch(&prepared).await?;
        let mut stream = reading.start(&prepared, selected.as_ref(), STEP)?;
        stream.remember(&|segment| reading.is_put_out(segment));
        let (mut keys, mut left) = (Vec::with_capacity(count.div_ceil(STEP)), count);
        while left > 0 {
            let rows = left.min(STEP);
            keys.push(stream.next(rows, &[], reading.path())?);
            left -= rows;
        }
        reading.remember(selected.as_ref(), stream.remembered());
        let best = match best_of(&keys, self.wanted, self.order) {
            Ok(Some(best)) => best,
            Ok(None) => return Ok(selected),
            Err(error) => {
                log::debug!("keys can't be sorted, so all rows are put out: {error}");
                return Ok(selected);
            }
        };
        reading.dropped.live += (count - best.count_set_bits()) as u64;
        Ok(Some(match &selected {
            Some(selected) => scatter(selected, &best),
            None => best,
        }))
    }
}

/// Which of these keys are no worse than the `wanted`th best of them; `None` where all are.
fn best_of(
    keys: &[ArrayRef],
    wanted: usize,
    order: SortOptions,
) -> Result<Option<BooleanBuffer>, ArrowError> {
    let mut best: Option<ArrayRef> = None;
    let mut worst: Option<ArrayRef> = None;
    for keys in keys {
        let better = match &worst {
            Some(worst) => filter(keys, &BooleanArray::new(no_worse(keys, worst, order)?, None))?,
            None => ArrayRef::clone(keys),
        };
        let candidates = match &best {
            Some(best) => concat(&[best.as_ref(), better.as_ref()])?,
            None => better,
        };
        let sorted = sort_to_indices(&candidates, Some(order), Some(wanted))?;
        let sorted = take(&candidates, &sorted, None)?;
        worst = wanted.checked_sub(1).filter(|last| *last < sorted.len()).map(|last| sorted.slice(last, 1));
        best = Some(sorted);
    }
    let Some(worst) = worst else { return Ok(None) };
    let mut kept = BooleanBufferBuilder::new(keys.iter().map(|keys| keys.len()).sum());
    for keys in keys {
        kept.append_buffer(&no_worse(keys, &worst, order)?);
    }
    Ok(Some(kept.finish()))
}

/// Which keys come no later than another one, the only one of an array.
fn no_worse(keys: &ArrayRef, than: &ArrayRef, order: SortOptions) -> Result<BooleanBuffer, ArrowError> {
    let nulls = keys.logical_nulls();
    if than.logical_null_count() > 0 {
        return Ok(match (order.nulls_first, nulls) {
            (true, Some(nulls)) => !nulls.inner(),
            (true, None) => BooleanBuffer::new_unset(keys.len()),
            (false, _) => BooleanBuffer::new_set(keys.len()),
        });
    }
    let than = Scalar::new(than);
    let (values, _) = if order.descending { gt_eq(keys, &than)? } else { lt_eq(keys, &than)? }.into_parts();
    Ok(match nulls {
        None => values,
        Some(nulls) if order.nulls_first => &values | &!nulls.inner(),
        Some(nulls) => &values & nulls.inner(),
    })
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use arrow::array::{Float64Array, StringViewArray, make_comparator};
    use proptest::prelude::*;

    use super::*;

    fn keys() -> impl Strategy<Value = Vec<ArrayRef>> {
        let floats = prop::option::weighted(
            0.8,
            prop_oneof![4 => (-9i32..9).prop_map(f64::from), 1 => Just(f64::NAN), 1 => Just(-0.0), 1 => any::<f64>()],
        );
        let floats = prop::collection::vec(floats, 0..40);
        let floats = floats.prop_map(|keys| Arc::new(Float64Array::from(keys)) as ArrayRef);
        let text = prop::collection::vec(prop::option::weighted(0.8, "[a-c]{0,14}"), 0..40);
        let text = text.prop_map(|keys| Arc::new(StringViewArray::from_iter(keys)) as ArrayRef);
        prop_oneof![prop::collection::vec(floats, 1..5), prop::collection::vec(text, 1..5)]
    }

    proptest! {
        /// By counting, for each key, the keys that come before it.
        #[test]
        fn the_best_and_their_ties(
            keys in keys(), wanted in 1usize..30, descending in any::<bool>(), nulls_first in any::<bool>(),
        ) {
            let order = SortOptions { descending, nulls_first };
            let got = best_of(&keys, wanted, order).unwrap();
            let arrays: Vec<&dyn Array> = keys.iter().map(|keys| keys.as_ref()).collect();
            let all = concat(&arrays).unwrap();
            let compare = make_comparator(&all, &all, order).unwrap();
            let before = |row| (0..all.len()).filter(|other| compare(*other, row) == Ordering::Less).count();
            for row in 0..all.len() {
                let kept = got.as_ref().is_none_or(|got| got.value(row));
                prop_assert_eq!(kept, before(row) < wanted, "row {} of {:?}", row, all);
            }
        }
    }
}
