// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The driver: pushes an expression down, plan node by plan node.

use std::sync::Arc;

use arrow::datatypes::FieldRef;

use super::Kernels;
use super::partition::{Partition, Scope};
use super::traverse::replace;
use crate::expr::{BoundExpression, ExprKind};
use crate::plan::operators::{Concat, Eval};
use crate::plan::{Children, ConcatPlan, ExpressionScanPlan, PackPlan, PlanError, PlanRef};

/// Pushes expressions down with a fixed set of kernels. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PushdownSession {
    kernels: Arc<Kernels>,
}

impl PushdownSession {
    /// A session with these kernels.
    pub fn new(kernels: Kernels) -> Self {
        Self { kernels: Arc::new(kernels) }
    }

    /// A plan of the same value that evaluates `plan`'s expression as far below as can be.
    ///
    /// Children that are made on first access stay unmade where the plan's type alone decides.
    ///
    /// # Errors
    /// When a child can't be made, or a kernel broke its contract.
    pub fn optimize(&self, plan: &ExpressionScanPlan) -> Result<PlanRef, PlanError> {
        self.push(&plan.expression, plan.as_plan().child(0)?)
    }

    /// The plan of `expression` over `input`.
    fn push(&self, expression: &BoundExpression, input: &PlanRef) -> Result<PlanRef, PlanError> {
        if expression.is_root() {
            return input.downcast().map_or_else(|| Ok(input.clone()), |eval| self.optimize(&eval));
        }
        if !expression.any(BoundExpression::is_root) {
            // Only the number of rows counts.
            return eval(expression, PackPlan::empty(input.rows()).into());
        }
        if let Some(inner) = input.as_opt::<Eval>() {
            return self.push_through_eval(expression, &inner.expression, input);
        }
        if input.as_opt::<Concat>().is_some() {
            return self.push_through_concat(expression, input);
        }
        if input.children().is_empty() {
            return eval(expression, input.clone());
        }
        self.push_into_children(expression, input)
    }

    /// *e over c → the combination over the groups, each over its child.*
    fn push_into_children(
        &self,
        expression: &BoundExpression,
        input: &PlanRef,
    ) -> Result<PlanRef, PlanError> {
        let partition = Partition::new(expression, input, &self.kernels)?;
        if let Some(group) = partition.as_single() {
            return match group.scope {
                Scope::Child(child) => self.push(&group.lowered, input.child(child)?),
                Scope::Plan => eval(expression, input.clone()),
            };
        }
        if partition.groups.iter().all(|group| group.scope == Scope::Plan) {
            return eval(expression, input.clone());
        }
        let groups = partition.groups.iter().map(|group| match group.scope {
            Scope::Child(child) => self.push(&group.lowered, input.child(child)?),
            Scope::Plan => Ok(input.clone()),
        });
        let groups = Children::from(groups.collect::<Result<Vec<_>, _>>()?);
        let packed = PackPlan::try_new(partition.fields, input.rows(), groups)?;
        eval(&partition.combination, packed.into())
    }

    /// *e over concat(c, …) → concat(e over c, …), each made when it is looked at; requires that e isn't
    /// volatile.*
    fn push_through_concat(
        &self,
        expression: &BoundExpression,
        input: &PlanRef,
    ) -> Result<PlanRef, PlanError> {
        if expression.any(|node| node.facts().volatile) {
            return eval(expression, input.clone());
        }
        let (session, pushed) = (self.clone(), expression.clone());
        let children = input.children().map(expression.field(), move |child| session.push(&pushed, child));
        Ok(ConcatPlan::try_new(FieldRef::clone(expression.field()), children)?.into())
    }

    /// *e over (i over c) → e with i for its root, over c; requires that i isn't volatile, and that e
    /// reads its root once or i is a constant, so that nothing is evaluated twice.*
    fn push_through_eval(
        &self,
        expression: &BoundExpression,
        inner: &BoundExpression,
        input: &PlanRef,
    ) -> Result<PlanRef, PlanError> {
        let constant = matches!(inner.kind(), ExprKind::Literal(_) | ExprKind::Param(..));
        let movable = !inner.any(|node| node.facts().volatile);
        if movable && (constant || reads_root_once(expression)) {
            let composed = replace(expression, |node| node.is_root().then(|| inner.clone()))?;
            return self.push(&composed, input.child(0)?);
        }
        let input = self.push(inner, input.child(0)?)?;
        match input.as_opt::<Eval>() {
            Some(_) => eval(expression, input),
            None => self.push(expression, &input),
        }
    }
}

/// Whether an expression reads its root in one place only.
fn reads_root_once(expression: &BoundExpression) -> bool {
    let mut reads = 0;
    expression.any(|node| {
        reads += usize::from(node.is_root());
        reads > 1
    });
    reads == 1
}

/// `expression` over `input` as it is.
fn eval(expression: &BoundExpression, input: PlanRef) -> Result<PlanRef, PlanError> {
    Ok(ExpressionScanPlan::try_new(expression.clone(), input)?.into())
}
