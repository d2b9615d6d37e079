// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pushdown through [`Take`]: once for each value, and NULL is one of them.

use arrow::array::{Array, ArrayRef, AsArray, Int8Array, StringArray};
use arrow::datatypes::Int64Type;

use super::counted::Count;
use super::*;
use crate::expr::functions::InSet;
use crate::expr::functions::{Like, LikeOptions, ValueSet};
use crate::plan::TakePlan;
use crate::plan::memory::Memory;
use crate::plan::operators::Take;

/// A column of codes 0 … over some values, in memory.
fn dictionary(codes: &[Option<i8>], values: &[Option<&str>]) -> (PlanRef, Memory) {
    let arrays: [ArrayRef; 2] =
        [Arc::new(codes.iter().collect::<Int8Array>()), Arc::new(values.iter().collect::<StringArray>())];
    let mut memory = Memory::default();
    let mut children = Vec::new();
    for (column, array) in arrays.into_iter().enumerate() {
        let segment = SegmentId::new(0, FragmentCol(column));
        let field = Field::new("v", array.data_type().clone(), array.null_count() > 0);
        children.push(SegmentScanPlan::new(segment, Arc::new(field), array.len() as u64).into());
        memory.segments.insert(segment, array);
    }
    let values = children.remove(1);
    (TakePlan::try_new(children.remove(0), values).unwrap().into(), memory)
}

const CODES: [Option<i8>; 7] = [Some(0), Some(2), None, Some(0), Some(1), None, Some(2)];

fn ints(array: &ArrayRef) -> Vec<Option<i64>> {
    array.as_primitive::<Int64Type>().iter().collect()
}

