// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An expression over a child.

use std::fmt;
use std::sync::Arc;

use super::check_arity;
use crate::codec::{CodecError, ExprCodec};
use crate::expr::{BoundExpression, ExprKind};
use crate::optimizer::PlanRewriteRule;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape};
use crate::pushdown::PushdownSession;

/// An expression, evaluated over the value of the child for each of its rows.
///
/// It has the child's rows and the expression's field. Functions stay nodes of the expression; they
/// never become plan nodes.
#[derive(Debug)]
pub struct Eval;

/// A node of [`Eval`]; [`crate::pushdown`] moves its expression through its child.
pub type ExpressionScanPlan = Plan<Eval>;

/// What an [`Eval`] holds besides its child.
#[derive(Debug)]
pub struct EvalData {
    /// The expression.
    pub expression: BoundExpression,
}

impl PlanVTable for Eval {
    type Data = EvalData;

    const ID: PlanId = PlanId::new("trommel.eval");

    fn with_children(data: &EvalData, shape: &Shape, children: &Children) -> Result<EvalData, PlanError> {
        check_arity(Self::ID, 1, children)?;
        for child in children.shapes() {
            child.check_fits(&shape.with_field(Arc::clone(&child.field)), || "input of an eval".into())?;
            check_roots(&data.expression, child)?;
        }
        let value = shape.with_field(Arc::clone(data.expression.field()));
        value.check_fits(shape, || "value of an eval".into())?;
        Ok(EvalData { expression: data.expression.clone() })
    }

    fn encode(data: &EvalData, expressions: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        expressions.encode(&data.expression).map(Some)
    }

    fn decode(bytes: &[u8], expressions: &ExprCodec) -> Result<EvalData, CodecError> {
        Ok(EvalData { expression: expressions.decode(bytes)? })
    }

    fn child_name(_: &EvalData, _: &Shape, _: usize) -> String {
        "input".to_owned()
    }

    fn fmt(data: &EvalData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eval({})", data.expression)
    }
}

impl ExpressionScanPlan {
    /// Evaluates `expression` over `input`.
    ///
    /// # Errors
    /// When the expression's root has another field than `input`.
    pub fn try_new(expression: BoundExpression, input: PlanRef) -> Result<Self, PlanError> {
        let shape = input.shape().with_field(Arc::clone(expression.field()));
        Self::try_from_parts(shape, &EvalData { expression }, vec![input].into())
    }
}

/// Checks that every root of an expression can stand for a value of this shape.
fn check_roots(expression: &BoundExpression, input: &Shape) -> Result<(), PlanError> {
    let mut result = Ok(());
    expression.any(|node| {
        if let ExprKind::Root(field) = node.kind() {
            let wanted = input.with_field(Arc::clone(field));
            result = input.check_fits(&wanted, || format!("$ in {expression}"));
        }
        result.is_err()
    });
    result
}

/// *e over x → what [`PushdownSession::optimize`] makes of it.*
#[derive(Debug, Clone, Default)]
pub struct PushDown(pub PushdownSession);

impl PlanRewriteRule<Eval> for PushDown {
    fn name(&self) -> &'static str {
        "push_down"
    }

    fn rewrite(&self, node: &ExpressionScanPlan) -> Result<Option<PlanRef>, PlanError> {
        let pushed = self.0.optimize(node)?;
        Ok((!pushed.ptr_eq(node.as_plan())).then_some(pushed))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use rstest::rstest;

    use super::*;
    use crate::plan::PackPlan;

    fn root(data_type: DataType, nullable: bool) -> BoundExpression {
        BoundExpression::root(Arc::new(Field::new("r", data_type, nullable)))
    }

    #[rstest]
    #[case::same(root(DataType::Struct(Default::default()), false), true)]
    #[case::wider(root(DataType::Struct(Default::default()), true), true)]
    #[case::other(root(DataType::Int32, false), false)]
    fn roots_must_have_the_inputs_type(#[case] expression: BoundExpression, #[case] ok: bool) {
        let plan = ExpressionScanPlan::try_new(expression, PackPlan::empty(3).into());
        assert_eq!(plan.is_ok(), ok);
        assert!(plan.is_err() || plan.unwrap().as_plan().rows() == 3);
    }

    #[test]
    fn the_child_is_checked_when_it_is_replaced() {
        let expression = root(DataType::Struct(Default::default()), false);
        let plan = ExpressionScanPlan::try_new(expression, PackPlan::empty(3).into()).unwrap();
        let with = |rows| vec![PackPlan::empty(rows).into()].into();
        assert!(plan.as_plan().with_children(with(3)).is_ok());
        assert!(plan.as_plan().with_children(with(4)).is_err());
        assert!(plan.as_plan().with_children(Children::none()).is_err());
    }
}
