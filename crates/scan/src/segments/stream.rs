// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Decoding a segment, a step at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, GenericByteViewArray, new_empty_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, filter};
use arrow::datatypes::{ByteViewType, DataType, FieldRef};
use datafusion_common::{DataFusionError, exec_err};
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;
use trommel_planner::plan::{FieldPath, SegmentId};

use super::mask::mask_children;
use crate::ScanError;
use crate::adapt::cast_array;
use crate::guard::unless_it_panics;

/// The wanted rows of a segment, in order.
///
/// Children of null structs are null, at any depth.
pub struct SegmentStream {
    place: Place,
    reader: Option<ParquetRecordBatchReader>,
    /// Rows that the reader has still to give.
    to_decode: u64,
    /// Which of all decoded rows are wanted, and how many of them were decoded.
    keep: Option<(BooleanBuffer, usize)>,
    ready: VecDeque<ArrayRef>,
    ready_rows: usize,
}

impl SegmentStream {
    pub(super) fn new(
        place: Place,
        reader: ParquetRecordBatchReader,
        rows: u64,
        keep: Option<BooleanBuffer>,
    ) -> Self {
        let keep = keep.map(|keep| (keep, 0));
        Self { place, reader: Some(reader), to_decode: rows, keep, ready: VecDeque::new(), ready_rows: 0 }
    }

    /// Rows that are decoded already.
    pub(super) fn decoded(place: Place, arrays: Vec<ArrayRef>) -> Self {
        let ready_rows = arrays.iter().map(|array| array.len()).sum();
        Self { place, reader: None, to_decode: 0, keep: None, ready: arrays.into(), ready_rows }
    }

    /// The next `rows` wanted rows, as an array of the column's type in the file's Arrow schema.
    ///
    /// # Errors
    /// When there are fewer, or bytes don't decode. The error names the file; the stream is of no use then.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef, ScanError> {
        while self.ready_rows < rows {
            let decoded = self.decode()?;
            let wanted = self.wanted(decoded)?;
            self.ready_rows += wanted.len();
            if !wanted.is_empty() {
                self.ready.push_back(wanted);
            }
        }
        self.ready_rows -= rows;
        let mut taken = Vec::new();
        let mut left = rows;
        while left > 0 {
            let Some(front) = self.ready.pop_front() else { break };
            if front.len() > left {
                self.ready.push_front(front.slice(left, front.len() - left));
                taken.push(front.slice(0, left));
                break;
            }
            left -= front.len();
            taken.push(front);
        }
        match taken.as_slice() {
            [] => Ok(new_empty_array(self.place.field.data_type())),
            [array] => Ok(ArrayRef::clone(array)),
            _ => concatenated(&taken).map_err(|e| self.place.plan_error(e)),
        }
    }

    /// The rows that the reader gives next.
    fn decode(&mut self) -> Result<ArrayRef, ScanError> {
        let batch = match &mut self.reader {
            Some(reader) if self.to_decode > 0 => self.place.guarded(|| {
                let batch = reader.next().transpose().map_err(ParquetError::from)?;
                let Some(batch) = batch else { return Ok(None) };
                let whole = mask_children(batch.column(0)).map_err(ParquetError::from)?;
                let array = part_of(whole, &self.place.segment.path)?;
                Ok(Some(cast_array(&array, self.place.field.data_type())?))
            })?,
            _ => None,
        };
        match batch {
            Some(array) if array.len() as u64 <= self.to_decode && !array.is_empty() => {
                self.to_decode -= array.len() as u64;
                Ok(array)
            }
            _ => Err(self.place.malformed(format!("its pages end {} rows early", self.to_decode))),
        }
    }

    /// Those of the rows just decoded that are wanted.
    fn wanted(&mut self, decoded: ArrayRef) -> Result<ArrayRef, ScanError> {
        let Some((keep, at)) = &mut self.keep else { return Ok(decoded) };
        let bits = keep.slice(*at, decoded.len());
        *at += decoded.len();
        let wanted = bits.count_set_bits();
        if wanted == decoded.len() {
            return Ok(decoded);
        }
        let kept = filter(&decoded, &BooleanArray::new(bits, None));
        let kept = kept.map_err(|e| self.place.plan_error(e.into()))?;
        Ok(if wanted * 4 < decoded.len() { without_slack(kept) } else { kept })
    }
}

