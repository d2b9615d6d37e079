// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Footers and page indexes of fragments, read leniently, and cached by strong version.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use object_store::ObjectStore;
use object_store::path::Path;
use parquet::file::metadata::ParquetMetaData;

use crate::ScanError;
use crate::fragment::Fragment;
use crate::io::IoCounters;

/// What a file's footer and page indexes say.
#[derive(Debug)]
pub struct FragmentMetadata {
    path: Path,
    parquet: Arc<ParquetMetaData>,
    schema: SchemaRef,
    row_groups: Vec<Range<u64>>,
}

impl FragmentMetadata {
    /// Reads a fragment's footer, then its page indexes where they are readable.
    pub async fn load(
        _store: &Arc<dyn ObjectStore>,
        fragment: &Fragment,
        _counters: &IoCounters,
    ) -> Result<Self, ScanError> {
        Err(ScanError::Malformed { path: fragment.location.clone(), detail: String::new() })
    }

    /// Checks what the parquet crate has read of the file at `path`.
    pub fn try_new(path: Path, _parquet: ParquetMetaData) -> Result<Self, ScanError> {
        Err(ScanError::Malformed { path, detail: String::new() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The footer, with page indexes where the file has readable ones.
    pub fn parquet(&self) -> &Arc<ParquetMetaData> {
        &self.parquet
    }

    /// The file's columns in Arrow's types, as the scan reads them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of each row group, as fragment rows.
    pub fn row_groups(&self) -> &[Range<u64>] {
        &self.row_groups
    }

    /// How many rows the file has.
    pub fn rows(&self) -> u64 {
        self.row_groups.last().map_or(0, |r| r.end)
    }

    /// How many bytes this takes in memory, about.
    pub fn memory_size(&self) -> usize {
        self.parquet.memory_size()
    }
}

/// The metadata of files of one store, bounded in bytes.
#[derive(Debug)]
pub struct MetadataCache {}

impl MetadataCache {
    /// A cache of at most about `bytes` bytes.
    pub fn new(_bytes: usize) -> Self {
        Self {}
    }

    /// The metadata of a fragment: kept, if of an equal version, else read (once, however many ask).
    pub async fn get_or_load(
        &self,
        store: &Arc<dyn ObjectStore>,
        fragment: &Fragment,
        counters: &Arc<IoCounters>,
    ) -> Result<Arc<FragmentMetadata>, ScanError> {
        Ok(Arc::new(FragmentMetadata::load(store, fragment, counters).await?))
    }
}
