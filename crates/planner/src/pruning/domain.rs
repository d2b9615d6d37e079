// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What an operand may be in each zone of a grid, and which zones may make a test come out so or so.
//!
//! A column's domain is what is [`Known`] of it. Other operands' domains are made from those: by mapping bounds,
//! or by arithmetic over them.

use std::rc::Rc;

use arrow::array::{ArrayRef, Scalar, UInt64Array};
use arrow::compute::kernels::{cmp, zip::zip};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, exec_err};

use super::Truth;
use super::ZoneColumn;
use super::grid::Grid;
use super::known::{Bounds, Known, cast, extreme, unknown, where_it_succeeds};
use super::leaf::{Ask, Test};
use super::operand::{Column, plain};
use super::ordered::{Side, against};
use super::words::{self, Words};
use crate::expr::Monotone;
use crate::floats;

/// The parts of an operand's domain in each zone of a grid.
#[derive(Debug, Clone)]
pub(super) struct Domain {
    pub grid: Rc<Grid>,
    pub data_type: DataType,
    pub bounds: Bounds,
    /// The zones that may hold a value, a NaN included.
    pub values: Words,
    /// The zones that may hold a NULL.
    pub nulls: Words,
    /// The zones that may hold a NaN, if the values are floats.
    pub nans: Option<Words>,
}

impl Domain {
    /// The domain of a column in the zones of `grid`, which is over `zones`.
    ///
    /// # Errors
    /// When the zones are of another type.
    pub fn of_column(column: &Column, zones: &ZoneColumn, grid: Rc<Grid>) -> Result<Self> {
        if plain(zones.data_type()) != &column.data_type {
            let (path, expected) = (&column.path, &column.data_type);
            return exec_err!("zones of column {path} are of {}, not {expected}", zones.data_type());
        }
        let (known, words) = (zones.known(), grid.zones().start / 64..grid.zones().end.div_ceil(64));
        let Known { values, nulls, nans, bounds } = known.as_ref();
        let slice = |bounds: &ArrayRef| Ok(bounds.slice(grid.zones().start, grid.len()));
        Ok(Self {
            bounds: if column.ordered { bounds.map(slice)? } else { Bounds::default() },
            data_type: column.data_type.clone(),
            values: values[words.clone()].to_vec(),
            nulls: nulls[words.clone()].to_vec(),
            nans: nans.as_ref().map(|nans| nans[words].to_vec()),
            grid,
        })
    }

    /// The live zones in which a test of the operand may give one of `set`; `held` knows more of which zones hold
    /// one of some values, NaNs included.
    ///
    /// # Errors
    /// When the test can't compare the operand's values.
    pub fn may(
        &self,
        test: &dyn Test,
        set: Truth,
        live: &[u64],
        held: impl Fn(&ArrayRef, &[u64]) -> Result<Words>,
    ) -> Result<Words> {
        let outcomes = test.outcomes();
        let mut found = match outcomes.on_null.meets(set) {
            true => words::and(live, &self.nulls),
            false => vec![0; live.len()],
        };
        let ask = match (outcomes.on_hold.meets(set), outcomes.on_fail.meets(set)) {
            (false, false) => return Ok(found),
            (true, true) => {
                words::add(&mut found, &words::and(live, &self.values));
                return Ok(found);
            }
            (true, false) => Ask::Holds,
            (false, true) => Ask::Fails,
        };
        let open = words::minus(&words::and(live, &self.values), &found);
        let mut of_values = test.may(ask, &self.bounds, &open)?;
        if let Some((nans, [lower, upper])) = self.nans.as_ref().zip(floats::nan_bounds(&self.data_type)) {
            let open = words::minus(&words::and(&open, nans), &of_values);
            let of_nans = Bounds { lower: Some(lower), upper: Some(upper) };
            if !words::is_empty(&open) && !words::is_empty(&test.may(ask, &of_nans, &[0b11])?) {
                words::add(&mut of_values, &open);
            }
        }
        if let Some(sought) = test.sought().filter(|_| ask == Ask::Holds) {
            of_values = held(&sought, &of_values)?;
        }
        words::add(&mut found, &of_values);
        Ok(found)
    }

