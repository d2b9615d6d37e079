// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Each family of leaves over single zones, case by case.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion_common::ScalarValue;
use rstest::rstest;

use super::model::{Kind, Table, Val, path, scalar};
use super::predicate::{Elsewhere, Item, Mapped, Of, Pred, Sum};
use crate::expr::functions::{And, ArithmeticOp, Case, Compare, CompareOp, IsNull, Or};
use crate::expr::{BoundExpression, ExprKind};
use crate::floats::{load_lower, load_upper};
use crate::pruning::{Bound, Level, PrunePredicate, Truth, ZoneColumn};
use crate::rows::{FragmentRows, RowRanges};
use CompareOp::*;
use Kind::*;

const T: Truth = Truth::TRUE;
const F: Truth = Truth::FALSE;
const N: Truth = Truth::NULL;
const TF: Truth = T.or_else(F);
const ANY: Truth = Truth::ANY;

/// One zone of a column of ten rows: bounds, nulls and NaNs, each possibly unknown.
struct Zone(Option<Val>, Option<Val>, Option<u64>, Option<u64>);

/// A zone without NULLs and NaNs.
fn full(lower: Val, upper: Val) -> Zone {
    Zone(Some(lower), Some(upper), Some(0), Some(0))
}

fn ints(lower: i64, upper: i64) -> Zone {
    full(Val::Int(lower), Val::Int(upper))
}

fn floats(lower: f64, upper: f64) -> Zone {
    full(Val::Float(lower), Val::Float(upper))
}

fn text(lower: &str, upper: &str) -> Zone {
    full(Val::Str(lower.into()), Val::Str(upper.into()))
}

/// The source whose every level has these zones for a column, ten rows each.
fn source(columns: impl IntoIterator<Item = (Kind, Vec<Zone>)>) -> Table {
    let mut zones = HashMap::new();
    for (kind, list) in columns {
        let data_type = kind.data_type();
        let bound = |values: Vec<Option<&Val>>| -> ArrayRef {
            ScalarValue::iter_to_array(values.into_iter().map(|v| scalar(&data_type, v))).unwrap()
        };
        let as_bound = |values: ArrayRef| Bound { exact: BooleanBuffer::new_unset(values.len()), values };
        let starts: Vec<u64> = (0..=list.len() as u64).map(|i| i * 10).collect();
        let column = ZoneColumn::unknown(data_type.clone(), starts.into())
            .with_lower(as_bound(load_lower(&bound(list.iter().map(|z| z.0.as_ref()).collect()))))
            .with_upper(as_bound(load_upper(&bound(list.iter().map(|z| z.1.as_ref()).collect()))))
            .with_nulls(list.iter().map(|z| z.2).collect::<UInt64Array>())
            .with_nans(list.iter().map(|z| z.3).collect::<UInt64Array>());
        for level in [Level::RowGroup, Level::Page] {
            zones.insert((path(index(kind)), level), Arc::new(column.clone()));
        }
    }
    Table { columns: vec![], zones }
}

fn index(kind: Kind) -> usize {
    super::model::COLUMNS.iter().position(|k| *k == kind).unwrap()
}

fn of(kind: Kind) -> Of {
    Of(index(kind), false)
}

fn truths(expr: &BoundExpression, table: &Table, rows: u64) -> Vec<(std::ops::Range<u64>, Truth)> {
    PrunePredicate::compile(expr).truths(table, Level::Page, &RowRanges::all(rows), &[]).iter().collect()
}

/// What a predicate may be in a single zone.
fn truth(pred: &Pred, kind: Kind, zone: Zone) -> Truth {
    let [(_, truth)] = truths(&pred.bind(&mut vec![]), &source([(kind, vec![zone])]), 10)[..] else {
        panic!("one zone, one truth")
    };
    truth
}

fn compare(kind: Kind, op: CompareOp, value: Val) -> Pred {
    Pred::Compare(of(kind), op, Some(value), false, false)
}

