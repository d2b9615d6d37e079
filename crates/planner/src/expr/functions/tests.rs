// Licensed under the Apache License, Version 2.0. See LICENSE.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    StringArray, StringViewArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{Fields, Float64Type, Int32Type, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use rstest::rstest;

use super::*;
use crate::expr::{BindError, BoundExpression, Errors, Input, Nulls, evaluate, evaluate_predicate};

fn root(data_type: DataType, nullable: bool) -> BoundExpression {
    BoundExpression::root(Arc::new(Field::new("value", data_type, nullable)))
}

fn literal(value: impl Into<ScalarValue>) -> BoundExpression {
    BoundExpression::literal(value.into())
}

/// A predicate over the array itself.
fn truths(expr: &BoundExpression, over: &ArrayRef) -> Vec<Option<bool>> {
    evaluate_predicate(expr, Input { root: over, params: &[] }).unwrap().iter().collect()
}

#[rstest]
#[case::few(vec![0.0, 1.0])]
#[case::many(vec![-0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0])]
fn zeros_are_one_value_of_a_set_and_nans_several(#[case] mut values: Vec<f64>) {
    values.push(f64::NAN);
    let set: ArrayRef = Arc::new(Float64Array::from(values));
    let set = Arc::new(ValueSet::try_new(&set).unwrap());
    let needles: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(0.0),
        Some(-0.0),
        Some(1.0),
        Some(9.0),
        Some(f64::NAN),
        Some(-f64::NAN),
        None,
    ]));
    let expect = [true, true, true, false, true, false].map(Some);
    let expr = InSet::of(root(DataType::Float64, true), Arc::clone(&set), false).unwrap();
    assert_eq!(truths(&expr, &needles), [&expect[..], &[None]].concat());
    let expr = InSet::of(root(DataType::Float64, true), set, true).unwrap();
    assert_eq!(truths(&expr, &needles), [&expect.map(|v| v.map(|v| !v))[..], &[None]].concat());
}

#[test]
fn a_set_is_sorted_and_distinct() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(2.0),
        None,
        Some(-0.0),
        Some(f64::NAN),
        Some(2.0),
        Some(0.0),
        Some(-f64::NAN),
    ]));
    let set = ValueSet::try_new(&values).unwrap();
    let bits: Vec<_> =
        set.values().as_primitive::<Float64Type>().values().iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits, [-f64::NAN, 0.0, 2.0, f64::NAN].map(f64::to_bits));
    assert!(set.has_null());
    assert_eq!(set, ValueSet::try_new(&values).unwrap());
    let expr = InSet::of(root(DataType::Float64, true), Arc::new(set), false).unwrap();
    assert_eq!(expr.to_string(), "$ IN (NaN, 0, 2, NaN, NULL)");
    assert_eq!(expr.facts().nulls, Nulls::Other);
}

/// Every index of a set, and dictionaries of few and of many entries.
#[rstest]
#[case::int8(DataType::Int8)]
#[case::uint16(DataType::UInt16)]
#[case::int32(DataType::Int32)]
#[case::int64(DataType::Int64)]
#[case::date32(DataType::Date32)]
#[case::timestamp(DataType::Timestamp(TimeUnit::Millisecond, Some("+01:00".into())))]
#[case::float32(DataType::Float32)]
#[case::decimal128(DataType::Decimal128(20, 3))]
#[case::decimal256(DataType::Decimal256(40, 3))]
#[case::utf8(DataType::Utf8)]
#[case::large_utf8(DataType::LargeUtf8)]
#[case::utf8_view(DataType::Utf8View)]
#[case::binary_view(DataType::BinaryView)]
fn sets_of_every_type_find_what_they_hold(#[case] data_type: DataType, #[values(2, 20)] size: i32) {
    let of = |ints: Vec<Option<i32>>| -> ArrayRef {
        let ints: ArrayRef = Arc::new(Int32Array::from(ints));
        let through = match &data_type {
            DataType::BinaryView => cast(&ints, &DataType::Utf8View).unwrap(),
            DataType::Timestamp(_, _) => cast(&ints, &DataType::Int64).unwrap(),
            _ => ints,
        };
        cast(&through, &data_type).unwrap()
    };
    let set = ValueSet::try_new(&of((0..size).map(|i| Some(i * 3)).collect())).unwrap();
    let needles: Vec<Option<i32>> = (0..70).map(|i| (i % 7 != 6).then_some(i)).collect();
    let expect: Vec<_> = needles.iter().map(|n| n.map(|n| n % 3 == 0 && n < size * 3)).collect();
    let found = |needles: &ArrayRef| set.contains(needles).unwrap().iter().collect::<Vec<_>>();
    let needles = of(needles);
    assert_eq!(found(&needles), expect);
    assert_eq!(found(&needles.slice(3, 40)), expect[3..43]);
    for keys in [vec![Some(3), None, Some(6), Some(4), Some(3)], (0..70).map(Some).chain([None]).collect()] {
        let expect: Vec<_> = keys.iter().map(|k| k.and_then(|k: i32| expect[k as usize])).collect();
        let dictionary = DictionaryArray::<Int32Type>::new(Int32Array::from(keys), Arc::clone(&needles));
        assert_eq!(found(&(Arc::new(dictionary) as ArrayRef)), expect);
    }
    assert!(set.contains(&(Arc::new(BooleanArray::from(vec![true])) as ArrayRef)).is_err());
}

