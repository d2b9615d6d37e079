// Licensed under the Apache License, Version 2.0. See LICENSE.

use std::sync::Arc;

use DataType::*;
use arrow::array::{Array, AsArray, Int32Array, Int64Array, StringViewArray, StructArray};
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
