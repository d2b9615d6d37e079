// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One Parquet file at one version.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use chrono::{DateTime, Utc};
use datafusion_common::ScalarValue;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::ScanError;
use crate::adapt::Adaptation;
use crate::metadata::FragmentMetadata;
use crate::segments::SegmentReader;
use crate::zones::FragmentZones;

/// One Parquet file at one version, with what the table knows of it besides its bytes.
#[derive(Debug, Clone)]
pub struct Fragment {
    /// Where the file is, and its size.
    pub location: Path,
    /// Which bytes are meant.
    pub version: Version,
    /// The values of the table's partition columns, in the order of the table's schema.
    pub partition_values: Vec<ScalarValue>,
    /// The rows that are deleted.
    pub deletions: DeletionMask,
}

impl Fragment {
    /// A listed file without partition values or deletions.
    pub fn new(meta: ObjectMeta) -> Self {
        Self {
            version: Version::of(&meta),
            location: meta.location,
            partition_values: Vec::new(),
            deletions: DeletionMask::default(),
        }
    }

    /// The same file with these partition values.
    #[must_use]
    pub fn with_partition_values(mut self, values: Vec<ScalarValue>) -> Self {
        self.partition_values = values;
        self
    }
}

/// Tells one state of a file from another: equal versions mean equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// The file's size in bytes.
    pub size: u64,
    /// The store's tag of the content, where it has one.
    pub e_tag: Option<String>,
    /// When the file was last written.
    pub last_modified: DateTime<Utc>,
}

impl Version {
    /// The version that a store describes.
    pub fn of(meta: &ObjectMeta) -> Self {
        Self { size: meta.size, e_tag: meta.e_tag.clone(), last_modified: meta.last_modified }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {}", self.size, self.last_modified.to_rfc3339())?;
        self.e_tag.iter().try_for_each(|tag| write!(f, ", {tag}"))
    }
}

/// The rows of a fragment that are deleted. There is no source of deletions yet, so it is always empty;
/// it is here because row counts and verdicts must subtract it from the day there is one.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeletionMask {}

/// A fragment whose metadata is there: everything a scan needs of it besides its bytes.
#[derive(Debug, Clone)]
pub struct OpenFragment {
    /// The file.
    pub fragment: Arc<Fragment>,
    /// Its footer and page indexes.
    pub metadata: Arc<FragmentMetadata>,
    /// How its columns stand for the table's.
    pub adaptation: Arc<Adaptation>,
    /// The statistics of its zones, as the table's columns.
    pub zones: Arc<FragmentZones>,
    /// Which bytes its segments need, and decoding them.
    pub segments: Arc<SegmentReader>,
}

impl OpenFragment {
    /// Fits a fragment into a table whose last `partition_fields` columns are partition columns.
    ///
    /// Reads nothing. An error when a column of the file can't be read as the table's, or when a column
    /// that can't be NULL is missing.
    pub fn open(
        fragment: Arc<Fragment>,
        metadata: Arc<FragmentMetadata>,
        table: &SchemaRef,
        partition_fields: usize,
    ) -> Result<Self, ScanError> {
        let metadata = metadata.with_int96_for(table);
        let values = &fragment.partition_values;
        let adaptation =
            Adaptation::try_new(&fragment.location, table, metadata.schema(), partition_fields, values)?;
        let adaptation = Arc::new(adaptation);
        let zones = Arc::new(FragmentZones::new(Arc::clone(&metadata), Arc::clone(&adaptation)));
        let segments = Arc::new(SegmentReader::new(Arc::clone(&metadata)));
        Ok(Self { fragment, metadata, adaptation, zones, segments })
    }
}
