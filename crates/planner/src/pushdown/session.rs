// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The driver: pushes an expression down, plan node by plan node.

use std::sync::Arc;

use arrow::datatypes::FieldRef;

use super::Kernels;
use super::partition::{Group, Partition, Scope, is_whole};
use super::traverse::replace;
use crate::expr::{BoundExpression, ExprKind};
use crate::plan::operators::{Concat, Eval, Pack};
use crate::plan::{ConcatPlan, ExpressionScanPlan, PackPlan, PlanError, PlanRef};

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

    /// A plan of the same value that evaluates `plan`'s expression as far below as can be; `plan` itself when
    /// that is where it is.
    ///
    /// Children that are made on first access stay unmade where the plan's type alone decides.
    ///
    /// # Errors
    /// When a child can't be made, or a kernel broke its contract.
    pub fn optimize(&self, plan: &ExpressionScanPlan) -> Result<PlanRef, PlanError> {
        let input = plan.as_plan().child(0)?;
        let pushed = self.push(&plan.expression, input)?;
        let same = match (pushed.as_opt::<Eval>(), pushed.children().made(0)) {
            (Some(eval), Some(over)) => eval.expression == plan.expression && over.ptr_eq(input),
            _ => false,
        };
        Ok(if same { plan.as_plan().clone() } else { pushed })
    }

    /// The plan of `expression` over `input`.
    fn push(&self, expression: &BoundExpression, input: &PlanRef) -> Result<PlanRef, PlanError> {
        if expression.is_root() {
            return input.downcast().map_or_else(|| Ok(input.clone()), |eval| self.optimize(&eval));
        }
        if expression.is_constant() && !input.shape().filtered {
            // Only the number of rows counts.
            let is_bare = input.as_opt::<Pack>().is_some() && input.children().is_empty();
            let rows = if is_bare { input.clone() } else { PackPlan::empty(input.rows()).into() };
            return eval(expression, rows);
        }
        if let Some(inner) = input.as_opt::<Eval>() {
            return self.push_through_eval(expression, &inner.expression, input);
        }
        if input.as_opt::<Concat>().is_some() {
            return self.push_through_concat(expression, input);
        }
        if let Some((expression, input)) = self.kernels.reshape(expression, input)? {
            return self.push(&expression, &input);
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
        let stays = partition.groups.iter().all(|group| group.scope == Scope::Plan);
        // Rows that pass a filter aren't put side by side.
        if stays || partition.groups.len() > 1 && input.shape().filtered {
            return eval(expression, input.clone());
        }
        let groups = partition.groups.iter().map(|group| self.push_group(group, input));
        let mut groups = groups.collect::<Result<Vec<_>, _>>()?;
        let (fields, combination) = partition.combine(expression, groups.iter().map(PlanRef::field))?;
        if groups.len() == 1 {
            let only = groups.remove(0);
            return match combination.is_root() {
                true => Ok(only),
                false if only.ptr_eq(input) => eval(expression, only),
                false => eval(&combination, only),
            };
        }
        let children = input.children();
        let as_they_were = |(i, group): (usize, &PlanRef)| children.made(i).is_some_and(|c| c.ptr_eq(group));
        if partition.is_all_children(children.len()) && groups.iter().enumerate().all(as_they_were) {
            return eval(expression, input.clone());
        }
        let packed = PackPlan::try_new(fields, input.rows(), groups.into())?;
        eval(&combination, packed.into())
    }

    /// The plan of a group's result, for each row of `input`.
    fn push_group(&self, group: &Group, input: &PlanRef) -> Result<PlanRef, PlanError> {
        let Scope::Child(number) = group.scope else { return Ok(input.clone()) };
        let child = input.child(number)?;
        let value = self.push(&group.lowered, child)?;
        // What is all of the plan is all of the child: nothing is to be done.
        match group.lowered.is_root() && is_whole(&group.cuts) && value.ptr_eq(child) {
            true => Ok(input.clone()),
            false => input.lift(number, value),
        }
    }

    /// *e over concat(c, …) → concat(e over c, …), each made when it is looked at; requires that e isn't
    /// volatile.*
    fn push_through_concat(
        &self,
        expression: &BoundExpression,
        input: &PlanRef,
    ) -> Result<PlanRef, PlanError> {
        if expression.is_volatile() {
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
        if !inner.is_volatile() && (constant || reads_root_once(expression)) {
            let composed = replace(expression, |node| node.is_root().then(|| inner.clone()))?;
            return self.push(&composed, input.child(0)?);
        }
        let input = match input.downcast() {
            Some(inner) => self.optimize(&inner)?,
            None => input.clone(),
        };
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