#[test]
fn tuples_are_sought_field_by_field() {
    let item = |name: &str, t, nullable| Field::new(name, t, nullable);
    let tuples = |x: Vec<Option<f64>>, s: Vec<&str>, nullable| -> ArrayRef {
        let fields =
            Fields::from(vec![item("c0", DataType::Float64, true), item("c1", DataType::Utf8, nullable)]);
        let columns: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(x)), Arc::new(StringArray::from(s))];
        Arc::new(StructArray::new(fields, columns, None))
    };
    let set = ValueSet::try_new(&tuples(
        vec![Some(0.0), None, Some(-0.0), Some(2.0)],
        vec!["a", "b", "a", "c"],
        true,
    ));
    let set = set.unwrap();
    assert_eq!(set.len(), 3);
    let needles =
        tuples(vec![Some(-0.0), Some(0.0), None, None, Some(2.0)], vec!["a", "b", "b", "a", "c"], false);
    let found = set.contains(&needles).unwrap();
    assert_eq!(found, BooleanArray::from(vec![true, false, true, false, true]));
}

#[test]
fn nothing_is_in_an_empty_set() {
    let empty =
        Arc::new(ValueSet::try_new(&(Arc::new(Int64Array::from(vec![0i64; 0])) as ArrayRef)).unwrap());
    let over: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let value = || root(DataType::Int64, true);
    assert_eq!(truths(&InSet::of(value(), Arc::clone(&empty), false).unwrap(), &over), [Some(false); 2]);
    assert_eq!(truths(&InSet::of(value(), empty, true).unwrap(), &over), [Some(true); 2]);
}

#[test]
fn a_field_of_a_null_struct_is_null() {
    let inner = Fields::from(vec![Field::new("a", DataType::Int64, false)]);
    let hidden: ArrayRef = Arc::new(Int64Array::from(vec![1, 9, 3]));
    let valid = NullBuffer::from(vec![true, false, true]);
    let structs: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![hidden], Some(valid)));
    let expr = GetItem::of(root(DataType::Struct(inner), true), 0).unwrap();
    assert!(expr.field().is_nullable());
    assert_eq!(expr.to_string(), "$.a");
    let value = evaluate(&expr, Input { root: &structs, params: &[] }).unwrap().into_array(3).unwrap();
    assert_eq!(value.as_ref(), &Int64Array::from(vec![Some(1), None, Some(3)]) as &dyn Array);
}

#[test]
fn packing_and_taking_apart_gives_the_values() {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, false)]);
    let pack = Pack::of(fields, vec![root(DataType::Int64, true), literal("x")]).unwrap();
    assert_eq!(pack.to_string(), "{a: $, b: 'x'}");
    let over: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let value = |field| {
        let expr = GetItem::of(pack.clone(), field).unwrap();
        evaluate(&expr, Input { root: &over, params: &[] }).unwrap().into_array(2).unwrap()
    };
    assert_eq!(&value(0), &over);
    assert_eq!(value(1).as_ref(), &StringArray::from(vec!["x", "x"]) as &dyn Array);
}

