// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One Parquet file at one version.

use std::fmt;

use chrono::{DateTime, Utc};
use datafusion_common::ScalarValue;
use object_store::ObjectMeta;
use object_store::path::Path;

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
        let version = Version { size: meta.size, e_tag: meta.e_tag, last_modified: meta.last_modified };
        Self {
            location: meta.location,
            version,
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
