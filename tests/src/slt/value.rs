// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rows as text, in the format DataFusion's own SQL cases use.
//!
//! NULL is `NULL`, an empty string `(empty)`; floats are plain decimals of at most 12 fractional digits without
//! trailing zeros, so that no case depends on a float's last bits; every NaN is `NaN`, whatever its sign; all other
//! types print as DataFusion displays them. A last cell of several lines (a plan) becomes one numbered row per line.

use std::str::FromStr;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions, array_value_to_string};
use bigdecimal::BigDecimal;
use datafusion::config::{ConfigField, FormatOptions as DataFusionFormat};

/// Fractional digits of a printed float.
const FLOAT_DIGITS: i64 = 12;

/// Every row of `batches` as one text per column.
pub(crate) fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells: Vec<String> =
                batch.columns().iter().map(|column| cell(column, row)).collect::<Result<_>>()?;
            push_split(cells, &mut rows);
        }
    }
    Ok(rows)
}

/// Appends a row, each line of a many-line last cell as a row of its own: `01)…`, leading blanks as dashes since
/// cases ignore white space.
fn push_split(mut cells: Vec<String>, rows: &mut Vec<Vec<String>>) {
    let plan = cells.pop_if(|last| last.contains('\n'));
    rows.push(cells);
    for (number, line) in plan.iter().flat_map(|plan| plan.split('\n')).enumerate() {
        let text = line.trim_start();
        let indent = "-".repeat(line.len() - text.len());
        rows.push(vec![format!("{:02}){indent}{text}", number + 1)]);
    }
}

/// One value as text.
fn cell(column: &ArrayRef, row: usize) -> Result<String> {
    if column.is_null(row) {
        return Ok("NULL".to_owned());
    }
    match column.data_type() {
        DataType::Float16 => {
            let value = column.as_primitive::<Float16Type>().value(row);
            float(f64::from(value), &value.to_string())
        }
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            float(f64::from(value), &value.to_string())
        }
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            float(value, &value.to_string())
        }
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => plain(&array_value_to_string(column, row)?, i64::from(*scale)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Ok(string(&array_value_to_string(column, row)?))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            cell(dictionary.values(), dictionary.normalized_keys()[row])
        }
        _ => displayed(column, row),
    }
}

fn string(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { value.trim_end_matches('\n').replace('\0', "\\0") }
}

/// A float, given also as the shortest text that reads back as it in its own width.
fn float(value: f64, shortest: &str) -> Result<String> {
    if value.is_nan() {
        Ok("NaN".to_owned())
    } else if value.is_infinite() {
        Ok(if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned())
    } else {
        plain(shortest, FLOAT_DIGITS)
    }
}

/// A decimal number rounded to `digits` fractional digits, without exponent or trailing zeros.
fn plain(number: &str, digits: i64) -> Result<String> {
    let number = BigDecimal::from_str(number).with_context(|| format!("not a decimal number: {number}"))?;
    Ok(number.round(digits).normalized().to_plain_string())
}

fn displayed(column: &ArrayRef, row: usize) -> Result<String> {
    let mut format = DataFusionFormat::default();
    format.set("null", "NULL")?;
    let options: FormatOptions<'_> = (&format).try_into()?;
    Ok(ArrayFormatter::try_new(column.as_ref(), &options)?.value(row).to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int32Array,
        ListArray, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    };
    use arrow::datatypes::{Field, Int32Type};
    use rstest::rstest;

    use super::*;

    fn first(array: impl Array + 'static) -> String {
        cell(&(Arc::new(array) as ArrayRef), 0).unwrap()
    }

    #[rstest]
    #[case::whole(3.0, "3")]
    #[case::fraction(0.1, "0.1")]
    #[case::negative_zero(-0.0, "0")]
    #[case::rounded(1.0 / 3.0, "0.333333333333")]
    #[case::large(1e21, "1000000000000000000000")]
    #[case::tiny(1e-20, "0")]
    #[case::nan(f64::NAN, "NaN")]
    #[case::negative_nan(-f64::NAN, "NaN")]
    #[case::infinite(f64::NEG_INFINITY, "-Infinity")]
    fn floats(#[case] value: f64, #[case] text: &str) {
        assert_eq!(first(Float64Array::from(vec![value])), text);
    }

    #[rstest]
    #[case::single(Float32Array::from(vec![0.1f32]), "0.1")]
    #[case::null(Int32Array::from(vec![None::<i32>]), "NULL")]
    #[case::boolean(BooleanArray::from(vec![true]), "true")]
    #[case::empty(StringArray::from(vec![""]), "(empty)")]
    #[case::view(StringViewArray::from(vec!["a b\n"]), "a b")]
    #[case::nul_byte(StringArray::from(vec!["a\0b"]), "a\\0b")]
    #[case::dictionary(vec!["x"].into_iter().collect::<DictionaryArray<Int32Type>>(), "x")]
    #[case::decimal(Decimal128Array::from(vec![12_300]).with_precision_and_scale(9, 3).unwrap(), "12.3")]
    #[case::date(Date32Array::from(vec![18_262]), "2020-01-01")]
    #[case::timestamp(TimestampMicrosecondArray::from(vec![0]), "1970-01-01T00:00:00")]
    #[case::list(
        ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None])]), "[1, NULL]")]
    #[case::a_struct(
        StructArray::from(vec![(Arc::new(Field::new("a", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![None::<i32>])) as ArrayRef)]), "{a: NULL}")]
    fn values(#[case] array: impl Array + 'static, #[case] text: &str) {
        assert_eq!(first(array), text);
    }

    #[test]
    fn a_plan_is_one_row_a_line() {
        let mut rows = Vec::new();
        push_split(vec!["physical_plan".to_owned(), "A\n  B".to_owned()], &mut rows);
        assert_eq!(rows, [vec!["physical_plan"], vec!["01)A"], vec!["02)--B"]]);
    }
}