impl std::fmt::Debug for SegmentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentStream").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What a path leads to in structs that hold nothing else.
fn part_of(mut array: ArrayRef, path: &FieldPath) -> Result<ArrayRef, ParquetError> {
    for _ in path.iter() {
        let part =
            array.as_struct_opt().filter(|of| of.num_columns() == 1).map(|of| Arc::clone(of.column(0)));
        array = part.ok_or_else(|| ParquetError::General("a part of a column isn't alone".to_owned()))?;
    }
    Ok(array)
}

/// Views of a few values without the pages that they point into, where those are far larger. A dictionary
/// mostly isn't: many views point at the same value of it.
pub(crate) fn without_slack(array: ArrayRef) -> ArrayRef {
    fn compact<T: ByteViewType>(views: &GenericByteViewArray<T>) -> Option<ArrayRef> {
        let held: usize = views.data_buffers().iter().map(|buffer| buffer.len()).sum();
        (held > 4 * views.total_buffer_bytes_used()).then(|| Arc::new(views.gc()) as ArrayRef)
    }
    let compacted = match array.data_type() {
        DataType::Utf8View => compact(array.as_string_view()),
        DataType::BinaryView => compact(array.as_binary_view()),
        _ => None,
    };
    compacted.unwrap_or(array)
}

/// Arrays of one type, one after the other.
///
/// An error when their dictionaries have more values together than the keys can tell apart.
fn concatenated(arrays: &[ArrayRef]) -> Result<ArrayRef, DataFusionError> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
    // arrow panics where it can't merge the dictionaries (`dictionaries_that_overflow_are_an_error`).
    match unless_it_panics(|| concat(&arrays)) {
        Some(array) => Ok(array?),
        None => exec_err!("dictionaries have too many values together"),
    }
}

/// Where a segment is, for errors.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: Path,
    pub field: FieldRef,
    pub segment: SegmentId,
}

impl Place {
    pub fn malformed(&self, detail: impl std::fmt::Display) -> ScanError {
        let (column, row_group) = (self.field.name(), self.segment.row_group);
        let detail = format!("column \"{column}\", row group {row_group}: {detail}");
        ScanError::Malformed { path: self.path.clone(), detail }
    }

    pub fn error(&self, error: ParquetError) -> ScanError {
        self.malformed(error)
    }

    fn plan_error(&self, source: DataFusionError) -> ScanError {
        ScanError::Plan { path: self.path.clone(), source: Box::new(source) }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn a_few_views_let_go_of_a_large_page_but_many_share_a_dictionary() {
        let held = |array: &ArrayRef| -> usize {
            array.as_string_view().data_buffers().iter().map(|buffer| buffer.len()).sum()
        };
        let page: StringViewArray =
            (0..1000).map(|i| Some(format!("a string of some length, {i}"))).collect();
        let few: ArrayRef = Arc::new(page.slice(10, 2));
        let compacted = without_slack(Arc::clone(&few));
        assert_eq!(&compacted, &few);
        assert!(held(&few) > 20_000 && held(&compacted) < 100);

        let dictionary = page.slice(0, 10).gc();
        let views = (0..1000).map(|i| dictionary.views()[i % 10]).collect::<Vec<_>>();
        let many: ArrayRef =
            Arc::new(StringViewArray::new(views.into(), dictionary.data_buffers().to_vec(), None));
        assert_eq!(held(&without_slack(Arc::clone(&many))), held(&many));
    }
}
