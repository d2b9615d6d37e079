// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Decoding against an independent oracle: the whole file read by the parquet crate, then `take`.

use std::sync::Arc;
use std::sync::Mutex;

use arrow::array::builder::{
    FixedSizeBinaryBuilder, FixedSizeListBuilder, Int32Builder, ListBuilder, MapBuilder, StringBuilder,
};
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit, i256};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use rstest::rstest;
use trommel_planner::index::FragmentCol;

mod claims;
mod parts;
mod selected;

use super::*;
use crate::io::FetchedRanges;
use crate::testing::{metadata, parquet, write, write_batch};

const ROWS: usize = 500;

/// Values with NULLs at every seventh row.
fn some<T>(f: impl Fn(usize) -> T) -> impl Iterator<Item = Option<T>> {
    (0..ROWS).map(move |i| (i % 7 != 3).then(|| f(i)))
}

fn text(i: usize) -> String {
    format!("text {} {}", i % 97, "x".repeat(i % 20))
}

/// A struct whose fields are required, though it may be NULL itself; `b` holds another such struct.
fn structs() -> ArrayRef {
    let nulls = |n: usize| Some(NullBuffer::from((0..ROWS).map(|i| i % n != 1).collect::<Vec<_>>()));
    let ints: ArrayRef = Arc::new(Int32Array::from_iter_values((0..ROWS).map(|i| i as i32)));
    let inner = StructArray::new(
        vec![Field::new("c", DataType::Int32, false)].into(),
        vec![Arc::clone(&ints)],
        nulls(3),
    );
    let fields =
        vec![Field::new("a", DataType::Int32, false), Field::new("b", inner.data_type().clone(), true)];
    Arc::new(StructArray::new(fields.into(), vec![ints, Arc::new(inner)], nulls(5)))
}

fn lists() -> ArrayRef {
    let mut builder = ListBuilder::new(Int32Builder::new());
    for i in 0..ROWS {
        (0..i % 4).for_each(|j| builder.values().append_option((j != 2).then_some((i * 10 + j) as i32)));
        builder.append(i % 7 != 3);
    }
    Arc::new(builder.finish())
}

fn fixed_lists() -> ArrayRef {
    let mut builder = FixedSizeListBuilder::new(Int32Builder::new(), 3);
    for i in 0..ROWS {
        (0..3).for_each(|j| builder.values().append_option((i % 5 != j).then_some((i * 10 + j) as i32)));
        builder.append(i % 7 != 3);
    }
    Arc::new(builder.finish())
}

fn maps() -> ArrayRef {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..ROWS {
        for j in 0..i % 3 {
            builder.keys().append_value(format!("k{j}"));
            builder.values().append_option((i % 5 != 0).then_some(i as i32));
        }
        builder.append(i % 7 != 3).unwrap();
    }
    Arc::new(builder.finish())
}

fn lists_of_structs() -> ArrayRef {
    let values = structs();
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths((0..ROWS).map(|i| usize::from(i % 2 == 0) * (1 + i % 3) / 2));
    let items = *offsets.last().unwrap() as usize;
    Arc::new(ListArray::new(field, offsets, values.slice(0, items), None))
}

