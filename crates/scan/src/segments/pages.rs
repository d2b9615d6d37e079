// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pages checked for the damage that the parquet crate's decoders don't survive.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use super::hybrid::Runs;

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
    levels.is_some_and(|levels| Runs::new(levels, width, page.num_values() as usize).all(|run| run.is_ok()))
}