#[rstest]
#[case::below(Eq, 4, F)]
#[case::inside(Eq, 7, TF)]
#[case::at_lower(Eq, 5, TF)]
#[case::above(NotEq, 10, T)]
#[case::less_than_lower(Lt, 5, F)]
#[case::less_than_inside(Lt, 6, TF)]
#[case::less_than_all(Lt, 10, T)]
#[case::at_most_upper(LtEq, 9, T)]
#[case::greater_than_upper(Gt, 9, F)]
#[case::at_least_lower(GtEq, 5, T)]
#[case::distinct(IsDistinctFrom, 4, T)]
#[case::not_distinct(IsNotDistinctFrom, 4, F)]
fn comparisons(#[case] op: CompareOp, #[case] value: i64, #[case] expect: Truth) {
    assert_eq!(truth(&compare(Int32, op, Val::Int(value)), Int32, ints(5, 9)), expect);
    let swapped = Pred::Compare(of(Int32), op, Some(Val::Int(value)), true, false);
    assert_eq!(truth(&swapped, Int32, ints(5, 9)), expect, "operands swapped");
}

#[rstest]
#[case::constant(Zone(Some(Val::Int(5)), Some(Val::Int(5)), Some(0), None), T)]
#[case::constant_and_nulls(Zone(Some(Val::Int(5)), Some(Val::Int(5)), Some(3), None), T.or_else(N))]
#[case::nulls_unknown(Zone(Some(Val::Int(5)), Some(Val::Int(5)), None, None), T.or_else(N))]
#[case::only_nulls(Zone(None, None, Some(10), None), N)]
#[case::no_lower(Zone(None, Some(Val::Int(4)), Some(0), None), F)]
#[case::no_upper(Zone(Some(Val::Int(4)), None, Some(0), None), TF)]
#[case::nothing_known(Zone(None, None, None, None), ANY)]
#[case::crossed(Zone(Some(Val::Int(9)), Some(Val::Int(6)), Some(0), None), TF)]
#[case::more_nulls_than_rows(Zone(Some(Val::Int(5)), Some(Val::Int(5)), Some(11), None), T.or_else(N))]
fn missing_statistics(#[case] zone: Zone, #[case] expect: Truth) {
    assert_eq!(truth(&compare(Int32, Eq, Val::Int(5)), Int32, zone), expect);
}

const NAN: f64 = f64::NAN;

#[rstest]
#[case::nan_is_above(Gt, 5.0, Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), None), TF)]
#[case::or_below(Lt, -5.0, Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), None), TF)]
#[case::counted(Gt, 5.0, Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), Some(2)), TF)]
#[case::none(Gt, 5.0, floats(0.0, 1.0), F)]
#[case::no_zone_value_equals_nan(Eq, NAN, floats(0.0, 1.0), F)]
#[case::all_are_below_nan(Lt, NAN, floats(0.0, f64::INFINITY), T)]
#[case::nans_of_other_payloads(
    LtEq,
    NAN,
    Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), None),
    TF
)]
#[case::nulls_only_hide_no_nan(Eq, NAN, Zone(None, None, Some(10), None), N)]
#[case::zeros_are_equal(Eq, -0.0, floats(0.0, 0.0), T)]
#[case::zeros_are_equal_too(Eq, 0.0, floats(-0.0, -0.0), T)]
#[case::no_zero_is_less(Lt, 0.0, floats(-0.0, 1.0), F)]
#[case::no_zero_is_greater(Gt, -0.0, floats(-1.0, 0.0), F)]
fn floats_in_sql_order(#[case] op: CompareOp, #[case] value: f64, #[case] zone: Zone, #[case] expect: Truth) {
    assert_eq!(truth(&compare(Float64, op, Val::Float(value)), Float64, zone), expect);
}

