// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Small files of many types and encodings.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int32Array, Int32Builder, Int64Array, ListArray, MapBuilder, StringArray,
    StringBuilder, StructArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

const ROWS: i32 = 200;

/// A sound file, and where its pages end.
pub struct Sample {
    /// What is special about it.
    pub name: &'static str,
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// The first byte after the pages.
    pub pages_end: usize,
}

/// The samples.
pub fn samples() -> Vec<Sample> {
    let properties = WriterProperties::builder;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    vec![
        sample("plain", flat(), properties().set_dictionary_enabled(false)),
        sample("dictionary", flat(), properties().set_compression(Compression::SNAPPY)),
        sample("blooms", flat(), properties().set_bloom_filter_enabled(true)),
        sample("version_2", flat(), properties().set_writer_version(WriterVersion::PARQUET_2_0)),
        sample("deltas", deltas(), encoded(Encoding::DELTA_BINARY_PACKED, Encoding::DELTA_BYTE_ARRAY)),
        sample("split", deltas(), encoded(Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        sample("nested", nested(), properties().set_dictionary_enabled(false)),
        sample("nested_dictionary", nested(), properties().set_compression(zstd)),
    ]
}

fn encoded(numbers: Encoding, texts: Encoding) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_column_encoding("i".into(), numbers)
        .set_column_encoding("l".into(), numbers)
        .set_column_encoding("s".into(), texts)
}

fn sample(name: &'static str, rows: RecordBatch, properties: WriterPropertiesBuilder) -> Sample {
    let properties = properties
        .set_max_row_group_row_count(Some(ROWS as usize / 2))
        .set_data_page_row_count_limit(25)
        .set_write_batch_size(25)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let metadata = writer.close().unwrap();
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let pages_end = chunks.map(|chunk| chunk.byte_range()).map(|(start, len)| (start + len) as usize).max();
    Sample { name, bytes, pages_end: pages_end.unwrap() }
}

/// Every third is NULL.
fn some<T>(value: impl Fn(i32) -> T) -> impl Iterator<Item = Option<T>> {
    (0..ROWS).map(move |row| (row % 3 > 0).then(|| value(row)))
}

fn flat() -> RecordBatch {
    let decimal = Decimal128Array::from_iter(some(|row| i128::from(row) << 70));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(some(|row| [row as u8, 1, 2]), 3);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(some(|row| row % 5 == 0).collect::<BooleanArray>())),
        ("t", Arc::new(some(|row| row as i8).collect::<Int8Array>())),
        ("i", Arc::new(Int32Array::from_iter_values(0..ROWS))),
        ("l", Arc::new(some(|row| i64::from(row % 7) << 33).collect::<Int64Array>())),
        ("u", Arc::new(some(|row| u32::MAX - row as u32).collect::<UInt32Array>())),
        ("f", Arc::new(some(|row| row as f32 / 3.0).collect::<Float32Array>())),
        ("d", Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| f64::from(row % 11))))),
        ("day", Arc::new(some(|row| row).collect::<Date32Array>())),
        ("at", Arc::new(some(|row| i64::from(row) << 40).collect::<TimestampMicrosecondArray>())),
        ("s", Arc::new(some(|row| format!("text {}", row % 9)).collect::<StringArray>())),
        ("y", Arc::new(some(|row| vec![row as u8; 5]).collect::<BinaryArray>())),
        ("x", Arc::new(fixed.unwrap())),
        ("n", Arc::new(decimal.with_precision_and_scale(38, 2).unwrap())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
        let nullable = !["i", "d"].contains(&name);
        (name, array, nullable)
    }))
    .unwrap()
}

fn deltas() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("i", Arc::new(Int32Array::from_iter_values((0..ROWS).map(|row| row * row)))),
        ("l", Arc::new(some(|row| i64::from(row % 7) << 33).collect::<Int64Array>())),
        ("s", Arc::new(some(|row| format!("text {}", row * 17)).collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn nested() -> RecordBatch {
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>((0..ROWS).map(|row| {
        (row % 4 > 0)
            .then(|| (0..row % 4).map(|i| (i != 2).then_some(i64::from(row + i))).collect::<Vec<_>>())
    }));
    let lists = {
        let inner = ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..ROWS).map(|row| Some((0..row % 3).map(Some).collect::<Vec<_>>())),
        );
        let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths((0..ROWS as usize).map(|_| 1));
        ListArray::new(field, offsets, Arc::new(inner), None)
    };
    let fields = vec![
        Arc::new(Field::new("i", DataType::Int32, true)),
        Arc::new(Field::new("s", DataType::Utf8, true)),
    ];
    let children: Vec<ArrayRef> = vec![
        Arc::new(some(|row| row).collect::<Int32Array>()),
        Arc::new(some(|row| format!("text {}", row % 9)).collect::<StringArray>()),
    ];
    let valid = (0..ROWS).map(|row| row % 5 > 0).collect::<Vec<_>>();
    let record = StructArray::new(fields.into(), children, Some(valid.into()));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..ROWS {
        for key in 0..row % 3 {
            map.keys().append_value(format!("k{key}"));
            map.values().append_value(row);
        }
        map.append(row % 4 > 0).unwrap();
    }
    let columns: [(&str, ArrayRef); 5] = [
        ("i", Arc::new(Int32Array::from_iter_values(0..ROWS))),
        ("list", Arc::new(list)),
        ("lists", Arc::new(lists)),
        ("record", Arc::new(record)),
        ("map", Arc::new(map.finish())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}
