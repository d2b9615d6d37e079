// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rules of distrust one by one over hand-made metadata, then files against their own rows.

use std::sync::Arc;

use arrow::array::{
    AsArray, BooleanArray, Float64Array, Int32Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Int32Type, Schema, SchemaRef, TimeUnit};
use arrow::util::display::array_value_to_string;
use object_store::path::Path;
use parquet::basic::{ColumnOrder, SortOrder, Type};
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, FileMetaData, OffsetIndexBuilder, ParquetMetaData,
    ParquetMetaDataBuilder, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use rstest::rstest;
use trommel_planner::index::TableCol;

use super::*;
use crate::testing::{metadata, write, write_batch};

const ROWS: i64 = 10;

/// What a file declares of its columns' order.
#[derive(Clone, Copy)]
enum Order {
    Declared,
    Absent,
    Undefined,
    Unknown,
}
use Order::*;

/// Metadata of a file of one leaf, with a row group of ten rows for each of the statistics.
fn made(leaf: &str, statistics: Vec<Option<Statistics>>, order: Order) -> ParquetMetaData {
    let schema = parse_message_type(&format!("message m {{ {leaf} }}")).unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
    let column = schema.column(0);
    let sort = ColumnOrder::sort_order_for_type(
        column.logical_type_ref(),
        column.converted_type(),
        column.physical_type(),
    );
    let orders = match order {
        Declared => Some(vec![ColumnOrder::TYPE_DEFINED_ORDER(sort)]),
        Absent => None,
        Undefined => Some(vec![ColumnOrder::UNDEFINED]),
        Unknown => Some(vec![ColumnOrder::UNKNOWN]),
    };
    let groups = statistics.into_iter().map(|statistics| {
        let chunk = ColumnChunkMetaData::builder(Arc::clone(&column))
            .set_data_page_offset(4)
            .set_total_compressed_size(1000);
        let chunk = match statistics {
            Some(statistics) => chunk.set_statistics(statistics),
            None => chunk,
        };
        let group = RowGroupMetaData::builder(Arc::clone(&schema)).set_num_rows(ROWS);
        group.set_column_metadata(vec![chunk.build().unwrap()]).build().unwrap()
    });
    let groups: Vec<_> = groups.collect();
    let file = FileMetaData::new(2, ROWS * groups.len() as i64, None, None, schema, orders);
    ParquetMetaDataBuilder::new(file).set_row_groups(groups).build()
}

fn zones_of(parquet: ParquetMetaData, table: Option<SchemaRef>) -> FragmentZones {
    zones_as(Arc::new(FragmentMetadata::try_new("f.parquet".into(), parquet).unwrap()), table)
}

/// The zones of a file as a table's, by default of the file's own schema.
fn zones_as(metadata: Arc<FragmentMetadata>, table: Option<SchemaRef>) -> FragmentZones {
    let table = table.unwrap_or_else(|| Arc::clone(metadata.schema()));
    let adaptation =
        Adaptation::try_new(&Path::from("f.parquet"), &table, metadata.schema(), 0, &[]).unwrap();
    FragmentZones::new(metadata, Arc::new(adaptation))
}

fn column(column: usize) -> ColumnPath {
    TableCol(column).into()
}

/// Each zone as `lower..upper nulls`: `?` for unknown, `~` before a bound that may not be a value.
fn show(zones: &ZoneColumn) -> Vec<String> {
    let bound = |bound: Option<&Bound>, zone: usize| match bound {
        Some(bound) if bound.values.is_valid(zone) => {
            let mark = if bound.exact.value(zone) { "" } else { "~" };
            format!("{mark}{}", array_value_to_string(&bound.values, zone).unwrap())
        }
        _ => "?".to_owned(),
    };
    let one = |zone| {
        let nulls = zones.null_count(zone).map_or("?".to_owned(), |n| n.to_string());
        format!("{}..{} {nulls}", bound(zones.lower(), zone), bound(zones.upper(), zone))
    };
    (0..zones.len()).map(one).collect()
}