#[rstest]
#[case::none_inside(&[1, 12], false, 5, 9, F)]
#[case::one_inside(&[1, 6, 12], false, 5, 9, TF)]
#[case::at_a_border(&[9], false, 5, 9, TF)]
#[case::constant(&[1, 5, 12], false, 5, 5, T)]
#[case::not_in_none_inside(&[1, 12], true, 5, 9, T)]
#[case::not_in_constant(&[5], true, 5, 5, F)]
fn sets(
    #[case] set: &[i64],
    #[case] negated: bool,
    #[case] lower: i64,
    #[case] upper: i64,
    #[case] expect: Truth,
) {
    let members: Vec<_> = set.iter().map(|v| Some(Val::Int(*v))).collect();
    let pred = Pred::In(of(Int32), members.clone(), negated);
    assert_eq!(truth(&pred, Int32, ints(lower, upper)), expect);
    // A NULL in the list makes NULL of every miss.
    let with_null = Pred::In(of(Int32), members.into_iter().chain([None]).collect(), negated);
    let (hit, miss) = if negated { (F, T) } else { (T, F) };
    let both = |t: Truth, f: Truth| if expect == TF { t.or_else(f) } else { t };
    let nulled = if expect == miss { N } else { both(hit, N) };
    assert_eq!(truth(&with_null, Int32, ints(lower, upper)), nulled);
}

#[test]
fn sets_of_floats_are_in_sql_order() {
    let zeros = Pred::In(of(Float64), vec![Some(Val::Float(-0.0)), Some(Val::Float(9.0))], false);
    assert_eq!(truth(&zeros, Float64, floats(0.0, 0.0)), T);
    let nan = Pred::In(of(Float64), vec![Some(Val::Float(NAN))], false);
    assert_eq!(truth(&nan, Float64, floats(0.0, 1.0)), F);
    assert_eq!(truth(&nan, Float64, Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), None)), TF);
}

#[rstest]
#[case::none(Some(0), F)]
#[case::some(Some(4), TF)]
#[case::all(Some(10), T)]
#[case::unknown(None, TF)]
fn null_tests(#[case] nulls: Option<u64>, #[case] expect: Truth) {
    let zone = || Zone(None, None, nulls, None);
    assert_eq!(truth(&Pred::IsNull(of(Int32), false), Int32, zone()), expect);
    assert_eq!(truth(&Pred::IsNull(of(Int32), true), Int32, zone()), expect.negate());
    // Of a comparison it is the same, as long as nothing else is NULL.
    let of_compare = Pred::NullTest(Box::new(compare(Int32, Eq, Val::Int(1))), false);
    assert_eq!(truth(&of_compare, Int32, zone()), expect);
}

#[rstest]
#[case::prefix_of_all("ab%", "ab", "abz", T)]
#[case::prefix_of_some("ab%", "aa", "abz", TF)]
#[case::prefix_of_none("ab%", "ac", "b", F)]
#[case::just_past("ab%", "ab", "ac", TF)]
#[case::truncated_bounds("abc%", "ab", "abd", TF)]
#[case::more_to_match("ab%z", "ab", "abz", ANY)]
#[case::more_to_match_elsewhere("ab%z", "ac", "b", F)]
#[case::no_wildcard("ab", "ab", "ab", T)]
#[case::escaped("a\\%", "a%", "a%", T)]
#[case::anything("%", "a", "b", T)]
#[case::any_suffix("%b", "a", "b", ANY)]
#[case::greatest_prefix("\u{10ffff}%", "a", "b", F)]
fn patterns(#[case] pattern: &str, #[case] lower: &str, #[case] upper: &str, #[case] expect: Truth) {
    let like = |negated| Pred::Like(of(Text), pattern.into(), negated, false);
    let found = truth(&like(false), Text, text(lower, upper));
    assert_eq!(found, expect);
    assert_eq!(truth(&like(true), Text, text(lower, upper)), found.negate());
}

