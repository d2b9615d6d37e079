// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pushdown, by the printed plans before and after, and kernels from outside.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::compute::kernels::numeric::{add_wrapping, div, mul_wrapping, sub_wrapping};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::{Result, ScalarValue, not_impl_err};
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_physical_expr_common::datum::apply;
use insta::assert_snapshot;
use rstest::rstest;

use super::annotate::annotate;
use super::partition::{Partition, Scope};
use super::*;
use crate::expr::functions::{
    And, Case, CaseShape, Cast, Compare, CompareOp, GetItem, IsNull, Not, Or, Pack as PackFn,
};
use crate::expr::{Args, BindError, BoundExpression, Errors, Facts, FnId, Nulls, Printer, ScalarFnVTable};
use crate::index::FragmentCol;
use crate::plan::operators::Pack;
use crate::plan::{
    Children, ConcatPlan, ExpressionScanPlan, PackPlan, PlanRef, SegmentId, SegmentScanPlan, Shape,
};

mod counted;
mod dictionary;
mod lists;
mod nullable;
mod open;
mod property;
mod whole;

/// Integer arithmetic and a volatile function, as another crate would add them.
struct Arithmetic;

impl ScalarFnVTable for Arithmetic {
    type Options = char;

    const ID: FnId = FnId::new("test.arithmetic");

    fn return_field(_: &char, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        let nullable = args.iter().any(|a| a.is_nullable());
        Ok(Arc::new(Field::new("arithmetic", DataType::Int64, nullable)))
    }

    fn facts(op: &char, _: &[FieldRef]) -> Facts {
        let mut facts = Facts::infallible(Nulls::Strict { null_only_from_null: true });
        facts.volatile = *op == '?';
        facts.errors = if *op == '/' { Errors::Possible } else { Errors::Never };
        facts
    }

    fn evaluate(op: &char, args: &mut dyn Args, _: usize) -> Result<ColumnarValue> {
        let kernel = match op {
            '+' => add_wrapping,
            '-' => sub_wrapping,
            '*' => mul_wrapping,
            '/' => div,
            _ => return not_impl_err!("planned only"),
        };
        apply(&args.value(0)?, &args.value(1)?, kernel)
    }

    fn fmt<'a>(op: &char, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("(")?;
        out.argument(&args[0])?;
        write!(out, " {op} ")?;
        out.argument(&args[1])?;
        out.write_str(")")
    }
}

fn op(op: char, left: BoundExpression, right: BoundExpression) -> BoundExpression {
    BoundExpression::call::<Arithmetic>(op, vec![left, right]).unwrap()
}

fn int(value: i64) -> BoundExpression {
    BoundExpression::literal(ScalarValue::Int64(Some(value)))
}

fn greater(left: BoundExpression, right: BoundExpression) -> BoundExpression {
    Compare::of(CompareOp::Gt, left, right).unwrap()
}

fn field(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Int64, false))
}

fn segment(row_group: usize, column: usize, rows: u64) -> PlanRef {
    let segment = SegmentId::new(row_group, FragmentCol(column));
    SegmentScanPlan::new(segment, field("file"), rows).into()
}

/// A struct of the columns a, b, … of ten rows each.
fn columns(names: &[&str]) -> PlanRef {
    let fields: Fields = names.iter().map(|n| field(n)).collect();
    let columns: Vec<_> = (0..names.len()).map(|c| segment(0, c, 10)).collect();
    PackPlan::try_new(fields, 10, columns.into()).unwrap().into()
}

/// The columns of `plan`, as expressions.
fn reads(plan: &PlanRef) -> Vec<BoundExpression> {
    let root = BoundExpression::root(Arc::clone(plan.field()));
    (0..plan.children().len()).map(|c| GetItem::of(root.clone(), c).unwrap()).collect()
}