const INT: &str = "optional int32 x;";
const LONG: &str = "optional int64 x;";
const UINT: &str = "optional int32 x (INTEGER(32,false));";
const BYTE: &str = "optional int32 x (INTEGER(8,true));";
const TEXT: &str = "optional binary x (STRING);";
const RAW: &str = "optional binary x;";
const DOUBLE: &str = "optional double x;";
const DECIMAL: &str = "optional binary x (DECIMAL(20,2));";
const FIXED_DECIMAL: &str = "optional fixed_len_byte_array(9) x (DECIMAL(20,2));";
const FLOAT16: &str = "optional fixed_len_byte_array(2) x (FLOAT16);";

fn int(min: i32, max: i32, nulls: Option<u64>) -> Statistics {
    Statistics::int32(Some(min), Some(max), None, nulls, false)
}

fn legacy(min: i32, max: i32) -> Statistics {
    Statistics::int32(Some(min), Some(max), None, Some(0), true)
}

fn double(min: f64, max: f64) -> Statistics {
    Statistics::double(Some(min), Some(max), None, Some(0), false)
}

fn bytes(min: &[u8], max: &[u8], deprecated: bool) -> Statistics {
    let value = |v: &[u8]| Some(ByteArray::from(v.to_vec()));
    Statistics::byte_array(value(min), value(max), None, Some(0), deprecated)
}

fn truncated(min: &[u8], max: &[u8]) -> Statistics {
    let Statistics::ByteArray(values) = bytes(min, max, false) else { unreachable!() };
    Statistics::ByteArray(values.with_min_is_exact(false).with_max_is_exact(false))
}

fn fixed(min: &[u8], max: &[u8]) -> Statistics {
    let value = |v: &[u8]| Some(FixedLenByteArray::from(v.to_vec()));
    Statistics::fixed_len_byte_array(value(min), value(max), None, Some(0), false)
}

fn int96() -> Statistics {
    let value = |v: u32| {
        let mut int96 = Int96::new();
        int96.set_data(v, v, v);
        Some(int96)
    };
    Statistics::int96(value(1), value(2), None, Some(0), false)
}

#[rstest]
#[case::as_written(INT, Declared, int(1, 5, Some(2)), "1..5 2")]
#[case::null_count_missing_is_unknown(INT, Declared, int(1, 5, None), "1..5 ?")]
#[case::more_nulls_than_rows(INT, Declared, int(1, 5, Some(11)), "1..5 ?")]
#[case::min_above_max(INT, Declared, int(5, 1, Some(0)), "?..? 0")]
#[case::one_bound(INT, Declared, Statistics::int32(None, Some(5), None, Some(0), false), "?..5 0")]
#[case::deprecated_int(INT, Declared, legacy(1, 5), "1..5 0")]
#[case::deprecated_without_order(INT, Absent, legacy(1, 5), "1..5 0")]
#[case::deprecated_unsigned(UINT, Declared, legacy(1, 5), "?..? 0")]
#[case::deprecated_text(TEXT, Declared, bytes(b"a", b"b", true), "?..? 0")]
#[case::deprecated_bool(
    "optional boolean x;",
    Declared,
    Statistics::boolean(Some(false), Some(false), None, Some(0), true),
    "?..? 0"
)]
#[case::bool(
    "optional boolean x;",
    Declared,
    Statistics::boolean(Some(false), Some(true), None, Some(0), false),
    "false..true 0"
)]
#[case::no_order_int(INT, Absent, int(1, 5, Some(0)), "1..5 0")]
#[case::no_order_unsigned(UINT, Absent, int(1, 5, Some(0)), "?..? 0")]
#[case::no_order_text(TEXT, Absent, bytes(b"a", b"b", false), "?..? 0")]
#[case::no_order_fixed(FIXED_DECIMAL, Absent, fixed(&[0; 9], &[1; 9]), "?..? 0")]
#[case::undefined_order_int(INT, Undefined, int(1, 5, Some(0)), "1..5 0")]
#[case::undefined_order_text(TEXT, Undefined, bytes(b"a", b"b", false), "?..? 0")]
#[case::unknown_order(INT, Unknown, int(1, 5, Some(3)), "?..? 3")]
#[case::unknown_order_deprecated(INT, Unknown, legacy(1, 5), "?..? 0")]
#[case::int96("optional int96 x;", Declared, int96(), "?..? 0")]
#[case::interval("optional fixed_len_byte_array(12) x (INTERVAL);", Declared, fixed(&[0; 12], &[1; 12]), "?..? 0")]
#[case::unsigned(UINT, Declared, int(1, -1, Some(0)), "1..4294967295 0")]
#[case::unsigned_long("optional int64 x (INTEGER(64,false));", Declared,
    Statistics::int64(Some(1), Some(-1), None, Some(0), false), "1..18446744073709551615 0")]
