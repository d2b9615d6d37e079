// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whole plans under the rules for plans: filters, rows beside values, and how little is made.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int8Array, Int64Array, StringArray, UInt64Array};
use arrow::datatypes::UInt64Type;

use super::counted::Count;
use super::*;
use crate::optimizer::{PlanOptimizer, PlanRewriteRule};
use crate::plan::memory::Memory;
use crate::plan::operators::{
    Concat, ConcatOfConcat, Eval, Filter, FilterByConstant, FilterOfConcat, PackData, PushDown,
};
use crate::plan::{FilterPlan, RowIdxPlan, TakePlan};

/// Row numbers 100 …, a dictionary column, and a column in two pieces one of which is in pieces itself.
fn table() -> (PlanRef, Memory) {
    let mut memory = Memory::default();
    let mut scan = |array: ArrayRef| -> PlanRef {
        let segment = SegmentId::new(0, FragmentCol(memory.segments.len()));
        let field = Field::new("file", array.data_type().clone(), array.null_count() > 0);
        let rows = array.len() as u64;
        memory.segments.insert(segment, array);
        SegmentScanPlan::new(segment, Arc::new(field), rows).into()
    };
    let codes = scan(Arc::new(Int8Array::from(vec![
        Some(0),
        None,
        Some(1),
        Some(0),
        Some(2),
        Some(1),
        None,
        Some(0),
    ])));
    let values = scan(Arc::new(StringArray::from(vec!["a", "bb", "ccc"])));
    let mut piece = |values: Vec<Option<i64>>| scan(Arc::new(Int64Array::from(values)));
    let pieces = [
        piece(vec![Some(1), None]),
        piece(vec![None]),
        piece(vec![]),
        piece(vec![Some(0), None, Some(5), Some(6), None]),
    ];
    let valid = scan(Arc::new(BooleanArray::from(vec![true, false, true, true, true, false, true, true])));
    let int = Arc::new(Field::new("n", DataType::Int64, true));
    let concat = |pieces: &[PlanRef]| -> PlanRef {
        ConcatPlan::try_new(Arc::clone(&int), pieces.to_vec().into()).unwrap().into()
    };
    let number = concat(&[concat(&pieces[..2]), concat(&[concat(&pieces[2..3]), pieces[3].clone()])]);
    let text: PlanRef = TakePlan::try_new(codes, values).unwrap().into();
    let inner = Field::new("s", DataType::Struct(vec![Arc::clone(&int)].into()), true);
    let pair: PlanRef =
        PackPlan::of(Arc::new(inner), 8, PackData::default(), vec![number.clone(), valid].into())
            .unwrap()
            .into();
    let columns = [RowIdxPlan::try_new(100, 8).unwrap().into(), text, number, pair];
    let fields = ["row", "text", "n", "s"].into_iter().zip(&columns);
    let fields: Fields = fields.map(|(name, c)| c.field().as_ref().clone().with_name(name)).collect();
    (PackPlan::try_new(fields, 8, columns.to_vec().into()).unwrap().into(), memory)
}

fn column(plan: &PlanRef, field: usize) -> BoundExpression {
    GetItem::of(BoundExpression::root(Arc::clone(plan.field())), field).unwrap()
}

/// The row numbers and the values of expressions, where a predicate is TRUE.
fn query(table: &PlanRef, predicate: &BoundExpression, values: Vec<BoundExpression>) -> PlanRef {
    let filtered: PlanRef = FilterPlan::try_new(predicate, table.clone()).unwrap().into();
    let values: Vec<_> = std::iter::once(column(table, 0)).chain(values).collect();
    let named = |(i, e): (usize, &BoundExpression)| e.field().as_ref().clone().with_name(format!("c{i}"));
    let fields: Fields = values.iter().enumerate().map(named).collect();
    ExpressionScanPlan::try_new(PackFn::of(fields, values).unwrap(), filtered).unwrap().into()
}

