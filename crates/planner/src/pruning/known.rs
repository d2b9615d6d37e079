// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the statistics of a column come to, computed once for all judgements.
//!
//! A zone's domain is the union of three parts: the values between its bounds, the NaNs of a float
//! column unless their count is known to be 0, and NULL unless the null count is known to be 0. A missing
//! bound leaves that side open. Bounds that cross can't both be right, so neither is trusted.

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::kernels::cmp::gt;
use arrow::compute::{CastOptions, cast_with_options, nullif};
use arrow::datatypes::DataType;
use datafusion_common::Result;

use super::operand::plain;
use super::words::{self, Words};
use super::{Bound, ZoneColumn};
use crate::floats;

/// The least and the greatest value of each of a number of intervals, in SQL order.
///
/// A null slot leaves that side of the interval open, as does a missing array.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    /// The lower bounds.
    pub lower: Option<ArrayRef>,
    /// The upper bounds, of the same type.
    pub upper: Option<ArrayRef>,
}

/// What the statistics of a column's zones come to.
#[derive(Debug)]
pub(super) struct Known {
    /// The zones that may hold a value.
    pub values: Words,
    /// The zones that may hold a NULL.
    pub nulls: Words,
    /// The zones that may hold a NaN, if the values are floats.
    pub nans: Option<Words>,
    /// The bounds of the values other than NaN, their dictionary left off, zeros folded.
    pub bounds: Bounds,
}

impl Known {
    /// What is known of the zones of a column.
    pub fn of(column: &ZoneColumn) -> Self {
        let starts = column.starts();
        let where_count = |counts: Option<&UInt64Array>, test: fn(u64, u64) -> bool| {
            words::select_each(&words::all(column.len()), |zone| {
                let known = counts.filter(|counts| counts.is_valid(zone));
                known.is_none_or(|counts| test(counts.value(zone), starts[zone + 1] - starts[zone]))
            })
        };
        Self {
            values: where_count(column.nulls(), |nulls, rows| nulls != rows),
            nulls: where_count(column.nulls(), |nulls, _| nulls != 0),
            nans: floats::is_float(column.data_type())
                .then(|| where_count(column.nans(), |nans, _| nans != 0)),
            // What can't be compared isn't known.
            bounds: Bounds::of(column).unwrap_or_default(),
        }
    }
}

impl Bounds {
    fn of(column: &ZoneColumn) -> Result<Self> {
        let side = |bound: Option<&Bound>| -> Result<Option<ArrayRef>> {
            let Some(bound) = bound.filter(|_| !column.data_type().is_nested()) else { return Ok(None) };
            let dictionary = matches!(column.data_type(), DataType::Dictionary(..));
            let values = if dictionary {
                cast(&bound.values, plain(column.data_type()))?
            } else {
                bound.values.clone()
            };
            Ok(Some(floats::fold_zeros(&values)))
        };
        Self { lower: side(column.lower())?, upper: side(column.upper())? }.uncrossed()
    }

    /// The same bounds without those that cross.
    pub fn uncrossed(self) -> Result<Self> {
        let (Some(lower), Some(upper)) = (&self.lower, &self.upper) else { return Ok(self) };
        let crossed = gt(lower, upper)?;
        if !crossed.has_true() {
            return Ok(self);
        }
        Ok(Self { lower: Some(nullif(lower, &crossed)?), upper: Some(nullif(upper, &crossed)?) })
    }

    /// The bounds after the same change of both sides.
    pub fn map(&self, mut change: impl FnMut(&ArrayRef) -> Result<ArrayRef>) -> Result<Self> {
        let mut side = |side: &Option<ArrayRef>| side.as_ref().map(&mut change).transpose();
        Ok(Self { lower: side(&self.lower)?, upper: side(&self.upper)? })
    }

    /// Those of `live` with an open side.
    pub fn open(&self, live: &[u64]) -> Words {
        let mut open = unknown(self.lower.as_ref(), live);
        words::add(&mut open, &unknown(self.upper.as_ref(), live));
        open
    }
}

/// Those of `live` whose bound isn't known.
pub(super) fn unknown(bounds: Option<&ArrayRef>, live: &[u64]) -> Words {
    match bounds.map(|bounds| bounds.logical_nulls()) {
        None => live.to_vec(),
        Some(Some(known)) if known.null_count() > 0 => words::minus(live, &words::of(known.inner())),
        Some(_) => vec![0; live.len()],
    }
}

/// Values under a cast; null where a value can't be cast.
pub(super) fn cast(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(values, to, &CastOptions { safe: true, ..Default::default() })?)
}