#[case::beyond_the_type(BYTE, Declared, int(-5, 200, Some(0)), "-5..? 0")]
#[case::date("optional int32 x (DATE);", Declared, int(0, 1, Some(0)), "1970-01-01..1970-01-02 0")]
#[case::timestamp(
    "optional int64 x (TIMESTAMP(MILLIS,false));",
    Declared,
    Statistics::int64(Some(0), Some(1), None, Some(0), false),
    "1970-01-01T00:00:00..1970-01-01T00:00:00.001 0"
)]
#[case::text(TEXT, Declared, bytes(b"a", b"b", false), "a..b 0")]
#[case::truncated_text(TEXT, Declared, truncated(b"a", b"b"), "~a..~b 0")]
#[case::invalid_utf8(TEXT, Declared, bytes(b"a", b"\xff\xff", false), "a..? 0")]
#[case::binary(RAW, Declared, bytes(b"a", b"\xff", false), "61..ff 0")]
#[case::nan_lower(DOUBLE, Declared, double(f64::NAN, 5.0), "?..? 0")]
#[case::nan_upper(DOUBLE, Declared, double(1.0, f64::NAN), "?..? 0")]
#[case::signed_zeros(DOUBLE, Declared, double(0.0, -0.0), "-0.0..0.0 0")]
#[case::zero_bounds(DOUBLE, Declared, double(-0.0, 0.0), "-0.0..0.0 0")]
#[case::infinities(DOUBLE, Declared, double(f64::NEG_INFINITY, f64::INFINITY), "-inf..inf 0")]
#[case::deprecated_double(
    DOUBLE,
    Absent,
    Statistics::double(Some(1.0), Some(2.0), None, None, true),
    "1.0..2.0 ?"
)]
#[case::float16(FLOAT16, Declared, fixed(&[0, 0x3c], &[0, 0x40]), "1..2 0")]
#[case::float16_nan(FLOAT16, Declared, fixed(&[0, 0x3c], &[0, 0x7e]), "?..? 0")]
#[case::float16_length(FLOAT16, Declared, fixed(&[0x3c], &[0, 0x40]), "?..2 0")]
#[case::decimal_negative(DECIMAL, Declared, bytes(&[0xff], &[1, 0], false), "-0.01..2.56 0")]
#[case::decimal_empty(DECIMAL, Declared, bytes(&[], &[1], false), "?..0.01 0")]
#[case::decimal_too_long(DECIMAL, Declared, bytes(&[1; 33], &[1; 100], false), "?..? 0")]
#[case::decimal_beyond(DECIMAL, Declared, bytes(&[0x80; 17], &[1], false), "?..0.01 0")]
#[case::decimal_truncated(DECIMAL, Declared, truncated(&[1], &[2]), "?..? 0")]
#[case::decimal_fixed(FIXED_DECIMAL, Declared, fixed(&[0xff; 9], &[0, 0, 0, 0, 0, 0, 0, 1, 0]), "-0.01..2.56 0")]
#[case::decimal_in_int("optional int32 x (DECIMAL(5,2));", Declared, int(-1, 256, Some(0)), "-0.01..2.56 0")]
#[case::other_physical_type(LONG, Declared, int(1, 5, Some(0)), "?..? 0")]
fn row_group_statistics(
    #[case] leaf: &str,
    #[case] order: Order,
    #[case] statistics: Statistics,
    #[case] expect: &str,
) {
    let zones = zones_of(made(leaf, vec![Some(statistics), None], order), None);
    for level in [Level::RowGroup, Level::Page] {
        let zones = zones.zones(&column(0), level).unwrap();
        assert_eq!(zones.starts(), [0, 10, 20]);
        assert_eq!(show(&zones), [expect, "?..? ?"]);
    }
    assert!(zones.zones(&column(0), Level::Fragment).is_none());
}

