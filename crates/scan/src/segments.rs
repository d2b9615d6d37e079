// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which bytes a segment needs, and decoding them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{RowGroupRows, RowRanges};

use crate::ScanError;
use crate::io::HeldBytes;
use crate::metadata::FragmentMetadata;

/// Reads the segments of one fragment.
#[derive(Debug)]
pub struct SegmentReader {
    metadata: Arc<FragmentMetadata>,
}

impl SegmentReader {
    /// A reader of the file with this metadata.
    pub fn new(metadata: Arc<FragmentMetadata>) -> Self {
        Self { metadata }
    }

    /// The byte ranges that decoding these rows of the segment needs; sorted, disjoint, empty for no rows.
    pub fn reach(&self, _segment: &SegmentId, _rows: &RowRanges<RowGroupRows>) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// Exactly these rows of the segment, as one array of the column's type in the file's Arrow schema.
    ///
    /// Children of null structs are null. An error names the file, when bytes that `reach` named aren't
    /// held or don't decode.
    pub fn decode(
        &self,
        _segment: &SegmentId,
        _rows: &RowRanges<RowGroupRows>,
        _bytes: &dyn HeldBytes,
    ) -> Result<ArrayRef, ScanError> {
        Err(ScanError::Malformed { path: self.metadata.path().clone(), detail: String::new() })
    }
}
