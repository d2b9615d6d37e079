// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Small sound files, parts of which targets replace.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

/// How many rows a sample has, in two row groups.
pub const ROWS: i64 = 60;

/// A sound file.
pub struct Sample {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// Its footer and page indexes.
    pub metadata: ParquetMetaData,
}

/// Plain, dictionary-encoded with an Arrow schema, compressed, of version 2.
pub static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let properties = WriterProperties::builder;
    let kinds = [
        (properties().set_dictionary_enabled(false), true),
        (properties(), false),
        (properties().set_compression(Compression::SNAPPY), true),
        (properties().set_dictionary_enabled(false).set_writer_version(WriterVersion::PARQUET_2_0), true),
    ];
    let sample = |(properties, skip_schema): (WriterPropertiesBuilder, bool)| {
        let properties = properties
            .set_max_row_group_row_count(Some(40))
            .set_data_page_row_count_limit(20)
            .set_write_batch_size(20)
            .set_bloom_filter_enabled(true)
            .set_bloom_filter_max_ndv(8);
        let options = ArrowWriterOptions::new().with_properties(properties.build());
        let (rows, options) = (rows(), options.with_skip_arrow_metadata(skip_schema));
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options).unwrap();
        writer.write(&rows).unwrap();
        let metadata = writer.close().unwrap();
        Sample { bytes, metadata }
    };
    kinds.into_iter().map(sample).collect()
});

fn rows() -> RecordBatch {
    let some = |row: i64| (row % 3 > 0).then_some(row % 7);
    let lists = (0..ROWS).map(|row| (row % 4 > 0).then(|| (0..row % 4).map(Some).collect::<Vec<_>>()));
    let columns: [(&str, ArrayRef); 5] = [
        ("i", Arc::new(Int32Array::from_iter_values(0..ROWS as i32))),
        ("l", Arc::new((0..ROWS).map(some).collect::<Int64Array>())),
        ("b", Arc::new((0..ROWS).map(|row| some(row).map(|v| v > 3)).collect::<BooleanArray>())),
        ("s", Arc::new((0..ROWS).map(|row| some(row).map(|v| format!("text {v}"))).collect::<StringArray>())),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

impl Sample {
    /// The bytes of the footer, without its length and the magic number.
    pub fn footer(&self) -> Range<usize> {
        let end = self.bytes.len() - 8;
        let length = u32::from_le_bytes(self.bytes[end..end + 4].try_into().unwrap());
        end - length as usize..end
    }

    /// The bytes of all page indexes, which precede the footer.
    pub fn page_indexes(&self) -> Range<usize> {
        let chunks = self.metadata.row_groups().iter().flat_map(|group| group.columns());
        let places = chunks.flat_map(|chunk| [chunk.column_index_offset(), chunk.offset_index_offset()]);
        places.flatten().min().unwrap() as usize..self.footer().start
    }

    /// The file with another footer.
    pub fn with_footer(&self, footer: &[u8]) -> Bytes {
        let length = (footer.len() as u32).to_le_bytes();
        [&self.bytes[..self.footer().start], footer, &length, b"PAR1"].concat().into()
    }

    /// The file with other bytes in this range: as many as there are, the others left as they were.
    pub fn with(&self, range: Range<usize>, bytes: &[u8]) -> Bytes {
        let mut file = self.bytes.clone();
        let count = bytes.len().min(range.len());
        file[range.start..range.start + count].copy_from_slice(&bytes[..count]);
        file.into()
    }
}

/// The sample that a byte says.
pub fn sample(which: u8) -> &'static Sample {
    &SAMPLES[usize::from(which) % SAMPLES.len()]
}

/// A seed from each sample, after the byte that says it.
pub fn of_each(part: impl Fn(&Sample) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0u8..).zip(SAMPLES.iter()).map(|(which, sample)| [vec![which], part(sample)].concat()).collect()
}
