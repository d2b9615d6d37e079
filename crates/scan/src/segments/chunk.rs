// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One column chunk: where its pages are, and reading them from held bytes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use bytes::{Buf, Bytes, buf::Reader};
use parking_lot::Mutex;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding, EncodingMask, Type};
use parquet::column::page::{PageIterator, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use trommel_planner::rows::{RowGroupRows, RowRanges};

use super::header::is_dictionary_coded;
use super::pages::CheckedPages;
use super::snappy::SnappyPages;
use crate::io::HeldBytes;
use crate::metadata::{FragmentMetadata, chunk_range};
use crate::thrift::check_pages;

/// A column chunk whose place in the file makes sense.
#[derive(Debug, Clone)]
pub(super) struct Chunk<'a> {
    metadata: &'a ColumnChunkMetaData,
    range: Range<u64>,
    pages: Option<&'a [PageLocation]>,
    rows: u64,
}

impl<'a> Chunk<'a> {
    /// `None` for a chunk whose place can't be.
    pub fn of(file: &'a FragmentMetadata, row_group: usize, leaf: usize) -> Option<Self> {
        let metadata = file.parquet().row_groups().get(row_group)?.columns().get(leaf)?;
        let rows = file.row_groups().get(row_group)?;
        let pages = file.page_locations(row_group, leaf);
        Some(Self { metadata, range: chunk_range(metadata)?, pages, rows: rows.end - rows.start })
    }

    /// The bytes that hold these rows: sorted, disjoint. Whatever precedes the first data page is the
    /// dictionary page.
    pub fn reach(&self, rows: &RowRanges<RowGroupRows>) -> Vec<Range<u64>> {
        self.dictionary().into_iter().chain(self.reach_pages(rows)).collect()
    }

    /// The same without the dictionary page; the whole chunk where it isn't known where the pages are.
    pub fn reach_pages(&self, rows: &RowRanges<RowGroupRows>) -> Vec<Range<u64>> {
        let Some(pages) = self.pages else { return vec![self.range.clone()] };
        let mut reach = Vec::new();
        for range in rows.iter() {
            let from = pages.partition_point(|p| p.first_row_index as u64 <= range.start).saturating_sub(1);
            let to = pages.partition_point(|p| (p.first_row_index as u64) < range.end);
            for page in &pages[from..to.max(from)] {
                let bytes = page.offset as u64..page.offset as u64 + page.compressed_page_size as u64;
                // Two ranges of rows may lie in one page.
                if reach.last().is_none_or(|last: &Range<u64>| last.end <= bytes.start) {
                    reach.push(bytes);
                }
            }
        }
        reach
    }

    /// The bytes of the dictionary page, where it is known which they are.
    pub fn dictionary(&self) -> Option<Range<u64>> {
        let first = self.pages?.first()?.offset as u64;
        (self.range.start < first).then_some(self.range.start..first)
    }

    /// The rows of the touched pages: those among `rows` that share a page with one that is `selected`
    /// (one bit for each of `rows`). All of `rows` where it isn't known where the pages are.
    pub fn touched(
        &self,
        rows: &RowRanges<RowGroupRows>,
        selected: &BooleanBuffer,
    ) -> RowRanges<RowGroupRows> {
        if self.pages.is_none() {
            return rows.clone();
        }
        let (mut touched, mut at) = (RowRanges::empty(), 0);
        for page in self.page_rows() {
            let of_page = rows.clip(&page);
            let len = of_page.len() as usize;
            if len > 0 && selected.slice(at, len).count_set_bits() > 0 {
                of_page.iter().for_each(|range| touched.push(range));
            }
            at += len;
        }
        touched
    }

    /// Whether every value is a code of the dictionary page, of which it is known where it is.
    pub fn is_dictionary_encoded(&self) -> bool {
        let only = |mask: &EncodingMask| {
            mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY)
        };
        self.dictionary().is_some() && self.metadata.page_encoding_stats_mask().is_some_and(only)
    }

    /// Whether some pages have a dictionary, of which it is known where it is, and some may have none.
    pub fn outgrew_dictionary(&self) -> bool {
        self.dictionary().is_some()
            && self.metadata.page_encoding_stats_mask().is_some()
            && !self.is_dictionary_encoded()
    }

    /// Whether one of the pages of these rows is coded by the dictionary, or may be.
    pub fn needs_dictionary(&self, rows: &RowRanges<RowGroupRows>, bytes: &dyn HeldBytes) -> bool {
        let is_plain =
            |page: &Range<u64>| bytes.get(page).and_then(|page| is_dictionary_coded(&page)) == Some(false);
        !self.outgrew_dictionary() || !self.reach_pages(rows).iter().all(is_plain)
    }

    /// Whether values are of any length.
    pub fn is_variable(&self) -> bool {
        self.metadata.column_type() == Type::BYTE_ARRAY
    }

    /// What describes the column.
    pub fn column(&self) -> &ColumnDescriptor {
        self.metadata.column_descr()
    }

    /// The rows of each page; none where it isn't known where the pages are.
    pub fn page_rows(&self) -> Vec<Range<u64>> {
        let pages = self.pages.unwrap_or_default();
        let starts = pages.iter().map(|page| page.first_row_index as u64);
        starts.clone().zip(starts.skip(1).chain([self.rows])).map(|(start, end)| start..end).collect()
    }

    /// The pages, the dictionary first, from bytes that are held.
    ///
    /// Where the dictionary page isn't held, though it is known which it is, there is none.
    pub fn page_reader(&self, bytes: &Arc<ChunkBytes>) -> Result<Box<dyn PageReader>> {
        if let (Compression::SNAPPY, Some(pages)) = (self.metadata.compression(), self.pages) {
            let dictionary = self.dictionary().filter(|dictionary| bytes.holds(dictionary.start));
            let inner = SnappyPages::new(Arc::clone(bytes), dictionary, pages, self.rows);
            return Ok(Box::new(CheckedPages::new(inner, self.column())));
        }
        let mut sound = 0;
        for (_, piece) in &bytes.pieces {
            let pages = check_pages(piece, self.metadata.compression());
            sound = pages.map_err(|what| ParquetError::General(what.to_owned()))?;
        }
        // The page reader takes a dictionary offset at its word.
        let dictionary = self.metadata.dictionary_page_offset().filter(|d| *d as u64 == self.range.start);
        let mut metadata = self.metadata.clone().into_builder();
        metadata = match self.dictionary().filter(|dictionary| !bytes.holds(dictionary.start)) {
            None => metadata.set_dictionary_page_offset(dictionary),
            Some(Range { end, .. }) => metadata
                .set_dictionary_page_offset(None)
                .set_data_page_offset(end as i64)
                .set_total_compressed_size((self.range.end - end) as i64),
        };
        if self.pages.is_none() {
            // The reader goes from page to page; what comes after those that are sound is none of them.
            metadata = metadata.set_total_compressed_size(sound as i64);
        }
        let metadata = metadata.build()?;
        let copies = self.metadata.compression() == Compression::UNCOMPRESSED
            && self.metadata.column_type() == Type::BYTE_ARRAY;
        let bytes = if copies { Arc::new(bytes.copying()) } else { Arc::clone(bytes) };
        let pages = self.pages.map(<[_]>::to_vec);
        let inner = SerializedPageReader::new(bytes, &metadata, self.rows as usize, pages)?;
        Ok(Box::new(CheckedPages::new(inner, self.column())))
    }
}