fn optimized(expression: BoundExpression, plan: PlanRef) -> PlanRef {
    let before = ExpressionScanPlan::try_new(expression, plan).unwrap();
    let after = PushdownSession::default().optimize(&before).unwrap();
    assert_eq!(after.rows(), before.as_plan().rows());
    assert_eq!(after.field().data_type(), before.as_plan().field().data_type());
    after
}

/// The three phases over one plan, as seed A writes them.
fn phases(expression: &BoundExpression, plan: &PlanRef, shown: &[&BoundExpression]) -> String {
    let kernels = Kernels::default();
    let annotations = annotate(expression, plan, &kernels);
    let partition = Partition::new(expression, plan, &kernels).unwrap();
    let mut out = String::from("annotations:\n");
    for node in shown {
        let children: Vec<_> = annotations[*node].children.iter().map(|c| plan.child_name(c)).collect();
        out += &format!("  {node} -> {{{}}}\n", children.join(", "));
    }
    let groups = |of: fn(&partition::Group) -> String| {
        let lines = partition.groups.iter().map(|group| format!("  {} = {}\n", group.name, of(group)));
        lines.collect::<String>()
    };
    out += "groups before lowering:\n";
    out += &groups(|group| group.cuts.iter().map(|c| c.to_string()).collect::<Vec<_>>().join(", "));
    out += "groups after lowering:\n";
    out += &groups(|group| group.lowered.to_string());
    let fields = partition.groups.iter().map(|group| match group.cuts.as_slice() {
        [cut] => cut.field(),
        _ => group.lowered.field(),
    });
    let (_, combination) = partition.combine(expression, fields).unwrap();
    out + &format!("combine = {combination}\n")
}

