// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The driver applied to scan plans, so that whoever has rules for plans runs them as rules for expressions are.
//!
//! Lazy children stay lazy: a node of which a child hasn't been made is a leaf here. Whoever makes that child
//! rewrites it then.

use super::driver::Tree;
use super::label;
use crate::plan::{Children, PlanError, PlanRef};

impl Tree for PlanRef {
    type Place = ();
    type Error = PlanError;

    fn address(&self) -> usize {
        PlanRef::address(self)
    }

    fn arity(&self) -> usize {
        let children = self.children();
        let made = (0..children.len()).all(|child| children.made(child).is_some());
        if made { children.len() } else { 0 }
    }

    fn child(&self, child: usize) -> Result<&Self, PlanError> {
        PlanRef::child(self, child)
    }

    fn place_of(&self, _child: usize, (): ()) {}

    fn with_children(&self, children: Vec<Self>) -> Result<Self, PlanError> {
        PlanRef::with_children(self, Children::from(children))
    }

    /// Plans are told apart by pointer only.
    fn is_identical(&self, other: &Self) -> bool {
        self.ptr_eq(other)
    }

    fn check_stands_for(&self, original: &Self, (): (), _whole: &Self) -> Result<(), String> {
        self.shape()
            .check_fits(original.shape(), || "the plan".to_owned())
            .map_err(|e| format!("doesn't fit: {e}"))
    }

    fn label(&self) -> String {
        label(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, FieldRef, Fields};

    use super::*;
    use crate::expr::BoundExpression;
    use crate::index::FragmentCol;
    use crate::optimizer::RewriteError;
    use crate::optimizer::driver::{Fired, Rules, rewrite};
    use crate::plan::operators::Eval;
    use crate::plan::{ConcatPlan, ExpressionScanPlan, PackPlan, SegmentId, SegmentScanPlan, Shape};

    fn field() -> FieldRef {
        Arc::new(Field::new("v", DataType::Int64, true))
    }

    fn scan(rows: u64) -> PlanRef {
        SegmentScanPlan::new(SegmentId::new(0, FragmentCol(0)), field(), rows).into()
    }

    /// The plan's own value, twice computed.
    fn twice(plan: PlanRef) -> PlanRef {
        let eval = |plan: PlanRef| -> PlanRef {
            ExpressionScanPlan::try_new(BoundExpression::root(field()), plan).unwrap().into()
        };
        eval(eval(plan))
    }

    fn pair(left: PlanRef, right: PlanRef) -> PlanRef {
        let fields = Fields::from(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
        ]);
        let rows = left.rows();
        PackPlan::try_new(fields, rows, Children::from(vec![left, right])).unwrap().into()
    }

    /// *eval($) of x → x*; or of something else, when that is to be put in its place.
    struct EvalOfRoot(Option<PlanRef>);

    impl Rules<PlanRef> for EvalOfRoot {
        fn concern(&self, node: &PlanRef, (): ()) -> bool {
            node.as_opt::<Eval>().is_some()
        }

        fn rewrite(&self, node: &PlanRef, (): ()) -> Result<Option<Fired<PlanRef>>, RewriteError> {
            let is_root = node.as_opt::<Eval>().is_some_and(|eval| eval.expression.is_root());
            let child = node.children().made(0).filter(|_| is_root);
            let replacement = child.map(|child| self.0.as_ref().unwrap_or(child).clone());
            Ok(replacement.map(|replacement| Fired { rule: "eval_of_root", replacement }))
        }
    }

    fn run(plan: &PlanRef, rules: &EvalOfRoot) -> Result<PlanRef, RewriteError> {
        rewrite(plan, (), rules, None)
    }

    #[test]
    fn plans_are_rewritten_from_the_leaves_and_untouched_ones_stay() {
        let (left, right) = (scan(10), scan(10));
        let rewritten = run(&pair(twice(left.clone()), right.clone()), &EvalOfRoot(None)).unwrap();
        assert!(rewritten.child(0).unwrap().ptr_eq(&left));
        assert!(rewritten.child(1).unwrap().ptr_eq(&right));
        assert!(run(&rewritten, &EvalOfRoot(None)).unwrap().ptr_eq(&rewritten));
    }

    #[test]
    fn lazy_children_stay_lazy() {
        let children = Children::lazy(vec![Shape::new(field(), 10)], |_| Ok(twice(scan(10))));
        let concat: PlanRef = ConcatPlan::try_new(field(), children).unwrap().into();
        assert!(run(&concat, &EvalOfRoot(None)).unwrap().ptr_eq(&concat));
        assert!(concat.children().made(0).is_none());
    }

    #[test]
    fn a_plan_of_another_shape_is_an_error() {
        let error = run(&twice(scan(10)), &EvalOfRoot(Some(scan(9)))).unwrap_err().to_string();
        assert!(error.starts_with("rule eval_of_root rewrote eval($) to "), "{error}");
        assert!(error.contains("doesn't fit"), "{error}");
    }
}
