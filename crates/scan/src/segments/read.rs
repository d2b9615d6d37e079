// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How some rows of a segment are read: exactly these, or with all of their pages.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::RowSelector;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{RowGroupRows, RowRanges};

use super::SegmentReader;
use super::chunk::Chunk;

/// More rows than this are in no row group. Skipping them at the end of a selection makes its selectors
/// long on average, and long selectors are never turned into a mask.
const BEYOND: usize = 1 << 40;

/// What is read of a segment.
#[derive(Debug, Clone)]
pub struct SegmentRead {
    /// The segment.
    pub segment: SegmentId,
    /// The rows that are decoded.
    pub rows: RowRanges<RowGroupRows>,
    /// Which of the decoded rows are wanted; all when absent.
    pub keep: Option<BooleanBuffer>,
}

impl SegmentRead {
    /// Exactly these rows.
    pub fn of(segment: SegmentId, rows: RowRanges<RowGroupRows>) -> Self {
        Self { segment, rows, keep: None }
    }
}

impl SegmentReader {
    /// How to read the selected ones of some rows: `selected` has one bit for each of `rows`.
    ///
    /// Either exactly the selected rows are decoded, or all of `rows` in the pages that they lie in, to be
    /// filtered afterwards: whichever costs less.
    pub fn read(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        selected: Option<&BooleanBuffer>,
    ) -> SegmentRead {
        let Some(selected) = selected else { return SegmentRead::of(*segment, rows.clone()) };
        if let Some(chunk) = self.only_chunk(segment) {
            let touched = chunk.touched(rows, selected);
            // A run and the gap before it are two switches.
            let switches = 2 * selected.set_slices().count() as u64;
            if touched.len() < switches * self.worth_a_switch(segment, &chunk) {
                let keep = bits_of(rows, selected, &touched);
                return SegmentRead { segment: *segment, rows: touched, keep: Some(keep) };
            }
        }
        SegmentRead::of(*segment, rows.select(selected))
    }

    /// The pages that selected rows lie in, as those of `rows` in them.
    pub fn touched(
        &self,
        segment: &SegmentId,
        rows: &RowRanges<RowGroupRows>,
        selected: Option<&BooleanBuffer>,
    ) -> SegmentRead {
        let rows = match (self.only_chunk(segment), selected) {
            (Some(chunk), Some(selected)) => chunk.touched(rows, selected),
            _ => rows.clone(),
        };
        SegmentRead::of(*segment, rows)
    }

    /// How many rows there must be to each switch between skipping and decoding for skipping to pay.
    ///
    /// A switch costs about 25 ns, 40 where there may be NULLs; what it saves is the decoding of the rows
    /// less the skipping of them, and that differs by kind of chunk (measured by
    /// `benchmarks/benches/decoding.rs`).
    fn worth_a_switch(&self, segment: &SegmentId, chunk: &Chunk<'_>) -> u64 {
        let field = self.metadata.field_of(segment.column, &segment.path);
        match field.as_ref().map(|field| field.data_type()) {
            _ if chunk.is_dictionary_encoded() => 22,
            Some(DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary) => 7,
            _ if chunk.is_variable() => 16,
            _ if chunk.column().max_def_level() > 0 => 25,
            _ => 80,
        }
    }
}

/// The bits of `some` of `rows`; `bits` has one for each of `rows`.
fn bits_of(
    rows: &RowRanges<RowGroupRows>,
    bits: &BooleanBuffer,
    some: &RowRanges<RowGroupRows>,
) -> BooleanBuffer {
    let mut out = BooleanBufferBuilder::new(some.len() as usize);
    let mut at = 0;
    for range in rows.iter() {
        for part in some.clip(&range).iter() {
            let start = at + (part.start - range.start) as usize;
            out.append_buffer(&bits.slice(start, (part.end - part.start) as usize));
        }
        at += (range.end - range.start) as usize;
    }
    out.finish()
}

/// The selectors of some rows.
pub(super) fn selectors(rows: &RowRanges<RowGroupRows>) -> Vec<RowSelector> {
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
    selectors
}
