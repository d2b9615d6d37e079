// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which bytes a segment needs, and decoding them.
//!
//! [`SegmentReader::read`] says how some rows are best read, [`SegmentReader::reach`] names the bytes, and
//! [`SegmentReader::open`] turns them into arrays, a step at a time; fetching lies between, and is somebody
//! else's. [`SegmentReader::dictionary`] gives the values of a dictionary-encoded segment apart from its
//! codes.
//!
//! Decoding is done by the parquet crate's readers over the held bytes alone. They are given row
//! *selectors* and never a mask, because their mask mode decodes pages that no selected row lies in, which
//! are not held.

mod chunk;
mod delta;
mod dictionary;
mod header;
mod hybrid;
mod levels;
mod mask;
mod pages;
mod read;
mod snappy;
mod stream;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use datafusion_common::DataFusionError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection};
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{RowGroupRows, RowRanges};

pub use self::dictionary::CodeTable;
pub use self::read::SegmentRead;
pub use self::stream::SegmentStream;
pub(crate) use self::stream::without_slack;

use self::chunk::{Chunk, ChunkBytes, Chunks};
use self::dictionary::{AsData, Lookup};
use self::header::dictionary_len;
use self::levels::ColumnLevels;
use self::read::selectors;
use self::stream::Place;
use crate::ScanError;
use crate::guard::unless_it_panics;
use crate::io::HeldBytes;
use crate::metadata::FragmentMetadata;

