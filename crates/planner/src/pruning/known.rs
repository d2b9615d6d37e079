// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the statistics of a column come to, computed once for all judgements.
//!
//! A zone's domain is the union of three parts: the values between its bounds, the NaNs of a float
//! column unless their count is known to be 0, and NULL unless the null count is known to be 0. A missing
//! bound leaves that side open. Bounds that cross can't both be right, so neither is trusted.

use std::ops::Range;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Datum, DynComparator, UInt64Array, make_comparator, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::{cmp::gt, zip::zip};
use arrow::compute::{CastOptions, SortOptions, cast_with_options, concat, is_null, nullif, or};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion_common::{Result, ScalarValue};

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
                ArrayRef::clone(&bound.values)
            };
            Ok(Some(floats::fold_zeros(&values)))
        };
        let bounds = Self { lower: side(column.lower())?, upper: side(column.upper())? }.uncrossed()?;
        bounds.closed(plain(column.data_type()), column.len())
    }

    /// The same bounds, open sides closed by the ends of the type: the least and the greatest integer, the
    /// infinities, FALSE and TRUE, the empty string.
    fn closed(self, data_type: &DataType, zones: usize) -> Result<Self> {
        let infinity = |sign: f64| ScalarValue::Float64(Some(sign * f64::INFINITY)).cast_to(data_type);
        let [least, greatest] = match data_type {
            DataType::Boolean => [Some(false.into()), Some(true.into())],
            data_type if data_type.is_floating() => [Some(infinity(-1.0)?), Some(infinity(1.0)?)],
            data_type if data_type.is_string() => [Some(ScalarValue::from("").cast_to(data_type)?), None],
            data_type => match integers(data_type) {
                Some(ends) => ends.map(Some),
                None => return Ok(self),
            },
        };
        let close = |side: Option<ArrayRef>, end: Option<ScalarValue>| -> Result<Option<ArrayRef>> {
            Ok(match (side, end) {
                (Some(side), Some(end)) if side.null_count() > 0 => {
                    Some(zip(&is_null(&side)?, &end.to_scalar()?, &side)?)
                }
                (None, Some(end)) => Some(end.to_array_of_size(zones)?),
                (side, _) => side,
            })
        };
        Ok(Self { lower: close(self.lower, least)?, upper: close(self.upper, greatest)? })
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

    /// The bounds of the intervals of which both are known.
    pub fn both(self) -> Result<Self> {
        let (Some(lower), Some(upper)) = (&self.lower, &self.upper) else { return Ok(Self::default()) };
        let known = |side: &ArrayRef, other: &ArrayRef| -> Result<_> { Ok(nullif(side, &is_null(other)?)?) };
        Ok(Self { lower: Some(known(lower, upper)?), upper: Some(known(upper, lower)?) })
    }

    /// For each interval, by number, the sorted values that lie in it: from the first to the one after the last.
    ///
    /// # Errors
    /// When the values are of another type.
    pub fn members(&self, values: &ArrayRef) -> Result<impl Fn(usize) -> Range<usize> + use<>> {
        let side = |side: &Option<ArrayRef>| -> Result<Compared> {
            let Some(bounds) = side else { return Ok(None) };
            Ok(Some((bounds.logical_nulls(), make_comparator(values, bounds, SortOptions::default())?)))
        };
        let (lower, upper, len) = (side(&self.lower)?, side(&self.upper)?, values.len());
        Ok(move |zone| {
            let from = compared(&lower, zone).map_or(0, |value| first(len, |at| value(at, zone).is_ge()));
            let to = compared(&upper, zone).map_or(len, |value| first(len, |at| value(at, zone).is_gt()));
            from..to.max(from)
        })
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

/// Which bounds are known, and how values compare with them.
type Compared = Option<(Option<NullBuffer>, DynComparator)>;

fn compared(side: &Compared, zone: usize) -> Option<&DynComparator> {
    let (known, compare) = side.as_ref()?;
    known.as_ref().is_none_or(|known| known.is_valid(zone)).then_some(compare)
}

/// The first of so many for which a test holds that holds for all after it too.
pub(super) fn first(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The least and the greatest integer of a type.
fn integers(data_type: &DataType) -> Option<[ScalarValue; 2]> {
    Some(match data_type {
        DataType::Int8 => [i8::MIN, i8::MAX].map(ScalarValue::from),
        DataType::Int16 => [i16::MIN, i16::MAX].map(ScalarValue::from),
        DataType::Int32 => [i32::MIN, i32::MAX].map(ScalarValue::from),
        DataType::Int64 => [i64::MIN, i64::MAX].map(ScalarValue::from),
        DataType::UInt8 => [u8::MIN, u8::MAX].map(ScalarValue::from),
        DataType::UInt16 => [u16::MIN, u16::MAX].map(ScalarValue::from),
        DataType::UInt32 => [u32::MIN, u32::MAX].map(ScalarValue::from),
        DataType::UInt64 => [u64::MIN, u64::MAX].map(ScalarValue::from),
        _ => return None,
    })
}

/// Those of `live` whose bound isn't known.
pub(super) fn unknown(bounds: Option<&ArrayRef>, live: &[u64]) -> Words {
    match bounds.map(|bounds| bounds.logical_nulls()) {
        None => live.to_vec(),
        Some(Some(known)) if known.null_count() > 0 => words::minus(live, &words::of(known.inner())),
        Some(_) => vec![0; live.len()],
    }
}

/// Of each pair the value that is so beside the other; null where either is.
pub(super) fn extreme(
    wins: fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>,
    a: &ArrayRef,
    b: &ArrayRef,
) -> Result<ArrayRef> {
    let winner = zip(&wins(a, b)?, a, b)?;
    Ok(nullif(&winner, &or(&is_null(a)?, &is_null(b)?)?)?)
}

/// The results of a function over arrays of one length; null where it fails.
///
/// # Errors
/// When it fails even for no values.
pub(super) fn where_it_succeeds(
    args: &[&ArrayRef],
    function: &dyn Fn(&[&ArrayRef]) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let of_part = |from: usize, len: usize| {
        let part: Vec<_> = args.iter().map(|arg| arg.slice(from, len)).collect();
        where_it_succeeds(&part.iter().collect::<Vec<_>>(), function)
    };
    match (function(args), args[0].len()) {
        (Ok(all), _) => Ok(all),
        (Err(error), 0) => Err(error),
        (Err(_), 1) => Ok(new_null_array(of_part(0, 0)?.data_type(), 1)),
        (Err(_), len) => {
            let (front, back) = (of_part(0, len / 2)?, of_part(len / 2, len - len / 2)?);
            Ok(concat(&[front.as_ref(), back.as_ref()])?)
        }
    }
}

/// Values under a cast; null where a value can't be cast.
pub(super) fn cast(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(values, to, &CastOptions { safe: true, ..Default::default() })?)
}
