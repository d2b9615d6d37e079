// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which bytes a segment needs, and decoding them.
//!
//! [`SegmentReader::reach`] names the bytes, [`SegmentReader::decode`] turns them into an array; fetching
//! lies between, and is somebody else's. Decoding is done by the parquet crate's readers over the held
//! bytes alone. They are given row *selectors* and never a mask, because their mask mode decodes pages
//! that no selected row lies in, which are not held.

mod chunk;
mod levels;
mod mask;
mod pages;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchReader as _, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::FieldRef;
use datafusion_common::DataFusionError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::errors::ParquetError;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{RowGroupRows, RowRanges};

use self::chunk::{Chunk, ChunkBytes, Chunks};
use self::levels::ColumnLevels;
use self::mask::mask_children;
use crate::ScanError;
use crate::adapt::cast_array;
use crate::guard::unless_it_panics;
use crate::io::HeldBytes;
use crate::metadata::FragmentMetadata;

/// Batches are no longer than this: the readers allocate for a batch before they have seen that a chunk
/// has the rows that the footer promises.
const MAX_BATCH: u64 = 1 << 20;
/// More rows than this are in no row group. Skipping them at the end of a selection makes its selectors
/// long on average, and long selectors are never turned into a mask.
const BEYOND: usize = 1 << 40;

/// Reads the segments of one fragment.
#[derive(Debug)]
pub struct SegmentReader {
    metadata: Arc<FragmentMetadata>,
    levels: ColumnLevels,
}

impl SegmentReader {
    /// A reader of the file with this metadata.
    pub fn new(metadata: Arc<FragmentMetadata>) -> Self {
        let levels = ColumnLevels::new(metadata.schema().fields().len());
        Self { metadata, levels }
    }

    /// The byte ranges that decoding these rows of the segment needs; sorted, disjoint, none for no rows.
    ///
    /// For each leaf: the dictionary page, and the data pages that the rows lie in; the whole chunk where
    /// it isn't known where the pages are.
    pub fn reach(&self, segment: &SegmentId, rows: &RowRanges<RowGroupRows>) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        if rows.is_empty() || segment.row_group >= self.metadata.row_groups().len() {
            return ranges;
        }
        for leaf in self.metadata.leaves(segment.column) {
            if let Some(chunk) = Chunk::of(&self.metadata, segment.row_group, leaf) {
                ranges.extend(chunk.reach(rows));
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        // Neighbours become one; a file whose chunks overlap gets its bytes once.
        ranges.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
        ranges
    }

    /// The byte ranges of the segment's dictionary pages, where it is known which they are.
    pub fn dictionaries(&self, segment: &SegmentId) -> Vec<Range<u64>> {
        let leaves = self.metadata.leaves(segment.column);
        leaves.filter_map(|leaf| Chunk::of(&self.metadata, segment.row_group, leaf)?.dictionary()).collect()
    }

    /// Exactly these rows of the segment, as one array of the column's type in the file's Arrow schema.
    ///
    /// Children of null structs are null, at any depth. An error names the file, when bytes that
    /// [`reach`](Self::reach) named aren't held, when they don't decode, or when they end before the rows
    /// do.
    pub fn decode(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        bytes: &dyn HeldBytes,
    ) -> Result<ArrayRef, ScanError> {
        let group = self.metadata.row_groups().get(segment.row_group);
        let field = self.metadata.schema().fields().get(segment.column.0);
        let (Some(group), Some(field)) = (group, field) else {
            return Err(self.malformed(format!("it has no {segment:?}")));
        };
        let in_column = |detail: String| {
            self.malformed(format!("column \"{}\", row group {}: {detail}", field.name(), segment.row_group))
        };
        let Some(span) = rows.span() else { return Ok(new_empty_array(field.data_type())) };
        if span.end > group.end - group.start {
            return Err(in_column(format!("it has no {span:?} rows, but {}", group.end - group.start)));
        }

        let mut chunks = Chunks::new(&self.metadata, group.end - group.start);
        for leaf in self.metadata.leaves(segment.column) {
            let Some(chunk) = Chunk::of(&self.metadata, segment.row_group, leaf) else {
                return Err(in_column("its place in the file can't be".to_owned()));
            };
            let held = ChunkBytes::hold(chunk.reach(rows), bytes);
            let held = held.map_err(|range| in_column(format!("bytes {range:?} are not at hand")))?;
            chunks.insert(leaf, chunk, held);
        }
        // The parquet crate's decoders index and slice by what the values of a page say, and panic where
        // that is beyond the page. Which values do can't be told without decoding them: the test
        // `damage_is_an_error` gets here with pages of dictionary codes, of deltas, and of nested columns.
        let decoded = unless_it_panics(|| self.read(segment, field, rows, &chunks));
        let array = match decoded {
            Some(array) => array.map_err(|error| match error {
                Failure::Parquet(error) => in_column(error.to_string()),
                Failure::Plan(source) => {
                    let source = source.context(format!("column \"{}\"", field.name()));
                    ScanError::Plan { path: self.metadata.path().clone(), source: Box::new(source) }
                }
            })?,
            None => return Err(in_column("a page is damaged".to_owned())),
        };
        if array.len() as u64 != rows.len() {
            let (found, expected) = (array.len(), rows.len());
            return Err(in_column(format!("its pages end after {found} of {expected} rows")));
        }
        Ok(array)
    }

    fn read(
        &self,
        segment: &SegmentId,
        field: &FieldRef,
        rows: &RowRanges<RowGroupRows>,
        chunks: &Chunks<'_>,
    ) -> Result<ArrayRef, Failure> {
        let levels = self.levels.of(&self.metadata, segment.column)?;
        let batch = rows.len().min(MAX_BATCH) as usize;
        let selection = Some(selectors(rows));
        let reader = ParquetRecordBatchReader::try_new_with_row_groups(levels, chunks, batch, selection)?;
        let read_type = reader.schema();
        let batches = reader.collect::<Result<Vec<RecordBatch>, _>>().map_err(ParquetError::from)?;
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(0).as_ref()).collect();
        let array = match batches.as_slice() {
            [] => new_empty_array(read_type.field(0).data_type()),
            [batch] => Arc::clone(batch.column(0)),
            _ => concat(&arrays).map_err(ParquetError::from)?,
        };
        let array = mask_children(&array).map_err(ParquetError::from)?;
        Ok(cast_array(&array, field.data_type())?)
    }

    fn malformed(&self, detail: String) -> ScanError {
        ScanError::Malformed { path: self.metadata.path().clone(), detail }
    }
}

/// Why decoding failed.
enum Failure {
    Parquet(ParquetError),
    Plan(DataFusionError),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self::Plan(error)
    }
}

fn selectors(rows: &RowRanges<RowGroupRows>) -> RowSelection {
    let mut selectors = Vec::with_capacity(2 * rows.range_count() + 1);
    let mut at = 0;
    for range in rows.iter() {
        if range.start > at {
            selectors.push(RowSelector::skip((range.start - at) as usize));
        }
        selectors.push(RowSelector::select((range.end - range.start) as usize));
        at = range.end;
    }
    selectors.push(RowSelector::skip(BEYOND));
    RowSelection::from(selectors)
}

#[cfg(test)]
// A list of one range is what is meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests;
