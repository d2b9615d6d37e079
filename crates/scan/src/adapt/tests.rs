// Licensed under the Apache License, Version 2.0. See LICENSE.

use std::sync::Arc;

use DataType::*;
use arrow::array::{
    Array, AsArray, BooleanArray, FixedSizeListArray, Int32Array, Int64Array, ListArray, StringViewArray,
    StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{Field, Int64Type, TimeUnit};
use rstest::rstest;

use super::*;

fn list(inner: DataType) -> DataType {
    List(Arc::new(Field::new("item", inner, true)))
}

fn fields(fields: &[(&str, DataType, bool)]) -> DataType {
    Struct(fields.iter().map(|(name, t, nullable)| Field::new(*name, t.clone(), *nullable)).collect())
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    Dictionary(Box::new(key), Box::new(value))
}

fn utc() -> Option<Arc<str>> {
    Some("UTC".into())
}

#[rstest]
#[case::same(Int32, Int32, Some(Int32))]
#[case::null(Null, Utf8, Some(Utf8))]
#[case::signed(Int8, Int64, Some(Int64))]
#[case::unsigned(UInt16, UInt8, Some(UInt16))]
#[case::mixed_signs(UInt32, Int16, Some(Int64))]
#[case::mixed_small(UInt8, Int8, Some(Int16))]
#[case::no_integer_holds_both(UInt64, Int8, Some(Decimal128(20, 0)))]
#[case::floats(Float32, Float64, Some(Float64))]
#[case::int_and_double(Int64, Float64, Some(Float64))]
#[case::int_and_float(Int32, Float32, Some(Float64))]
#[case::short_and_float(Int16, Float32, Some(Float32))]
#[case::decimals(Decimal128(10, 2), Decimal128(8, 4), Some(Decimal128(12, 4)))]
#[case::decimal_classes(Decimal32(9, 2), Decimal64(18, 0), Some(Decimal128(20, 2)))]
#[case::decimal_grows(Decimal128(38, 0), Decimal128(38, 10), Some(Decimal256(48, 10)))]
#[case::int_and_decimal(Int32, Decimal128(10, 2), Some(Decimal128(12, 2)))]
#[case::decimal_and_float(Decimal128(10, 2), Float64, Some(Float64))]
#[case::strings(Utf8, LargeUtf8, Some(LargeUtf8))]
#[case::string_view(Utf8View, Utf8, Some(Utf8View))]
#[case::binaries(Binary, BinaryView, Some(BinaryView))]
#[case::fixed_binaries(FixedSizeBinary(2), FixedSizeBinary(3), Some(Binary))]
#[case::string_and_binary(Utf8, Binary, None)]
#[case::string_and_number(Utf8, Int32, None)]
#[case::bool_and_number(Boolean, Int32, None)]
#[case::dates(Date32, Date64, Some(Date64))]
#[case::date_and_timestamp(
    Date32,
    Timestamp(TimeUnit::Microsecond, None),
    Some(Timestamp(TimeUnit::Microsecond, None))
)]
#[case::date_and_zone(Date32, Timestamp(TimeUnit::Microsecond, utc()), None)]
#[case::timestamps(
    Timestamp(TimeUnit::Nanosecond, utc()),
    Timestamp(TimeUnit::Second, utc()),
    Some(Timestamp(TimeUnit::Nanosecond, utc()))
)]
#[case::zone_and_none(Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Second, utc()), None)]
#[case::times(Time32(TimeUnit::Second), Time64(TimeUnit::Nanosecond), Some(Time64(TimeUnit::Nanosecond)))]
#[case::dictionary_and_value(dictionary(Int32, Utf8), Utf8View, Some(Utf8View))]
#[case::dictionaries(dictionary(Int8, Utf8), dictionary(Int32, Utf8), Some(dictionary(Int32, Utf8)))]
#[case::structs(
    fields(&[("a", Int32, false), ("b", Utf8, false)]),
    fields(&[("c", Int8, false), ("a", Int64, false)]),
    Some(fields(&[("a", Int64, false), ("b", Utf8, true), ("c", Int8, true)]))
)]
#[case::struct_conflict(fields(&[("a", Int32, true)]), fields(&[("a", Utf8, true)]), None)]
#[case::structs_apart(
    fields(&[("a", Int32, false)]),
    fields(&[("b", Int32, true)]),
    Some(fields(&[("a", Int32, true), ("b", Int32, true)]))
)]
#[case::lists(list(Int32), list(Int64), Some(list(Int64)))]
#[case::list_and_value(list(Int32), Int32, None)]
fn widening(#[case] a: DataType, #[case] b: DataType, #[case] expect: Option<DataType>) {
    assert_eq!(widen(&a, &b), expect);
    if !matches!(a, Struct(_)) {
        assert_eq!(widen(&b, &a), expect, "the other way");
    }
}

