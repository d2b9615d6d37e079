// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How a fragment's columns stand for the table's: by name, widened, missing, constant.
//!
//! Columns, and fields of structs at any depth, are found by their exact name. What the file lacks is NULL;
//! what the table doesn't know is left out. A column of row numbers is in no file. A column of another type is cast as DataFusion's own scan
//! casts it, and a value that the cast can't take is an error, never NULL. That holds for the casts too that
//! Arrow itself gets wrong (`steps`).

mod steps;
mod union;

use arrow::array::ArrayRef;
use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion_common::format::DEFAULT_CAST_OPTIONS;
use datafusion_common::nested_struct::{cast_column, validate_data_type_compatibility};
use datafusion_common::{ScalarValue, exec_err};
use object_store::path::Path;
use parquet::arrow::RowNumber;
use trommel_planner::index::{FragmentCol, TableCol};

pub use union::{union_schemas, widen};

use self::steps::steps;
use crate::ScanError;
use crate::guard::unless_it_panics;

/// Where a table column's values come from, for one fragment.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnSource {
    /// From a column of the file.
    File {
        /// The column.
        column: FragmentCol,
        /// Whether its values must be cast to the table's type.
        cast: bool,
    },
    /// From where the row is: its number in the fragment, for a column with the extension type [`RowNumber`].
    RowNumbers,
    /// The same value in every row, of the table's type: a partition value, or NULL for a column that the
    /// file lacks.
    Constant(ScalarValue),
}

/// How the columns of one fragment stand for the table's.
#[derive(Debug, Clone)]
pub struct Adaptation {
    table: SchemaRef,
    sources: Vec<ColumnSource>,
}

impl Adaptation {
    /// Finds each table column in the file by its exact name; the last `partition_fields` columns of the
    /// table take `partition_values`.
    ///
    /// An error when a column of the file can't be cast to the table's type, when the file lacks a column
    /// that can't be NULL, or when there are not as many partition values as partition columns.
    pub fn try_new(
        path: &Path,
        table: &SchemaRef,
        file: &Schema,
        partition_fields: usize,
        partition_values: &[ScalarValue],
    ) -> Result<Self, ScanError> {
        let malformed = |detail: String| ScanError::Malformed { path: path.clone(), detail };
        let plan = |source| ScanError::Plan { path: path.clone(), source: Box::new(source) };
        let Some(file_fields) = table.fields().len().checked_sub(partition_fields) else {
            return Err(malformed(format!("{partition_fields} partition columns are too many")));
        };
        if partition_values.len() != partition_fields {
            let found = partition_values.len();
            return Err(malformed(format!("{found} partition values for {partition_fields} columns")));
        }
        let mut sources = Vec::with_capacity(table.fields().len());
        for field in &table.fields()[..file_fields] {
            let (name, expected) = (field.name(), field.data_type());
            if field.try_extension_type::<RowNumber>().is_ok() {
                sources.push(ColumnSource::RowNumbers);
                continue;
            }
            sources.push(match file.index_of(name) {
                Ok(index) => {
                    let actual = file.field(index).data_type();
                    let cast = actual != expected;
                    if cast && !can_adapt(name, actual, expected) {
                        return Err(ScanError::Column {
                            path: path.clone(),
                            column: name.clone(),
                            actual: actual.clone(),
                            expected: expected.clone(),
                        });
                    }
                    ColumnSource::File { column: FragmentCol(index), cast }
                }
                Err(_) if field.is_nullable() => {
                    ColumnSource::Constant(ScalarValue::try_from(expected).map_err(plan)?)
                }
                Err(_) => {
                    return Err(malformed(format!("it lacks the column \"{name}\", which can't be NULL")));
                }
            });
        }
        for (field, value) in table.fields()[file_fields..].iter().zip(partition_values) {
            let value = value.cast_to(field.data_type()).map_err(plan)?;
            sources.push(ColumnSource::Constant(value));
        }
        Ok(Self { table: SchemaRef::clone(table), sources })
    }

