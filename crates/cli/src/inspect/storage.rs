// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How a column is stored: sizes, encodings, dictionaries, filters.

use std::collections::BTreeSet;

use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use serde::Serialize;

/// How a column's chunks are stored.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Storage {
    /// Parquet's types.
    pub physical_types: BTreeSet<String>,
    /// The encodings of data pages, or of all pages where the file doesn't tell them apart.
    pub encodings: BTreeSet<String>,
    /// The codecs.
    pub compression: BTreeSet<String>,
    /// The bytes in the file.
    pub compressed_bytes: u64,
    /// The bytes after decompression.
    pub uncompressed_bytes: u64,
    /// Which chunks have dictionaries.
    pub dictionary: Dictionaries,
    /// How many chunks have a bloom filter.
    pub bloom_filters: usize,
}

/// How many of a column's chunks have dictionaries.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Dictionaries {
    /// Every data page is dictionary-coded.
    pub all_pages: usize,
    /// Data pages are dictionary-coded, but not all of them, or the file doesn't tell which.
    pub some_pages: usize,
    /// No data page is dictionary-coded.
    pub no_page: usize,
    /// The bytes of the dictionaries, compressed; of those whose place the file tells.
    pub bytes: u64,
}

impl Storage {
    /// How a Parquet leaf is stored in one file.
    pub fn of(parquet: &ParquetMetaData, leaf: usize) -> Self {
        let mut storage = Self::default();
        for group in parquet.row_groups() {
            storage.add(group.column(leaf));
        }
        storage
    }

    fn add(&mut self, chunk: &ColumnChunkMetaData) {
        self.physical_types.insert(chunk.column_type().to_string());
        self.compression.insert(compression_name(chunk.compression()));
        self.compressed_bytes += u64::try_from(chunk.compressed_size()).unwrap_or(0);
        self.uncompressed_bytes += u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
        self.bloom_filters += usize::from(chunk.bloom_filter_offset().is_some());
        let pages: Option<Vec<_>> = chunk.page_encoding_stats_mask().map(|mask| mask.encodings().collect());
        // The levels' own encodings, and a dictionary's, say nothing of the values.
        let values =
            pages.clone().unwrap_or_else(|| chunk.encodings().filter(|e| !is_of_levels(e)).collect());
        self.encodings.extend(values.iter().map(Encoding::to_string));

        let is_coded = |e: &Encoding| matches!(e, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
        // Not every writer tells where the dictionary is.
        match (values.iter().any(is_coded), pages) {
            (false, _) => self.dictionary.no_page += 1,
            (true, Some(pages)) if pages.iter().all(is_coded) => self.dictionary.all_pages += 1,
            (true, _) => self.dictionary.some_pages += 1,
        }
        self.dictionary.bytes += dictionary_bytes(chunk);
    }

    /// Adds the same column of another file.
    pub fn merge(&mut self, other: &Self) {
        self.physical_types.extend(other.physical_types.iter().cloned());
        self.encodings.extend(other.encodings.iter().cloned());
        self.compression.extend(other.compression.iter().cloned());
        self.compressed_bytes += other.compressed_bytes;
        self.uncompressed_bytes += other.uncompressed_bytes;
        self.bloom_filters += other.bloom_filters;
        self.dictionary.all_pages += other.dictionary.all_pages;
        self.dictionary.some_pages += other.dictionary.some_pages;
        self.dictionary.no_page += other.dictionary.no_page;
        self.dictionary.bytes += other.dictionary.bytes;
    }
}

impl Dictionaries {
    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.all_pages + self.some_pages + self.no_page
    }
}

/// Whether an encoding is listed for a chunk's levels, and says nothing of its values.
// Old files hold the deprecated encoding all the same.
#[allow(deprecated)]
fn is_of_levels(encoding: &Encoding) -> bool {
    matches!(encoding, Encoding::RLE | Encoding::BIT_PACKED)
}

/// The length of a chunk's dictionary page as far as the metadata tells. Some writers store 0 as the place of none.
fn dictionary_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let start = chunk.dictionary_page_offset().filter(|start| *start > 0);
    let length = start.and_then(|start| chunk.data_page_offset().checked_sub(start));
    length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
}

/// The codec's name without its level, which files don't keep.
fn compression_name(compression: Compression) -> String {
    let name = compression.to_string();
    name.split('(').next().unwrap_or_default().to_owned()
}