#[test]
fn a_union_is_in_order_of_first_appearance_and_names_both_files_of_a_conflict() {
    let (one, two, three) = (Path::from("1.parquet"), Path::from("2.parquet"), Path::from("3.parquet"));
    let schema = |fields: &[(&str, DataType, bool)]| {
        Schema::new(fields.iter().map(|(n, t, b)| Field::new(*n, t.clone(), *b)).collect::<Vec<_>>())
    };
    let a = schema(&[("b", Int32, false), ("a", Utf8, false)]);
    let b = schema(&[("c", Int8, false), ("a", Utf8View, false), ("b", Int64, true)]);
    let union = union_schemas([(&one, &a), (&two, &b)]).unwrap();
    let expect = schema(&[("b", Int64, true), ("a", Utf8View, false), ("c", Int8, true)]);
    assert_eq!(union.as_ref(), &expect);

    let c = schema(&[("a", Int32, false)]);
    let error = union_schemas([(&one, &a), (&two, &b), (&three, &c)]).unwrap_err().to_string();
    assert_eq!(error, "column \"a\" is Utf8View in 1.parquet, but Int32 in 3.parquet");
}

fn adapt(table: &[(&str, DataType, bool)], file: &[(&str, DataType, bool)]) -> Result<Adaptation, ScanError> {
    let schema = |fields: &[(&str, DataType, bool)]| {
        Schema::new(fields.iter().map(|(n, t, b)| Field::new(*n, t.clone(), *b)).collect::<Vec<_>>())
    };
    Adaptation::try_new(&Path::from("f.parquet"), &Arc::new(schema(table)), &schema(file), 0, &[])
}

#[test]
fn columns_are_found_by_exact_name() {
    let table = [("a", Int64, true), ("B", Int32, true), ("c", Utf8View, true), ("d", Utf8View, true)];
    let adaptation = adapt(&table, &[("d", Utf8View, true), ("b", Int32, true), ("a", Int32, true)]).unwrap();
    let expect = [
        ColumnSource::File { column: FragmentCol(2), cast: true },
        ColumnSource::Constant(ScalarValue::Int32(None)),
        ColumnSource::Constant(ScalarValue::Utf8View(None)),
        ColumnSource::File { column: FragmentCol(0), cast: false },
    ];
    assert_eq!(adaptation.sources(), expect);
}

#[rstest]
#[case::missing_and_not_null(("a", Int32, false), ("b", Int32, true), "lacks the column \"a\"")]
#[case::no_cast(("a", Int32, true), ("a", list(Int32), true), "column \"a\" is List(Int32)")]
#[case::struct_fields_conflict(
    ("a", fields(&[("x", Date32, true)]), true), ("a", fields(&[("x", Boolean, true)]), true), "can't be read as"
)]
#[case::not_a_struct(("a", fields(&[("x", Int32, true)]), true), ("a", Int32, true), "can't be read as")]
fn what_cannot_be_read_is_an_error(
    #[case] table: (&str, DataType, bool),
    #[case] file: (&str, DataType, bool),
    #[case] message: &str,
) {
    let error = adapt(&[table], &[file]).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: ") && error.contains(message), "{error}");
}

#[test]
fn row_numbers_are_in_no_file() {
    let file = Schema::new(vec![Field::new("_row", Utf8, true)]);
    let numbers = Field::new("_row", Int64, false).with_extension_type(RowNumber);
    let table = Arc::new(Schema::new(vec![numbers]));
    let adaptation = Adaptation::try_new(&Path::from("f"), &table, &file, 0, &[]).unwrap();
    assert_eq!(adaptation.sources(), [ColumnSource::RowNumbers]);
}

#[test]
fn partition_values_take_the_type_of_their_column() {
    let table = Arc::new(Schema::new(vec![Field::new("x", Int32, true), Field::new("k", Int64, true)]));
    let file = Schema::new(vec![Field::new("k", Utf8, true), Field::new("x", Int32, true)]);
    let path = Path::from("k=7/f.parquet");
    let try_new = |values: &[ScalarValue]| Adaptation::try_new(&path, &table, &file, 1, values);
    let adaptation = try_new(&[ScalarValue::from("7")]).unwrap();
    assert_eq!(adaptation.source(TableCol(1)), Some(&ColumnSource::Constant(ScalarValue::Int64(Some(7)))));
    assert!(try_new(&[ScalarValue::from("x")]).is_err());
    assert!(try_new(&[]).is_err());
}

