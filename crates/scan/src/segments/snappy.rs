// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pages compressed by Snappy, decompressed into buffers that are used again.
//!
//! Snappy is what most writers compress with, and decompressing is most of the work of many queries. The parquet
//! crate takes fresh memory for each page and fills it with zeros first. Here the memory of pages that nothing refers to
//! any more serves the next ones.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;
use snap::raw::{Decoder, decompress_len};

use super::chunk::ChunkBytes;
use crate::buffers::Buffer;
use crate::thrift::{PageHeader, Part};

/// The pages of a chunk of which it is known where they are.
pub(super) struct SnappyPages {
    bytes: Arc<ChunkBytes>,
    dictionary: Option<Range<u64>>,
    pages: VecDeque<PageLocation>,
    rows: u64,
    decoder: Decoder,
}

impl SnappyPages {
    /// The dictionary page, unless there is none, and the data pages of a chunk of so many rows.
    pub fn new(
        bytes: Arc<ChunkBytes>,
        dictionary: Option<Range<u64>>,
        pages: &[PageLocation],
        rows: u64,
    ) -> Self {
        Self { bytes, dictionary, pages: pages.to_vec().into(), rows, decoder: Decoder::new() }
    }

    fn read(&mut self, range: &Range<u64>) -> Result<Page> {
        let length = usize::try_from(range.end - range.start)?;
        let bytes = self.bytes.get_bytes(range.start, length)?;
        let (header, body) = PageHeader::read(&bytes).ok_or_else(|| damaged("a page's header is damaged"))?;
        let body = usize::try_from(header.compressed).ok().and_then(|length| body.get(..length));
        let body = body.ok_or_else(|| damaged("a page is cut short"))?;
        if !header.is_plausible(Compression::SNAPPY) {
            return Err(damaged("a page says that it decompresses to more than it can"));
        }
        Contents { header: &header, body }.page(&mut self.decoder)
    }
}

/// A page's header and what follows it.
struct Contents<'a> {
    header: &'a PageHeader,
    body: &'a [u8],
}

impl Contents<'_> {
    fn page(&self, decoder: &mut Decoder) -> Result<Page> {
        let kinds = [PageType::DICTIONARY_PAGE, PageType::DATA_PAGE, PageType::DATA_PAGE_V2];
        match kinds.into_iter().find(|kind| *kind as i64 == self.header.kind) {
            Some(PageType::DICTIONARY_PAGE) => Ok(Page::DictionaryPage {
                buf: self.decompress(0, decoder)?,
                num_values: self.number(Part::DictionaryPage, 1)?,
                encoding: self.encoding(Part::DictionaryPage, 2)?,
                is_sorted: self.header.number(Part::DictionaryPage, 3) == Some(1),
            }),
            Some(PageType::DATA_PAGE) => Ok(Page::DataPage {
                buf: self.decompress(0, decoder)?,
                num_values: self.number(Part::DataPage, 1)?,
                encoding: self.encoding(Part::DataPage, 2)?,
                def_level_encoding: self.encoding(Part::DataPage, 3)?,
                rep_level_encoding: self.encoding(Part::DataPage, 4)?,
                statistics: None,
            }),
            Some(PageType::DATA_PAGE_V2) => {
                let [def_levels_byte_len, rep_levels_byte_len] =
                    [self.number(Part::DataPageV2, 5)?, self.number(Part::DataPageV2, 6)?];
                let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
                let is_compressed = self.header.number(Part::DataPageV2, 7) != Some(0);
                Ok(Page::DataPageV2 {
                    buf: match is_compressed {
                        true => self.decompress(levels, decoder)?,
                        false => Bytes::copy_from_slice(self.body),
                    },
                    num_values: self.number(Part::DataPageV2, 1)?,
                    encoding: self.encoding(Part::DataPageV2, 4)?,
                    num_nulls: self.number(Part::DataPageV2, 2)?,
                    num_rows: self.number(Part::DataPageV2, 3)?,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed,
                    statistics: None,
                })
            }
            _ => Err(damaged("a page is of no kind that is read")),
        }
    }

    /// What follows the header, of which the first bytes are levels that aren't compressed.
    fn decompress(&self, levels: usize, decoder: &mut Decoder) -> Result<Bytes> {
        let length = usize::try_from(self.header.uncompressed)?;
        let (levels, values) =
            self.body.split_at_checked(levels).ok_or_else(|| damaged("a page ends within its levels"))?;
        let mut buffer = Buffer::of(length);
        let (head, rest) = buffer
            .bytes_mut()
            .split_at_mut_checked(levels.len())
            .ok_or_else(|| damaged("a page says that it is shorter than its levels"))?;
        head.copy_from_slice(levels);
        // A page of no values may have nothing to decompress.
        if !rest.is_empty() {
            let other = || damaged("a page doesn't decompress to as much as it says");
            if decompress_len(values).ok() != Some(rest.len()) {
                return Err(other());
            }
            decoder.decompress(values, rest).map_err(|error| ParquetError::External(Box::new(error)))?;
        }
        Ok(buffer.freeze())
    }

    fn number(&self, part: Part, id: usize) -> Result<u32> {
        let number = self.header.number(part, id).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| damaged("a page's header lacks a number"))
    }

    fn encoding(&self, part: Part, id: usize) -> Result<Encoding> {
        let number = self.header.number(part, id);
        let known = ENCODINGS.into_iter().find(|encoding| Some(*encoding as i64) == number);
        known.ok_or_else(|| damaged("a page is in no encoding that is known"))
    }
}

/// The encodings of the format.
#[allow(deprecated)] // Levels of old files are in BIT_PACKED.
const ENCODINGS: [Encoding; 9] = [
    Encoding::PLAIN,
    Encoding::PLAIN_DICTIONARY,
    Encoding::RLE,
    Encoding::BIT_PACKED,
    Encoding::DELTA_BINARY_PACKED,
    Encoding::DELTA_LENGTH_BYTE_ARRAY,
    Encoding::DELTA_BYTE_ARRAY,
    Encoding::RLE_DICTIONARY,
    Encoding::BYTE_STREAM_SPLIT,
];

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Iterator for SnappyPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for SnappyPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if let Some(dictionary) = self.dictionary.take() {
            return self.read(&dictionary).map(Some);
        }
        let Some(page) = self.pages.pop_front() else { return Ok(None) };
        let start = u64::try_from(page.offset)?;
        let length = u64::try_from(page.compressed_page_size)?;
        self.read(&(start..start.saturating_add(length))).map(Some)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.dictionary.is_some() {
            return Ok(Some(PageMetadata { num_rows: None, num_levels: None, is_dict: true }));
        }
        let Some(page) = self.pages.front() else { return Ok(None) };
        let end = self.pages.get(1).map_or(self.rows as i64, |next| next.first_row_index);
        let rows = usize::try_from(end - page.first_row_index)?;
        Ok(Some(PageMetadata { num_rows: Some(rows), num_levels: None, is_dict: false }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if self.dictionary.take().is_none() {
            self.pages.pop_front();
        }
        Ok(())
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(true)
    }
}