#[rstest]
#[case::list("optional group x (LIST) { repeated group list { optional int32 element; } }")]
#[case::repeated("repeated int32 x;")]
fn repeated_leaves_have_no_zones(#[case] leaf: &str) {
    let zones = zones_of(made(leaf, vec![Some(int(1, 5, Some(0)))], Declared), None);
    assert!(zones.zones(&column(0), Level::RowGroup).is_none());
}

#[test]
fn nan_counts_are_known_of_what_is_no_float() {
    let nans = |leaf, statistics, table: Option<DataType>| {
        let table = table.map(|t| Arc::new(Schema::new(vec![Field::new("x", t, true)])));
        let zones = zones_of(made(leaf, vec![Some(statistics)], Declared), table);
        zones.zones(&column(0), Level::RowGroup).unwrap().nans().map(|nans| nans.value(0))
    };
    assert_eq!(nans(INT, int(1, 2, None), None), Some(0));
    assert_eq!(nans(INT, int(1, 2, None), Some(DataType::Float64)), Some(0));
    assert_eq!(nans(DOUBLE, double(1.0, 2.0), None), None);
}

/// A page index over two pages, of six and four rows.
#[derive(Clone)]
struct Pages {
    bounds: Vec<(bool, Vec<u8>, Vec<u8>, i64)>,
    locations: Vec<(i64, i32, i64)>,
}

impl Pages {
    fn new(bounds: [(bool, &[u8], &[u8], i64); 2]) -> Self {
        let bounds = bounds.map(|(null, min, max, nulls)| (null, min.to_vec(), max.to_vec(), nulls)).to_vec();
        Self { bounds, locations: vec![(4, 100, 0), (104, 100, 6)] }
    }

    fn ints(bounds: [(bool, i32, i32, i64); 2]) -> Self {
        let [a, b] =
            bounds.map(|(null, min, max, nulls)| (null, min.to_le_bytes(), max.to_le_bytes(), nulls));
        Self::new([(a.0, &a.1, &a.2, a.3), (b.0, &b.1, &b.2, b.3)])
    }

    fn plain() -> Self {
        Self::ints([(false, 1, 5, 0), (false, 7, 9, 1)])
    }

    fn change(mut self, f: impl Fn(&mut Self)) -> Self {
        f(&mut self);
        self
    }

    fn put_on(self, parquet: ParquetMetaData, column_type: Type) -> ParquetMetaData {
        let mut index = ColumnIndexBuilder::new(column_type);
        self.bounds.into_iter().for_each(|(null, min, max, nulls)| index.append(null, min, max, nulls));
        let mut offsets = OffsetIndexBuilder::new();
        for (at, (offset, size, first)) in self.locations.iter().enumerate() {
            offsets.append_offset_and_size(*offset, *size);
            let next = self.locations.get(at + 1).map_or(ROWS, |next| next.2);
            offsets.append_row_count(next - first);
        }
        let parquet = parquet.into_builder().set_column_index(Some(vec![vec![index.build().unwrap()]]));
        parquet.set_offset_index(Some(vec![vec![offsets.build()]])).build()
    }
}

#[rstest]
#[case::as_written(Pages::plain(), &["1..5 0", "7..9 1"])]
#[case::null_page(Pages::ints([(true, 0, 0, 6), (false, 7, 9, 1)]), &["?..? 6", "7..9 1"])]
#[case::null_page_against_its_count(Pages::ints([(true, 0, 0, 5), (false, 7, 9, 1)]), &["?..? ?", "7..9 1"])]
#[case::negative_null_count(Pages::ints([(false, 1, 5, -1), (false, 7, 9, 1)]), &["1..5 ?", "7..9 1"])]
#[case::more_nulls_than_rows(Pages::ints([(false, 1, 5, 7), (false, 7, 9, 1)]), &["1..5 ?", "7..9 1"])]
#[case::min_above_max(Pages::ints([(false, 5, 1, 0), (false, 7, 9, 1)]), &["?..? 0", "7..9 1"])]
#[case::fewer_pages_than_bounds(Pages::plain().change(|p| { p.locations.pop(); }), &["0..99 3"])]
#[case::no_pages(Pages::plain().change(|p| p.locations.clear()), &["0..99 3"])]
#[case::rows_not_rising(Pages::plain().change(|p| p.locations[1].2 = 0), &["0..99 3"])]
#[case::rows_beyond(Pages::plain().change(|p| p.locations[1].2 = 10), &["0..99 3"])]
#[case::page_before_the_chunk(Pages::plain().change(|p| p.locations[0].0 = 2), &["0..99 3"])]
#[case::negative_offset(Pages::plain().change(|p| p.locations[0].0 = -9), &["0..99 3"])]
#[case::pages_overlap(Pages::plain().change(|p| p.locations[1].0 = 50), &["0..99 3"])]
#[case::page_beyond_the_chunk(Pages::plain().change(|p| p.locations[1].1 = 5000), &["0..99 3"])]
#[case::negative_size(Pages::plain().change(|p| p.locations[1].1 = -1), &["0..99 3"])]
fn page_index(#[case] pages: Pages, #[case] expect: &[&str]) {
    let parquet = pages.put_on(made(INT, vec![Some(int(0, 99, Some(3)))], Declared), Type::INT32);
    let zones = zones_of(parquet, None);
    assert_eq!(show(&zones.zones(&column(0), Level::Page).unwrap()), expect);
    assert_eq!(show(&zones.zones(&column(0), Level::RowGroup).unwrap()), ["0..99 3"]);
}