#[test]
fn casts_are_checked_and_structs_go_by_name() {
    let adaptation = adapt(&[("a", Int32, true)], &[("a", Int64, true)]).unwrap();
    let path = Path::from("f.parquet");
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let cast = adaptation.cast(&path, TableCol(0), &values).unwrap();
    assert_eq!(cast.as_ref(), &Int32Array::from(vec![Some(1), None]));
    let beyond: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40]));
    let error = adaptation.cast(&path, TableCol(0), &beyond).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: column \"a\""), "{error}");

    let file = StructArray::from(vec![
        (Arc::new(Field::new("b", Int32, true)), Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef),
        (
            Arc::new(Field::new("a", Utf8View, true)),
            Arc::new(StringViewArray::from(vec!["x", "y"])) as ArrayRef,
        ),
    ]);
    let to = fields(&[("a", Utf8View, true), ("z", Int8, true), ("b", Int64, true)]);
    let cast = cast_array(&(Arc::new(file) as ArrayRef), &to).unwrap();
    let cast = cast.as_struct();
    assert_eq!(cast.column(2).as_primitive::<Int64Type>(), &Int64Array::from(vec![1, 2]));
    assert_eq!(cast.column(1).null_count(), 2);
}

/// Numbers as values of a type; only of types that are numbers underneath.
fn of_numbers(data_type: &DataType, numbers: &[i64]) -> ArrayRef {
    let long: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let short = matches!(data_type, Date32 | Time32(_));
    let numbers = if short { cast(&long, &Int32).unwrap() } else { long };
    cast(&numbers, data_type).unwrap()
}

fn to_numbers(values: &ArrayRef) -> Vec<Option<i64>> {
    cast(values, &Int64).unwrap().as_primitive::<Int64Type>().iter().collect()
}

const SECONDS: DataType = Timestamp(TimeUnit::Second, None);
const MILLIS: DataType = Timestamp(TimeUnit::Millisecond, None);
const MICROS: DataType = Timestamp(TimeUnit::Microsecond, None);
const NANOS: DataType = Timestamp(TimeUnit::Nanosecond, None);
const DAY: i64 = 86_400;
const LONG: [i64; 5] = [i64::MIN, -1_000_001, 0, 1_000_001, i64::MAX];
const INT: [i64; 5] = [i32::MIN as i64, -101, 0, 101, i32::MAX as i64];

/// Rows: the product, or an error where the type can't hold it. Bounds, where they are cast at all: the
/// product or null. Never a panic, and never a number that went round.
#[rstest]
#[case::date64_s(Date64, SECONDS, LONG, (1, 1000))]
#[case::date64_ms(Date64, MILLIS, LONG, (1, 1))]
#[case::date64_us(Date64, MICROS, LONG, (1000, 1))]
#[case::date64_ns(Date64, NANOS, LONG, (1_000_000, 1))]
#[case::date32_date64(Date32, Date64, INT, (DAY * 1000, 1))]
#[case::date32_s(Date32, SECONDS, INT, (DAY, 1))]
#[case::date32_ms(Date32, MILLIS, INT, (DAY * 1000, 1))]
#[case::date32_us(Date32, MICROS, INT, (DAY * 1_000_000, 1))]
#[case::date32_ns(Date32, NANOS, INT, (DAY * 1_000_000_000, 1))]
#[case::s_ms(SECONDS, MILLIS, LONG, (1000, 1))]
#[case::s_ns(SECONDS, NANOS, LONG, (1_000_000_000, 1))]
#[case::ms_us(MILLIS, MICROS, LONG, (1000, 1))]
#[case::us_ns(MICROS, NANOS, LONG, (1000, 1))]
#[case::ns_s(NANOS, SECONDS, LONG, (1, 1_000_000_000))]
#[case::zoned(Timestamp(TimeUnit::Second, utc()), Timestamp(TimeUnit::Nanosecond, utc()), LONG, (1_000_000_000, 1))]
#[case::durations(Duration(TimeUnit::Second), Duration(TimeUnit::Nanosecond), LONG, (1_000_000_000, 1))]
#[case::coarser_durations(Duration(TimeUnit::Nanosecond), Duration(TimeUnit::Second), LONG, (1, 1_000_000_000))]
#[case::time_s_ms(Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond), INT, (1000, 1))]
#[case::time_ms_s(Time32(TimeUnit::Millisecond), Time32(TimeUnit::Second), INT, (1, 1000))]
#[case::time_s_ns(Time32(TimeUnit::Second), Time64(TimeUnit::Nanosecond), INT, (1_000_000_000, 1))]
#[case::time_ms_us(Time32(TimeUnit::Millisecond), Time64(TimeUnit::Microsecond), INT, (1000, 1))]
#[case::time_us_ns(Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond), LONG, (1000, 1))]
#[case::time_ns_us(Time64(TimeUnit::Nanosecond), Time64(TimeUnit::Microsecond), LONG, (1, 1000))]
#[case::time_us_ms(Time64(TimeUnit::Microsecond), Time32(TimeUnit::Millisecond), LONG, (1, 1000))]
#[case::time_us_s(Time64(TimeUnit::Microsecond), Time32(TimeUnit::Second), LONG, (1, 1_000_000))]
#[case::time_ns_ms(Time64(TimeUnit::Nanosecond), Time32(TimeUnit::Millisecond), LONG, (1, 1_000_000))]
#[case::time_ns_s(Time64(TimeUnit::Nanosecond), Time32(TimeUnit::Second), LONG, (1, 1_000_000_000))]
fn casts_at_the_extremes(
    #[case] from: DataType,
    #[case] to: DataType,
    #[case] numbers: [i64; 5],
    #[case] (times, by): (i64, i64),
) {
    let wide = |number: i64| i128::from(number) * i128::from(times) / i128::from(by);
    let fitting = |number| match &to {
        Time32(_) => i32::try_from(wide(number)).ok().map(i64::from),
        _ => i64::try_from(wide(number)).ok(),
    };
    for number in numbers {
        let cast = cast_array(&of_numbers(&from, &[number]), &to).ok();
        assert_eq!(
            cast.map(|values| to_numbers(&values)),
            fitting(number).map(|n| vec![Some(n)]),
            "{number}"
        );
    }
    if keeps_order(&from, &to) {
        let bounds = cast(&of_numbers(&from, &numbers), &to).unwrap();
        assert_eq!(to_numbers(&bounds), numbers.map(fitting), "bounds");
    }
}