    /// The domain under a cast that keeps the order of values; `total` when it never fails.
    ///
    /// A zone that lacks a bound may hold values that a `TRY_CAST` turns to NULL, and so NULL is then a part
    /// of it. Crossed bounds are gone by now: one of two might be lost in the cast, and the other be believed.
    ///
    /// # Errors
    /// When values can't be cast at all.
    pub fn cast(&self, to: &DataType, total: bool) -> Result<Self> {
        let mut domain = self.clone();
        domain.bounds = self.bounds.map(|values| Ok(floats::fold_zeros(&cast(values, to)?)))?;
        // A lower bound that is too large leaves no value that can be cast, and so does an upper one too small.
        for (bound, cast, beyond) in [
            (&self.bounds.lower, &domain.bounds.lower, Side::Gt),
            (&self.bounds.upper, &domain.bounds.upper, Side::Lt),
        ] {
            let Some(bound) = bound.as_ref().filter(|_| !total && self.data_type.is_numeric()) else {
                continue;
            };
            let lost = words::minus(
                &unknown(cast.as_ref(), self.grid.live()),
                &unknown(Some(bound), self.grid.live()),
            );
            let zero = ScalarValue::new_zero(&self.data_type)?.to_array()?;
            domain.values = words::minus(&domain.values, &against(Some(bound), beyond, &zero, &lost)?);
        }
        domain.data_type = to.clone();
        domain.nans = domain.nans.filter(|_| floats::is_float(to));
        if !total {
            words::add(&mut domain.nulls, &domain.bounds.open(self.grid.live()));
            // What isn't a float has no NaN.
            let lost = self.nans.as_ref().filter(|_| domain.nans.is_none());
            lost.into_iter().for_each(|nans| words::add(&mut domain.nulls, nans));
        }
        Ok(domain)
    }

    /// The domain of a function of the values that is monotone, evaluated by `function`.
    ///
    /// A decreasing function that wraps at one end of its type makes its bounds cross, and so unknown.
    ///
    /// # Errors
    /// When the function can't be evaluated for any bound.
    pub fn map(
        &self,
        monotone: Monotone,
        data_type: &DataType,
        function: impl Fn(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<Self> {
        let at = |values: &ArrayRef| {
            Ok(floats::fold_zeros(&where_it_succeeds(&[values], &|args| function(args[0]))?))
        };
        let Bounds { lower, upper } = self.bounds.map(at)?;
        let bounds = match (monotone, &self.bounds) {
            (Monotone::Increasing, _) => Bounds { lower, upper },
            // One bound alone may have wrapped.
            (Monotone::Decreasing, _) => Bounds { lower: upper, upper: lower }.both()?,
            (Monotone::AwayFromZero, Bounds { lower: Some(from), upper: Some(to) }) => {
                let zero = ScalarValue::new_zero(&self.data_type)?.to_array()?;
                let least = at(&zero)?;
                let (Some(lower), Some(upper)) = (lower, upper) else {
                    return exec_err!("a bound without value");
                };
                let (zero, least) = (Scalar::new(zero), Scalar::new(least));
                let inside = zip(&cmp::lt_eq(to, &zero)?, &upper, &least)?;
                let nearest = zip(&cmp::gt_eq(from, &zero)?, &lower, &inside)?;
                Bounds { lower: Some(nearest), upper: Some(extreme(cmp::gt, &lower, &upper)?) }
            }
            (Monotone::AwayFromZero, _) => Bounds::default(),
        };
        let mut mapped = Self { bounds: bounds.uncrossed()?, data_type: data_type.clone(), ..self.clone() };
        mapped.nans = mapped.nans.filter(|_| floats::is_float(data_type));
        // Beyond the values that it has a value for, the function may be NULL.
        words::add(&mut mapped.nulls, &mapped.bounds.open(self.grid.live()));
        Ok(mapped)
    }

    /// The same domain over a finer grid, each of whose zones lies in the one of this grid that `from` names.
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn refined(&self, grid: &Rc<Grid>, from: &UInt64Array) -> Result<Self> {
        let remapped = |words: &Words| {
            words::select_each(&words::all(grid.len()), |zone| {
                let zone = from.value(zone) as usize;
                words[zone / 64] >> (zone % 64) & 1 == 1
            })
        };
        Ok(Self {
            grid: Rc::clone(grid),
            data_type: self.data_type.clone(),
            bounds: self.bounds.map(|values| Ok(take(values, from, None)?))?,
            values: remapped(&self.values),
            nulls: remapped(&self.nulls),
            nans: self.nans.as_ref().map(remapped),
        })
    }
}
