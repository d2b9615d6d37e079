// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How a fragment's columns stand for the table's: by name, widened, missing, constant.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use object_store::path::Path;
use trommel_planner::index::{FragmentCol, TableCol};

use crate::ScanError;

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
    /// The same value in every row: a partition value, or NULL for a column that the file lacks.
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
    pub fn try_new(
        path: &Path,
        table: &SchemaRef,
        _file: &Schema,
        _partition_fields: usize,
        _partition_values: &[ScalarValue],
    ) -> Result<Self, ScanError> {
        Err(ScanError::Malformed { path: path.clone(), detail: table.to_string() })
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
    pub fn cast(&self, path: &Path, _column: TableCol, _values: &ArrayRef) -> Result<ArrayRef, ScanError> {
        Err(ScanError::Malformed { path: path.clone(), detail: String::new() })
    }
}

/// Values of one type as values of another: structs by field name, missing fields NULL.
pub fn cast_array(values: &ArrayRef, _to: &DataType) -> datafusion_common::Result<ArrayRef> {
    Ok(ArrayRef::clone(values))
}

/// The type that holds all values of both types, if there is one: the type of a table column over files
/// that have either.
pub fn widen(_a: &DataType, _b: &DataType) -> Option<DataType> {
    None
}

/// The schema of a table over files with these schemas: columns by name in order of first appearance,
/// nullable where one file has them nullable or not at all. An error names two files that don't go
/// together.
pub fn union_schemas<'a>(
    _files: impl IntoIterator<Item = (&'a Path, &'a Schema)>,
) -> Result<SchemaRef, ScanError> {
    Ok(SchemaRef::new(Schema::empty()))
}
