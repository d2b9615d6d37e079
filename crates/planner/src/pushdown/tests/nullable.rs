// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pushdown through structs that may be NULL.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::Int64Type;

use super::*;
use crate::plan::memory::Memory;
use crate::plan::operators::PackData;

/// Columns in memory, each with its segment.
#[derive(Default)]
struct Columns(Memory);

impl Columns {
    fn add(&mut self, array: ArrayRef) -> PlanRef {
        let segment = SegmentId::new(0, FragmentCol(self.0.segments.len()));
        let field = Field::new("file", array.data_type().clone(), array.null_count() > 0);
        let rows = array.len() as u64;
        self.0.segments.insert(segment, array);
        SegmentScanPlan::new(segment, Arc::new(field), rows).into()
    }

    fn ints(&mut self, values: impl IntoIterator<Item = Option<i64>>) -> PlanRef {
        self.add(Arc::new(values.into_iter().collect::<Int64Array>()))
    }

    fn valid(&mut self, values: &[bool]) -> PlanRef {
        self.add(Arc::new(BooleanArray::from(values.to_vec())))
    }

    fn run(&self, plan: &PlanRef) -> Result<ArrayRef> {
        self.0.run(plan)
    }
}

/// A struct of these children, NULL where the last isn't TRUE.
fn nullable(names: &[&str], children: Vec<PlanRef>, masked: bool) -> PlanRef {
    let field = |(name, child): (&&str, &PlanRef)| child.field().as_ref().clone().with_name(*name);
    let fields: Fields = names.iter().zip(&children).map(field).collect();
    let (field, rows) = (Field::new("s", DataType::Struct(fields), true), children[0].rows());
    PackPlan::of(Arc::new(field), rows, PackData { masked }, children.into()).unwrap().into()
}

fn root(plan: &PlanRef) -> BoundExpression {
    BoundExpression::root(Arc::clone(plan.field()))
}

fn item(plan: &PlanRef, field: usize) -> BoundExpression {
    GetItem::of(root(plan), field).unwrap()
}

fn is_null(of: BoundExpression, negated: bool) -> BoundExpression {
    IsNull::of(of, negated).unwrap()
}

/// Columns a and b, and where the struct of them isn't NULL.
fn two() -> (PlanRef, Columns) {
    let mut columns = Columns::default();
    let a = columns.ints([Some(7), Some(-7), None, Some(0), Some(2)]);
    let b = columns.ints([Some(1), Some(2), Some(3), Some(4), Some(5)]);
    let valid = columns.valid(&[false, true, true, false, true]);
    (nullable(&["a", "b"], vec![a, b, valid], false), columns)
}

/// What an expression is for rows of `two`, evaluated over the structs themselves.
fn agrees(expression: &BoundExpression, plan: &PlanRef, columns: &Columns) -> PlanRef {
    let naive = ExpressionScanPlan::try_new(expression.clone(), plan.clone()).unwrap();
    let pushed = optimized(expression.clone(), plan.clone());
    let (naive, value) = (columns.run(naive.as_plan()).unwrap(), columns.run(&pushed).unwrap());
    assert_eq!(&naive, &value, "{pushed:?}");
    pushed
}