fn column(name: &str) -> ArrayRef {
    let int64 = || Int64Array::from_iter(some(|i| i as i64 * 977 - 100));
    let to = |t: DataType| cast(&int64(), &t).unwrap();
    let small = |t: DataType| cast(&Int64Array::from_iter(some(|i| i as i64 % 100)), &t).unwrap();
    let unscaled = |i: usize| i as i128 * 977 - 100;
    match name {
        "bool" => Arc::new(BooleanArray::from_iter(some(|i| i % 3 == 0))),
        "i8" => small(DataType::Int8),
        "i16" => small(DataType::Int16),
        "i32" => to(DataType::Int32),
        "i64" => Arc::new(int64()),
        "i64_required" => Arc::new(Int64Array::from_iter_values(0..ROWS as i64)),
        "u8" => small(DataType::UInt8),
        "u16" => small(DataType::UInt16),
        "u32" => Arc::new(UInt32Array::from_iter(some(|i| u32::MAX - i as u32))),
        "u64" => Arc::new(UInt64Array::from_iter(some(|i| u64::MAX - i as u64))),
        "f16" => small(DataType::Float16),
        "f32" => to(DataType::Float32),
        "f64" => {
            Arc::new(Float64Array::from_iter(some(|i| if i % 11 == 0 { f64::NAN } else { -(i as f64) })))
        }
        "d32" => Arc::new(
            Decimal32Array::from_iter(some(|i| unscaled(i) as i32)).with_precision_and_scale(9, 2).unwrap(),
        ),
        "d64" => Arc::new(
            Decimal64Array::from_iter(some(|i| unscaled(i) as i64)).with_precision_and_scale(18, 2).unwrap(),
        ),
        "d128" => {
            Arc::new(Decimal128Array::from_iter(some(unscaled)).with_precision_and_scale(38, 4).unwrap())
        }
        "d128_in_i32" => {
            Arc::new(Decimal128Array::from_iter(some(unscaled)).with_precision_and_scale(8, 1).unwrap())
        }
        "d256" => Arc::new(
            Decimal256Array::from_iter(some(|i| i256::from_i128(unscaled(i))))
                .with_precision_and_scale(60, 4)
                .unwrap(),
        ),
        "date32" => cast(&to(DataType::Int32), &DataType::Date32).unwrap(),
        "date64" => cast(&column("date32"), &DataType::Date64).unwrap(),
        "time32_s" => small(DataType::Int32).cast(DataType::Time32(TimeUnit::Second)),
        "time32_ms" => small(DataType::Int32).cast(DataType::Time32(TimeUnit::Millisecond)),
        "time64_us" => small(DataType::Int64).cast(DataType::Time64(TimeUnit::Microsecond)),
        "time64_ns" => small(DataType::Int64).cast(DataType::Time64(TimeUnit::Nanosecond)),
        "ts_s" => to(DataType::Timestamp(TimeUnit::Second, None)),
        "ts_ms" => to(DataType::Timestamp(TimeUnit::Millisecond, None)),
        "ts_us_utc" => to(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        "ts_ns_zone" => to(DataType::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into()))),
        "duration" => to(DataType::Duration(TimeUnit::Millisecond)),
        "interval_ym" => to(DataType::Int32).cast(DataType::Interval(IntervalUnit::YearMonth)),
        "interval_dt" => Arc::new(IntervalDayTimeArray::from_iter(some(|i| {
            arrow::datatypes::IntervalDayTime::new(i as i32, 7 * i as i32)
        }))),
        "utf8" => Arc::new(StringArray::from_iter(some(text))),
        "large_utf8" => column("utf8").cast(DataType::LargeUtf8),
        "utf8_view" => column("utf8").cast(DataType::Utf8View),
        "binary" => column("utf8").cast(DataType::Binary),
        "binary_view" => column("binary").cast(DataType::BinaryView),
        "fixed" => {
            let mut builder = FixedSizeBinaryBuilder::new(5);
            for v in some(|i| format!("{i:05}")) {
                match v {
                    Some(v) => builder.append_value(v.as_bytes()).unwrap(),
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        "dict32_utf8" => column("utf8").cast(dictionary(DataType::Int32, DataType::Utf8)),
        "dict8_utf8" => {
            let few = StringArray::from_iter(some(|i| format!("v{}", i % 50)));
            cast(&few, &dictionary(DataType::Int8, DataType::Utf8)).unwrap()
        }
        "dict32_i64" => column("i64").cast(dictionary(DataType::Int32, DataType::Int64)),
        "null" => Arc::new(NullArray::new(ROWS)),
        "struct" => structs(),
        "list" => lists(),
        "fixed_list" => fixed_lists(),
        "map" => maps(),
        "list_struct" => lists_of_structs(),
        _ => unreachable!("{name}"),
    }
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

trait Cast {
    fn cast(&self, to: DataType) -> ArrayRef;
}

impl Cast for ArrayRef {
    fn cast(&self, to: DataType) -> ArrayRef {
        cast(self, &to).unwrap()
    }
}

const COLUMNS: [&str; 45] = [
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "i64_required",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "f32",
    "f64",
    "d32",
    "d64",
    "d128",
    "d128_in_i32",
    "d256",
    "date32",
    "date64",
    "time32_s",
    "time32_ms",
    "time64_us",
    "time64_ns",
    "ts_s",
    "ts_ms",
    "ts_us_utc",
    "ts_ns_zone",
    "duration",
    "interval_ym",
    "interval_dt",
    "utf8",
    "large_utf8",
    "utf8_view",
    "binary",
    "binary_view",
    "fixed",
    "dict32_utf8",
    "dict8_utf8",
    "dict32_i64",
    "null",
    "struct",
    "list",
    "fixed_list",
    "map",
];

/// How a file is laid out.
#[derive(Debug, Clone, Copy)]
struct Layout {
    version: WriterVersion,
    page_index: bool,
    compression: Compression,
    dictionary: bool,
    row_group: usize,
}

fn file_of(columns: &[(&str, ArrayRef)], layout: Layout) -> Bytes {
    let statistics = if layout.page_index { EnabledStatistics::Page } else { EnabledStatistics::None };
    let properties = WriterProperties::builder()
        .set_writer_version(layout.version)
        .set_offset_index_disabled(!layout.page_index)
        .set_statistics_enabled(statistics)
        .set_compression(layout.compression)
        .set_dictionary_enabled(layout.dictionary)
        .set_max_row_group_row_count(Some(layout.row_group))
        .set_data_page_row_count_limit(40)
        .set_write_batch_size(20);
    write(columns, properties)
}

/// Holds only the bytes that were reached for, and remembers nothing else.
fn held(file: &Bytes, reach: &[Range<u64>]) -> impl HeldBytes {
    struct Held(Bytes, Vec<Range<u64>>);
    impl HeldBytes for Held {
        fn get(&self, range: &Range<u64>) -> Option<Bytes> {
            let within = self.1.iter().any(|r| r.start <= range.start && range.end <= r.end);
            within.then(|| self.0.slice(range.start as usize..range.end as usize))
        }
    }
    Held(file.clone(), reach.to_vec())
}

/// The whole column as the parquet crate reads it, in the type the fragment's schema gives it.
fn oracle(file: &Bytes) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap().build().unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn check(file: &Bytes, whole: &RecordBatch, column: usize, row_group: usize, rows: &RowRanges<RowGroupRows>) {
    let metadata = metadata(file);
    let reader = SegmentReader::new(Arc::clone(&metadata));
    let segment = SegmentId::new(row_group, FragmentCol(column));
    let got = reader.decode(&segment, rows, &held(file, &reader.reach(&segment, rows))).unwrap();
    let mut reach = reader.reach_pages(&segment, rows);
    let missing = reader.missing_dictionaries(&segment, rows, &held(file, &reach));
    reach.extend(missing);
    assert_eq!(&reader.decode(&segment, rows, &held(file, &reach)).unwrap(), &got, "pages first");

    let start = metadata.row_groups()[row_group].start;
    let indices: UInt64Array = rows.iter().flatten().map(|row| row + start).collect::<Vec<_>>().into();
    let expect_type = metadata.schema().field(column).data_type();
    let expect = cast(whole.column(column), expect_type).unwrap();
    let expect = take(&expect, &indices, None).unwrap();
    assert_eq!(got.data_type(), expect_type);
    // A dictionary's keys aren't its meaning.
    let plain = |array: &ArrayRef| match array.data_type() {
        DataType::Dictionary(_, value) => cast(array, value).unwrap(),
        _ => Arc::clone(array),
    };
    assert_eq!(&plain(&got), &plain(&expect), "{:?} of {:?}", rows, whole.schema().field(column));
    assert_masked(&got);
}

/// Every child of a null struct is null.
fn assert_masked(array: &ArrayRef) {
    match array.data_type() {
        DataType::Struct(_) => {
            let parent = array.as_struct();
            for child in parent.columns() {
                let hidden = (0..parent.len()).filter(|i| parent.is_null(*i));
                assert!(hidden.into_iter().all(|i| child.is_null(i)), "{array:?}");
                assert_masked(child);
            }
        }
        DataType::List(_) => assert_masked(array.as_list::<i32>().values()),
        _ => (),
    }
}

fn some_ranges() -> impl Strategy<Value = RowRanges<RowGroupRows>> {
    let lengths = prop_oneof![3 => 1u64..6, 1 => 1u64..90];
    prop::collection::vec((lengths.clone(), lengths), 1..20).prop_map(|steps| {
        let (mut rows, mut at) = (RowRanges::empty(), 0);
        for (skip, select) in steps {
            let start = at + skip - 1;
            at = start + select;
            rows.push(start..at);
        }
        rows
    })
}

fn layouts() -> impl Strategy<Value = Layout> {
    let version = prop_oneof![Just(WriterVersion::PARQUET_1_0), Just(WriterVersion::PARQUET_2_0)];
    let compression = prop_oneof![Just(Compression::UNCOMPRESSED), Just(Compression::SNAPPY)];
    let row_group = prop_oneof![Just(ROWS), Just(170)];
    (version, any::<bool>(), compression, any::<bool>(), row_group).prop_map(
        |(version, page_index, compression, dictionary, row_group)| Layout {
            version,
            page_index,
            compression,
            dictionary,
            row_group,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All columns of a file in each layout, each with rows of its own.
    #[test]
    fn decoding_is_reading_all_and_taking_rows(
        layout in layouts(), rows in prop::collection::vec(some_ranges(), 46), group in 0usize..3,
    ) {
        let columns: Vec<_> = COLUMNS.iter().map(|name| (*name, column(name))).chain([("ls", lists_of_structs())]).collect();
        let file = file_of(&columns, layout);
        let whole = oracle(&file);
        let metadata = metadata(&file);
        prop_assert_eq!(metadata.page_locations(0, 4).is_some(), layout.page_index);
        let group = group.min(metadata.row_groups().len() - 1);
        let range = &metadata.row_groups()[group];
        for (at, rows) in rows.iter().enumerate() {
            check(&file, &whole, at, group, &rows.clip(&(0..range.end - range.start)));
        }
    }
}

const PLAIN: Layout = Layout {
    version: WriterVersion::PARQUET_1_0,
    page_index: true,
    compression: Compression::UNCOMPRESSED,
    dictionary: false,
    row_group: ROWS,
};

#[test]
fn only_touched_pages_and_the_dictionary_are_reached() {
    let file = file_of(
        &[("s", column("utf8")), ("i", column("i64_required"))],
        Layout { dictionary: true, ..PLAIN },
    );
    let metadata = metadata(&file);
    let reader = SegmentReader::new(Arc::clone(&metadata));
    let reach = |column, rows: &[Range<u64>]| {
        let segment = SegmentId::new(0, FragmentCol(column));
        reader.reach(&segment, &rows.iter().cloned().collect())
    };
    let pages = metadata.page_locations(0, 0).unwrap();
    assert_eq!(pages.iter().map(|p| p.first_row_index).collect::<Vec<_>>()[..3], [0, 40, 80]);
    let page =
        |at: usize| pages[at].offset as u64..pages[at].offset as u64 + pages[at].compressed_page_size as u64;
    let dictionary = metadata.parquet().row_group(0).column(0).dictionary_page_offset().unwrap() as u64;
    assert_eq!(reach(0, &[]), []);
    assert_eq!(reach(0, &[0..1]), [dictionary..page(0).end]);
    assert_eq!(reach(0, &[80..81, 119..120]), [dictionary..page(0).start, page(2)]);
    assert_eq!(reach(0, &[79..81]), [dictionary..page(0).start, page(1).start..page(2).end]);
    let whole = chunk_bytes(&metadata, 1);
    assert_eq!(reach(1, &[0..ROWS as u64]), [whole]);
}

/// Pages written after a dictionary had grown too large are read without it.
#[test]
fn pages_that_need_no_dictionary_are_read_without_it() {
    let batch = RecordBatch::try_from_iter([("i", column("i64")), ("s", column("utf8"))]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_page_size_limit(1000)
        .set_data_page_row_count_limit(40)
        .set_write_batch_size(40);
    let file = write_batch(&batch, properties.build());
    let (metadata, whole) = (metadata(&file), oracle(&file));
    let reader = SegmentReader::new(Arc::clone(&metadata));
    for column in 0..2 {
        let segment = SegmentId::new(0, FragmentCol(column));
        let dictionary = reader.dictionaries(&segment);
        let missing = |rows: Range<u64>| {
            let rows = RowRanges::single(rows);
            check(&file, &whole, column, 0, &rows);
            let pages = reader.reach_pages(&segment, &rows);
            assert!(pages[0].start >= dictionary[0].end);
            reader.missing_dictionaries(&segment, &rows, &held(&file, &pages))
        };
        assert_eq!(missing(0..1), dictionary);
        assert_eq!(missing(20..480), dictionary);
        assert_eq!(missing(450..460), [], "column {column}");
    }
}

fn chunk_bytes(metadata: &FragmentMetadata, leaf: usize) -> Range<u64> {
    let (start, length) = metadata.parquet().row_group(0).column(leaf).byte_range();
    start..start + length
}

#[test]
fn the_whole_chunk_is_reached_where_pages_are_unknown() {
    for name in ["i64", "list"] {
        let file = file_of(&[("x", column(name))], Layout { page_index: false, ..PLAIN });
        let metadata = metadata(&file);
        let reader = SegmentReader::new(Arc::clone(&metadata));
        let segment = SegmentId::new(0, FragmentCol(0));
        assert_eq!(reader.reach(&segment, &RowRanges::single(70..71)), [chunk_bytes(&metadata, 0)]);
    }
}

#[test]
fn pages_of_lists_by_early_parquet_rs_are_not_trusted() {
    let batch = RecordBatch::try_from_iter([("l", lists()), ("i", column("i64"))]).unwrap();
    for (by, list_is_paged) in
        [("parquet-rs version 47.0.0", false), ("parquet-rs version 59.3.2", true), ("other", true)]
    {
        let properties =
            WriterProperties::builder().set_created_by(by.to_owned()).set_data_page_row_count_limit(40);
        let metadata = metadata(&write_batch(&batch, properties.build()));
        assert_eq!(metadata.page_locations(0, 0).is_some(), list_is_paged, "{by}");
        assert!(metadata.page_locations(0, 1).is_some(), "{by}");
    }
}

/// A dictionary offset of 0, as some writers store it, means that there is no dictionary.
#[rstest]
#[case::paged(true)]
#[case::not_paged(false)]
fn a_dictionary_offset_of_zero_is_none(#[case] page_index: bool) {
    let file = file_of(&[("x", column("i64"))], Layout { page_index, ..PLAIN });
    let parquet = parquet(&file);
    let group = parquet.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder().set_dictionary_page_offset(Some(0)).build().unwrap();
    let group = group.into_builder().set_column_metadata(vec![chunk]).build().unwrap();
    let parquet = parquet.into_builder().set_row_groups(vec![group]).build();
    let metadata = FragmentMetadata::try_new("f.parquet".into(), parquet).unwrap();
    let reader = SegmentReader::new(Arc::new(metadata));
    let segment = SegmentId::new(0, FragmentCol(0));
    let rows = RowRanges::single(70..90);
    let got = reader.decode(&segment, &rows, &held(&file, &reader.reach(&segment, &rows))).unwrap();
    assert_eq!(got.as_ref(), column("i64").slice(70, 20).as_ref());
}

#[rstest]
#[case::negative_offset(-5, 100, "place in the file")]
#[case::negative_length(4, -1, "place in the file")]
fn a_chunk_that_cannot_be_is_an_error(#[case] offset: i64, #[case] length: i64, #[case] message: &str) {
    let file = file_of(&[("x", column("i64"))], PLAIN);
    let parquet = parquet(&file);
    let group = parquet.row_group(0).clone();
    let chunk =
        group.column(0).clone().into_builder().set_data_page_offset(offset).set_total_compressed_size(length);
    let group = group.into_builder().set_column_metadata(vec![chunk.build().unwrap()]).build().unwrap();
    let parquet = parquet.into_builder().set_row_groups(vec![group]).build();
    let metadata = FragmentMetadata::try_new("f.parquet".into(), parquet).unwrap();
    let reader = SegmentReader::new(Arc::new(metadata));
    let segment = SegmentId::new(0, FragmentCol(0));
    let rows = RowRanges::single(0..1);
    assert_eq!(reader.reach(&segment, &rows), []);
    let error = reader.decode(&segment, &rows, &FetchedRanges::whole(file)).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: ") && error.contains(message), "{error}");
}

#[test]
fn rows_bytes_and_segments_that_are_not_there_are_errors() {
    let file = file_of(&[("x", column("i64"))], PLAIN);
    let reader = SegmentReader::new(metadata(&file));
    let error = |row_group, column, rows, bytes: FetchedRanges| {
        let segment = SegmentId::new(row_group, FragmentCol(column));
        reader.decode(&segment, &RowRanges::single(rows), &bytes).unwrap_err().to_string()
    };
    let all = || FetchedRanges::whole(file.clone());
    for (error, message) in [
        (error(1, 0, 0..1, all()), "SegmentId"),
        (error(0, 1, 0..1, all()), "SegmentId"),
        (error(0, 0, 499..501, all()), "499..501"),
        (error(0, 0, 0..1, FetchedRanges::default()), "not at hand"),
    ] {
        assert!(error.starts_with("f.parquet: malformed: ") && error.contains(message), "{error}");
    }
    let segment = SegmentId::new(0, FragmentCol(0));
    let none = reader.decode(&segment, &RowRanges::empty(), &FetchedRanges::default()).unwrap();
    assert_eq!((none.len(), none.data_type()), (0, &DataType::Int64));
}

/// Times of old writers: a Julian day, and nanoseconds within it.
#[test]
fn int96_is_read_as_nanoseconds() {
    let schema = Arc::new(parse_message_type("message m { optional int96 t; }").unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let (epoch, hour) = (2_440_588, 3_600_000_000_000u64);
    let int96 = |(day, nanos): (u32, u64)| Int96::from(vec![nanos as u32, (nanos >> 32) as u32, day]);
    let values = [(epoch, 0), (epoch + 1, 5 * hour + 7), (epoch - 1, 23 * hour)].map(int96);
    column.typed::<Int96Type>().write_batch(&values, Some(&[1, 0, 1, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let file = Bytes::from(file);
    let reader = SegmentReader::new(metadata(&file));
    let segment = SegmentId::new(0, FragmentCol(0));
    let rows = [0..2, 3..4].into_iter().collect();
    let got = reader.decode(&segment, &rows, &held(&file, &reader.reach(&segment, &rows))).unwrap();
    assert_eq!(got.as_ref(), &TimestampNanosecondArray::from(vec![Some(0), None, Some(-(hour as i64))]));
    let rows = RowRanges::single(2..3);
    let got = reader.decode(&segment, &rows, &FetchedRanges::whole(file)).unwrap();
    assert_eq!(got.as_ref(), &TimestampNanosecondArray::from(vec![29 * hour as i64 + 7]));
}

/// The file's Arrow schema calls a binary column a string.
#[test]
fn binaries_read_as_strings_are_checked() {
    let values: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"fine", b"\xff\xfe", b"too"]));
    let batch = RecordBatch::try_from_iter([("s", values)]).unwrap();
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"; 3]));
    let hint = RecordBatch::try_from_iter([("s", strings)]).unwrap();
    let schema = parquet::arrow::encode_arrow_schema(&hint.schema());
    let pair = parquet::file::metadata::KeyValue::new("ARROW:schema".to_owned(), schema);
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![pair])).build();
    let mut file = Vec::new();
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut writer =
        parquet::arrow::ArrowWriter::try_new_with_options(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = Bytes::from(file);

    let metadata = metadata(&file);
    assert_eq!(metadata.schema().field(0).data_type(), &DataType::Utf8View);
    let reader = SegmentReader::new(metadata);
    let segment = SegmentId::new(0, FragmentCol(0));
    let decode =
        |rows| reader.decode(&segment, &RowRanges::single(rows), &FetchedRanges::whole(file.clone()));
    let error = decode(0..3).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: ") && error.to_lowercase().contains("utf"), "{error}");
}

/// Every byte of small files flipped: an answer or an error that names the file, never a panic.
#[rstest]
#[case::plain(PLAIN, &["i64", "utf8"])]
#[case::dictionary(Layout { dictionary: true, ..PLAIN }, &["utf8", "i64"])]
#[case::v2(Layout { version: WriterVersion::PARQUET_2_0, dictionary: true, compression: Compression::SNAPPY, ..PLAIN }, &["utf8", "list"])]
#[case::delta(Layout { version: WriterVersion::PARQUET_2_0, page_index: false, ..PLAIN }, &["utf8", "i32"])]
#[case::nested(Layout { page_index: false, ..PLAIN }, &["struct", "bool"])]
fn damage_is_an_error(#[case] layout: Layout, #[case] columns: &[&str]) {
    let columns: Vec<_> = columns.iter().map(|name| (*name, column(name).slice(0, 60))).collect();
    let file = file_of(&columns, layout);
    let reader = SegmentReader::new(metadata(&file));
    let end = reader.metadata.parquet().row_group(0).columns().iter().map(|c| {
        let (start, length) = c.byte_range();
        start + length
    });
    let rows: RowRanges<RowGroupRows> = [3..10, 50..60].into_iter().collect();
    let (panics, hook) = (Arc::new(Mutex::new(0)), std::panic::take_hook());
    let count = Arc::clone(&panics);
    std::panic::set_hook(Box::new(move |_| *count.lock().unwrap() += 1));
    let mut errors = Vec::new();
    for at in 4..end.max().unwrap() as usize {
        for flip in [0x5A, 0xFF] {
            let mut damaged = file.to_vec();
            damaged[at] ^= flip;
            let held = FetchedRanges::whole(damaged.into());
            for column in 0..columns.len() {
                let segment = SegmentId::new(0, FragmentCol(column));
                match reader.decode(&segment, &rows, &held) {
                    Ok(array) => assert_eq!(array.len() as u64, rows.len()),
                    Err(error) => errors.push(error.to_string()),
                }
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(!errors.is_empty() && errors.iter().all(|e| e.starts_with("f.parquet: ")));
    println!("{} errors, {} of them caught panics", errors.len(), panics.lock().unwrap());
}