/// Batches are no longer than this: the readers allocate for a batch before they have seen that a chunk
/// has the rows that the footer promises.
const MAX_BATCH: usize = 1 << 20;

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
        self.reach_of(segment, rows, |chunk| chunk.reach(rows))
    }

    /// The same without the dictionary pages that may turn out not to be needed: those of chunks that
    /// outgrew them. Once these ranges are held, [`missing_dictionaries`](Self::missing_dictionaries) tells.
    pub fn reach_pages(&self, segment: &SegmentId, rows: &RowRanges<RowGroupRows>) -> Vec<Range<u64>> {
        self.reach_of(segment, rows, |chunk| match chunk.outgrew_dictionary() {
            true => chunk.reach_pages(rows),
            false => chunk.reach(rows),
        })
    }

    /// The dictionary pages that decoding these rows needs, and that [`reach_pages`](Self::reach_pages)
    /// left out.
    pub fn missing_dictionaries(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        bytes: &dyn HeldBytes,
    ) -> Vec<Range<u64>> {
        self.reach_of(segment, rows, |chunk| {
            let dictionary = chunk.dictionary().filter(|page| bytes.get(page).is_none());
            dictionary.filter(|_| chunk.needs_dictionary(rows, bytes)).into_iter().collect()
        })
    }

    fn reach_of(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        of_chunk: impl Fn(&Chunk<'_>) -> Vec<Range<u64>>,
    ) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        if rows.is_empty() || segment.row_group >= self.metadata.row_groups().len() {
            return ranges;
        }
        for leaf in self.leaves(segment) {
            if let Some(chunk) = Chunk::of(&self.metadata, segment.row_group, leaf) {
                ranges.extend(of_chunk(&chunk));
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
        let leaves = self.leaves(segment);
        leaves.filter_map(|leaf| Chunk::of(&self.metadata, segment.row_group, leaf)?.dictionary()).collect()
    }

    /// Starts decoding. Steps of `batch` rows cost least.
    ///
    /// # Errors
    /// When bytes that [`reach`](Self::reach) named aren't held, or the segment hasn't these rows.
    pub fn open(
        &self,
        read: &SegmentRead,
        bytes: &dyn HeldBytes,
        batch: usize,
    ) -> Result<SegmentStream, ScanError> {
        let SegmentRead { segment, rows, keep } = read;
        let place = self.place(segment)?;
        if rows.is_empty() {
            return Ok(SegmentStream::decoded(place, Vec::new()));
        }
        let chunks = self.chunks(&place, rows, bytes)?;
        let levels = self.levels.of(&self.metadata, segment).map_err(|e| place.error(e))?;
        let batch = batch.clamp(1, MAX_BATCH).min(rows.len() as usize);
        let selection = Some(RowSelection::from(selectors(rows)));
        let reader = place.guarded(|| {
            Ok(ParquetRecordBatchReader::try_new_with_row_groups(&levels, &chunks, batch, selection)?)
        })?;
        Ok(SegmentStream::new(place, reader, rows.len(), keep.clone()))
    }

    /// Rows of the segment that were decoded earlier, as a stream.
    ///
    /// # Errors
    /// When there is no such segment.
    pub fn reopen(&self, segment: &SegmentId, arrays: Vec<ArrayRef>) -> Result<SegmentStream, ScanError> {
        Ok(SegmentStream::decoded(self.place(segment)?, arrays))
    }

    /// Exactly these rows of the segment, as one array of the column's type in the file's Arrow schema.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`SegmentStream::next`].
    pub fn decode(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        bytes: &dyn HeldBytes,
    ) -> Result<ArrayRef, ScanError> {
        let count = rows.len() as usize;
        self.open(&SegmentRead::of(*segment, rows.clone()), bytes, count)?.next(count)
    }

    /// Whether every value of the segment is a code of its one dictionary, of which it is known where it
    /// is, and no row holds several.
    pub fn has_dictionary(&self, segment: &SegmentId) -> bool {
        self.only_chunk(segment).is_some_and(|chunk| chunk.is_dictionary_encoded())
    }

    /// How many values the segment's dictionary says it has, by its held [page](Self::dictionaries); `None` where that
    /// can't be told.
    pub fn dictionary_len(&self, segment: &SegmentId, bytes: &dyn HeldBytes) -> Option<u64> {
        dictionary_len(&bytes.get(&self.only_chunk(segment)?.dictionary()?)?)
    }

    /// The values of the segment's dictionary, as the column's type; a value may occur more than once, or
    /// in no row.
    ///
    /// # Errors
    /// When the [dictionary page](Self::dictionaries) isn't held or doesn't decode.
    pub fn dictionary(&self, segment: &SegmentId, bytes: &dyn HeldBytes) -> Result<ArrayRef, ScanError> {
        let place = self.place(segment)?;
        let chunk = self.only_chunk(segment).ok_or_else(|| place.malformed("it has no dictionary"))?;
        let held = place.hold(chunk.dictionary().into_iter().collect(), bytes)?;
        let levels = self.levels.of(&self.metadata, segment).map_err(|e| place.error(e))?;
        place.guarded(|| {
            let page = chunk.page_reader(&Arc::new(held))?.get_next_page()?;
            let Some(page @ Page::DictionaryPage { .. }) = page else {
                return Err(ParquetError::General("its dictionary is no dictionary".to_owned()).into());
            };
            let rows = page.num_values() as usize;
            let data = AsData::new(&page, chunk.column().max_def_level());
            let mut chunks = Chunks::new(&self.metadata, rows as u64);
            chunks.serve(self.leaves(segment).start, Box::new(data));
            let reader = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &chunks, rows, None)?;
            let mut stream = SegmentStream::new(place.clone(), reader, rows as u64, None);
            Ok(stream.next(rows).map_err(|e| DataFusionError::External(Box::new(e)))?)
        })
    }

    /// Which of `rows`, among those that are read, have a value that the table keeps; the bits of the others
    /// are unset. The codes of these rows are appended to `codes`, if that is there; NULL's is the number of values.
    ///
    /// # Errors
    /// When bytes that [`reach`](Self::reach) names for `read` aren't held, or codes don't decode or aren't the
    /// dictionary's.
    pub fn look_up(
        &self,
        read: &SegmentRead,
        rows: &RowRanges<RowGroupRows>,
        table: &CodeTable,
        bytes: &dyn HeldBytes,
        codes: Option<&mut Vec<u32>>,
    ) -> Result<BooleanBuffer, ScanError> {
        if read.rows.is_empty() {
            return Ok(BooleanBuffer::new_unset(rows.len() as usize));
        }
        let place = self.place(&read.segment)?;
        let chunk = self.only_chunk(&read.segment).ok_or_else(|| place.malformed("it has no dictionary"))?;
        let held = place.hold(chunk.reach(&read.rows), bytes)?;
        place.guarded(|| {
            let mut pages = chunk.page_reader(&Arc::new(held))?;
            let mut lookup = Lookup::new(table, rows.len() as usize, codes);
            let borders = chunk.page_rows();
            if !borders.is_empty() {
                // The dictionary.
                pages.skip_next_page()?;
            }
            for page_rows in borders {
                let wanted = rows.clip(&page_rows);
                if read.rows.overlaps(&page_rows) {
                    let page = pages.get_next_page()?.ok_or_else(|| {
                        ParquetError::General("its pages end before its rows do".to_owned())
                    })?;
                    let codes = wanted.counted_from(page_rows.start);
                    lookup.page(&page, chunk.column().max_def_level(), &codes)?;
                } else {
                    pages.skip_next_page()?;
                    lookup.skip(wanted.len() as usize);
                }
            }
            Ok(lookup.finish())
        })
    }

    /// The Parquet leaves that a segment is made of.
    fn leaves(&self, segment: &SegmentId) -> Range<usize> {
        match segment.path.is_empty() {
            true => self.metadata.leaves(segment.column),
            false => self.metadata.leaves_of(segment.column, &segment.path),
        }
    }

    fn place(&self, segment: &SegmentId) -> Result<Place, ScanError> {
        let path = self.metadata.path();
        match self.metadata.field_of(segment.column, &segment.path) {
            Some(field) if segment.row_group < self.metadata.row_groups().len() => {
                Ok(Place { path: path.clone(), field, segment: *segment })
            }
            _ => Err(ScanError::Malformed { path: path.clone(), detail: format!("it has no {segment:?}") }),
        }
    }

    /// The chunk of a column that is one leaf, never repeated, at most once optional.
    fn only_chunk(&self, segment: &SegmentId) -> Option<Chunk<'_>> {
        let leaves = self.leaves(segment);
        let chunk = Chunk::of(&self.metadata, segment.row_group, leaves.start)?;
        let flat = chunk.column().max_rep_level() == 0 && chunk.column().max_def_level() <= 1;
        (leaves.len() == 1 && flat).then_some(chunk)
    }

    /// The chunks of a segment's leaves with the bytes that these rows need.
    fn chunks(
        &self,
        place: &Place,
        rows: &RowRanges<RowGroupRows>,
        bytes: &dyn HeldBytes,
    ) -> Result<Chunks<'_>, ScanError> {
        let group = &self.metadata.row_groups()[place.segment.row_group];
        let len = group.end - group.start;
        if let Some(span) = rows.span().filter(|span| span.end > len) {
            return Err(place.malformed(format!("it has no {span:?} rows, but {len}")));
        }
        let mut chunks = Chunks::new(&self.metadata, len);
        for leaf in self.leaves(&place.segment) {
            let Some(chunk) = Chunk::of(&self.metadata, place.segment.row_group, leaf) else {
                return Err(place.malformed("its place in the file can't be"));
            };
            let reach = match chunk.needs_dictionary(rows, bytes) {
                true => chunk.reach(rows),
                false => chunk.reach_pages(rows),
            };
            let held = place.hold(reach, bytes)?;
            chunks.serve_held(leaf, &chunk, held);
        }
        Ok(chunks)
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

