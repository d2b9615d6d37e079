// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rows that satisfy a predicate.

use std::fmt;

use arrow::datatypes::FieldRef;
use datafusion_common::ScalarValue;

use super::{Concat, Eval, Nothing, boolean_field, check_arity};
use crate::codec::{CodecError, ExprCodec, read};
use crate::expr::BoundExpression;
use crate::optimizer::PlanRewriteRule;
use crate::plan::{
    Children, ConcatPlan, ExpressionScanPlan, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape,
};

/// The rows of a child for which a predicate, the other child, is TRUE.
///
/// How many there are isn't known without reading, so nothing that takes rows by number is put over
/// it; see [`Shape::filtered`].
#[derive(Debug)]
pub struct Filter;

/// A node of [`Filter`].
pub type FilterPlan = Plan<Filter>;

impl Filter {
    /// The child that is chosen from.
    pub const INPUT: usize = 0;
    /// The child that says whether a row is chosen.
    pub const PREDICATE: usize = 1;
}

impl PlanVTable for Filter {
    type Data = ();

    const ID: PlanId = PlanId::new("trommel.filter");

    fn with_children(_: &(), shape: &Shape, children: &Children) -> Result<(), PlanError> {
        check_arity(Self::ID, 2, children)?;
        let [input, predicate] = [&children.shapes()[Self::INPUT], &children.shapes()[Self::PREDICATE]];
        let all = Shape { filtered: false, ..shape.clone() };
        input.check_fits(&all, || "input of a filter".to_owned())?;
        let wanted = Shape::new(boolean_field(true), shape.rows);
        predicate.check_fits(&wanted, || "predicate of a filter".to_owned())?;
        match shape.filtered {
            true => Ok(()),
            false => Err(PlanError::Filtered { what: "a filter".to_owned() }),
        }
    }

    fn lift(_: &(), plan: &PlanRef, child: usize, value: PlanRef) -> Result<PlanRef, PlanError> {
        match child {
            Self::INPUT => {
                let predicate = (plan.children().clone(), Self::PREDICATE);
                let shape = Shape { filtered: true, ..value.shape().clone() };
                let children = Children::pick(vec![(Children::from(vec![value]), 0), predicate])?;
                Ok(FilterPlan::try_from_parts(shape, &(), children)?.into())
            }
            _ => Ok(value),
        }
    }

    fn encode(_: &(), _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Vec::new()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<(), CodecError> {
        read::<Nothing>(bytes).map(|_| ())
    }

    fn child_name(_: &(), _: &Shape, child: usize) -> String {
        if child == Self::INPUT { "input" } else { "predicate" }.to_owned()
    }

    fn fmt(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("filter")
    }
}

impl FilterPlan {
    /// The rows of `input` for which `predicate`, an expression over it, is TRUE.
    ///
    /// # Errors
    /// When the predicate isn't a boolean or its root has another field than `input`.
    pub fn try_new(predicate: &BoundExpression, input: PlanRef) -> Result<Self, PlanError> {
        let shape = Shape { filtered: true, ..input.shape().clone() };
        let predicate = ExpressionScanPlan::try_new(predicate.clone(), input.clone())?;
        Self::try_from_parts(shape, &(), vec![input, predicate.into()].into())
    }
}

/// *filter(x, TRUE) → x.*
#[derive(Debug)]
pub struct FilterByConstant;

impl PlanRewriteRule<Filter> for FilterByConstant {
    fn name(&self) -> &'static str {
        "filter_by_constant"
    }

    fn rewrite(&self, node: &FilterPlan) -> Result<Option<PlanRef>, PlanError> {
        let predicate = node.as_plan().child(Filter::PREDICATE)?.as_opt::<Eval>();
        match predicate.and_then(|eval| eval.expression.as_literal()) {
            Some(ScalarValue::Boolean(Some(true))) => node.as_plan().child(Filter::INPUT).cloned().map(Some),
            _ => Ok(None),
        }
    }
}

