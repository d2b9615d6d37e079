// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An operator, a function and their kernels from elsewhere.

use super::*;
use crate::plan::{Plan, PlanError, PlanId, PlanVTable};

/// A pair of integers that share their high bits: *high × 10 + low*, twice.
struct Digits;

impl PlanVTable for Digits {
    type Data = ();

    const ID: PlanId = PlanId::new("test.digits");

    fn with_children(_: &(), shape: &Shape, children: &Children) -> Result<(), PlanError> {
        match children.shapes() {
            [high, low] if high.rows == shape.rows && low.rows == shape.rows => Ok(()),
            other => Err(PlanError::Arity { operator: Self::ID, expected: 2, actual: other.len() }),
        }
    }

    fn child_name(_: &(), _: &Shape, child: usize) -> String {
        ["high", "low"][child].to_owned()
    }

    fn fmt(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("digits")
    }
}

/// Which decade a number is in: a matter of its high digit alone.
struct Decade;

impl ScalarFnVTable for Decade {
    type Options = ();

    const ID: FnId = FnId::new("test.decade");

    fn return_field(_: &(), _: &[FieldRef]) -> Result<FieldRef, BindError> {
        Ok(field("decade"))
    }

    fn facts(_: &(), _: &[FieldRef]) -> Facts {
        Facts::infallible(Nulls::Strict { null_only_from_null: true })
    }

    fn evaluate(_: &(), _: &mut dyn Args, _: usize) -> Result<ColumnarValue> {
        not_impl_err!("planned only")
    }

    fn fmt<'a>(_: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("decade(")?;
        out.argument(&args[0])?;
        out.write_str(")")
    }
}

#[test]
fn an_operator_brings_its_kernels() {
    let children = vec![segment(0, 0, 10), segment(0, 1, 10)].into();
    let digits = Plan::<Digits>::try_from_parts(Shape::new(field("n"), 10), &(), children).unwrap();
    let of_root = |node: &BoundExpression| node.children().iter().all(BoundExpression::is_root);
    let kernels = Kernels::default()
        .with_annotate::<Digits>(NodeKey::call::<Decade>(), move |node, _| {
            of_root(node).then(|| ChildSet::one(0))
        })
        .with_lower::<Digits>(NodeKey::call::<Decade>(), move |node, plan, child| {
            let high = Arc::clone(&plan.children().shapes()[0].field);
            (child == 0 && of_root(node)).then(|| BoundExpression::root(high))
        });
    let root = BoundExpression::root(field("n"));
    let decade = BoundExpression::call::<Decade>((), vec![root.clone()]).unwrap();
    let push = |kernels: &Kernels, expression: &BoundExpression| {
        let plan = ExpressionScanPlan::try_new(expression.clone(), digits.as_plan().clone()).unwrap();
        PushdownSession::new(kernels.clone()).optimize(&plan).unwrap()
    };
    let expression = op('*', op('+', decade.clone(), int(1)), op('-', root, decade));
    assert_snapshot!(push(&kernels, &expression).tree(), @r"
    eval(($.@high.0 * ($.@$ - $.@high.1))): Int64 × 10
      input = pack: struct of 2 × 10
        @high = eval({0: ($ + 1), 1: $}): struct of 2 × 10
          input = segment_scan(row group 0, column 0): Int64 × 10
        @$ = digits: Int64 × 10
          high = segment_scan(row group 0, column 0): Int64 × 10
          low = segment_scan(row group 0, column 1): Int64 × 10
    ");
    assert_snapshot!(push(&Kernels::default(), &expression).tree(), @r"
    eval(((decade($) + 1) * ($ - decade($)))): Int64 × 10
      input = digits: Int64 × 10
        high = segment_scan(row group 0, column 0): Int64 × 10
        low = segment_scan(row group 0, column 1): Int64 × 10
    ");
}
