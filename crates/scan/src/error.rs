// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What can go wrong with a fragment; every error names the file.

use std::ops::Range;

use datafusion_common::DataFusionError;
use object_store::path::Path;

/// What can go wrong with a fragment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The store couldn't give the bytes.
    #[error("{path}: bytes {range:?} can't be read: {source}")]
    Store {
        /// The file.
        path: Path,
        /// The bytes asked for.
        range: Range<u64>,
        /// What the store said.
        source: object_store::Error,
    },
    /// The file is not Parquet, or is damaged.
    #[error("{path}: not a readable Parquet file: {source}")]
    Parquet {
        /// The file.
        path: Path,
        /// What the parquet crate said.
        source: parquet::errors::ParquetError,
    },
    /// The file says something that can't be true.
    #[error("{path}: malformed: {detail}")]
    Malformed {
        /// The file.
        path: Path,
        /// What is wrong, in words.
        detail: String,
    },
    /// The file changed between listing and reading.
    #[error("{path} was replaced while it was being read: expected version {expected}, found {found}")]
    Changed {
        /// The file.
        path: Path,
        /// The version the query was planned for.
        expected: String,
        /// The version found.
        found: String,
    },
    /// A column of the file can't be read as the table's column.
    #[error("{path}: column \"{column}\" is {actual}, which can't be read as {expected}")]
    Column {
        /// The file.
        path: Path,
        /// The column.
        column: String,
        /// The file's type.
        actual: arrow::datatypes::DataType,
        /// The table's type.
        expected: arrow::datatypes::DataType,
    },
    /// Two files of a table have a column in types that don't go together.
    #[error("column \"{column}\" is {first} in {first_path}, but {second} in {second_path}")]
    Conflict {
        /// The column.
        column: String,
        /// A file with the column.
        first_path: Path,
        /// Its type there, or in the union of the files up to there.
        first: arrow::datatypes::DataType,
        /// The other file.
        second_path: Path,
        /// Its type there.
        second: arrow::datatypes::DataType,
    },
    /// A read on behalf of several failed; each of them gets the error.
    #[error("{0}")]
    Shared(std::sync::Arc<ScanError>),
    /// A plan can't be made or run.
    #[error("{path}: {source}")]
    Plan {
        /// The file.
        path: Path,
        /// Why.
        source: Box<DataFusionError>,
    },
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Plan { path, source } => source.context(format!("reading {path}")),
            error => DataFusionError::External(Box::new(error)),
        }
    }
}