#[rstest]
#[case::below("zz%", "A", "ZY", F)]
#[case::inside("zz%", "a", "zz", TF)]
#[case::capitals("zz%", "ZA", "ZZ", TF)]
#[case::mixed("zz%", "Zz", "Zzz", T)]
#[case::between_mixed_cases("zz%", "Z[", "Z]", F)]
#[case::between_cases("zz%", "[", "a", F)]
#[case::above("zz%", "z{", "zž", F)]
#[case::capitals_above("ab%", "AC", "AZ", F)]
#[case::kelvin("ka%", "\u{212a}a", "\u{212a}b", ANY)]
fn patterns_without_case(
    #[case] pattern: &str,
    #[case] lower: &str,
    #[case] upper: &str,
    #[case] expect: Truth,
) {
    let pred = Pred::Like(of(Text), pattern.into(), false, true);
    assert_eq!(truth(&pred, Text, text(lower, upper)), expect);
}

#[rstest]
#[case::all_true(true, true, T)]
#[case::all_false(false, false, F)]
#[case::mixed(false, true, TF)]
fn boolean_columns(#[case] lower: bool, #[case] upper: bool, #[case] expect: Truth) {
    let zone = || full(Val::Bool(lower), Val::Bool(upper));
    assert_eq!(truth(&Pred::Column(6), Bool, zone()), expect);
    let is = |op, value| Pred::Is(Box::new(Pred::Column(6)), op, Some(value), false);
    assert_eq!(truth(&is(IsNotDistinctFrom, true), Bool, zone()), expect);
    assert_eq!(truth(&is(Eq, false), Bool, zone()), expect.negate());
    let null = Zone(None, None, Some(10), None);
    assert_eq!(truth(&is(IsDistinctFrom, true), Bool, null), T, "NULL IS NOT TRUE");
}

#[rstest]
#[case::rounds_down(Timestamp, (1900, 2100), 2, TF)]
#[case::constant_after_rounding(Timestamp, (2000, 2100), 2, T)]
#[case::beyond(Timestamp, (500, 1500), 2, F)]
#[case::fits(Int64, (5, 5), 5, T)]
#[case::upper_does_not_fit(Int64, (5, 300), 4, F.or_else(N))]
#[case::rounds_half_up(Decimal, (15, 24), 2, T)]
fn casts(#[case] kind: Kind, #[case] bounds: (i64, i64), #[case] value: i64, #[case] expect: Truth) {
    let pred = Pred::Compare(Of(index(kind), true), Eq, Some(Val::Int(value)), false, false);
    assert_eq!(truth(&pred, kind, ints(bounds.0, bounds.1)), expect);
}

/// `(a < 5) OR (a = 5 AND (b IS NULL OR b < 'b'))`, as a TopK with two keys hands it down.
#[test]
fn topk_with_two_keys() {
    let five = |op| compare(Int32, op, Val::Int(5));
    let tie = Pred::Or(vec![Pred::IsNull(of(Text), false), compare(Text, Lt, Val::Str("b".into()))]);
    let pred = Pred::Or(vec![five(Lt), Pred::And(vec![five(Eq), tie])]).bind(&mut vec![]);
    let zones = [
        (ints(1, 4), text("x", "z"), T),
        (ints(5, 9), text("b", "z"), F),
        (ints(5, 9), text("a", "z"), TF),
        (ints(5, 5), text("a", "aa"), T),
        (ints(5, 9), Zone(Some(Val::Str("b".into())), None, Some(1), None), TF),
        (ints(6, 9), Zone(None, None, None, None), F.or_else(N)),
    ];
    let expect: Vec<_> = zones.iter().map(|(_, _, truth)| *truth).collect();
    let (a, b) = zones.into_iter().map(|(a, b, _)| (a, b)).unzip();
    let table = source([(Int32, a), (Text, b)]);
    for ((rows, truth), expect) in truths(&pred, &table, 60).into_iter().zip(expect) {
        // AND with NULL may stay NULL where FALSE is certain; never where it matters.
        assert_eq!(truth.may_be_true(), expect.may_be_true(), "rows {rows:?}");
        assert_eq!(truth.is_all_true(), expect.is_all_true(), "rows {rows:?}");
    }
}