#[test]
fn struct_without_validity() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let sum = op('+', a, int(1));
    let expression = op('*', sum.clone(), b.clone());
    assert_snapshot!(phases(&expression, &plan, &[&sum, &b, &expression]), @r"
    annotations:
      ($.a + 1) -> {a}
      $.b -> {b}
      (($.a + 1) * $.b) -> {a, b}
    groups before lowering:
      @a = ($.a + 1)
      @b = $.b
    groups after lowering:
      @a = ($ + 1)
      @b = $
    combine = ($.@a * $.@b)
    ");
    assert_snapshot!(optimized(expression, plan).tree(), @r"
    eval(($.@a * $.@b)): Int64 × 10
      input = pack: struct of 2 × 10
        @a = eval(($ + 1)): Int64 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn maximal_cuts_are_grouped_and_shared() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    // (a + 1 > b) AND (a * 2 > b) AND (a + 1 > 7)
    let sum = || op('+', a.clone(), int(1));
    let terms = [greater(sum(), b.clone()), greater(op('*', a.clone(), int(2)), b), greater(sum(), int(7))];
    assert_snapshot!(optimized(And::of(terms).unwrap(), plan).tree(), @r"
    eval(($.@a.0 > $.@b AND $.@a.1 > $.@b AND $.@a.2)): Boolean × 10
      input = pack: struct of 2 × 10
        @a = eval({0: ($ + 1), 1: ($ * 2), 2: ($ + 1) > 7}): struct of 3 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn guarded_parts_that_can_fail_stay_under_their_guard() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let guard = greater(b.clone(), int(0));
    let fallible = greater(op('/', int(10), a.clone()), int(1));
    let guarded = And::of([guard.clone(), fallible.clone()]).unwrap();
    assert_snapshot!(optimized(guarded, plan.clone()).tree(), @r"
    eval(($.@b AND (10 / $.@a) > 1)): Boolean × 10
      input = pack: struct of 2 × 10
        @a = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval($ > 0): Boolean × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
    // Where it isn't guarded, it goes down; so it does together with a guard over the same child.
    assert_snapshot!(optimized(And::of([fallible.clone(), guard]).unwrap(), plan.clone()).tree(), @r"
    eval(($.@a AND $.@b)): Boolean × 10
      input = pack: struct of 2 × 10
        @a = eval((10 / $) > 1): Boolean × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval($ > 0): Boolean × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
    let same = And::of([greater(a, int(0)), fallible]).unwrap();
    let first = BoundExpression::call::<And>((), vec![same, greater(b, int(3))]).unwrap();
    assert_snapshot!(optimized(first, plan).tree(), @r"
    eval(($.@a AND $.@b)): Boolean × 10
      input = pack: struct of 2 × 10
        @a = eval(($ > 0 AND (10 / $) > 1)): Boolean × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval($ > 3): Boolean × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn arms_of_case_are_guarded() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let shape = CaseShape { operand: false, arms: 1, otherwise: true };
    let args = vec![greater(b, int(0)), op('/', int(10), a.clone()), op('+', a, int(1))];
    let case = BoundExpression::call::<Case>(shape, args).unwrap();
    assert_snapshot!(optimized(case, plan).tree(), @r"
    eval(CASE WHEN $.@b THEN (10 / $.@a.0) ELSE $.@a.1 END): Int64 × 10
      input = pack: struct of 2 × 10
        @a = eval({0: $, 1: ($ + 1)}): struct of 2 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval($ > 0): Boolean × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn volatile_parts_stay() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let random = op('?', op('+', a, int(1)), int(0));
    assert_snapshot!(optimized(op('+', random, op('+', b, int(2))), plan).tree(), @r"
    eval((($.@a ? 0) + $.@b)): Int64 × 10
      input = pack: struct of 2 × 10
        @a = eval(($ + 1)): Int64 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval(($ + 2)): Int64 × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn constants_need_rows_only() {
    assert_snapshot!(optimized(op('+', int(1), int(2)), columns(&["a"])).tree(), @r"
    eval((1 + 2)): Int64 × 10
      input = pack: struct of 0 × 10
    ");
}

#[test]
fn identity_leaves_the_bare_child() {
    let plan = columns(&["a", "b"]);
    let b = reads(&plan).remove(1);
    let pushed = optimized(b, plan.clone());
    assert!(pushed.ptr_eq(plan.child(1).unwrap()));
    let all = BoundExpression::root(Arc::clone(plan.field()));
    assert!(optimized(all, plan.clone()).ptr_eq(&plan));
}

#[test]
fn a_read_of_the_whole_struct_keeps_the_plan_beside_the_groups() {
    let plan = columns(&["a", "b"]);
    let a = reads(&plan).remove(0);
    let whole = BoundExpression::root(Arc::clone(plan.field()));
    let is_null = IsNull::of(whole.clone(), false).unwrap();
    let expression = And::of([is_null.clone(), greater(a, int(1))]).unwrap();
    assert_snapshot!(optimized(expression, plan.clone()).tree(), @r"
    eval(($.@$ IS NULL AND $.@a)): Boolean × 10
      input = pack: struct of 2 × 10
        @a = eval($ > 1): Boolean × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @$ = pack: struct of 2 × 10
          a = segment_scan(row group 0, column 0): Int64 × 10
          b = segment_scan(row group 0, column 1): Int64 × 10
    ");
    let alone = optimized(Not::of(is_null).unwrap(), plan.clone());
    assert!(alone.child(0).unwrap().ptr_eq(&plan));
}

#[test]
fn structs_are_entered() {
    let inner = columns(&["x", "y"]);
    let fields = Fields::from(vec![field("a"), Arc::new(inner.field().as_ref().clone().with_name("s"))]);
    let plan: PlanRef = PackPlan::try_new(fields, 10, vec![segment(0, 7, 10), inner].into()).unwrap().into();
    let [a, s] = reads(&plan).try_into().unwrap();
    let (x, y) = (GetItem::of(s.clone(), 0).unwrap(), GetItem::of(s, 1).unwrap());
    let expression = op('+', op('*', x.clone(), int(2)), op('+', a, op('-', x, y)));
    assert_snapshot!(optimized(expression, plan).tree(), @r"
    eval(($.@s.0 + ($.@a + $.@s.1))): Int64 × 10
      input = pack: struct of 2 × 10
        @a = segment_scan(row group 0, column 7): Int64 × 10
        @s = eval({0: $.@x.0, 1: ($.@x.1 - $.@y)}): struct of 2 × 10
          input = pack: struct of 2 × 10
            @x = eval({0: ($ * 2), 1: $}): struct of 2 × 10
              input = segment_scan(row group 0, column 0): Int64 × 10
            @y = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

/// A column over row groups that are lowered when looked at, and how many have been.
fn lazy_column(row_groups: usize) -> (PlanRef, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let shapes = vec![Shape::new(field("file"), 10); row_groups];
    let segments = Children::lazy(shapes, move |row_group| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(segment(row_group, 0, 10))
    });
    (ConcatPlan::try_new(field("a"), segments).unwrap().into(), made)
}

#[test]
fn concat_is_entered_lazily() {
    let (column, made) = lazy_column(1000);
    let plan: PlanRef =
        PackPlan::try_new(vec![field("a")].into(), 10_000, vec![column].into()).unwrap().into();
    let a = reads(&plan).remove(0);
    let pushed = optimized(greater(op('+', a, int(1)), int(5)), plan);
    assert_eq!(made.load(Ordering::SeqCst), 0);
    pushed.child(3).unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 1);
    assert_snapshot!(pushed.tree(), @r"
    concat: Boolean × 10000
      0 … 2 not made yet
      3 = eval(($ + 1) > 5): Boolean × 10
        input = segment_scan(row group 3, column 0): Int64 × 10
      4 … 999 not made yet
    ");
}

#[test]
fn volatile_expressions_stay_above_concat() {
    let (column, made) = lazy_column(3);
    let random = op('?', BoundExpression::root(Arc::clone(column.field())), int(1));
    let pushed = optimized(random, column.clone());
    assert!(pushed.child(0).unwrap().ptr_eq(&column));
    assert_eq!(made.load(Ordering::SeqCst), 0);
}

#[test]
fn an_eval_below_is_composed_with_unless_it_would_be_evaluated_twice() {
    let narrow = Arc::new(Field::new("file", DataType::Int32, false));
    let segment = SegmentScanPlan::new(SegmentId::new(0, FragmentCol(0)), Arc::clone(&narrow), 10);
    let concat = ConcatPlan::try_new(Arc::clone(&narrow), vec![segment.into()].into()).unwrap();
    let cast = Cast::of(BoundExpression::root(narrow), DataType::Int64).unwrap();
    let column: PlanRef = ExpressionScanPlan::try_new(cast, concat.into()).unwrap().into();
    let root = BoundExpression::root(Arc::clone(column.field()));
    let force = |plan: PlanRef| {
        plan.child(0).unwrap();
        plan
    };
    let once = force(optimized(greater(root.clone(), int(5)), column.clone()));
    assert_snapshot!(once.tree(), @r"
    concat: Boolean × 10
      0 = eval(CAST($ AS Int64) > 5): Boolean × 10
        input = segment_scan(row group 0, column 0): Int32 × 10
    ");
    let twice = force(optimized(greater(root.clone(), op('*', root, int(2))), column));
    assert_snapshot!(twice.tree(), @r"
    concat: Boolean × 10
      0 = eval($ > ($ * 2)): Boolean × 10
        input = eval(CAST($ AS Int64)): Int64 × 10
          input = segment_scan(row group 0, column 0): Int32 × 10
    ");
}

#[test]
fn a_constant_below_is_always_composed_with() {
    let column = ExpressionScanPlan::try_new(int(5), PackPlan::empty(10).into()).unwrap();
    let root = BoundExpression::root(Arc::clone(column.as_plan().field()));
    let pushed = optimized(op('+', root.clone(), root), column.into());
    assert_snapshot!(pushed.tree(), @r"
    eval((5 + 5)): Int64 × 10
      input = pack: struct of 0 × 10
    ");
}

#[rstest]
#[case::none(Kernels::empty(), false)]
#[case::another_child(lowering_to(|_| None), false)]
#[case::another_type(lowering_to(|_| Some(BoundExpression::literal(ScalarValue::Int32(Some(1))))), false)]
#[case::nulls_added(lowering_to(|_| Some(BoundExpression::literal(ScalarValue::Int64(None)))), false)]
#[case::from_outside(lowering_to(|a| Some(op('-', a, int(1)))), true)]
fn kernels_are_open(#[case] kernels: Kernels, #[case] pushed: bool) {
    let plan = columns(&["a", "b"]);
    let a = reads(&plan).remove(0);
    let before = ExpressionScanPlan::try_new(op('+', a, int(1)), plan.clone()).unwrap();
    let after = PushdownSession::new(kernels).optimize(&before).unwrap();
    let child = after.child(0).unwrap();
    assert_eq!(child.ptr_eq(plan.child(0).unwrap()), pushed, "{after:?}");
    assert_eq!(child.ptr_eq(&plan), !pushed, "{after:?}");
}

/// The default kernels, but with another lowering of a column of the struct.
fn lowering_to(to: fn(BoundExpression) -> Option<BoundExpression>) -> Kernels {
    Kernels::default().with_lower::<Pack>(NodeKey::call::<GetItem>(), move |_, plan, child| {
        to(BoundExpression::root(Arc::clone(&plan.children().shapes()[child].field)))
    })
}

#[test]
fn a_part_that_cannot_be_lowered_stays_and_its_parts_go_down() {
    // `-` has no lowering: its arguments go down without it.
    let kernels = Kernels::default().with_lower::<Pack>(NodeKey::call::<Arithmetic>(), |node, _, _| {
        (node.as_opt::<Arithmetic>() == Some(&'-')).then(|| BoundExpression::literal(ScalarValue::Null))
    });
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let expression = op('+', op('-', op('*', a, int(2)), int(3)), op('*', b, int(4)));
    let before = ExpressionScanPlan::try_new(expression, plan).unwrap();
    assert_snapshot!(PushdownSession::new(kernels).optimize(&before).unwrap().tree(), @r"
    eval((($.@a - 3) + $.@b)): Int64 × 10
      input = pack: struct of 2 × 10
        @a = eval(($ * 2)): Int64 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = eval(($ * 4)): Int64 × 10
          input = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

#[test]
fn packed_outputs_are_taken_apart() {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let fields = Fields::from(vec![field("x"), field("y")]);
    let packed = PackFn::of(fields, vec![op('+', a, int(1)), b]).unwrap();
    assert_snapshot!(optimized(packed, plan).tree(), @r"
    eval({x: $.@a, y: $.@b}): struct of 2 × 10
      input = pack: struct of 2 × 10
        @a = eval(($ + 1)): Int64 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @b = segment_scan(row group 0, column 1): Int64 × 10
    ");
}

/// Deep and wide expressions neither overflow the stack nor take quadratic time, lowered or not.
#[rstest]
#[case::lowered(Kernels::default(), true)]
#[case::not_lowered(lowering_to(|_| None), false)]
fn size_is_no_danger(#[case] kernels: Kernels, #[case] pushed: bool) {
    let plan = columns(&["a", "b"]);
    let [a, b] = reads(&plan).try_into().unwrap();
    let mut deep = a;
    for i in 0..20_000 {
        deep = op('+', deep, int(i));
    }
    let wide = (0..20_000).map(|i| greater(b.clone(), op('+', b.clone(), int(i))));
    let expression = And::of(std::iter::once(greater(deep, int(0))).chain(wide)).unwrap();
    let before = ExpressionScanPlan::try_new(expression, plan.clone()).unwrap();
    let partition = Partition::new(&before.expression, &plan, &kernels).unwrap();
    let scopes: Vec<_> = partition.groups.iter().map(|g| g.scope).collect();
    match pushed {
        true => assert_eq!(scopes, [Scope::Child(0), Scope::Child(1)]),
        false => assert_eq!(scopes, [Scope::Plan]),
    }
}
