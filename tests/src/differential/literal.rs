// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Values of any type in SQL, to the bit.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalUnit};
use arrow::util::display::array_value_to_string;
use datafusion::scalar::ScalarValue;

/// The value as an expression of exactly its type.
pub fn sql(value: &ScalarValue) -> String {
    match value.to_array() {
        Ok(array) => element(&array, 0),
        Err(error) => format!("(no literal: {error})"),
    }
}

/// The value of an array at `row`.
pub fn element(array: &ArrayRef, row: usize) -> String {
    let to = array.data_type();
    let typed = |text: &str| format!("arrow_cast('{}', '{to}')", text.replace('\'', "''"));
    if array.is_null(row) {
        return format!("arrow_cast(NULL, '{to}')");
    }
    let text = || array_value_to_string(array, row).unwrap_or_else(|error| error.to_string());
    match to {
        DataType::Boolean | DataType::Int32 => text(),
        DataType::Utf8 => format!("'{}'", text().replace('\'', "''")),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => float(array, row),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            format!("arrow_cast(X'{}', '{to}')", text())
        }
        DataType::Date32 | DataType::Time32(_) => through(array, row, &DataType::Int32),
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            through(array, row, &DataType::Int64)
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            use arrow::datatypes::IntervalYearMonthType;
            typed(&format!("{} months", array.as_primitive::<IntervalYearMonthType>().value(row)))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            use arrow::datatypes::IntervalDayTimeType;
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            typed(&format!("{} days {} milliseconds", value.days, value.milliseconds))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let value = element(dictionary.values(), dictionary.normalized_keys()[row]);
            format!("arrow_cast({value}, '{to}')")
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().zip(fields);
            let parts =
                columns.map(|(column, field)| format!("'{}', {}", field.name(), element(column, row)));
            format!("named_struct({})", parts.collect::<Vec<_>>().join(", "))
        }
        DataType::List(_) => {
            format!("arrow_cast(make_array({}), '{to}')", elements(&array.as_list::<i32>().value(row)))
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            format!("map([{}], [{}])", elements(entries.column(0)), elements(entries.column(1)))
        }
        _ => typed(&text()),
    }
}

fn elements(array: &ArrayRef) -> String {
    (0..array.len()).map(|row| element(array, row)).collect::<Vec<_>>().join(", ")
}

/// A float; casts from text lose the sign of NaN.
fn float(array: &ArrayRef, row: usize) -> String {
    let to = array.data_type();
    let value = cast(array, &DataType::Float64)
        .map_or(f64::NAN, |array| array.as_primitive::<arrow::datatypes::Float64Type>().value(row));
    match (value.is_nan(), value.is_sign_negative()) {
        (true, true) => format!("(-arrow_cast('NaN', '{to}'))"),
        _ => format!("arrow_cast('{value:?}', '{to}')"),
    }
}

/// A value by its number.
fn through(array: &ArrayRef, row: usize, integer: &DataType) -> String {
    let number = cast(array, integer).and_then(|number| array_value_to_string(&number, row));
    let number = number.unwrap_or_else(|error| error.to_string());
    format!("arrow_cast(arrow_cast('{number}', '{integer}'), '{}')", array.data_type())
}