#[rstest]
#[case::widening(DataType::Int32, DataType::Int64, false, Errors::Never)]
#[case::narrowing(DataType::Int64, DataType::Int32, false, Errors::Possible)]
#[case::unsigned(DataType::UInt32, DataType::Int64, false, Errors::Never)]
#[case::sign(DataType::Int32, DataType::UInt64, false, Errors::Possible)]
#[case::float(DataType::Int64, DataType::Float64, false, Errors::Never)]
#[case::parse(DataType::Utf8, DataType::Int64, false, Errors::Possible)]
#[case::try_parse(DataType::Utf8, DataType::Int64, true, Errors::Never)]
#[case::try_zone(DataType::Utf8, DataType::Timestamp(TimeUnit::Second, Some("x".into())), true, Errors::Possible)]
#[case::dictionary(
    DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
    DataType::Utf8,
    false,
    Errors::Never
)]
#[case::finer_unit(
    DataType::Timestamp(TimeUnit::Second, None),
    DataType::Timestamp(TimeUnit::Nanosecond, None),
    false,
    Errors::Possible
)]
fn casts_know_whether_they_fail(
    #[case] from: DataType,
    #[case] to: DataType,
    #[case] try_cast: bool,
    #[case] errors: Errors,
) {
    let expr = BoundExpression::call::<Cast>(CastOptions { to, try_cast }, vec![root(from, false)]).unwrap();
    assert_eq!(expr.facts().errors, errors);
    assert_eq!(expr.can_fail(), errors == Errors::Possible);
}

#[rstest]
#[case::integers(DataType::Int32, DataType::Int32, Some((DataType::Int32, Errors::Never)))]
#[case::unsigned(DataType::UInt8, DataType::UInt8, Some((DataType::UInt8, Errors::Never)))]
#[case::floats(DataType::Float32, DataType::Float32, Some((DataType::Float32, Errors::Never)))]
#[case::decimals(
    DataType::Decimal128(10, 2),
    DataType::Decimal128(8, 3),
    Some((DataType::Decimal128(12, 3), Errors::Possible))
)]
#[case::date_and_interval(
    DataType::Date32,
    DataType::Interval(IntervalUnit::MonthDayNano),
    Some((DataType::Date32, Errors::Possible))
)]
#[case::two_widths(DataType::Int32, DataType::Int64, None)]
#[case::two_dates(DataType::Date32, DataType::Date32, None)]
#[case::text(DataType::Utf8, DataType::Utf8, None)]
#[case::untyped(DataType::Null, DataType::Int32, None)]
fn arithmetic_knows_its_type_and_whether_it_fails(
    #[case] left: DataType,
    #[case] right: DataType,
    #[case] expect: Option<(DataType, Errors)>,
) {
    let sum = Arithmetic::of(ArithmeticOp::Add, root(left, true), root(right, false)).ok();
    let actual = sum.map(|sum| (sum.field().data_type().clone(), sum.facts().errors));
    assert_eq!(actual, expect);
}

#[rstest]
#[case::add(ArithmeticOp::Add, [Some(i32::MIN), Some(2), None])]
#[case::sub(ArithmeticOp::Sub, [Some(i32::MAX - 1), Some(0), None])]
#[case::mul(ArithmeticOp::Mul, [Some(i32::MAX), Some(1), None])]
fn integers_wrap(#[case] op: ArithmeticOp, #[case] expect: [Option<i32>; 3]) {
    let over: ArrayRef = Arc::new(Int32Array::from(vec![Some(i32::MAX), Some(1), None]));
    let value = |right| {
        let expr = Arithmetic::of(op, root(DataType::Int32, true), right).unwrap();
        evaluate(&expr, Input { root: &over, params: &[] }).unwrap().into_array(3).unwrap()
    };
    let one = literal(1i32);
    assert_eq!(value(one).as_ref(), &Int32Array::from(expect.to_vec()) as &dyn Array);
    let overflows = Arithmetic::of(op, literal(i32::MAX), literal(2i32)).unwrap();
    assert!(evaluate(&overflows, Input { root: &over, params: &[] }).is_ok());
}