    /// The table's schema.
    pub fn table(&self) -> &SchemaRef {
        &self.table
    }

    /// Where each table column comes from.
    pub fn sources(&self) -> &[ColumnSource] {
        &self.sources
    }

    /// Where a table column comes from; `None` for a number beyond the table's columns.
    pub fn source(&self, column: TableCol) -> Option<&ColumnSource> {
        self.sources.get(column.0)
    }

    /// Values of the file's column as values of the table's column that it stands for.
    ///
    /// An error when a value can't be one of the table's type.
    pub fn cast(&self, path: &Path, column: TableCol, values: &ArrayRef) -> Result<ArrayRef, ScanError> {
        let Some(field) = self.table.fields().get(column.0) else {
            let detail = format!("the table has no column {}", column.0);
            return Err(ScanError::Malformed { path: path.clone(), detail });
        };
        cast_array(values, field.data_type()).map_err(|error| {
            let source = error.context(format!("column \"{}\"", field.name()));
            ScanError::Plan { path: path.clone(), source: Box::new(source) }
        })
    }
}

/// Values of one type as values of another: structs by field name, missing fields NULL.
///
/// An error when there is no such cast, or when a value can't be one of the type.
pub fn cast_array(values: &ArrayRef, to: &DataType) -> datafusion_common::Result<ArrayRef> {
    if values.data_type() == to {
        return Ok(ArrayRef::clone(values));
    }
    let mut values = ArrayRef::clone(values);
    for between in steps(values.data_type(), to) {
        values = cast_column(&values, &between, &DEFAULT_CAST_OPTIONS)?;
    }
    // chrono panics where a local time lies beyond its calendar (`casts_beyond_the_calendar_are_errors`).
    unless_it_panics(|| cast_column(&values, to, &DEFAULT_CAST_OPTIONS))
        .unwrap_or_else(|| exec_err!("a value is out of range for a cast to {to}"))
}

/// Whether a column of type `from` can be read as type `to`: the rule of DataFusion's own scan.
pub(crate) fn can_adapt(name: &str, from: &DataType, to: &DataType) -> bool {
    validate_data_type_compatibility(name, from, to).is_ok()
        && (!matches!(to, DataType::Struct(_)) || matches!(from, DataType::Struct(_) | DataType::Null))
}

/// Whether casting from one type to the other keeps the order of values (equal results allowed), so that
/// the cast of a bound bounds the casts.
pub(crate) fn keeps_order(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let decimal = |t: &DataType| matches!(t, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..));
    let string = |t: &DataType| matches!(t, Utf8 | LargeUtf8 | Utf8View);
    let binary = |t: &DataType| matches!(t, Binary | LargeBinary | BinaryView | FixedSizeBinary(_));
    if !can_cast_types(from, to) {
        return false;
    }
    match (from, to) {
        _ if from == to => true,
        // Bounds are cast in one go.
        _ if !steps(from, to).is_empty() => false,
        (Dictionary(_, from), to) => keeps_order(from, to),
        (from, Dictionary(_, to)) => keeps_order(from, to),
        _ if from.is_integer() => to.is_integer() || to.is_floating() || decimal(to),
        _ if from.is_floating() => to.is_floating(),
        _ if decimal(from) => decimal(to),
        // A zone's local time is not a steady function of the instant, so only zoneless targets will do.
        (Date32, Date64 | Timestamp(_, None)) | (Date64, Timestamp(_, None)) => true,
        (Timestamp(_, from), Timestamp(_, to)) => from.is_some() == to.is_some(),
        (Time32(_) | Time64(_), Time32(_) | Time64(_)) | (Duration(_), Duration(_)) => true,
        _ => {
            string(from) && string(to)
                || binary(from) && (binary(to) || string(to))
                || string(from) && binary(to)
        }
    }
}

#[cfg(test)]
mod tests;