impl Place {
    /// The bytes of these ranges.
    fn hold(&self, ranges: Vec<Range<u64>>, bytes: &dyn HeldBytes) -> Result<ChunkBytes, ScanError> {
        ChunkBytes::hold(ranges, bytes)
            .map_err(|range| self.malformed(format!("bytes {range:?} are not at hand")))
    }

    /// What `decode` gives, with its errors placed.
    ///
    /// The parquet crate's decoders index and slice by what the values of a page say, and panic where that
    /// is beyond the page. Which values do can't be told without decoding them: the test `damage_is_an_error`
    /// gets here with pages of dictionary codes, of deltas, and of nested columns.
    fn guarded<T>(&self, decode: impl FnOnce() -> Result<T, Failure>) -> Result<T, ScanError> {
        match unless_it_panics(decode) {
            Some(Ok(value)) => Ok(value),
            Some(Err(Failure::Parquet(error))) => Err(self.error(error)),
            Some(Err(Failure::Plan(source))) => {
                let source = source.context(format!("column \"{}\"", self.field.name()));
                Err(ScanError::Plan { path: self.path.clone(), source: Box::new(source) })
            }
            None => Err(self.malformed("a page is damaged")),
        }
    }
}

#[cfg(test)]
// A list of one range is what is meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests;
