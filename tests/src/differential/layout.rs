// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random ways to lay a table out in Parquet files.

use std::fs::File;
use std::path::Path;

use anyhow::Result;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;

/// How one file is written.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Rows in a row group.
    pub row_group_rows: usize,
    /// Rows in a page.
    pub page_rows: usize,
    /// Whether there is a page index; pages have no statistics without it.
    pub page_index: bool,
    /// Whether columns are dictionary-coded.
    pub dictionary: bool,
    /// Whether there are statistics at all.
    pub statistics: bool,
    /// Whether there are Bloom filters.
    pub bloom: bool,
}

impl Layout {
    /// A strategy for layouts.
    pub fn strategy() -> impl Strategy<Value = Self> {
        let flag = proptest::bool::weighted(0.7);
        (1usize..120, 1usize..40, flag, flag, proptest::bool::weighted(0.85), proptest::bool::weighted(0.3))
            .prop_map(|(row_group_rows, page_rows, page_index, dictionary, statistics, bloom)| Self {
                row_group_rows,
                page_rows,
                page_index,
                dictionary,
                statistics,
                bloom,
            })
    }

    fn properties(&self) -> WriterProperties {
        let statistics = match (self.statistics, self.page_index) {
            (false, _) => EnabledStatistics::None,
            (true, false) => EnabledStatistics::Chunk,
            (true, true) => EnabledStatistics::Page,
        };
        WriterProperties::builder()
            .set_max_row_group_row_count(Some(self.row_group_rows))
            .set_data_page_row_count_limit(self.page_rows)
            // Pages are cut between write batches only.
            .set_write_batch_size(self.page_rows)
            .set_offset_index_disabled(!self.page_index)
            .set_dictionary_enabled(self.dictionary)
            .set_statistics_enabled(statistics)
            .set_bloom_filter_enabled(self.bloom)
            .build()
    }

    /// The words of this layout, for counting.
    pub fn words(&self) -> Vec<String> {
        let flags = [
            ("page-index", self.page_index && self.statistics),
            ("dictionary", self.dictionary),
            ("statistics", self.statistics),
            ("bloom", self.bloom),
        ];
        flags
            .into_iter()
            .map(|(name, on)| format!("layout/{name}={}", if on { "on" } else { "off" }))
            .collect()
    }
}

/// Writes `rows` to `folder`, cut into one file per layout.
///
/// # Errors
/// The writer's.
pub fn write(rows: &RecordBatch, layouts: &[Layout], folder: &Path) -> Result<()> {
    let border = |file: usize| rows.num_rows() * file / layouts.len().max(1);
    for (number, layout) in layouts.iter().enumerate() {
        let file = File::create(folder.join(format!("{number}.parquet")))?;
        let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(layout.properties()))?;
        let (start, end) = (border(number), border(number + 1));
        writer.write(&rows.slice(start, end - start))?;
        writer.close()?;
    }
    Ok(())
}