#[rstest]
#[case::text_may_be_truncated(TEXT, Declared, &["~a..~b 0", "~c..~d 0"])]
#[case::without_order(TEXT, Absent, &["?..? 0", "?..? 0"])]
#[case::decimals_may_be_truncated(DECIMAL, Declared, &["?..? 0", "?..? 0"])]
fn page_index_of_bytes(#[case] leaf: &str, #[case] order: Order, #[case] expect: &[&str]) {
    let pages = Pages::new([(false, b"a", b"b", 0), (false, b"c", b"d", 0)]);
    let zones = zones_of(pages.put_on(made(leaf, vec![None], order), Type::BYTE_ARRAY), None);
    assert_eq!(show(&zones.zones(&column(0), Level::Page).unwrap()), expect);
}

/// A chunk without a column index among others is one zone; `NONE` is not asked for its pages.
#[test]
fn a_chunk_without_column_index_is_one_zone() {
    let parquet = Pages::plain().put_on(made(INT, vec![Some(int(0, 99, Some(3)))], Declared), Type::INT32);
    let parquet =
        parquet.into_builder().set_column_index(Some(vec![vec![ColumnIndexMetaData::NONE]])).build();
    let zones = zones_of(parquet, None);
    assert_eq!(show(&zones.zones(&column(0), Level::Page).unwrap()), ["0..99 3"]);
}

#[rstest]
#[case::wider(INT, int(1, 5, Some(0)), DataType::Int64, "1..5 0")]
#[case::float(INT, int(1, 5, Some(0)), DataType::Float64, "1.0..5.0 0")]
#[case::float_zero(INT, int(0, 0, Some(0)), DataType::Float64, "-0.0..0.0 0")]
#[case::narrower_where_it_fits(INT, int(1, 500, Some(0)), DataType::Int8, "1..? 0")]
#[case::decimal(INT, int(1, 5, Some(0)), DataType::Decimal128(20, 2), "1.00..5.00 0")]
#[case::text_has_another_order(INT, int(5, 10, Some(0)), DataType::Utf8View, "?..? 0")]
#[case::text_kinds(TEXT, bytes(b"a", b"b", false), DataType::LargeUtf8, "a..b 0")]
#[case::text_to_number(TEXT, bytes(b"10", b"9", false), DataType::Int32, "?..? 0")]
#[case::dictionary(
    TEXT,
    bytes(b"a", b"b", false),
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    "a..b 0"
)]
#[case::finer_time(
    "optional int64 x (TIMESTAMP(MILLIS,false));",
    Statistics::int64(Some(1), Some(2), None, Some(0), false),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    "1970-01-01T00:00:00.001..1970-01-01T00:00:00.002 0"
)]
#[case::time_overflow(
    "optional int64 x (TIMESTAMP(MILLIS,false));",
    Statistics::int64(Some(0), Some(i64::MAX), None, Some(0), false),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    "1970-01-01T00:00:00..? 0"
)]
#[case::local_time(
    "optional int64 x (TIMESTAMP(MILLIS,true));",
    Statistics::int64(Some(1), Some(2), None, Some(0), false),
    DataType::Timestamp(TimeUnit::Millisecond, None),
    "?..? 0"
)]
fn widened_columns(
    #[case] leaf: &str,
    #[case] statistics: Statistics,
    #[case] to: DataType,
    #[case] expect: &str,
) {
    let table = Arc::new(Schema::new(vec![Field::new("x", to.clone(), true)]));
    let zones = zones_of(made(leaf, vec![Some(statistics)], Declared), Some(table));
    let zones = zones.zones(&column(0), Level::RowGroup).unwrap();
    assert_eq!(show(&zones), [expect]);
    assert_eq!(zones.data_type(), &to);
}

