// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernels of [`Take`]: what a function makes of a value it makes once, and codes choose among the
//! results.
//!
//! A function goes to the values when it can't fail, since a value that no code chooses would fail too, and
//! when that costs no more: when there are fewer values than codes, or it costs less than nothing. NULL is
//! one more value, when the function is to see it.

use std::sync::Arc;

use super::{ChildSet, Kernels, NodeKey};
use crate::expr::{BoundExpression, Cost};
use crate::plan::PlanRef;
use crate::plan::operators::Take;

pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels
        .with_annotate::<Take>(NodeKey::Any, |node, plan| {
            if node.is_constant() {
                return None;
            }
            let sees_all = node.is_strict() || !codes_hide_nulls(plan);
            Some(match sees_all && is_better_by_value(node, plan) {
                true => ChildSet::one(Take::VALUES),
                false => ChildSet::all(plan.children().len()),
            })
        })
        .with_lower::<Take>(NodeKey::Root, |_, plan, child| {
            let values = plan.children().shapes().get(child).filter(|_| child == Take::VALUES)?;
            Some(BoundExpression::root(Arc::clone(&values.field)))
        })
        .with_reshape::<Take>(|expression, plan, _| {
            // Something that isn't NULL for NULL would go down if it saw NULL there.
            let other = |node: &BoundExpression| {
                !node.is_constant() && !node.is_strict() && is_better_by_value(node, plan)
            };
            if !codes_hide_nulls(plan) || !expression.any(other) {
                return Ok(None);
            }
            let Some(take) = plan.downcast::<Take>() else { return Ok(None) };
            Ok(take.with_null_as_last()?.map(|take| (expression.clone(), take.into())))
        })
}

/// Whether codes give NULLs that aren't among the values.
fn codes_hide_nulls(plan: &PlanRef) -> bool {
    let nullable = plan.children().shapes().get(Take::CODES).is_some_and(|codes| codes.field.is_nullable());
    nullable && plan.as_opt::<Take>().is_some_and(|take| !take.null_is_last)
}

fn is_better_by_value(node: &BoundExpression, plan: &PlanRef) -> bool {
    let fewer = plan.children().shapes().get(Take::VALUES).is_some_and(|values| values.rows < plan.rows());
    !node.can_fail() && !node.is_volatile() && (fewer || node.cost() == Cost::Negative)
}