/// The held bytes of one chunk.
#[derive(Debug, Clone)]
pub(super) struct ChunkBytes {
    /// Offsets and bytes; sorted, disjoint.
    pieces: Vec<(u64, Bytes)>,
    /// Whether pages are handed out as copies. Views of strings point into uncompressed pages; a copy
    /// keeps them from holding on to all that was fetched along with a page.
    copies: bool,
}

impl ChunkBytes {
    /// The bytes of these ranges; the first one that isn't held is the error.
    pub fn hold(ranges: Vec<Range<u64>>, bytes: &dyn HeldBytes) -> std::result::Result<Self, Range<u64>> {
        let piece = |range: Range<u64>| match bytes.get(&range) {
            Some(bytes) => Ok((range.start, bytes)),
            None => Err(range),
        };
        Ok(Self {
            pieces: ranges.into_iter().map(piece).collect::<std::result::Result<_, _>>()?,
            copies: false,
        })
    }

    /// Whether the bytes from here on are held, as far as a range among those that were to be held reaches.
    fn holds(&self, start: u64) -> bool {
        self.pieces.binary_search_by_key(&start, |(offset, _)| *offset).is_ok()
    }

    fn copying(&self) -> Self {
        Self { pieces: self.pieces.clone(), copies: true }
    }

    fn from(&self, start: u64) -> Result<Bytes> {
        let at = self.pieces.partition_point(|(offset, _)| *offset <= start).checked_sub(1);
        let held = at.and_then(|at| {
            let (offset, bytes) = &self.pieces[at];
            let skip = usize::try_from(start - offset).ok().filter(|skip| *skip <= bytes.len())?;
            Some(bytes.slice(skip..))
        });
        held.ok_or_else(|| ParquetError::EOF(format!("byte {start} is not held")))
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.pieces.last().map_or(0, |(offset, bytes)| offset + bytes.len() as u64)
    }
}

impl ChunkReader for ChunkBytes {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(format!("{length} bytes from byte {start} on are not held")));
        }
        let bytes = bytes.slice(..length);
        Ok(if self.copies { Bytes::copy_from_slice(&bytes) } else { bytes })
    }
}

/// The pages of some leaves of one row group, each of which is read once.
pub(super) struct Chunks<'a> {
    parquet: &'a ParquetMetaData,
    rows: u64,
    pages: Mutex<HashMap<usize, Result<Box<dyn PageReader>>>>,
}

impl<'a> Chunks<'a> {
    pub fn new(file: &'a FragmentMetadata, rows: u64) -> Self {
        Self { parquet: file.parquet(), rows, pages: Mutex::default() }
    }

    /// Serves these pages for a leaf.
    pub fn serve(&mut self, leaf: usize, pages: Box<dyn PageReader>) {
        self.pages.get_mut().insert(leaf, Ok(pages));
    }

    /// Serves a chunk's pages.
    pub fn serve_held(&mut self, leaf: usize, chunk: &Chunk<'_>, bytes: ChunkBytes) {
        self.pages.get_mut().insert(leaf, chunk.page_reader(&Arc::new(bytes)));
    }
}

impl RowGroups for Chunks<'_> {
    fn num_rows(&self) -> usize {
        self.rows as usize
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let pages = self.pages.lock().remove(&leaf);
        let unknown = || ParquetError::General(format!("leaf {leaf} is not part of the column"));
        Ok(Box::new(OneChunk(Some(pages.ok_or_else(unknown)?))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        // Asked only for virtual columns, of which there are none.
        Box::new(std::iter::empty())
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.parquet
    }
}

struct OneChunk(Option<Result<Box<dyn PageReader>>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take()
    }
}

impl PageIterator for OneChunk {}