#[test]
fn constants_are_one_value_in_every_row() {
    let parquet = made(INT, vec![None, None], Declared);
    let metadata = Arc::new(FragmentMetadata::try_new("f.parquet".into(), parquet).unwrap());
    let missing = DataType::Struct(vec![Field::new("a", DataType::Int32, true)].into());
    let table = Arc::new(Schema::new(vec![
        Field::new("missing", DataType::Utf8View, true),
        Field::new("struct", missing, true),
        Field::new("k", DataType::Int64, true),
        Field::new("nan", DataType::Float64, true),
    ]));
    let values = [ScalarValue::Int64(Some(7)), ScalarValue::Float64(Some(f64::NAN))];
    let adaptation =
        Adaptation::try_new(&Path::from("f.parquet"), &table, metadata.schema(), 2, &values).unwrap();
    let zones = FragmentZones::new(metadata, Arc::new(adaptation));
    let show_at = |path: &ColumnPath, level| show(&zones.zones(path, level).unwrap());
    assert_eq!(show_at(&column(0), Level::RowGroup), ["?..? 10", "?..? 10"]);
    assert_eq!(show_at(&column(0), Level::Fragment), ["?..? 20"]);
    let field = ColumnPath { column: TableCol(1), fields: [0].into_iter().collect() };
    assert_eq!(show_at(&field, Level::Page), ["?..? 10", "?..? 10"]);
    assert_eq!(zones.zones(&field, Level::Page).unwrap().data_type(), &DataType::Int32);
    assert_eq!(show_at(&column(2), Level::RowGroup), ["7..7 0", "7..7 0"]);
    assert_eq!(show_at(&column(3), Level::RowGroup), ["?..? 0", "?..? 0"]);
    let nans = |at| zones.zones(&column(at), Level::RowGroup).unwrap().nans().unwrap().values().to_vec();
    assert_eq!((nans(2), nans(3)), (vec![0, 0], vec![10, 10]));
    assert!(zones.zones(&column(4), Level::RowGroup).is_none());
}

/// Fields of structs: found by name, NULLs of the struct counted in, missing ones NULL.
#[test]
fn fields_of_structs_have_zones() {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let l: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]); 4]));
    let b: ArrayRef = Arc::new(StringArray::from(vec!["p", "q", "r", "s"]));
    let fields = vec![
        Field::new("l", l.data_type().clone(), true),
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, false),
    ];
    let nulls = NullBuffer::from(vec![true, true, false, true]);
    let s: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![l, a, b], Some(nulls)));
    let file = write(&[("s", s)], WriterProperties::builder());
    let table = |names: &[(&str, DataType)]| {
        let fields = names.iter().map(|(name, t)| Field::new(*name, t.clone(), true)).collect();
        Arc::new(Schema::new(vec![Field::new("s", DataType::Struct(fields), true)]))
    };
    let table = table(&[("b", DataType::Utf8), ("z", DataType::Int8), ("a", DataType::Int64)]);
    let zones = zones_as(metadata(&file), Some(table));
    let at = |fields: &[u32]| ColumnPath { column: TableCol(0), fields: fields.iter().copied().collect() };
    let show_at = |fields| zones.zones(&at(fields), Level::RowGroup).map(|zones| show(&zones));
    assert_eq!(show_at(&[0]).unwrap(), ["p..s 1"]);
    assert_eq!(show_at(&[1]).unwrap(), ["?..? 4"]);
    assert_eq!(show_at(&[2]).unwrap(), ["1..4 2"]);
    assert_eq!(show_at(&[]), None);
    assert_eq!(show_at(&[3]), None);
    assert_eq!(show_at(&[0, 0]), None);
    let own = zones_as(metadata(&file), None);
    assert!(own.zones(&at(&[0]), Level::RowGroup).is_none(), "a list");
    assert_eq!(show(&own.zones(&at(&[1]), Level::RowGroup).unwrap()), ["1..4 2"]);
}

