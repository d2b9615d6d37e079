// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Decoding a column of one row group that is in memory: Trommel's segments beside the parquet crate's reader.
//!
//! All rows, and a hundred of them, scattered.

// A benchmark that can't be set up has nothing to measure.
#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use divan::Bencher;
use divan::counter::ItemsCount;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::Compression;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use trommel_planner::index::FragmentCol;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{RowGroupRows, RowRanges};
use trommel_scan::io::HeldBytes;
use trommel_scan::metadata::FragmentMetadata;
use trommel_scan::segments::SegmentReader;

// The allocator of the benchmarks.
use trommel_benchmarks as _;

const ROWS: u64 = 100_000;
const COLUMNS: [&str; 5] = ["int_plain", "int_snappy", "int_dictionary", "decimal", "string_dictionary"];
/// The distance between scattered rows.
const STEP: usize = 1000;

static FILE: LazyLock<Bytes> = LazyLock::new(|| {
    let rows = || 0..i64::try_from(ROWS).unwrap_or(0);
    let scrambled = || rows().map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 20);
    let decimals = scrambled().map(|value| i128::from(value % 10_000_000));
    let decimals = Decimal128Array::from_iter_values(decimals).with_precision_and_scale(15, 2);
    let columns: [ArrayRef; COLUMNS.len()] = [
        Arc::new(Int64Array::from_iter_values(scrambled())),
        Arc::new(Int64Array::from_iter_values(scrambled().map(|value| value % 1_000_000))),
        Arc::new(Int64Array::from_iter_values(scrambled().map(|value| value % 50))),
        Arc::new(decimals.expect("15 digits are enough")),
        Arc::new(StringArray::from_iter_values(
            scrambled().map(|value| format!("string number {}", value % 7)),
        )),
    ];
    let batch =
        RecordBatch::try_from_iter(COLUMNS.into_iter().zip(columns)).expect("columns are equally long");
    let properties = WriterProperties::builder()
        .set_column_dictionary_enabled(ColumnPath::from("int_plain"), false)
        .set_column_dictionary_enabled(ColumnPath::from("int_snappy"), false)
        .set_column_compression(ColumnPath::from("int_snappy"), Compression::SNAPPY)
        .set_data_page_row_count_limit(10_000);
    let mut file = Vec::new();
    let writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build()));
    let mut writer = writer.expect("the types can be written");
    writer.write(&batch).expect("memory can be written");
    writer.close().expect("memory can be written");
    file.into()
});

struct Held;

impl HeldBytes for Held {
    fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        Some(FILE.slice(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?))
    }
}

fn scattered() -> impl Iterator<Item = usize> {
    (0..usize::try_from(ROWS).unwrap_or(0)).step_by(STEP)
}

#[inline(never)]
fn counted_region_segment(
    reader: &SegmentReader,
    segment: &SegmentId,
    rows: &RowRanges<RowGroupRows>,
) -> ArrayRef {
    reader.decode(segment, rows, &Held).expect("the file is whole")
}

fn segment(bencher: Bencher, column: &str, rows: &RowRanges<RowGroupRows>) {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = reader.parse_and_finish(&*FILE).expect("the file is whole");
    let metadata = FragmentMetadata::try_new(Path::from("memory"), metadata).expect("the file is whole");
    let reader = SegmentReader::new(Arc::new(metadata));
    let number = COLUMNS.iter().position(|name| *name == column).expect("a column of the file");
    let segment = SegmentId::new(0, FragmentCol(number));
    bencher
        .counter(ItemsCount::new(rows.len()))
        .bench_local(|| counted_region_segment(&reader, black_box(&segment), rows));
}

#[inline(never)]
fn counted_region_parquet(
    metadata: &ArrowReaderMetadata,
    column: &str,
    rows: Option<&RowSelection>,
) -> usize {
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(FILE.clone(), metadata.clone());
    let mask = ProjectionMask::columns(reader.parquet_schema(), [column]);
    let reader = reader.with_projection(mask).with_batch_size(1 << 20);
    let reader = match rows {
        Some(rows) => reader.with_row_selection(rows.clone()),
        None => reader,
    };
    let batches = reader.build().expect("the file is whole");
    batches.map(|batch| black_box(batch.expect("the file is whole")).num_rows()).sum()
}

fn parquet(bencher: Bencher, column: &str, rows: Option<&RowSelection>) {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = ArrowReaderMetadata::load(&*FILE, options).expect("the file is whole");
    let count = rows.map_or(ROWS, |rows| rows.row_count() as u64);
    let bencher = bencher.counter(ItemsCount::new(count));
    bencher.bench_local(|| counted_region_parquet(&metadata, black_box(column), rows));
}

#[divan::bench(args = COLUMNS)]
fn all_segment(bencher: Bencher, column: &str) {
    segment(bencher, column, &RowRanges::all(ROWS));
}

#[divan::bench(args = COLUMNS)]
fn all_parquet(bencher: Bencher, column: &str) {
    parquet(bencher, column, None);
}

#[divan::bench(args = COLUMNS)]
fn scattered_segment(bencher: Bencher, column: &str) {
    let mut rows = RowRanges::empty();
    scattered().for_each(|row| rows.push(row as u64..row as u64 + 1));
    segment(bencher, column, &rows);
}

#[divan::bench(args = COLUMNS)]
fn scattered_parquet(bencher: Bencher, column: &str) {
    let ranges = scattered().map(|row| row..row + 1);
    let rows = RowSelection::from_consecutive_ranges(ranges, usize::try_from(ROWS).unwrap_or(0));
    parquet(bencher, column, Some(&rows));
}

fn main() {
    divan::main();
}
