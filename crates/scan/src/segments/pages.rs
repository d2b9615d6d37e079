// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pages checked for the damage that the parquet crate's decoders don't survive.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

use super::delta;
use super::hybrid::Runs;

/// The pages of a reader, each checked as it is read:
///
/// * a page of dictionary codes comes after a dictionary (the decoders panic else);
/// * a dictionary is long enough for as many values as it says it has (the decoders make room for them first);
/// * a page of a repeated leaf has a repetition level for every value (the decoders loop for ever else,
///   when they skip rows);
/// * a page of values that are stored as differences of lengths has no more lengths than values (the decoders make
///   room for them first).
pub(super) struct CheckedPages<R> {
    inner: R,
    has_dictionary: bool,
    max_rep_level: i16,
    max_def_level: i16,
    least_bits: usize,
}

impl<R: PageReader> CheckedPages<R> {
    pub fn new(inner: R, column: &ColumnDescriptor) -> Self {
        let (max_rep_level, max_def_level) = (column.max_rep_level(), column.max_def_level());
        Self { inner, has_dictionary: false, max_rep_level, max_def_level, least_bits: least_bits(column) }
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let encoded = matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        if page.is_dictionary_page() {
            self.has_dictionary = true;
            if (page.num_values() as usize).saturating_mul(self.least_bits) > page.buffer().len() * 8 {
                return Err(damaged("its dictionary is too short"));
            }
        } else if encoded && !self.has_dictionary {
            return Err(damaged("a page needs a dictionary, but there is none"));
        }
        if self.max_rep_level > 0 && !has_repetition_levels(page, self.max_rep_level) {
            return Err(damaged("a page lacks repetition levels"));
        }
        let runs = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let values = values(page, self.max_rep_level, self.max_def_level);
        // There are no lengths where all values are NULL.
        let most = page.num_values() as usize;
        match values.is_some_and(|values| values.is_empty() || delta::are_plausible(values, runs, most)) {
            true => Ok(()),
            false => Err(damaged("a page has other lengths than values")),
        }
    }
}

/// How many bits a value takes at least, outside a dictionary.
fn least_bits(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(0).max(1) * 8,
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 32,
        Type::INT64 | Type::DOUBLE => 64,
        Type::INT96 => 96,
    }
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
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
        if !self.has_dictionary {
            self.has_dictionary = self.inner.peek_next_page()?.is_some_and(|page| page.is_dict);
        }
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
    levels.is_some_and(|levels| {
        Runs::new(levels, width(max_level), page.num_values() as usize).all(|run| run.is_ok())
    })
}

/// The bits of a level.
fn width(max_level: i16) -> usize {
    (i16::BITS - max_level.leading_zeros()) as usize
}

/// A page's values, after its levels; `None` where it ends within these.
fn values(page: &Page, max_rep_level: i16, max_def_level: i16) -> Option<&[u8]> {
    match page {
        Page::DictionaryPage { buf, .. } => Some(buf),
        Page::DataPage { buf, rep_level_encoding, def_level_encoding, num_values, .. } => {
            let mut rest: &[u8] = buf;
            for (max_level, encoding) in
                [(max_rep_level, rep_level_encoding), (max_def_level, def_level_encoding)]
            {
                let length = match encoding {
                    _ if max_level == 0 => 0,
                    Encoding::RLE => 4 + u32::from_le_bytes(*rest.first_chunk()?) as usize,
                    _ => (*num_values as usize).checked_mul(width(max_level))?.div_ceil(8),
                };
                rest = rest.get(length..)?;
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, rep_levels_byte_len, def_levels_byte_len, .. } => {
            buf.get((*rep_levels_byte_len as usize).checked_add(*def_levels_byte_len as usize)?..)
        }
    }
}
