// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Floats: the two orders they are compared in, and the rules for loading their bounds.
//!
//! * The **SQL order** decides comparisons, BETWEEN and IN: −0.0 is first folded to +0.0, then IEEE total
//!   order holds: −NaN < −∞ … +∞ < +NaN, and a NaN equals only a NaN of the same bits.
//! * The **sort order** is IEEE total order without the folding. It is what `ORDER BY` compares by, and is
//!   used only to prove that rows are already in order.
//!
//! Bounds of a zone are loaded so that they are right in both orders, whatever the writer did with signed
//! zeros: a zero lower bound becomes −0.0, a zero upper bound +0.0. NaN is never a bound: writers leave
//! NaNs out of minimum and maximum, so the domain of a zone is [lower, upper] and, unless its NaN count is
//! known to be 0, both NaNs.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, new_null_array};
use arrow::compute::{is_null, nullif};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use datafusion_common::ScalarValue;

/// A float type, with what the rules need.
trait Float: ArrowPrimitiveType {
    const ZERO: Self::Native;
    const NEG_ZERO: Self::Native;
    fn is_nan(value: Self::Native) -> bool;
}

macro_rules! float {
    ($type:ty, $zero:expr, $neg_zero:expr) => {
        impl Float for $type {
            const ZERO: Self::Native = $zero;
            const NEG_ZERO: Self::Native = $neg_zero;
            fn is_nan(value: Self::Native) -> bool {
                value.is_nan()
            }
        }
    };
}

type F16 = <Float16Type as ArrowPrimitiveType>::Native;
float!(Float16Type, F16::ZERO, F16::NEG_ZERO);
float!(Float32Type, 0.0, -0.0);
float!(Float64Type, 0.0, -0.0);

/// Whether values of the type are floats; a dictionary's are what its entries are.
pub fn is_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_float(values),
        other => other.is_floating(),
    }
}

/// The array with −0.0 folded to +0.0; arrays of other types as they are, dictionaries of floats included:
/// their entries are compared unfolded.
pub fn fold_zeros(array: &ArrayRef) -> ArrayRef {
    on_floats(array, &Fold)
}

/// The constant with −0.0 folded to +0.0; constants of other types as they are.
pub fn fold_zero(value: &ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float16(Some(v)) if *v == F16::ZERO => ScalarValue::Float16(Some(F16::ZERO)),
        ScalarValue::Float32(Some(0.0)) => ScalarValue::Float32(Some(0.0)),
        ScalarValue::Float64(Some(0.0)) => ScalarValue::Float64(Some(0.0)),
        other => other.clone(),
    }
}

/// Minimums as a writer stored them, as lower bounds: a NaN becomes unknown (null), a zero −0.0. The same
/// in dictionaries of floats; other types as they are.
pub fn load_lower(bounds: &ArrayRef) -> ArrayRef {
    load(bounds, &Lower)
}

/// Maximums as a writer stored them, as upper bounds: a NaN becomes unknown (null), a zero +0.0. The same
/// in dictionaries of floats; other types as they are.
pub fn load_upper(bounds: &ArrayRef) -> ArrayRef {
    load(bounds, &Upper)
}

/// −NaN and +NaN of a float type: below and above everything else. `None` for other types.
pub fn nans(data_type: &DataType) -> Option<[ScalarValue; 2]> {
    match data_type {
        DataType::Float16 => Some([-F16::NAN, F16::NAN].map(|v| ScalarValue::Float16(Some(v)))),
        DataType::Float32 => Some([-f32::NAN, f32::NAN].map(|v| ScalarValue::Float32(Some(v)))),
        DataType::Float64 => Some([-f64::NAN, f64::NAN].map(|v| ScalarValue::Float64(Some(v)))),
        _ => None,
    }
}

/// The bounds of all NaNs of a float type: the lower and the upper ones of two intervals, the negative
/// NaNs and the positive ones, whatever their payload. `None` for other types.
pub fn nan_bounds(data_type: &DataType) -> Option<[ArrayRef; 2]> {
    match data_type {
        DataType::Float16 => {
            let [quiet, loud] = [0x7fff, 0x7c01].map(F16::from_bits);
            Some(nan_intervals::<Float16Type>(quiet, loud))
        }
        DataType::Float32 => {
            let [quiet, loud] = [0x7fff_ffff, 0x7f80_0001].map(f32::from_bits);
            Some(nan_intervals::<Float32Type>(quiet, loud))
        }
        DataType::Float64 => {
            let [quiet, loud] = [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0001].map(f64::from_bits);
            Some(nan_intervals::<Float64Type>(quiet, loud))
        }
        _ => None,
    }
}

/// The lower and upper bounds of both signs of NaN, given the positive ones of most and least payload.
fn nan_intervals<T: Float>(most: T::Native, least: T::Native) -> [ArrayRef; 2]
where
    T::Native: std::ops::Neg<Output = T::Native>,
{
    let array = |low, high| Arc::new(PrimitiveArray::<T>::from_iter_values([low, high])) as ArrayRef;
    [array(-most, least), array(-least, most)]
}

/// A change of float values, for any float type.
trait Change {
    fn apply<T: Float>(&self, value: T::Native) -> Option<T::Native>;
}

struct Fold;
struct Lower;
struct Upper;

impl Change for Fold {
    fn apply<T: Float>(&self, value: T::Native) -> Option<T::Native> {
        Some(if value == T::ZERO { T::ZERO } else { value })
    }
}

impl Change for Lower {
    fn apply<T: Float>(&self, value: T::Native) -> Option<T::Native> {
        let bound = if value == T::ZERO { T::NEG_ZERO } else { value };
        (!T::is_nan(value)).then_some(bound)
    }
}

