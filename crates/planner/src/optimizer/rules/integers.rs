// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Integers of all types as numbers, for rules that reason about their ranges.

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

/// The least and the greatest value of an integer type; `None` for other types.
pub(super) fn range_of(data_type: &DataType) -> Option<(i128, i128)> {
    let bits = u32::try_from(data_type.primitive_width().filter(|_| data_type.is_integer())? * 8).ok()?;
    Some(match data_type.is_signed_integer() {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    })
}

/// The value of an integer that isn't NULL; `None` for anything else.
pub(super) fn number(value: &ScalarValue) -> Option<i128> {
    match value {
        ScalarValue::Int8(v) => v.map(i128::from),
        ScalarValue::Int16(v) => v.map(i128::from),
        ScalarValue::Int32(v) => v.map(i128::from),
        ScalarValue::Int64(v) => v.map(i128::from),
        ScalarValue::UInt8(v) => v.map(i128::from),
        ScalarValue::UInt16(v) => v.map(i128::from),
        ScalarValue::UInt32(v) => v.map(i128::from),
        ScalarValue::UInt64(v) => v.map(i128::from),
        _ => None,
    }
}

/// The number as a value of an integer type; `None` when it has no such value, or isn't an integer type.
pub(super) fn value_of(data_type: &DataType, number: i128) -> Option<ScalarValue> {
    Some(match data_type {
        DataType::Int8 => ScalarValue::Int8(Some(number.try_into().ok()?)),
        DataType::Int16 => ScalarValue::Int16(Some(number.try_into().ok()?)),
        DataType::Int32 => ScalarValue::Int32(Some(number.try_into().ok()?)),
        DataType::Int64 => ScalarValue::Int64(Some(number.try_into().ok()?)),
        DataType::UInt8 => ScalarValue::UInt8(Some(number.try_into().ok()?)),
        DataType::UInt16 => ScalarValue::UInt16(Some(number.try_into().ok()?)),
        DataType::UInt32 => ScalarValue::UInt32(Some(number.try_into().ok()?)),
        DataType::UInt64 => ScalarValue::UInt64(Some(number.try_into().ok()?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    fn the_ends_of_a_range_are_values_and_no_more(
        #[values(DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64)] signed: DataType,
        #[values(DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64)] unsigned: DataType,
    ) {
        for data_type in [signed, unsigned] {
            let (low, high) = range_of(&data_type).unwrap();
            for end in [low, high] {
                let value = value_of(&data_type, end).unwrap();
                assert_eq!((value.data_type(), number(&value)), (data_type.clone(), Some(end)));
            }
            assert_eq!([low - 1, high + 1].map(|beyond| value_of(&data_type, beyond)), [None, None]);
        }
    }
}
