// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random ways to lay a table out in Parquet files.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use proptest::prelude::*;
use proptest::sample::select;

/// How one file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Rows in a row group.
    pub row_group_rows: usize,
    /// Rows in a page.
    pub page_rows: usize,
    /// Whether there is a page index; pages have no statistics without it.
    pub page_index: bool,
    /// How columns are dictionary-coded.
    pub dictionary: Dictionary,
    /// Whether there are statistics at all.
    pub statistics: bool,
    /// How many bytes of a string bounds keep; all if none.
    pub bound_bytes: Option<usize>,
    /// Whether there are Bloom filters.
    pub bloom: bool,
    /// How pages are compressed.
    pub codec: Codec,
    /// Whether data pages are of version 2.
    pub version_2: bool,
}

/// How columns are dictionary-coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictionary {
    /// Not at all.
    None,
    /// Until the dictionary is full, after a page or two.
    Falling,
    /// All through.
    Full,
}

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// Snappy.
    Snappy,
    /// Zstandard.
    Zstd,
}

/// How small a dictionary is full.
const SMALL_DICTIONARY: usize = 64;

impl Layout {
    /// The plainest layout: what a failing one is made to be as far as it goes.
    pub const PLAIN: Self = Self {
        row_group_rows: 1 << 20,
        page_rows: 1 << 20,
        page_index: true,
        dictionary: Dictionary::None,
        statistics: true,
        bound_bytes: Some(64),
        bloom: false,
        codec: Codec::Plain,
        version_2: false,
    };

    /// A strategy for layouts.
    pub fn strategy() -> impl Strategy<Value = Self> {
        let flag = proptest::bool::weighted(0.7);
        let statistics = (
            proptest::bool::weighted(0.85),
            prop_oneof![3 => Just(Some(64)), 1 => Just(None), 1 => (1usize..6).prop_map(Some)],
        );
        let dictionary = prop_oneof![2 => Just(Dictionary::Full), 2 => Just(Dictionary::None), 1 => Just(Dictionary::Falling)];
        let codec = select(&[Codec::Plain, Codec::Snappy, Codec::Zstd][..]);
        (1usize..120, 1usize..40, flag, dictionary, statistics, proptest::bool::weighted(0.3), codec, flag)
            .prop_map(
                |(
                    row_group_rows,
                    page_rows,
                    page_index,
                    dictionary,
                    (statistics, bound_bytes),
                    bloom,
                    codec,
                    version_1,
                )| {
                    let version_2 = !version_1;
                    Self {
                        row_group_rows,
                        page_rows,
                        page_index,
                        dictionary,
                        statistics,
                        bound_bytes,
                        bloom,
                        codec,
                        version_2,
                    }
                },
            )
    }

    fn properties(&self) -> WriterProperties {
        let statistics = match (self.statistics, self.page_index) {
            (false, _) => EnabledStatistics::None,
            (true, false) => EnabledStatistics::Chunk,
            (true, true) => EnabledStatistics::Page,
        };
        let mut builder = WriterProperties::builder()
            .set_max_row_group_row_count(Some(self.row_group_rows))
            .set_data_page_row_count_limit(self.page_rows)
            // Pages are cut between write batches only.
            .set_write_batch_size(self.page_rows)
            .set_offset_index_disabled(!self.page_index)
            .set_dictionary_enabled(self.dictionary != Dictionary::None)
            .set_statistics_enabled(statistics)
            .set_statistics_truncate_length(self.bound_bytes)
            .set_column_index_truncate_length(self.bound_bytes)
            .set_bloom_filter_enabled(self.bloom)
            .set_compression(match self.codec {
                Codec::Plain => Compression::UNCOMPRESSED,
                Codec::Snappy => Compression::SNAPPY,
                Codec::Zstd => Compression::ZSTD(ZstdLevel::default()),
            });
        if self.dictionary == Dictionary::Falling {
            builder = builder.set_dictionary_page_size_limit(SMALL_DICTIONARY);
        }
        if self.version_2 {
            builder = builder.set_writer_version(WriterVersion::PARQUET_2_0);
        }
        builder.build()
    }

    /// The same in the options of `COPY`, as far as they can say it.
    pub fn options(&self) -> String {
        let statistics = match (self.statistics, self.page_index) {
            (false, _) => "none",
            (true, false) => "chunk",
            (true, true) => "page",
        };
        let mut options = vec![
            ("max_row_group_size", self.row_group_rows.to_string()),
            ("data_page_row_count_limit", self.page_rows.to_string()),
            ("write_batch_size", self.page_rows.to_string()),
            ("dictionary_enabled", (self.dictionary != Dictionary::None).to_string()),
            ("statistics_enabled", statistics.to_owned()),
        ];
        if self.dictionary == Dictionary::Falling {
            options.push(("dictionary_page_size_limit", SMALL_DICTIONARY.to_string()));
        }
        if let Some(bytes) = self.bound_bytes.filter(|bytes| *bytes != 64) {
            options.push(("statistics_truncate_length", bytes.to_string()));
            options.push(("column_index_truncate_length", bytes.to_string()));
        }
        if self.bloom {
            options.push(("bloom_filter_on_write", "true".to_owned()));
        }
        if self.version_2 {
            options.push(("writer_version", "2.0".to_owned()));
        }
        let options = options.into_iter().map(|(name, value)| format!("'format.{name}' '{value}'"));
        options.collect::<Vec<_>>().join(", ")
    }

    /// The words of this layout, for counting.
    pub fn words(&self) -> Vec<String> {
        let flags = [
            ("page-index", self.page_index && self.statistics),
            ("statistics", self.statistics),
            ("short-bounds", self.statistics && self.bound_bytes.is_some_and(|bytes| bytes < 64)),
            ("bloom", self.bloom),
            ("version-2", self.version_2),
        ];
        let mut words: Vec<_> = flags
            .into_iter()
            .map(|(name, on)| format!("layout/{name}={}", if on { "on" } else { "off" }))
            .collect();
        words.push(format!("layout/dictionary={:?}", self.dictionary));
        words.push(format!("layout/codec={:?}", self.codec));
        words
    }
}

/// Writes `rows` to the file `path` in this layout.
///
/// # Errors
/// The writer's.
pub fn write(rows: &RecordBatch, layout: &Layout, path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
    let file = File::create(path)?;
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(layout.properties()))?;
    writer.write(rows)?;
    writer.close()?;
    Ok(())
}