#[test]
fn no_row_group_means_no_zone() {
    let zones = zones_of(made(INT, vec![], Declared), None);
    for level in [Level::RowGroup, Level::Page] {
        let zones = zones.zones(&column(0), level).unwrap();
        assert_eq!((zones.len(), zones.starts()), (0, &[0][..]));
    }
}

/// Files of other writers: bounds of strings without a column order, and none for strings too long for them.
#[rstest]
#[case::legacy_bounds("legacy_bounds.parquet", &["?..? 0"])]
#[case::too_long("too_long_for_statistics.parquet", &["a..b 0", "?..? 0"])]
fn files_of_other_writers(#[case] name: &str, #[case] expect: &[&str]) {
    let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let zones = zones_as(metadata(&std::fs::read(path).unwrap().into()), None);
    assert_eq!(show(&zones.zones(&column(0), Level::RowGroup).unwrap()), expect);
}

/// Every zone of written files holds what its own rows hold.
#[test]
fn zones_of_written_files_hold_their_rows() {
    let rows = 300;
    let x = Int32Array::from_iter(
        (0..rows).map(|i| (i % 5 != 0 && !(100..140).contains(&i)).then_some(i * 7 % 113)),
    );
    let y = Float64Array::from_iter((0..rows).map(|i| match i {
        200..240 => Some(f64::NAN),
        _ if i % 11 == 0 => Some(-0.0),
        _ => Some(f64::from(i % 17)),
    }));
    let z =
        StringArray::from_iter((0..rows).map(|i| Some(format!("{}{}", "long ".repeat(40), i * 31 % 300))));
    let b = BooleanArray::from_iter((0..rows).map(|i| (i % 3 != 0).then_some(i < 150)));
    let batch = RecordBatch::try_from_iter([
        ("x", Arc::new(x) as ArrayRef),
        ("y", Arc::new(y)),
        ("z", Arc::new(z)),
        ("b", Arc::new(b)),
    ]);
    let batch = batch.unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(130))
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(20)
        .build();
    let file = write_batch(&batch, properties);
    let zones = zones_as(metadata(&file), None);
    for (at, name) in ["x", "y", "z", "b"].iter().enumerate() {
        for level in [Level::RowGroup, Level::Page] {
            let zones = zones.zones(&column(at), level).unwrap();
            assert!(level == Level::RowGroup || zones.len() >= 10, "{name}");
            let values = cast(batch.column(at), zones.data_type()).unwrap();
            for zone in 0..zones.len() {
                let rows = zones.rows(zone);
                let own = values.slice(rows.start as usize, (rows.end - rows.start) as usize);
                let nulls = zones.null_count(zone);
                assert!(nulls.is_none_or(|n| n == own.null_count() as u64), "{name} {rows:?}");
                let within = |bound: &Bound, below: bool| {
                    let Some(bound) = bound.values.is_valid(zone).then(|| bound.values.slice(zone, 1)) else {
                        return;
                    };
                    let wrong = if below {
                        gt(&arrow::array::Scalar::new(bound), &own)
                    } else {
                        gt(&own, &arrow::array::Scalar::new(bound))
                    };
                    let nan = |i: usize| {
                        own.data_type().is_floating()
                            && own.as_primitive::<arrow::datatypes::Float64Type>().value(i).is_nan()
                    };
                    let wrong = wrong.unwrap();
                    assert!(
                        !(0..own.len()).any(|i| own.is_valid(i) && wrong.value(i) && !nan(i)),
                        "{name} {rows:?}"
                    );
                };
                within(zones.lower().unwrap(), true);
                within(zones.upper().unwrap(), false);
            }
        }
    }
}

#[test]
fn orders_are_those_of_the_format() {
    // What `made` declares for a signed number is what a writer declares.
    let parquet = made(INT, vec![None], Declared);
    let declared = parquet.file_metadata().column_orders().unwrap();
    assert_eq!(declared, &vec![ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED)]);
}