#[test]
fn a_query_before_and_after() {
    let (table, memory) = table();
    let (count, text) = (Count::default(), column(&table, 1));
    let predicate =
        And::of([greater(count.length(text.clone()), int(1)), IsNull::of(column(&table, 2), false).unwrap()]);
    let plan = query(&table, &predicate.unwrap(), vec![text, op('+', column(&table, 2), int(1))]);
    assert_snapshot!(plan.tree(), @r"
    eval({c0: $.row, c1: $.text, c2: ($.n + 1)}): struct of 3 × some of 8
      input = filter: struct of 4 × some of 8
        input = pack: struct of 4 × 8
          row = row_idx(from 100): UInt64 × 8
          text = take: Utf8? × 8
            codes = segment_scan(row group 0, column 0): Int8? × 8
            values = segment_scan(row group 0, column 1): Utf8 × 3
          n = concat: Int64? × 8
            0 = concat: Int64? × 3
              0 = segment_scan(row group 0, column 2): Int64? × 2
              1 = segment_scan(row group 0, column 3): Int64? × 1
            1 = concat: Int64? × 5
              0 = concat: Int64? × 0
                0 = segment_scan(row group 0, column 4): Int64 × 0
              1 = segment_scan(row group 0, column 5): Int64? × 5
          s = pack: struct of 1? × 8
            n = concat: Int64? × 8
              0 = concat: Int64? × 3
                0 = segment_scan(row group 0, column 2): Int64? × 2
                1 = segment_scan(row group 0, column 3): Int64? × 1
              1 = concat: Int64? × 5
                0 = concat: Int64? × 0
                  0 = segment_scan(row group 0, column 4): Int64 × 0
                1 = segment_scan(row group 0, column 5): Int64? × 5
            valid = segment_scan(row group 0, column 6): Boolean × 8
        predicate = eval((byte_length($.text) > 1 AND $.n IS NULL)): Boolean? × 8
          input = pack: struct of 4 × 8
            row = row_idx(from 100): UInt64 × 8
            text = take: Utf8? × 8
              codes = segment_scan(row group 0, column 0): Int8? × 8
              values = segment_scan(row group 0, column 1): Utf8 × 3
            n = concat: Int64? × 8
              0 = concat: Int64? × 3
                0 = segment_scan(row group 0, column 2): Int64? × 2
                1 = segment_scan(row group 0, column 3): Int64? × 1
              1 = concat: Int64? × 5
                0 = concat: Int64? × 0
                  0 = segment_scan(row group 0, column 4): Int64 × 0
                1 = segment_scan(row group 0, column 5): Int64? × 5
            s = pack: struct of 1? × 8
              n = concat: Int64? × 8
                0 = concat: Int64? × 3
                  0 = segment_scan(row group 0, column 2): Int64? × 2
                  1 = segment_scan(row group 0, column 3): Int64? × 1
                1 = concat: Int64? × 5
                  0 = concat: Int64? × 0
                    0 = segment_scan(row group 0, column 4): Int64 × 0
                  1 = segment_scan(row group 0, column 5): Int64? × 5
              valid = segment_scan(row group 0, column 6): Boolean × 8
    ");
    let after = PlanOptimizer::default().optimize(&plan).unwrap();
    assert_snapshot!(after.tree(), @r"
    eval({c0: $.0, c1: $.1, c2: ($.2 + 1)}): struct of 3 × some of 8
      input = filter: struct of 3 × some of 8
        input = eval({0: $.@row, 1: $.@text, 2: $.@n}): struct of 3 × 8
          input = pack: struct of 3 × 8
            @row = row_idx(from 100): UInt64 × 8
            @text = take: Utf8? × 8
              codes = segment_scan(row group 0, column 0): Int8? × 8
              values = segment_scan(row group 0, column 1): Utf8 × 3
            @n = concat: Int64? × 8
              0 = segment_scan(row group 0, column 2): Int64? × 2
              1 = segment_scan(row group 0, column 3): Int64? × 1
              2 = segment_scan(row group 0, column 4): Int64 × 0
              3 = segment_scan(row group 0, column 5): Int64? × 5
        predicate = eval(($.@text AND $.@n)): Boolean? × 8
          input = pack: struct of 2 × 8
            @text = take: Boolean? × 8
              codes = segment_scan(row group 0, column 0): Int8? × 8
              values = eval(byte_length($) > 1): Boolean × 3
                input = segment_scan(row group 0, column 1): Utf8 × 3
            @n = concat: Boolean × 8
              0 … 3 not made yet
    ");
    let (before, after) = (memory.run(&plan).unwrap(), memory.run(&after).unwrap());
    assert_eq!(&before, &after);
    assert_eq!(after.as_struct().column(0).as_primitive::<UInt64Type>().values(), &[102, 105 - 1]);
}

fn alone<V: crate::plan::PlanVTable>(rule: impl PlanRewriteRule<V>) -> PlanOptimizer {
    PlanOptimizer::empty().with_rule::<V>(rule)
}

/// The rows beside the values are the same under each rule, and under all.
#[rstest]
#[case::none(PlanOptimizer::empty(), false)]
#[case::concat_of_concat(alone::<Concat>(ConcatOfConcat), true)]
#[case::push_down(alone::<Eval>(PushDown::default()), true)]
#[case::filter_of_concat(alone::<Filter>(FilterOfConcat), false)]
#[case::filter_by_constant(alone::<Filter>(FilterByConstant), true)]
#[case::all(PlanOptimizer::default(), true)]
fn rows_beside_values_stay(#[case] optimizer: PlanOptimizer, #[case] fires: bool) {
    let (table, memory) = table();
    let (text, n) = (column(&table, 1), column(&table, 2));
    let x = GetItem::of(column(&table, 3), 0).unwrap();
    let null = |of: &BoundExpression, negated| IsNull::of(of.clone(), negated).unwrap();
    let values = vec![
        op('+', n.clone(), x.clone()),
        Count::of_null(-1).length(text.clone()),
        op('*', x.clone(), int(3)),
        null(&column(&table, 3), false),
    ];
    let mut fired = false;
    for predicate in [
        greater(x.clone(), int(0)),
        greater(Count::default().length(text.clone()), int(1)),
        Or::of([null(&text, false), null(&x, true)]).unwrap(),
        BoundExpression::literal(ScalarValue::from(true)),
    ] {
        let plan = query(&table, &predicate, values.clone());
        let after = optimizer.optimize(&plan).unwrap();
        assert_eq!(&memory.run(&plan).unwrap(), &memory.run(&after).unwrap(), "{after:?}");
        fired |= !after.ptr_eq(&plan);
        // A fixpoint: nothing fires again.
        assert!(optimizer.optimize(&after).unwrap().ptr_eq(&after), "{after:?}");
    }
    assert_eq!(fired, fires);
}

#[test]
fn filters_go_into_the_pieces_of_a_concat() {
    let (column, made) = lazy_column(3);
    let root = BoundExpression::root(Arc::clone(column.field()));
    let plan: PlanRef = FilterPlan::try_new(&greater(root, int(5)), column).unwrap().into();
    let after = PlanOptimizer::default().optimize(&plan).unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 0);
    after.child(1).unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 1);
    assert_snapshot!(after.tree(), @r"
    concat: Int64 × some of 30
      0 not made yet
      1 = filter: Int64 × some of 10
        input … predicate not made yet
      2 not made yet
    ");
}

#[test]
fn a_filter_that_keeps_all_is_none() {
    let input = columns(&["a"]);
    let all = |value: Option<bool>| {
        let predicate = BoundExpression::literal(ScalarValue::Boolean(value));
        let plan = FilterPlan::try_new(&predicate, input.clone()).unwrap().into();
        PlanOptimizer::default().optimize(&plan).unwrap()
    };
    assert!(all(Some(true)).ptr_eq(&input));
    assert!(all(None).as_opt::<Filter>().is_some());
    assert!(all(Some(false)).as_opt::<Filter>().is_some());
}

#[test]
fn a_constant_over_a_filter_reads_the_predicate_only() {
    let table = columns(&["a", "b"]);
    let [a, _] = reads(&table).try_into().unwrap();
    let filter = FilterPlan::try_new(&greater(a, int(1)), table).unwrap();
    let plan = ExpressionScanPlan::try_new(int(7), filter.into()).unwrap().into();
    assert_snapshot!(PlanOptimizer::default().optimize(&plan).unwrap().tree(), @r"
    eval(7): Int64 × some of 10
      input = filter: struct of 0 × some of 10
        input = pack: struct of 0 × 10
        predicate = eval($ > 1): Boolean × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
    ");
}

#[test]
fn nested_concats_flatten_and_lazy_ones_stay() {
    let (lazy, made) = lazy_column(10_000);
    let piece = |c| segment(0, c, 10);
    let concat = |children: Vec<PlanRef>| -> PlanRef {
        ConcatPlan::try_new(field("a"), children.into()).unwrap().into()
    };
    let nest = concat(vec![piece(0), concat(vec![piece(1), concat(vec![lazy, piece(2)]), concat(vec![])])]);
    let flat = alone::<Concat>(ConcatOfConcat).optimize(&nest).unwrap();
    assert_eq!(flat.rows(), 100_030);
    assert_snapshot!(flat.tree(), @r"
    concat: Int64 × 100030
      0 = segment_scan(row group 0, column 0): Int64 × 10
      1 = segment_scan(row group 0, column 1): Int64 × 10
      2 … 10001 not made yet
      10002 = segment_scan(row group 0, column 2): Int64 × 10
    ");
    assert_eq!(flat.as_opt::<Concat>().unwrap().child_rows(10_002), Some(100_020..100_030));
    flat.child(2).unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

/// A child of a concat that isn't made may be one itself; that is seen when it is made.
#[test]
fn what_is_not_made_is_not_looked_into() {
    let (inner, made) = lazy_column(3);
    let children = Children::lazy(vec![inner.shape().clone()], move |_| Ok(inner.clone()));
    let plan: PlanRef = ConcatPlan::try_new(field("a"), children).unwrap().into();
    let optimizer = alone::<Concat>(ConcatOfConcat);
    assert!(optimizer.optimize(&plan).unwrap().ptr_eq(&plan));
    plan.child(0).unwrap();
    assert_eq!(optimizer.optimize(&plan).unwrap().children().len(), 3);
    assert_eq!(made.load(Ordering::SeqCst), 0);
}

/// 200 columns of 10 000 chunks: optimizing makes none of them, reading one makes one.
#[test]
fn optimizing_makes_nothing() {
    let columns: Vec<_> = (0..200).map(|_| lazy_column(10_000)).collect();
    let plans: Vec<PlanRef> = columns.iter().map(|(plan, _)| plan.clone()).collect();
    let fields: Fields = (0..200).map(|c| field(&format!("c{c}"))).collect();
    let table: PlanRef = PackPlan::try_new(fields, 100_000, plans.into()).unwrap().into();
    let sums: Vec<_> = (0..200).map(|c| op('+', column(&table, c), int(1))).collect();
    let plan = query(&table, &greater(column(&table, 7), int(3)), sums);
    let after = PlanOptimizer::default().optimize(&plan).unwrap();
    let made = || columns.iter().map(|(_, made)| made.load(Ordering::SeqCst)).collect::<Vec<_>>();
    assert_eq!(made(), vec![0; 200]);
    let predicate = after.child(0).unwrap().child(Filter::PREDICATE).unwrap();
    predicate.child(1234).unwrap();
    assert_eq!(made().iter().sum::<usize>(), 1);
    assert_eq!(made()[7], 1);
}

/// The numbers of rows are those of the file, whatever is read of it and from where on.
#[test]
fn row_numbers_start_where_the_rows_do() {
    let pieces = vec![RowIdxPlan::try_new(5, 2).unwrap().into(), RowIdxPlan::try_new(70, 3).unwrap().into()];
    let row = Arc::new(Field::new("row", DataType::UInt64, false));
    let rows: PlanRef = ConcatPlan::try_new(Arc::clone(&row), pieces.into()).unwrap().into();
    let limit = BoundExpression::literal(ScalarValue::UInt64(Some(5)));
    let after = greater(BoundExpression::root(row), limit);
    let plan: PlanRef = FilterPlan::try_new(&after, rows).unwrap().into();
    for plan in [PlanOptimizer::default().optimize(&plan).unwrap(), plan] {
        let expect: ArrayRef = Arc::new(UInt64Array::from(vec![6, 70, 71, 72]));
        assert_eq!(&Memory::default().run(&plan).unwrap(), &expect);
    }
}