/// The filter of a partitioned join is the union of what its partitions want.
#[test]
fn partitioned_join() {
    let partition = |low, high, keys: &[i64]| {
        let keys = keys.iter().map(|v| Some(Val::Int(*v))).collect();
        let bounds = [compare(Int32, GtEq, Val::Int(low)), compare(Int32, LtEq, Val::Int(high))];
        Pred::And(bounds.into_iter().chain([Pred::In(of(Int32), keys, false)]).collect())
    };
    let pred = Pred::Routed(vec![partition(0, 9, &[0, 9]), partition(20, 29, &[20, 29])]);
    let compiled = PrunePredicate::compile(&pred.bind(&mut vec![]));
    let table = source([(Int32, vec![ints(0, 5), ints(1, 8), ints(10, 19), ints(28, 40), ints(30, 40)])]);
    let verdicts = compiled.judge(&table, &RowRanges::all(50), &[]);
    assert_eq!(verdicts.may, [0..10, 30..40].into_iter().collect());
    assert!(verdicts.all.is_empty(), "a partition's rows aren't known");
}

/// With ELSE true, as a cancelled partition makes it, nothing is excluded.
#[test]
fn partitioned_join_with_a_cancelled_partition() {
    let when = BoundExpression::literal(ScalarValue::Int64(Some(0)));
    let literal = |value| BoundExpression::literal(ScalarValue::Boolean(Some(value)));
    let hash = Elsewhere::bound("hash % n", DataType::Int64);
    let case = Case::of(Some(hash), [(when, literal(false))], Some(literal(true))).unwrap();
    let verdicts = PrunePredicate::compile(&case).judge(&source([]), &RowRanges::all(50), &[]);
    assert_eq!((verdicts.may.len(), verdicts.all.len()), (50, 0));
}

#[test]
fn columns_with_other_borders_meet_row_by_row() {
    let mut table = source([(Int32, vec![ints(0, 4), ints(5, 9), ints(5, 5)])]);
    let wide = source([(Date, vec![ints(0, 0), ints(7, 7)])]);
    let days = &wide.zones[&(path(index(Date)), Level::Page)];
    let borders: Arc<[u64]> = vec![0, 15, 30].into();
    let days = ZoneColumn::unknown(DataType::Date32, borders)
        .with_lower(days.lower().unwrap().clone())
        .with_upper(days.upper().unwrap().clone())
        .with_nulls(vec![0, 0].into());
    table.zones.insert((path(index(Date)), Level::Page), Arc::new(days));
    let pred = Pred::And(vec![compare(Int32, GtEq, Val::Int(5)), compare(Date, Eq, Val::Int(7))]);
    let verdicts = PrunePredicate::compile(&pred.bind(&mut vec![])).judge(&table, &RowRanges::all(30), &[]);
    assert_eq!(verdicts.may, RowRanges::single(15..30));
    assert_eq!(verdicts.all, RowRanges::single(15..30));
}

/// Parameters are given anew at each judgement; one that is missing or of another type decides nothing.
#[test]
fn parameters() {
    let field = Arc::new(Field::new("threshold", DataType::Int32, true));
    let param = BoundExpression::try_new(ExprKind::Param(0, field), vec![]).unwrap();
    let compiled = PrunePredicate::compile(&Compare::of(Lt, of(Int32).bound(), param).unwrap());
    let table = source([(Int32, vec![ints(0, 4), ints(5, 9)])]);
    let judge = |params: &[ScalarValue]| {
        let verdicts = compiled.judge(&table, &RowRanges::all(20), params);
        (verdicts.may.len(), verdicts.all.len(), verdicts.errors > 0)
    };
    assert_eq!(judge(&[ScalarValue::Int32(Some(0))]), (0, 0, false));
    assert_eq!(judge(&[ScalarValue::Int32(Some(5))]), (10, 10, false));
    assert_eq!(judge(&[ScalarValue::Int32(None)]), (0, 0, false));
    assert_eq!(judge(&[ScalarValue::Int64(Some(0))]), (20, 0, true));
    assert_eq!(judge(&[]), (20, 0, true));
}

