// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The domain of a sum, a difference or a product.
//!
//! | | lower | upper |
//! |---|---|---|
//! | `x + y` | x.lower + y.lower | x.upper + y.upper |
//! | `x - y` | x.lower − y.upper | x.upper − y.lower |
//! | `x * y` | the least of the four products of bounds | the greatest |
//! | `x * c` | the product of x.lower and c, or of x.upper if c is negative | of the other |
//!
//! Sound because each is monotone in each term, rounding included. Integers wrap in the rows; where a result
//! that wraps can't be excluded, nothing is known of the zone. Floats give NaN of two
//! infinities, or of one and zero: zones in which these may meet may hold one.

use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::cmp;
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion_common::{Result, ScalarValue};

use super::domain::Domain;
use super::known::{Bounds, extreme, where_it_succeeds};
use super::ordered::{Side, against};
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
    terms: &[Given<'_>; 2],
    like: &Domain,
    data_type: &DataType,
) -> Result<Domain> {
    let zones = like.grid.len();
    let (mut values, mut nulls) = (words::all(zones), vec![0; zones.div_ceil(64)]);
    let mut nans = floats::is_float(data_type).then(|| vec![0; zones.div_ceil(64)]);
    for term in terms {
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
    let (x, y) = (terms[0].bounds(zones)?, terms[1].bounds(zones)?);
    if let Some(nans) = &mut nans {
        words::add(nans, &may_give_nan(op, &x, &y, data_type, zones)?);
    }
    let bounds = match op {
        ArithmeticOp::Add => {
            Bounds { lower: each(add, &x.lower, &y.lower)?, upper: each(add, &x.upper, &y.upper)? }
        }
        ArithmeticOp::Sub => {
            Bounds { lower: each(sub, &x.lower, &y.upper)?, upper: each(sub, &x.upper, &y.lower)? }
        }
        ArithmeticOp::Mul => match (constant(&terms[0]), constant(&terms[1])) {
            (Some(factor), None) => multiples(&y, factor, &x)?,
            (None, Some(factor)) => multiples(&x, factor, &y)?,
            _ => products(&x, &y)?,
        },
    };
    let bounds = Bounds {
        lower: bounds.lower.map(|lower| floats::fold_zeros(&floats::load_lower(&lower))),
        upper: bounds.upper.map(|upper| floats::fold_zeros(&floats::load_upper(&upper))),
    };
    let bounds = if data_type.is_integer() { bounds.both()? } else { bounds };
    let (grid, data_type) = (std::rc::Rc::clone(&like.grid), data_type.clone());
    Ok(Domain { grid, data_type, bounds: bounds.uncrossed()?, values, nulls, nans })
}

type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

/// The results in each zone; null where an operand is or where there is no result.
fn each(kernel: Kernel, a: &Option<ArrayRef>, b: &Option<ArrayRef>) -> Result<Option<ArrayRef>> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
    where_it_succeeds(&[a, b], &|args| Ok(kernel(args[0], args[1])?)).map(Some)
}

fn constant<'a>(term: &Given<'a>) -> Option<&'a ScalarValue> {
    match term {
        Given::Constant(value) => Some(value),
        Given::Domain(_) => None,
    }
}

/// The products with a constant, whose sign says which bound gives which.
fn multiples(x: &Bounds, factor: &ScalarValue, factors: &Bounds) -> Result<Bounds> {
    let (lower, upper) = (each(mul, &x.lower, &factors.lower)?, each(mul, &x.upper, &factors.lower)?);
    let is_negative = *factor < ScalarValue::new_zero(&factor.data_type())?;
    Ok(if is_negative { Bounds { lower: upper, upper: lower } } else { Bounds { lower, upper } })
}

/// The least and the greatest product, where all four are known.
fn products(x: &Bounds, y: &Bounds) -> Result<Bounds> {
    let mut found: Option<[ArrayRef; 2]> = None;
    for (a, b) in [(&x.lower, &y.lower), (&x.lower, &y.upper), (&x.upper, &y.lower), (&x.upper, &y.upper)] {
        let Some(product) = each(mul, a, b)? else { return Ok(Bounds::default()) };
        // A NaN is of zero and an infinity: what other values near those bounds give isn't known.
        let product = floats::load_upper(&product);
        found = Some(match &found {
            None => [ArrayRef::clone(&product), product],
            Some([least, most]) => [extreme(cmp::lt, &product, least)?, extreme(cmp::gt, &product, most)?],
        });
    }
    let [lower, upper] = found.map_or([None, None], |both| both.map(Some));
    Ok(Bounds { lower, upper })
}

/// The zones in which numbers may give a NaN.
fn may_give_nan(
    op: ArithmeticOp,
    x: &Bounds,
    y: &Bounds,
    data_type: &DataType,
    zones: usize,
) -> Result<Words> {
    let number = |value: f64| ScalarValue::from(value).cast_to(data_type)?.to_array();
    let (zero, most, least) = (number(0.0)?, number(f64::INFINITY)?, number(f64::NEG_INFINITY)?);
    let meetings = match op {
        ArithmeticOp::Add => [[&most, &least], [&least, &most]].to_vec(),
        ArithmeticOp::Sub => [[&most, &most], [&least, &least]].to_vec(),
        ArithmeticOp::Mul => [[&most, &zero], [&least, &zero], [&zero, &most], [&zero, &least]].to_vec(),
    };
    let all = words::all(zones);
    meetings.into_iter().try_fold(vec![0; all.len()], |mut found, [of_x, of_y]| {
        words::add(&mut found, &may_be(x, of_x, &may_be(y, of_y, &all)?)?);
        Ok(found)
    })
}

/// The live zones whose bounds have a value between them.
fn may_be(bounds: &Bounds, value: &ArrayRef, live: &[u64]) -> Result<Words> {
    let not_above = against(bounds.lower.as_ref(), Side::LtEq, value, live)?;
    against(bounds.upper.as_ref(), Side::GtEq, value, &not_above)
}