#[test]
fn a_function_goes_to_the_values() {
    let codes = CODES.map(|code| code.or(Some(1)));
    let (plan, memory) = dictionary(&codes, &[Some("a"), Some("bb"), Some("ccc"), Some("unused")]);
    let count = Count::default();
    let length = count.length(BoundExpression::root(Arc::clone(plan.field())));
    assert_snapshot!(phases(&length, &plan, &[&length]), @r"
    annotations:
      byte_length($) -> {values}
    groups before lowering:
      @values = byte_length($)
    groups after lowering:
      @values = byte_length($)
    combine = $
    ");
    let pushed = optimized(length, plan);
    assert_snapshot!(pushed.tree(), @r"
    take: Int64 × 7
      codes = segment_scan(row group 0, column 0): Int8 × 7
      values = eval(byte_length($)): Int64 × 4
        input = segment_scan(row group 0, column 1): Utf8 × 4
    ");
    assert_eq!(ints(&memory.run(&pushed).unwrap()), [1, 3, 2, 1, 2, 2, 3].map(Some));
    assert_eq!(count.rows(), 4);
}

/// NULL codes and NULL values, a value no code chooses, a value that occurs twice, no values at all.
#[rstest]
#[case::null_codes(&CODES, &[Some("a"), Some("bb"), Some("ccc")], &[Some(1), Some(3), None, Some(1), Some(2), None, Some(3)])]
#[case::null_values(&[Some(1), Some(0), Some(1)], &[Some("a"), None], &[None, Some(1), None])]
#[case::both(&[Some(1), None, Some(0)], &[Some("a"), None], &[None, None, Some(1)])]
#[case::unreferenced(&[Some(2), Some(2), Some(2), None], &[Some("a"), None, Some("cc")], &[Some(2), Some(2), Some(2), None])]
#[case::twice(&[Some(0), Some(1), Some(1)], &[Some("a"), Some("a")], &[Some(1); 3])]
#[case::no_values(&[None, None], &[], &[None, None])]
fn values_and_nulls(
    #[case] codes: &[Option<i8>],
    #[case] values: &[Option<&str>],
    #[case] expect: &[Option<i64>],
    #[values(None, Some(-1))] of_null: Option<i64>,
) {
    let (plan, memory) = dictionary(codes, values);
    let count = of_null.map_or_else(Count::default, Count::of_null);
    let length = count.length(BoundExpression::root(Arc::clone(plan.field())));
    let pushed = optimized(length, plan);
    let expect: Vec<_> = expect.iter().map(|length| length.or(of_null)).collect();
    assert_eq!(ints(&memory.run(&pushed).unwrap()), expect);
    // NULL is one value more, whatever makes it.
    let null_is_value = of_null.is_some() && codes.contains(&None);
    assert_eq!(count.rows(), values.len() + usize::from(null_is_value));
}

#[test]
fn what_sees_null_sees_it_once() {
    let (plan, memory) = dictionary(&CODES, &[Some("a"), Some("bb"), Some("ccc")]);
    let root = BoundExpression::root(Arc::clone(plan.field()));
    let null = optimized(IsNull::of(root.clone(), false).unwrap(), plan.clone());
    assert_snapshot!(null.tree(), @r"
    take(NULL is last): Boolean × 7
      codes = segment_scan(row group 0, column 0): Int8? × 7
      values = concat: Boolean × 4
        0 … 1 not made yet
    ");
    let is_null = memory.run(&null).unwrap();
    assert_eq!(is_null.as_boolean().iter().flatten().collect::<Vec<_>>(), CODES.map(|code| code.is_none()));
    let set =
        Arc::new(ValueSet::try_new(&(Arc::new(StringArray::from(vec![Some("bb"), None])) as _)).unwrap());
    let found = memory.run(&optimized(InSet::of(root, set, false).unwrap(), plan)).unwrap();
    let expect = CODES.map(|code| (code == Some(1)).then_some(true));
    assert_eq!(found.as_boolean().iter().collect::<Vec<_>>(), expect);
}

#[test]
fn what_can_fail_stays_and_never_sees_a_value_without_a_row() {
    let (plan, memory) = dictionary(&[Some(0), Some(2), Some(0)], &[Some("7"), Some("x"), Some("8")]);
    let root = BoundExpression::root(Arc::clone(plan.field()));
    let number = Cast::of(root.clone(), DataType::Int64).unwrap();
    let like = LikeOptions { negated: false, case_insensitive: false };
    let seven = Like::of(like, root, BoundExpression::literal(ScalarValue::from("7%"))).unwrap();
    let case = Case::of(None, [(seven, op('+', number.clone(), int(1)))], Some(number)).unwrap();
    let pushed = optimized(case, plan);
    assert_snapshot!(pushed.tree(), @r"
    eval(CASE WHEN $ LIKE '7%' THEN (CAST($ AS Int64) + 1) ELSE CAST($ AS Int64) END): Int64 × 3
      input = take: Utf8 × 3
        codes = segment_scan(row group 0, column 0): Int8 × 3
        values = segment_scan(row group 0, column 1): Utf8 × 3
    ");
    assert_eq!(ints(&memory.run(&pushed).unwrap()), [8, 8, 8].map(Some));
}

/// Few rows of many values: only what costs less than nothing goes to the values.
#[rstest]
#[case::cheap(|e| greater(Count::default().length(e), int(1)), false)]
#[case::free(|e| Count::default().length(e), true)]
fn counts_decide_with_the_facts(#[case] of: fn(BoundExpression) -> BoundExpression, #[case] pushed: bool) {
    let (plan, _) = dictionary(&[Some(0)], &[Some("a"), Some("b"), Some("c")]);
    let expression = of(BoundExpression::root(Arc::clone(plan.field())));
    let after = optimized(expression, plan);
    assert_eq!(after.as_opt::<Take>().is_some(), pushed, "{after:?}");
}

#[test]
fn parts_are_grouped_and_shared() {
    let (plan, memory) = dictionary(&CODES, &[Some("a"), Some("bb"), Some("ccc")]);
    let count = Count::default();
    let length = count.length(BoundExpression::root(Arc::clone(plan.field())));
    let pushed = optimized(op('+', op('/', int(6), length.clone()), length), plan);
    assert_snapshot!(pushed.tree(), @r"
    eval(((6 / $) + $)): Int64? × 7
      input = take: Int64? × 7
        codes = segment_scan(row group 0, column 0): Int8? × 7
        values = eval(byte_length($)): Int64 × 3
          input = segment_scan(row group 0, column 1): Utf8 × 3
    ");
    let expect = [Some(7), Some(5), None, Some(7), Some(5), None, Some(5)];
    assert_eq!(ints(&memory.run(&pushed).unwrap()), expect);
    assert_eq!(count.rows(), 3);
}

#[test]
fn volatile_parts_see_rows() {
    let (plan, _) = dictionary(&CODES, &[Some("a"), Some("bb"), Some("ccc")]);
    let length = Count::default().length(BoundExpression::root(Arc::clone(plan.field())));
    assert_snapshot!(optimized(op('?', length, int(1)), plan).tree(), @r"
    eval(($ ? 1)): Int64? × 7
      input = take: Int64? × 7
        codes = segment_scan(row group 0, column 0): Int8? × 7
        values = eval(byte_length($)): Int64 × 3
          input = segment_scan(row group 0, column 1): Utf8 × 3
    ");
}