#[test]
fn zones_that_leave_out_rows_or_have_another_type_decide_nothing() {
    let table = source([(Int32, vec![ints(0, 4)])]);
    let pred = compare(Int32, Gt, Val::Int(9)).bind(&mut vec![]);
    let verdicts = PrunePredicate::compile(&pred).judge(&table, &RowRanges::all(11), &[]);
    assert_eq!((verdicts.may.len(), verdicts.errors), (11, 2));

    let mut other = source([]);
    let column = &table.zones[&(path(index(Int32)), Level::Page)];
    other.zones.insert((path(index(Int64)), Level::RowGroup), Arc::clone(column));
    let pred = compare(Int64, Gt, Val::Int(9)).bind(&mut vec![]);
    let verdicts = PrunePredicate::compile(&pred).judge(&other, &RowRanges::all(10), &[]);
    assert_eq!((verdicts.may.len(), verdicts.errors), (10, 1));
}

#[rstest]
#[case::foreign(Elsewhere::bound("f", DataType::Boolean), false)]
#[case::foreign_and_foreign(And::of([Elsewhere::bound("f", DataType::Boolean), Elsewhere::bound("g", DataType::Boolean)]).unwrap(), false)]
#[case::foreign_is_null(IsNull::of(Elsewhere::bound("f", DataType::Boolean), false).unwrap(), false)]
#[case::a_column_beside_it(And::of([Elsewhere::bound("f", DataType::Boolean), of(Bool).bound()]).unwrap(), true)]
#[case::or_true(Or::of([Elsewhere::bound("f", DataType::Boolean), BoundExpression::literal(ScalarValue::Boolean(Some(true)))]).unwrap(), true)]
#[case::false_at_once(BoundExpression::literal(ScalarValue::Boolean(Some(false))), true)]
#[case::true_at_once(BoundExpression::literal(ScalarValue::Boolean(Some(true))), true)]
fn what_can_prune(#[case] expr: BoundExpression, #[case] expect: bool) {
    assert_eq!(PrunePredicate::compile(&expr).can_prune(), expect);
}

#[test]
fn pages_are_looked_at_only_where_row_groups_leave_it_open() {
    let mut table = source([(Int32, vec![ints(0, 4), ints(5, 9), ints(0, 9)])]);
    let pages = ["the same", "borders"].map(|_| ints(9, 9)).into_iter().chain([ints(0, 4)]);
    let pages = source([(Int32, pages.collect())]);
    let key = (path(index(Int32)), Level::Page);
    table.zones.insert(key.clone(), Arc::clone(&pages.zones[&key]));
    // Pages that contradict the row groups show which of the two was asked.
    let pred = compare(Int32, GtEq, Val::Int(5)).bind(&mut vec![]);
    let verdicts = PrunePredicate::compile(&pred).judge(&table, &RowRanges::all(30), &[]);
    let second: RowRanges<FragmentRows> = RowRanges::single(10..20);
    assert_eq!((verdicts.may, verdicts.all), (second.clone(), second));
}

