// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What an operand may be in each zone of a grid.
//!
//! A zone's domain is the union of three parts: the values between its bounds, the NaNs of a float
//! column unless their count is known to be 0, and NULL unless the null count is known to be 0. A missing
//! bound leaves that side open. Bounds that cross can't both be right, so neither is trusted.
//!
//! Under casts a zone that lacks a bound may hold values that a `TRY_CAST` turns to NULL, and so NULL is
//! then a part too.

use std::rc::Rc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::gt;
use arrow::compute::{CastOptions, cast_with_options, nullif};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};

use super::judged::Grid;
use super::lanes::{Lanes, word_count, words};
use super::leaf::{Split, Test};
use super::operand::{Operand, plain};
use super::{Bound, ZoneColumn};
use crate::floats;

/// The least and the greatest value of each of a number of intervals, in SQL order.
///
/// A null slot leaves that side of the interval open, as does a missing array.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// The lower bounds.
    pub lower: Option<ArrayRef>,
    /// The upper bounds, of the same type.
    pub upper: Option<ArrayRef>,
    /// How many intervals there are.
    pub len: usize,
}

/// The parts of an operand's domain in each zone of a grid.
#[derive(Debug)]
pub(super) struct Domain {
    grid: Rc<Grid>,
    bounds: Bounds,
    nans: Option<Nans>,
    may_be_null: BooleanBuffer,
    may_be_value: BooleanBuffer,
}

#[derive(Debug)]
struct Nans {
    bounds: Bounds,
    zones: BooleanBuffer,
}

impl Domain {
    /// The domain of `operand` in the zones of `grid`, which is over `column`.
    ///
    /// # Errors
    /// When the column isn't of the operand's type, or a bound can't be cast at all.
    pub fn load(operand: &Operand, column: &ZoneColumn, grid: Rc<Grid>) -> Result<Self> {
        if plain(column.data_type()) != &operand.column_type {
            let (path, expected) = (&operand.path, &operand.column_type);
            return exec_err!("zones of column {path} are of {}, not {expected}", column.data_type());
        }
        let bounds = Bounds::load(operand, column, &grid)?;
        let has_nans = operand.ordered && floats::is_float(&operand.column_type);
        let nan_bounds = floats::nan_bounds(operand.data_type()).filter(|_| has_nans);
        let nans = nan_bounds.map(|[lower, upper]| Nans {
            bounds: Bounds { lower: Some(lower), upper: Some(upper), len: 2 },
            zones: count_bits(column.nans(), &grid, |nans, _| nans != 0),
        });
        let mut may_be_null = count_bits(column.nulls(), &grid, |nulls, _| nulls != 0);
        if !operand.casts.is_empty() {
            may_be_null = &may_be_null | &bounds.open();
        }
        let may_be_value = count_bits(column.nulls(), &grid, |nulls, rows| nulls != rows);
        Ok(Self { grid, bounds, nans, may_be_null, may_be_value })
    }

    /// The zones.
    pub fn grid(&self) -> &Rc<Grid> {
        &self.grid
    }

    /// The truth set of a test in each zone: the union of what it says of the parts.
    ///
    /// # Errors
    /// When the test can't compare the operand's values.
    pub fn judge(&self, test: &dyn Test) -> Result<Vec<Lanes>> {
        let split = test.split(&self.bounds)?;
        let (values, null) = (split.lanes(), Lanes::splat(split.on_null));
        let mut lanes: Vec<_> = values
            .zip(words(&self.may_be_value).zip(words(&self.may_be_null)))
            .map(|(lane, (value, may_be_null))| lane.only(value).or_else(null.only(may_be_null)))
            .collect();
        if let Some(nans) = &self.nans {
            let nan = nan_truth(&test.split(&nans.bounds)?);
            lanes
                .iter_mut()
                .zip(words(&nans.zones))
                .zip(words(&self.may_be_value))
                .for_each(|((lane, may_be_nan), value)| *lane = lane.or_else(nan.only(may_be_nan & value)));
        }
        debug_assert_eq!(lanes.len(), word_count(self.grid.len()));
        Ok(lanes)
    }
}