/// *filter(concat(x, …), concat(p, …)) → concat(filter(x, p), …), each made when it is looked at; requires
/// the same borders.*
#[derive(Debug)]
pub struct FilterOfConcat;

impl PlanRewriteRule<Filter> for FilterOfConcat {
    fn name(&self) -> &'static str {
        "filter_of_concat"
    }

    fn rewrite(&self, node: &FilterPlan) -> Result<Option<PlanRef>, PlanError> {
        let children = node.as_plan().children();
        let concat = |child| children.made(child).filter(|plan| plan.as_opt::<Concat>().is_some());
        let (Some(input), Some(predicate)) = (concat(Filter::INPUT), concat(Filter::PREDICATE)) else {
            return Ok(None);
        };
        let (inputs, predicates) = (input.children().clone(), predicate.children().clone());
        let rows = |children: &Children| children.shapes().iter().map(|shape| shape.rows).collect::<Vec<_>>();
        if rows(&inputs) != rows(&predicates) {
            return Ok(None);
        }
        let shapes: Vec<_> =
            inputs.shapes().iter().map(|shape| Shape { filtered: true, ..shape.clone() }).collect();
        let make = move |child: usize| -> Result<PlanRef, PlanError> {
            let both = Children::pick(vec![(inputs.clone(), child), (predicates.clone(), child)])?;
            let shape = Shape { filtered: true, ..inputs.get(child)?.shape().clone() };
            Ok(FilterPlan::try_from_parts(shape, &(), both)?.into())
        };
        let field = FieldRef::clone(node.as_plan().field());
        Ok(Some(ConcatPlan::try_new(field, Children::lazy(shapes, make))?.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Fields};

    use super::*;
    use crate::expr::functions::IsNull;
    use crate::plan::{PackPlan, TakePlan};

    fn filter(rows: u64) -> FilterPlan {
        let input: PlanRef = PackPlan::empty(rows).into();
        let root = BoundExpression::root(Arc::clone(input.field()));
        FilterPlan::try_new(&IsNull::of(root, true).unwrap(), input).unwrap()
    }

    #[test]
    fn nothing_takes_its_rows_for_all_rows() {
        let plan: PlanRef = filter(5).into();
        assert!(plan.shape().filtered);
        let field = Field::new("f", plan.field().data_type().clone(), true);
        assert!(PackPlan::try_new(Fields::from(vec![field]), 5, vec![plan.clone()].into()).is_err());
        assert!(TakePlan::try_new(plan.clone(), plan.clone()).is_err());
        let error = FilterPlan::try_new(&BoundExpression::literal(ScalarValue::from(true)), plan.clone());
        assert!(error.unwrap_err().to_string().contains("all rows expected"));
        let root = BoundExpression::root(Arc::clone(plan.field()));
        assert!(ExpressionScanPlan::try_new(root, plan.clone()).unwrap().as_plan().shape().filtered);
        let all = PackPlan::empty(3).into();
        let concat = ConcatPlan::try_new(Arc::clone(plan.field()), vec![plan, all].into()).unwrap();
        assert!(concat.as_plan().shape().filtered);
        assert_eq!(concat.as_plan().rows(), 8);
    }

    #[test]
    fn the_predicate_is_a_boolean_over_the_input() {
        let input: PlanRef = PackPlan::empty(5).into();
        let number = BoundExpression::literal(ScalarValue::from(1));
        assert!(FilterPlan::try_new(&number, input.clone()).is_err());
        let other = BoundExpression::root(Arc::new(Field::new("b", DataType::Boolean, false)));
        assert!(FilterPlan::try_new(&other, input).is_err());
        let shape = Shape::new(Arc::clone(filter(5).as_plan().field()), 5);
        let children = filter(5).as_plan().children().clone();
        assert!(FilterPlan::try_from_parts(shape, &(), children).is_err());
    }
}