#[rstest]
#[case::no_such_first(&[(Some(4), Some("a"))], F)]
#[case::no_such_second(&[(Some(5), Some("c"))], F)]
#[case::each_term_of_another_tuple(&[(Some(5), Some("c")), (Some(4), Some("a"))], F)]
#[case::inside(&[(Some(4), Some("c")), (Some(5), Some("a"))], TF)]
#[case::null_is_a_value(&[(None, Some("a"))], TF)]
#[case::null_where_there_is_none(&[(Some(5), None)], F)]
fn tuples(#[case] listed: &[(Option<i64>, Option<&str>)], #[case] expect: Truth) {
    let zones = || {
        let some_nulls = Zone(Some(Val::Int(5)), Some(Val::Int(9)), Some(1), None);
        source([(Int32, vec![some_nulls]), (Text, vec![text("a", "b")])])
    };
    let tuple = |(first, second): &(Option<i64>, Option<&str>)| {
        vec![first.map(Val::Int), second.map(|s| Val::Str(s.into()))]
    };
    let is_in = |many: usize, negated| {
        // Many tuples are known by their terms only.
        let far = (0..many).map(|i| vec![Some(Val::Int(100 + i as i64)), Some(Val::Str("z".into()))]);
        Pred::Tuple(vec![of(Int32), of(Text)], listed.iter().map(tuple).chain(far).collect(), negated)
    };
    let found = |pred: Pred| truths(&pred.bind(&mut vec![]), &zones(), 10)[0].1;
    // That it is never NULL doesn't matter, and isn't known where it may be either.
    let may_be = |truth: Truth| (truth.may_be_true(), truth.may_be_false());
    assert_eq!(may_be(found(is_in(0, false))), may_be(expect));
    assert_eq!(may_be(found(is_in(0, true))), may_be(expect.negate()));
    let of_many = found(is_in(20, false));
    assert!(of_many.or_else(expect) == of_many, "{of_many:?} lacks some of {expect:?}");
}

/// What infinities make of each other is above all values, or below, and no bound says so.
#[rstest]
#[case::of_two_signs(ArithmeticOp::Add, f64::INFINITY)]
#[case::of_one_sign(ArithmeticOp::Sub, f64::INFINITY)]
#[case::of_zero(ArithmeticOp::Mul, 0.0)]
fn sums_of_infinities(#[case] op: ArithmeticOp, #[case] value: f64) {
    let sum = Sum(op, Float64, [Item::Of(of(Float64)), Item::Constant(Some(Val::Float(value)), false)]);
    let beyond = |compare, limit| {
        let pred = Pred::Sum(sum.clone(), compare, Some(Val::Float(limit)));
        truth(&pred, Float64, floats(f64::NEG_INFINITY, f64::INFINITY)).may_be_true()
    };
    assert!(beyond(Gt, f64::INFINITY) && beyond(Lt, f64::NEG_INFINITY));
}

#[rstest]
#[case::below_zero(Mapped::Absolute, (-3, -1), (1, 3))]
#[case::above_zero(Mapped::Absolute, (1, 3), (1, 3))]
#[case::around_zero(Mapped::Absolute, (-2, 3), (0, 3))]
#[case::negative(Mapped::Negative, (-2, 3), (-3, 2))]
#[case::half(Mapped::Half, (-3, 3), (-2, 1))]
fn functions(#[case] mapped: Mapped, #[case] of_input: (i64, i64), #[case] (least, most): (i64, i64)) {
    let is = |op, value| {
        let pred = Pred::Mapped(mapped, of(Int32), op, Some(Val::Int(value)));
        truth(&pred, Int32, ints(of_input.0, of_input.1))
    };
    assert_eq!((is(GtEq, least), is(LtEq, most)), (T, T));
    assert_eq!((is(Gt, least), is(Lt, most)), (TF, TF));
    assert_eq!((is(Lt, least), is(Gt, most)), (F, F));
}

/// Where one of two columns may hold NaNs, the comparison may come out either way.
#[test]
fn a_column_with_nans_beside_another() {
    let table = || {
        let nans = Zone(Some(Val::Float(0.0)), Some(Val::Float(1.0)), Some(0), None);
        source([(Float64, vec![nans]), (Int32, vec![ints(5, 9)])])
    };
    let pred = |op| Pred::Pair(of(Float64), op, Of(index(Int32), true)).bind(&mut vec![]);
    assert!(truths(&pred(Gt), &table(), 10)[0].1.may_be_true());
    assert!(truths(&pred(Lt), &table(), 10)[0].1.may_be_false());
}
