// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Files of a table whose schema has changed: columns that one file lacks, or has in a narrower type.
//!
//! The first file is as the table is, so that the union of all files' schemas is the table's.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::random::Random;

/// What became of a column in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file lacks it.
    Missing,
    /// It has this type there.
    Narrower(DataType),
}

/// Draws changes of a file's columns; where a column is to be missing, all its `rows` become NULL.
///
/// # Errors
/// None but the engine's.
pub fn draw(
    rows: &RecordBatch,
    kept: &[&str],
    random: &mut Random,
) -> Result<(RecordBatch, Vec<(String, Change)>)> {
    let (mut columns, mut changes) = (rows.columns().to_vec(), Vec::new());
    for (field, column) in rows.schema().fields().iter().zip(&mut columns) {
        if kept.contains(&field.name().as_str()) {
            continue;
        }
        let change = if field.is_nullable() && random.one_in(8) {
            *column = new_null_array(field.data_type(), rows.num_rows());
            Change::Missing
        } else if let Some(narrower) = narrower(field.data_type()).filter(|_| random.one_in(3)) {
            if !fits(column, &narrower) {
                continue;
            }
            Change::Narrower(narrower)
        } else {
            continue;
        };
        changes.push((field.name().clone(), change));
    }
    Ok((RecordBatch::try_new(rows.schema(), columns)?, changes))
}

/// The rows as the file has them.
///
/// # Errors
/// None but the engine's.
pub fn apply(rows: &RecordBatch, changes: &[(String, Change)]) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        match changes.iter().find(|(name, _)| name == field.name()).map(|(_, change)| change) {
            Some(Change::Missing) => continue,
            Some(Change::Narrower(to)) => {
                let narrow = convert(column, to).context("it was found to fit")?;
                fields.push(Arc::new(Field::new(field.name(), to.clone(), field.is_nullable())));
                columns.push(narrow);
            }
            None => {
                fields.push(Arc::clone(field));
                columns.push(Arc::clone(column));
            }
        }
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// A type that widens to `wide` beside it.
fn narrower(wide: &DataType) -> Option<DataType> {
    Some(match wide {
        DataType::Int64 => DataType::Int32,
        DataType::Int32 => DataType::Int16,
        DataType::Int16 => DataType::UInt8,
        DataType::UInt64 => DataType::UInt32,
        DataType::UInt32 => DataType::UInt8,
        DataType::Float64 => DataType::Float32,
        DataType::Utf8 => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Decimal128(precision, scale) => DataType::Decimal128(precision - 3, *scale),
        DataType::Timestamp(TimeUnit::Microsecond, None) => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Date64 => DataType::Date32,
        _ => return None,
    })
}

fn convert(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &strict).ok()
}

/// Whether all values are the same, to the bit, after a cast there and back.
fn fits(column: &ArrayRef, to: &DataType) -> bool {
    convert(column, to)
        .and_then(|narrow| convert(&narrow, column.data_type()))
        .is_some_and(|back| &back == column)
}