#[test]
fn casts_within_nested_types_are_checked_too() {
    let item = |data_type: DataType| Arc::new(Field::new("item", data_type, true));
    let wrap = |values: ArrayRef| -> Vec<ArrayRef> {
        let field = item(values.data_type().clone());
        let other = Arc::new(Field::new("other", Boolean, true));
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![true; values.len()]));
        let key = dictionary(Int8, values.data_type().clone());
        vec![
            Arc::new(StructArray::from(vec![(other, booleans), (Arc::clone(&field), Arc::clone(&values))])),
            Arc::new(ListArray::new(
                Arc::clone(&field),
                OffsetBuffer::from_lengths(vec![1; values.len()]),
                Arc::clone(&values),
                None,
            )),
            Arc::new(FixedSizeListArray::new(field, 1, Arc::clone(&values), None)),
            cast(&values, &key).unwrap(),
        ]
    };
    let nested = |to: &DataType| {
        let structs =
            Struct(vec![Field::new("item", to.clone(), true), Field::new("new", Int8, true)].into());
        [structs, List(item(to.clone())), FixedSizeList(item(to.clone()), 1), dictionary(Int8, to.clone())]
    };
    let times = [TimeUnit::Microsecond, TimeUnit::Nanosecond].map(Time64);
    for (from, to) in [(MILLIS, NANOS), (Date64, NANOS), (times[0].clone(), times[1].clone())] {
        let (small, large) = (of_numbers(&from, &[7]), of_numbers(&from, &[i64::MAX]));
        let expect = cast_array(&small, &to).unwrap();
        for ((small, large), to) in wrap(small).iter().zip(wrap(large)).zip(nested(&to)) {
            let got = cast_array(small, &to).unwrap();
            assert_eq!(got.data_type(), &to);
            let inner = match &to {
                Struct(_) => Arc::clone(got.as_struct().column(0)),
                List(_) => Arc::clone(got.as_list::<i32>().values()),
                FixedSizeList(..) => Arc::clone(got.as_fixed_size_list().values()),
                _ => cast(&got, expect.data_type()).unwrap(),
            };
            assert_eq!(&inner, &expect);
            assert!(cast_array(&large, &to).is_err(), "{to}");
        }
    }
}

/// The last second of chrono's calendar is a day later in a zone.
#[test]
fn casts_beyond_the_calendar_are_errors() {
    let values = of_numbers(&SECONDS, &[8_210_266_876_799]);
    let west = Timestamp(TimeUnit::Second, Some("-01:00".into()));
    assert!(cast_array(&values, &west).is_err());
}
