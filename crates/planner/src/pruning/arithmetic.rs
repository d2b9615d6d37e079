// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The domain of a sum, a difference or a product.
//!
//! | | lower | upper |
//! |---|---|---|
//! | `x + y` | x.lower + y.lower | x.upper + y.upper |
//! | `x - y` | x.lower − y.upper | x.upper − y.lower |
//! | `x * y` | the least of the four products of bounds | the greatest |
//!
//! Sound because each is monotone in each term, rounding included. Integers wrap in the rows; where a result
//! that wraps can't be excluded, nothing is known of the zone. Floats give NaN of infinities, so only zones
//! whose bounds are known and finite are free of new ones.

use arrow::array::{Array, ArrayRef, AsArray, Datum};
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::compute::kernels::{cmp, zip::zip};
use arrow::compute::{and, concat, is_not_null, is_null, nullif};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use datafusion_common::{Result, ScalarValue};

use super::domain::Domain;
use super::known::{Bounds, cast, unknown};
use super::words::{self, Words};
use crate::expr::functions::ArithmeticOp;
use crate::floats;

/// A term as it is in each zone of a grid.
pub(super) enum Given<'a> {
    /// As an operand is.
    Domain(&'a Domain),
    /// The same in all.
    Constant(&'a ScalarValue),
}

impl Given<'_> {
    fn bounds(&self, zones: usize) -> Result<Bounds> {
        match self {
            Self::Domain(domain) => Ok(domain.bounds.clone()),
            Self::Constant(value) => {
                let values = floats::fold_zeros(&value.to_array_of_size(zones)?);
                Ok(Bounds { lower: Some(ArrayRef::clone(&values)), upper: Some(values) })
            }
        }
    }
}

/// The domain of `x op y`, over the grid of `like`, one of the two.
///
/// # Errors
/// When there is no such operation on the types of the bounds.
pub(super) fn arithmetic(
    op: ArithmeticOp,
    [x, y]: [Given<'_>; 2],
    like: &Domain,
    data_type: &DataType,
) -> Result<Domain> {
    let zones = like.grid.len();
    let (mut values, mut nulls) = (words::all(zones), vec![0; zones.div_ceil(64)]);
    let mut nans = floats::is_float(data_type).then(|| vec![0; zones.div_ceil(64)]);
    for term in [&x, &y] {
        match term {
            Given::Domain(domain) => {
                values = words::and(&values, &domain.values);
                words::add(&mut nulls, &domain.nulls);
                nans.iter_mut().zip(&domain.nans).for_each(|(nans, of_term)| words::add(nans, of_term));
            }
            Given::Constant(value) if value.is_null() => {
                (values, nulls) = (vec![0; values.len()], words::all(zones));
            }
            Given::Constant(_) => {}
        }
    }
    let (x, y) = (x.bounds(zones)?, y.bounds(zones)?);
    if let Some(nans) = &mut nans {
        for side in [&x.lower, &x.upper, &y.lower, &y.upper] {
            words::add(nans, &not_finite(side.as_ref(), zones)?);
        }
    }
    let bounds = match op {
        ArithmeticOp::Add => {
            Bounds { lower: each(add, &x.lower, &y.lower)?, upper: each(add, &x.upper, &y.upper)? }
        }
        ArithmeticOp::Sub => {
            Bounds { lower: each(sub, &x.lower, &y.upper)?, upper: each(sub, &x.upper, &y.lower)? }
        }
        ArithmeticOp::Mul => products(&x, &y)?,
    };
    let bounds = Bounds {
        lower: bounds.lower.map(|lower| floats::fold_zeros(&floats::load_lower(&lower))),
        upper: bounds.upper.map(|upper| floats::fold_zeros(&floats::load_upper(&upper))),
    };
    let bounds = if data_type.is_integer() { known_on_both_sides(bounds)? } else { bounds };
    let (grid, data_type) = (std::rc::Rc::clone(&like.grid), data_type.clone());
    Ok(Domain { grid, data_type, bounds: bounds.uncrossed()?, values, nulls, nans })
}

type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

/// The results in each zone; null where an operand is or where there is no result.
fn each(kernel: Kernel, a: &Option<ArrayRef>, b: &Option<ArrayRef>) -> Result<Option<ArrayRef>> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
    let kernel_result = |a: &ArrayRef, b: &ArrayRef| kernel(a, b);
    match kernel_result(a, b) {
        Ok(all) => Ok(Some(all)),
        // The types have an operation if no values do.
        Err(_) if a.len() > 1 => {
            let middle = a.len() / 2;
            let half = |from, len| each(kernel, &Some(a.slice(from, len)), &Some(b.slice(from, len)));
            let (Some(front), Some(back)) = (half(0, middle)?, half(middle, a.len() - middle)?) else {
                return Ok(None);
            };
            Ok(Some(concat(&[front.as_ref(), back.as_ref()])?))
        }
        Err(_) => {
            let result = kernel_result(&a.slice(0, 0), &b.slice(0, 0))?;
            Ok(Some(arrow::array::new_null_array(result.data_type(), a.len())))
        }
    }
}

/// The least and the greatest product, where all four are known.
fn products(x: &Bounds, y: &Bounds) -> Result<Bounds> {
    let (mut lower, mut upper): (Option<ArrayRef>, Option<ArrayRef>) = (None, None);
    for (a, b) in [(&x.lower, &y.lower), (&x.lower, &y.upper), (&x.upper, &y.lower), (&x.upper, &y.upper)] {
        let Some(product) = each(mul, a, b)? else { return Ok(Bounds::default()) };
        // A NaN is the product of zero and an infinity, and any other product of those bounds may be missing.
        let product = floats::load_upper(&product);
        lower = Some(extreme(cmp::lt, lower, &product)?);
        upper = Some(extreme(cmp::gt, upper, &product)?);
    }
    Ok(Bounds { lower, upper })
}

/// Of each pair the value that is so beside the other; null where either is.
fn extreme(
    wins: fn(&dyn Datum, &dyn Datum) -> Result<arrow::array::BooleanArray, ArrowError>,
    best: Option<ArrayRef>,
    next: &ArrayRef,
) -> Result<ArrayRef> {
    let Some(best) = best else { return Ok(ArrayRef::clone(next)) };
    let known = and(&is_not_null(&best)?, &is_not_null(next)?)?;
    let wins = wins(next, &best)?;
    let winner = zip(&wins, next, &best)?;
    Ok(nullif(&winner, &arrow::compute::not(&known)?)?)
}

/// The bounds of intervals both of whose sides are known.
fn known_on_both_sides(bounds: Bounds) -> Result<Bounds> {
    let (Some(lower), Some(upper)) = (&bounds.lower, &bounds.upper) else { return Ok(Bounds::default()) };
    let lower_known = nullif(lower, &is_null(upper)?)?;
    Ok(Bounds { upper: Some(nullif(upper, &is_null(lower)?)?), lower: Some(lower_known) })
}

/// The zones whose bound is infinite, a NaN or unknown.
fn not_finite(bounds: Option<&ArrayRef>, zones: usize) -> Result<Words> {
    let all = words::all(zones);
    let mut found = unknown(bounds, &all);
    if let Some(bounds) = bounds {
        let wide = cast(bounds, &DataType::Float64)?;
        words::add(
            &mut found,
            &words::select(wide.as_primitive::<Float64Type>().values(), &all, |v| !v.is_finite()),
        );
    }
    Ok(found)
}