#[test]
fn struct_with_validity() {
    let (plan, columns) = two();
    let (valid, a) = (is_null(root(&plan), true), item(&plan, 0));
    let positive = greater(a.clone(), int(0));
    let expression = And::of([valid.clone(), positive.clone()]).unwrap();
    assert_snapshot!(phases(&expression, &plan, &[&valid, &a, &positive, &expression]), @r"
    annotations:
      $ IS NOT NULL -> {valid}
      $.a -> {a, valid}
      $.a > 0 -> {a, valid}
      ($ IS NOT NULL AND $.a > 0) -> {a, valid}
    groups before lowering:
      @valid = $ IS NOT NULL
      @$ = $
    groups after lowering:
      @valid = $
      @$ = $
    combine = ($.@valid AND $.@$.a > 0)
    ");
    assert_snapshot!(agrees(&expression, &plan, &columns).tree(), @r"
    eval(($.@valid AND mask($.@a, $.@valid))): Boolean? × 5
      input = pack: struct of 2 × 5
        @a = eval($ > 0): Boolean? × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
    assert_snapshot!(optimized(is_null(root(&plan), false), plan).tree(), @r"
    eval(NOT $): Boolean × 5
      input = segment_scan(row group 0, column 2): Boolean × 5
    ");
}

/// A value hidden by the validity is NULL, and not what lies there.
#[test]
fn hidden_values_stay_hidden() {
    let (plan, columns) = two();
    let pushed = agrees(&item(&plan, 0), &plan, &columns);
    assert_snapshot!(pushed.tree(), @r"
    eval(mask($.@a, $.@valid)): Int64? × 5
      input = pack: struct of 2 × 5
        @a = segment_scan(row group 0, column 0): Int64? × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
    let values = columns.run(&pushed).unwrap();
    let expect = [None, Some(-7), None, None, Some(2)];
    assert_eq!(values.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expect);
}

#[test]
fn strict_functions_go_under_the_mask() {
    let (plan, columns) = two();
    let sum = op('+', item(&plan, 0), int(1));
    assert_snapshot!(agrees(&sum, &plan, &columns).tree(), @r"
    eval(mask($.@a, $.@valid)): Int64? × 5
      input = pack: struct of 2 × 5
        @a = eval(($ + 1)): Int64? × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
    let both = op('*', sum, op('+', item(&plan, 1), int(2)));
    assert_snapshot!(agrees(&both, &plan, &columns).tree(), @r"
    eval(mask(($.@a * $.@b), $.@valid)): Int64? × 5
      input = pack: struct of 3 × 5
        @a = eval(($ + 1)): Int64? × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @b = eval(($ + 2)): Int64 × 5
          input = segment_scan(row group 0, column 1): Int64 × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
}

/// 10 / a where a is 0, but hidden: no error, and no mask below the division.
#[test]
fn what_can_fail_stays_under_the_mask() {
    let (plan, columns) = two();
    let quotient = op('/', int(10), item(&plan, 0));
    assert_snapshot!(agrees(&quotient, &plan, &columns).tree(), @r"
    eval(mask((10 / $.@a), $.@valid)): Int64? × 5
      input = pack: struct of 2 × 5
        @a = segment_scan(row group 0, column 0): Int64? × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
    let sum = op('+', quotient, op('*', item(&plan, 1), int(2)));
    assert_snapshot!(agrees(&sum, &plan, &columns).tree(), @r"
    eval(mask(((10 / $.@a) + $.@b), $.@valid)): Int64? × 5
      input = pack: struct of 3 × 5
        @a = segment_scan(row group 0, column 0): Int64? × 5
        @b = eval(($ * 2)): Int64 × 5
          input = segment_scan(row group 0, column 1): Int64 × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
    let mut columns = Columns::default();
    let (a, valid) = (columns.ints([Some(0), Some(1)]), columns.valid(&[true, false]));
    let plan = nullable(&["a"], vec![a, valid], false);
    assert!(columns.run(&optimized(op('/', int(10), item(&plan, 0)), plan)).is_err());
}

/// All of a ∈ {1, NULL} × valid ∈ {true, false}.
#[rstest]
#[case::not_null(true, "($.@valid AND $.@a)", [true, false, false, false])]
#[case::null(false, "($.@valid OR $.@a)", [false, true, true, true])]
fn tests_of_fields_for_null(#[case] negated: bool, #[case] printed: &str, #[case] expect: [bool; 4]) {
    let mut columns = Columns::default();
    let a = columns.ints([Some(1), None, Some(1), None]);
    let valid = columns.valid(&[true, true, false, false]);
    let plan = nullable(&["a"], vec![a, valid], false);
    let pushed = agrees(&is_null(item(&plan, 0), negated), &plan, &columns);
    assert_eq!(pushed.to_string(), format!("eval({printed})"));
    assert_eq!(
        pushed.child(0).unwrap().child(0).unwrap().to_string(),
        match negated {
            true => "eval($ IS NOT NULL)",
            false => "eval($ IS NULL)",
        }
    );
    let values = columns.run(&pushed).unwrap();
    assert_eq!(values.as_boolean().values().iter().collect::<Vec<_>>(), expect);
}

#[test]
fn a_field_that_is_never_null_is_null_with_its_struct_only() {
    let mut columns = Columns::default();
    let (b, valid) = (columns.ints([Some(1), Some(2)]), columns.valid(&[true, false]));
    let plan = nullable(&["b"], vec![b, valid], false);
    assert_snapshot!(agrees(&is_null(item(&plan, 0), true), &plan, &columns).tree(), @"segment_scan(row group 0, column 1): Boolean × 2");
    assert_snapshot!(agrees(&is_null(item(&plan, 0), false), &plan, &columns).tree(), @r"
    eval(NOT $): Boolean × 2
      input = segment_scan(row group 0, column 1): Boolean × 2
    ");
}

#[test]
fn mixed_expressions_are_factored_where_they_can_be() {
    let (plan, columns) = two();
    let null = is_null(op('+', item(&plan, 0), int(1)), false);
    let expression = And::of([null, greater(item(&plan, 1), int(2))]).unwrap();
    assert_snapshot!(agrees(&expression, &plan, &columns).tree(), @r"
    eval((($.@valid.0 OR $.@a) AND mask($.@b, $.@valid.1))): Boolean? × 5
      input = pack: struct of 3 × 5
        @a = eval(($ + 1) IS NULL): Boolean × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @b = eval($ > 2): Boolean × 5
          input = segment_scan(row group 0, column 1): Int64 × 5
        @valid = eval({0: NOT $, 1: $}): struct of 2 × 5
          input = segment_scan(row group 0, column 2): Boolean × 5
    ");
    // A CASE sees the field, NULL where it is hidden.
    let small = greater(int(3), item(&plan, 1));
    let case = Case::of(None, [(small, op('+', item(&plan, 0), int(1)))], Some(int(0))).unwrap();
    assert_snapshot!(agrees(&case, &plan, &columns).tree(), @r"
    eval(CASE WHEN mask($.@b, $.@valid) THEN mask($.@a, $.@valid) ELSE 0 END): Int64? × 5
      input = pack: struct of 3 × 5
        @a = eval(($ + 1)): Int64? × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @b = eval(3 > $): Boolean × 5
          input = segment_scan(row group 0, column 1): Int64 × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
}

#[test]
fn a_read_of_the_whole_struct_beside_a_field_reads_its_parts() {
    let (plan, columns) = two();
    let whole = Compare::of(CompareOp::IsDistinctFrom, root(&plan), root(&plan)).unwrap();
    let expression = Or::of([whole.clone(), greater(item(&plan, 1), int(2))]).unwrap();
    agrees(&expression, &plan, &columns);
    let alone = agrees(&whole, &plan, &columns);
    assert!(alone.child(0).unwrap().ptr_eq(&plan));
}

#[test]
fn volatile_parts_are_asked_where_they_were() {
    let (plan, _) = two();
    let random = op('?', op('+', item(&plan, 0), int(1)), int(0));
    assert_snapshot!(optimized(op('+', random, int(2)), plan).tree(), @r"
    eval(((mask($.@a, $.@valid) ? 0) + 2)): Int64? × 5
      input = pack: struct of 2 × 5
        @a = eval(($ + 1)): Int64? × 5
          input = segment_scan(row group 0, column 0): Int64? × 5
        @valid = segment_scan(row group 0, column 2): Boolean × 5
    ");
}

/// Children of Parquet columns are NULL with their structs, so that each goes down by itself.
#[test]
fn masked_children_go_down_alone() {
    let mut columns = Columns::default();
    let a = columns.ints([None, Some(-7), None, Some(3)]);
    let valid = columns.valid(&[false, true, true, true]);
    let plan = nullable(&["a"], vec![a, valid], true);
    assert_snapshot!(agrees(&op('/', item(&plan, 0), int(2)), &plan, &columns).tree(), @r"
    eval(($ / 2)): Int64? × 4
      input = segment_scan(row group 0, column 0): Int64? × 4
    ");
    let expression = Or::of([is_null(root(&plan), false), is_null(item(&plan, 0), true)]).unwrap();
    assert_snapshot!(agrees(&expression, &plan, &columns).tree(), @r"
    eval(($.@valid OR $.@a)): Boolean × 4
      input = pack: struct of 2 × 4
        @a = eval($ IS NOT NULL): Boolean × 4
          input = segment_scan(row group 0, column 0): Int64? × 4
        @valid = eval(NOT $): Boolean × 4
          input = segment_scan(row group 0, column 1): Boolean × 4
    ");
}

/// Three structs in one another, over all combinations of where they are NULL.
#[rstest]
#[case::raw(false)]
#[case::masked(true)]
fn validities_combine(#[case] masked: bool) {
    let bit = |at: i64| move |row: i64| row >> at & 1 == 1;
    // Where all structs from one level up to the outermost aren't NULL.
    let seen = |level: i64| move |row: i64| (level..3).all(|at| bit(at)(row));
    let mut columns = Columns::default();
    let values = (0..16).map(|row| (bit(3)(row) && (!masked || seen(0)(row))).then_some(row));
    let mut plan = columns.ints(values.collect::<Vec<_>>());
    for level in 0..3 {
        let valid: Vec<_> = (0..16).map(|row| bit(level)(row) && (!masked || seen(level)(row))).collect();
        let valid = columns.valid(&valid);
        plan = nullable(&["x"], vec![plan, valid], masked);
    }
    let path = |depth: usize| (0..depth).fold(root(&plan), |of, _| GetItem::of(of, 0).unwrap());
    let x = path(3);
    let pushed = agrees(&op('+', x.clone(), int(1)), &plan, &columns);
    if masked {
        assert_snapshot!(pushed.tree(), @r"
        eval(($ + 1)): Int64? × 16
          input = segment_scan(row group 0, column 0): Int64? × 16
        ");
    } else {
        assert_snapshot!(pushed.tree(), @r"
        eval(mask($.@x, $.@valid)): Int64? × 16
          input = pack: struct of 2 × 16
            @x = eval(mask($.@x, $.@valid)): Int64? × 16
              input = pack: struct of 2 × 16
                @x = eval(mask($.@x, $.@valid)): Int64? × 16
                  input = pack: struct of 2 × 16
                    @x = eval(($ + 1)): Int64? × 16
                      input = segment_scan(row group 0, column 0): Int64? × 16
                    @valid = segment_scan(row group 0, column 1): Boolean × 16
                @valid = segment_scan(row group 0, column 2): Boolean × 16
            @valid = segment_scan(row group 0, column 3): Boolean × 16
        ");
    }
    let sums = columns.run(&pushed).unwrap();
    let expect = (0..16).map(|row| (seen(0)(row) && bit(3)(row)).then_some(row + 1));
    assert_eq!(sums.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expect.collect::<Vec<_>>());
    for depth in 0..4 {
        for negated in [false, true] {
            let nulls = columns.run(&agrees(&is_null(path(depth), negated), &plan, &columns)).unwrap();
            // The outermost struct is level 2, and itself at depth 0.
            let there = |row: i64| match depth {
                3 => seen(0)(row) && bit(3)(row),
                _ => seen(2 - depth as i64)(row),
            };
            let there: Vec<_> = (0..16).map(there).collect();
            let expect: Vec<_> = there.iter().map(|there| *there == negated).collect();
            assert_eq!(nulls.as_boolean().values().iter().collect::<Vec<_>>(), expect, "{depth} {negated}");
        }
    }
}