impl Bounds {
    fn load(operand: &Operand, column: &ZoneColumn, grid: &Grid) -> Result<Self> {
        let side = |bound: Option<&Bound>| -> Result<Option<ArrayRef>> {
            match bound {
                Some(bound) if operand.ordered => {
                    let zones = bound.values.slice(grid.zones().start, grid.len());
                    Ok(Some(as_plain(operand, zones)?))
                }
                _ => Ok(None),
            }
        };
        let stored = Self { lower: side(column.lower())?, upper: side(column.upper())?, len: grid.len() };
        // Before any cast: one of two crossed bounds may be lost in a cast, and the other would be believed.
        let Self { lower, upper, len } = stored.uncrossed()?;
        let known = |side: Option<ArrayRef>| -> Result<Option<ArrayRef>> {
            let side = side.map(|values| cast_through(operand, values)).transpose()?;
            Ok(side.filter(|values| values.null_count() < values.len()))
        };
        Ok(Self { lower: known(lower)?, upper: known(upper)?, len })
    }

    /// The same bounds without those that cross.
    fn uncrossed(self) -> Result<Self> {
        let (Some(lower), Some(upper)) = (&self.lower, &self.upper) else { return Ok(self) };
        let crossed = gt(lower, upper)?;
        if !crossed.has_true() {
            return Ok(self);
        }
        let (lower, upper) = (nullif(lower, &crossed)?, nullif(upper, &crossed)?);
        Ok(Self { lower: Some(lower), upper: Some(upper), len: self.len })
    }

    /// The intervals with an open side.
    fn open(&self) -> BooleanBuffer {
        let open = |side: &Option<ArrayRef>| match side.as_ref().map(|bounds| bounds.logical_nulls()) {
            Some(None) => BooleanBuffer::new_unset(self.len),
            Some(Some(valid)) => !valid.inner(),
            None => BooleanBuffer::new_set(self.len),
        };
        &open(&self.lower) | &open(&self.upper)
    }
}

/// Values of an operand's column without their dictionary, zeros folded.
fn as_plain(operand: &Operand, column: ArrayRef) -> Result<ArrayRef> {
    let dictionary = matches!(column.data_type(), DataType::Dictionary(..));
    let plain = if dictionary { cast_safely(&column, &operand.column_type)? } else { column };
    Ok(floats::fold_zeros(&plain))
}

/// Plain values under the operand's casts, zeros folded; null where a value can't be cast.
fn cast_through(operand: &Operand, plain: ArrayRef) -> Result<ArrayRef> {
    let mut values = plain;
    for to in &operand.casts {
        values = cast_safely(&values, to)?;
    }
    Ok(floats::fold_zeros(&values))
}

fn cast_safely(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(values, to, &CastOptions { safe: true, ..Default::default() })?)
}

/// For each zone whether `test` holds of its count and its rows; an unknown count passes every test.
fn count_bits(counts: Option<&UInt64Array>, grid: &Grid, test: impl Fn(u64, u64) -> bool) -> BooleanBuffer {
    let Some(counts) = counts.map(|counts| counts.slice(grid.zones().start, grid.len())) else {
        return BooleanBuffer::new_set(grid.len());
    };
    let starts = grid.starts();
    let bits = BooleanBuffer::collect_bool(grid.len(), |zone| {
        test(counts.value(zone), starts[zone + 1] - starts[zone])
    });
    match counts.nulls() {
        Some(known) => &bits | &!known.inner(),
        None => bits,
    }
}

/// What a test says of NaNs, given what it says of the negative and of the positive ones.
fn nan_truth(split: &Split) -> Lanes {
    let [lane] = split.lanes().collect::<Vec<_>>()[..] else { return Lanes::splat(super::Truth::ANY) };
    Lanes::splat(lane.get(0).or_else(lane.get(1)))
}

/// The bits, with those of null slots set: what is unknown is possible.
pub(super) fn or_unknown(bits: BooleanArray) -> BooleanBuffer {
    match bits.into_parts() {
        (bits, Some(known)) => &bits | &!known.inner(),
        (bits, None) => bits,
    }
}