#[rstest]
#[case::other_type(Compare::of(CompareOp::Eq, literal(1i64), literal(1i32)))]
#[case::untyped(Compare::of(CompareOp::Eq, literal(1i64), BoundExpression::literal(ScalarValue::Null)))]
#[case::string_kinds(Compare::of(
    CompareOp::Eq,
    literal("a"),
    BoundExpression::literal(ScalarValue::Utf8View(None))
))]
#[case::and(And::of([literal(true), literal(1i64)]))]
#[case::one(Or::of([literal(1i64)]))]
#[case::one_and(BoundExpression::call::<And>((), vec![literal(true)]))]
#[case::not(Not::of(literal("x")))]
#[case::like(Like::of(LikeOptions { negated: false, case_insensitive: false }, literal(1i64), literal("x")))]
#[case::cast(Cast::of(literal(true), DataType::Date32))]
#[case::item(GetItem::of(literal(1i64), 0))]
#[case::no_field(GetItem::of(root(DataType::Struct(Fields::empty()), false), 0))]
#[case::case_type(Case::of(None, [(literal(true), literal(1i64)), (literal(true), literal("x"))], None))]
#[case::case_when(Case::of(None, [(literal(1i64), literal(1i64))], None))]
#[case::case_empty(Case::of(None, [], Some(literal(1i64))))]
#[case::pack(Pack::of(Fields::from(vec![Field::new("a", DataType::Int64, false)]), vec![root(DataType::Int64, true)]))]
fn what_does_not_bind(#[case] expr: Result<BoundExpression, BindError>) {
    assert!(expr.is_err(), "{expr:?}");
}

#[test]
fn connectives_flatten() {
    let p = || root(DataType::Boolean, true);
    let not = || Not::of(p()).unwrap();
    let and = And::of([And::of([p(), not()]).unwrap(), Or::of([p(), not()]).unwrap(), p()]).unwrap();
    assert_eq!(and.to_string(), "($ AND NOT $ AND ($ OR NOT $) AND $)");
    assert_eq!(And::of([]).unwrap(), literal(true));
    assert_eq!(Or::of([p()]).unwrap(), p());
}

#[test]
fn calls_read_like_sql() {
    let value = || root(DataType::Utf8View, true);
    let is_null = IsNull::of(
        Compare::of(
            CompareOp::IsDistinctFrom,
            value(),
            BoundExpression::literal(ScalarValue::Utf8View(None)),
        )
        .unwrap(),
        true,
    )
    .unwrap();
    let number = || root(DataType::Int64, true);
    let sum = Arithmetic::of(ArithmeticOp::Add, number(), literal(1i64)).unwrap();
    let product = Arithmetic::of(ArithmeticOp::Mul, sum, number()).unwrap();
    let compared = Compare::of(CompareOp::Lt, product, literal(7i64)).unwrap();
    insta::assert_snapshot!(compared, @"(($ + 1) * $) < 7");
    insta::assert_snapshot!(is_null, @"($ IS DISTINCT FROM NULL) IS NOT NULL");
    let like = Like::of(
        LikeOptions { negated: true, case_insensitive: true },
        value(),
        BoundExpression::literal(ScalarValue::Utf8View(Some("it's%".to_owned()))),
    )
    .unwrap();
    insta::assert_snapshot!(Not::of(like.clone()).unwrap(), @"NOT ($ NOT ILIKE 'it''s%')");
    let many: ArrayRef = Arc::new(StringViewArray::from_iter_values((10..30).map(|i| i.to_string())));
    let set = Arc::new(ValueSet::try_new(&many).unwrap());
    let case = Case::of(
        Some(Cast::of(value(), DataType::Int64).unwrap()),
        [(literal(1i64), like)],
        Some(InSet::of(value(), set, true).unwrap()),
    )
    .unwrap();
    insta::assert_snapshot!(case, @"CASE CAST($ AS Int64) WHEN 1 THEN $ NOT ILIKE 'it''s%' ELSE $ NOT IN ('10', '11', '12', '13', '14', '15', '16', '17', '18', '19', … 20 values) END");
}