impl Change for Upper {
    fn apply<T: Float>(&self, value: T::Native) -> Option<T::Native> {
        let bound = if value == T::ZERO { T::ZERO } else { value };
        (!T::is_nan(value)).then_some(bound)
    }
}

/// Bounds after a change, which may turn some into null.
fn load(bounds: &ArrayRef, change: &impl Change) -> ArrayRef {
    let Some(dictionary) = bounds.as_any_dictionary_opt().filter(|_| is_float(bounds.data_type())) else {
        return on_floats(bounds, change);
    };
    let loaded = dictionary.with_values(load(dictionary.values(), change));
    // A key of a null entry counts as null only for those who look at the entry.
    let unknown = is_null(&loaded).and_then(|unknown| nullif(&loaded, &unknown));
    unknown.unwrap_or_else(|_| new_null_array(bounds.data_type(), bounds.len()))
}

fn on_floats(array: &ArrayRef, change: &impl Change) -> ArrayRef {
    fn each<T: Float>(array: &ArrayRef, change: &impl Change) -> ArrayRef {
        let changed: PrimitiveArray<T> = array.as_primitive::<T>().unary_opt(|v| change.apply::<T>(v));
        Arc::new(changed)
    }
    match array.data_type() {
        DataType::Float16 => each::<Float16Type>(array, change),
        DataType::Float32 => each::<Float32Type>(array, change),
        DataType::Float64 => each::<Float64Type>(array, change),
        _ => Arc::clone(array),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, Float64Array, Int8Array};
    use arrow::compute::cast;
    use arrow::datatypes::Int8Type;

    use super::*;

    fn bits(array: &ArrayRef) -> Vec<Option<u64>> {
        array.as_primitive::<Float64Type>().iter().map(|v| v.map(f64::to_bits)).collect()
    }

    #[test]
    fn bounds_are_loaded_sound_in_both_orders() {
        let stored: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(f64::NAN), None, Some(2.5)]));
        let expect =
            |zero: f64| vec![Some(zero.to_bits()), Some(zero.to_bits()), None, None, Some(2.5f64.to_bits())];
        assert_eq!(bits(&load_lower(&stored)), expect(-0.0));
        assert_eq!(bits(&load_upper(&stored)), expect(0.0));
    }

    /// In a dictionary too: signed zeros, NaNs, and the keys of what became null.
    #[test]
    fn bounds_in_dictionaries_are_loaded_alike() {
        let stored = Float64Array::from(vec![Some(0.0), Some(-0.0), Some(f64::NAN), None, Some(2.5)]);
        let keys = Int8Array::from(vec![Some(0), Some(1), Some(2), Some(3), None, Some(4), Some(0)]);
        let stored: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(stored)));
        for (load, zero) in [(load_lower as fn(&ArrayRef) -> ArrayRef, -0.0f64), (load_upper, 0.0)] {
            let loaded = load(&stored);
            assert_eq!(loaded.data_type(), stored.data_type());
            let zero = Some(zero.to_bits());
            let expect = [zero, zero, None, None, None, Some(2.5f64.to_bits()), zero];
            assert_eq!(bits(&cast(&loaded, &DataType::Float64).unwrap()), expect);
            assert_eq!(loaded.null_count(), 3, "as whoever asks the keys alone sees it");
        }
        let words: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::from_iter(["a", "b"]));
        assert_eq!(&load_lower(&words), &words);
    }

    #[test]
    fn dictionaries_of_floats_are_floats() {
        let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int8), Box::new(values));
        assert!(is_float(&DataType::Float16) && is_float(&dictionary(DataType::Float32)));
        assert!(is_float(&dictionary(dictionary(DataType::Float64))));
        assert!(!is_float(&DataType::Int8) && !is_float(&dictionary(DataType::Utf8)));
    }

    #[test]
    fn folding_keeps_all_but_negative_zero() {
        let values: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(-0.0), Some(0.0), Some(-f64::NAN), None, Some(-1.0)]));
        let expect = [Some(0f64), Some(0.0), Some(-f64::NAN), None, Some(-1.0)];
        assert_eq!(bits(&fold_zeros(&values)), expect.map(|v| v.map(f64::to_bits)));
    }

    #[test]
    fn nan_bounds_hold_the_nans_of_every_payload_and_nothing_else() {
        let [lower, upper] = nan_bounds(&DataType::Float64).unwrap();
        let (lower, upper) = (lower.as_primitive::<Float64Type>(), upper.as_primitive::<Float64Type>());
        let inside = |v: f64| {
            (0..2).any(|i| lower.value(i).total_cmp(&v).is_le() && v.total_cmp(&upper.value(i)).is_le())
        };
        for bits in [1, 0x8_0000_0000_0000, 0xf_ffff_ffff_ffff] {
            let nan = f64::from_bits(0x7ff0_0000_0000_0000 | bits);
            assert!(nan.is_nan() && inside(nan) && inside(-nan), "{bits:x}");
        }
        for value in [f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::MAX] {
            assert!(!inside(value), "{value}");
        }
        assert!(nan_bounds(&DataType::Float16).is_some() && nan_bounds(&DataType::Float32).is_some());
        assert!(nan_bounds(&DataType::Int64).is_none());
    }

    #[test]
    fn the_two_nans_lie_outside_everything() {
        for data_type in [DataType::Float16, DataType::Float32, DataType::Float64] {
            let [low, high] = nans(&data_type).unwrap().map(|v| v.to_array().unwrap());
            let sorted =
                arrow::compute::sort(&arrow::compute::concat(&[&high, &low]).unwrap(), None).unwrap();
            assert_eq!(&sorted.slice(0, 1), &low);
            assert_eq!(&sorted.slice(1, 1), &high);
        }
    }
}
