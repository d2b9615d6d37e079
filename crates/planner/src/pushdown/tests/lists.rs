// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pushdown through [`ListPack`]: lengths and NULLs read no elements.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, StringArray, StructArray,
};
use arrow::datatypes::UInt64Type;

use super::*;
use crate::expr::functions::ListLength;
use crate::plan::ListPackPlan;
use crate::plan::memory::Memory;

const ELEMENTS: usize = 0;

/// Lists [a, b], NULL (over hidden elements), [], [c]; their elements begin at an offset.
fn lists(of: fn(FieldRef) -> DataType) -> (PlanRef, Memory) {
    let letters = StringArray::from(vec!["x", "a", "b", "h", "h", "c"]);
    let keys = Field::new("key", DataType::Utf8, false);
    let entries: ArrayRef = match of(Arc::new(keys.clone())) {
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type().clone() else { panic!() };
            Arc::new(StructArray::new(fields, vec![Arc::new(letters.clone()), Arc::new(letters)], None))
        }
        _ => Arc::new(letters),
    };
    let offsets = [1, 3, 5, 5, 6];
    let data_type = of(Arc::new(Field::new("item", DataType::Utf8, false)));
    let offsets: ArrayRef = match data_type {
        DataType::LargeList(_) => Arc::new(Int64Array::from(offsets.map(i64::from).to_vec())),
        _ => Arc::new(Int32Array::from(offsets.to_vec())),
    };
    let valid: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true, true]));
    let mut memory = Memory::default();
    let read = [entries, offsets, valid].into_iter().enumerate().map(|(column, array)| {
        let segment = SegmentId::new(0, FragmentCol(column));
        let field = Field::new("v", array.data_type().clone(), false);
        let plan = SegmentScanPlan::new(segment, Arc::new(field), array.len() as u64).into();
        memory.segments.insert(segment, array);
        plan
    });
    let children: Vec<PlanRef> = read.collect();
    let field = Arc::new(Field::new("l", data_type, true));
    (ListPackPlan::try_new(field, 4, children.into()).unwrap().into(), memory)
}

fn map_of(keys: FieldRef) -> DataType {
    let fields = Fields::from(vec![
        Arc::unwrap_or_clone(keys).with_name("key"),
        Field::new("value", DataType::Utf8, false),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields), false)), false)
}

#[rstest]
#[case::list(DataType::List)]
#[case::large(DataType::LargeList)]
#[case::map(map_of)]
fn lengths_and_nulls_read_no_elements(#[case] of: fn(FieldRef) -> DataType) {
    let (plan, memory) = lists(of);
    let root = BoundExpression::root(Arc::clone(plan.field()));
    let length = ListLength::of(root.clone()).unwrap();
    let naive = memory.run(ExpressionScanPlan::try_new(length.clone(), plan.clone()).unwrap().as_plan());
    let expect = [Some(2), None, Some(0), Some(1)];
    for (value, reads_elements) in [(naive, true), (memory.run(&optimized(length, plan.clone())), false)] {
        assert_eq!(value.unwrap().as_primitive::<UInt64Type>().iter().collect::<Vec<_>>(), expect);
        let read = memory.read.take();
        assert_eq!(read.iter().any(|segment| segment.column.0 == ELEMENTS), reads_elements);
    }
    for negated in [false, true] {
        let null = optimized(IsNull::of(root.clone(), negated).unwrap(), plan.clone());
        let null = memory.run(&null).unwrap();
        let expect = expect.map(|length| Some(length.is_some() == negated));
        assert_eq!(null.as_boolean().iter().collect::<Vec<_>>(), expect);
        assert_eq!(memory.read.take().len(), 1);
    }
}

#[test]
fn lists_of_nothing_have_the_same_lengths() {
    let (plan, _) = lists(DataType::List);
    let root = BoundExpression::root(Arc::clone(plan.field()));
    let length = Cast::of(ListLength::of(root.clone()).unwrap(), DataType::Int64).unwrap();
    assert_snapshot!(phases(&length, &plan, &[&length.children()[0], &length]), @r"
    annotations:
      list_length($) -> {offsets, valid}
      CAST(list_length($) AS Int64) -> {offsets, valid}
    groups before lowering:
      @$ = $
    groups after lowering:
      @$ = $
    combine = CAST(list_length($) AS Int64)
    ");
    let both = And::of([IsNull::of(root, true).unwrap(), greater(length, int(1))]).unwrap();
    assert_snapshot!(optimized(both, plan).tree(), @r"
    eval(($.@valid AND CAST(list_length($.@$) AS Int64) > 1)): Boolean? × 4
      input = pack: struct of 2 × 4
        @valid = segment_scan(row group 0, column 2): Boolean × 4
        @$ = list_pack: List(non-null Struct())? × 4
          elements = pack: struct of 0 × 6
          offsets = segment_scan(row group 0, column 1): Int32 × 5
          valid = segment_scan(row group 0, column 2): Boolean × 4
    ");
}

#[test]
fn what_needs_elements_gets_the_lists() {
    let (plan, memory) = lists(DataType::LargeList);
    let root = BoundExpression::root(Arc::clone(plan.field()));
    let distinct = Compare::of(CompareOp::IsDistinctFrom, root.clone(), root.clone()).unwrap();
    let short = Compare::of(
        CompareOp::Lt,
        ListLength::of(root).unwrap(),
        BoundExpression::literal(ScalarValue::UInt64(Some(9))),
    );
    let pushed = optimized(Or::of([distinct, short.unwrap()]).unwrap(), plan.clone());
    assert!(pushed.child(0).unwrap().ptr_eq(&plan), "{pushed:?}");
    let value = memory.run(&pushed).unwrap();
    assert_eq!(value.as_boolean().iter().collect::<Vec<_>>(), [Some(true), None, Some(true), Some(true)]);
}
