// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pages checked for the damage that the parquet crate's decoders don't survive.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// The pages of a reader, each checked as it is read:
///
/// * a page of dictionary codes comes after a dictionary (the decoders panic else);
/// * a page of a repeated leaf has a repetition level for every value (the decoders loop for ever else,
///   when they skip rows).
pub(super) struct CheckedPages<R> {
    inner: R,
    has_dictionary: bool,
    max_rep_level: i16,
}

impl<R: PageReader> CheckedPages<R> {
    pub fn new(inner: R, max_rep_level: i16) -> Self {
        Self { inner, has_dictionary: false, max_rep_level }
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let encoded = matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        if page.is_dictionary_page() {
            self.has_dictionary = true;
        } else if encoded && !self.has_dictionary {
            return Err(ParquetError::General("a page needs a dictionary, but there is none".to_owned()));
        }
        if self.max_rep_level > 0 && !has_repetition_levels(page, self.max_rep_level) {
            return Err(ParquetError::General("a page lacks repetition levels".to_owned()));
        }
        Ok(())
    }
}

impl<R: PageReader> Iterator for CheckedPages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<R: PageReader> PageReader for CheckedPages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

/// Whether a page has as many repetition levels as it says it has values.
fn has_repetition_levels(page: &Page, max_level: i16) -> bool {
    let levels = match page {
        Page::DictionaryPage { .. } => return true,
        // The length of bit-packed levels follows from the number of values.
        Page::DataPage { rep_level_encoding, .. } if *rep_level_encoding != Encoding::RLE => return true,
        Page::DataPage { buf, .. } => {
            let length = buf.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
            length.and_then(|length| buf.get(4..4usize.checked_add(length)?))
        }
        Page::DataPageV2 { buf, rep_levels_byte_len, .. } => buf.get(..*rep_levels_byte_len as usize),
    };
    let width = (i16::BITS - max_level.leading_zeros()) as usize;
    levels.is_some_and(|levels| count_hybrid(levels, width, page.num_values() as usize))
}

/// Whether data in Parquet's hybrid of run lengths and bit packing holds at least `wanted` values.
fn count_hybrid(mut data: &[u8], width: usize, wanted: usize) -> bool {
    let mut left = wanted;
    while left > 0 {
        let Some(header) = read_varint(&mut data).filter(|header| *header != 0) else { return false };
        let count = (header >> 1) as u32 as usize;
        let (values, bytes) = if header & 1 == 1 {
            // The last group may be cut short.
            let bytes = count.saturating_mul(width).min(data.len());
            (count.saturating_mul(8).min(bytes * 8 / width), bytes)
        } else {
            (count, width.div_ceil(8))
        };
        let Some(rest) = data.get(bytes..) else { return false };
        data = rest;
        left = left.saturating_sub(values);
    }
    true
}

fn read_varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::run(&[10 << 1, 1], 10, true)]
    #[case::run_too_short(&[10 << 1, 1], 11, false)]
    #[case::run_without_value(&[10 << 1], 1, false)]
    #[case::packed(&[3, 0b1010_1010], 8, true)]
    #[case::packed_and_run(&[3, 0, 4 << 1, 0], 12, true)]
    #[case::packed_cut_short(&[5, 0], 9, false)]
    #[case::padding_ends_it(&[2, 0, 0, 8, 0], 3, false)]
    #[case::nothing(&[], 1, false)]
    #[case::endless_header(&[0xff; 12], 1, false)]
    fn levels_are_counted(#[case] data: &[u8], #[case] wanted: usize, #[case] expect: bool) {
        assert_eq!(count_hybrid(data, 1, wanted), expect);
    }
}
