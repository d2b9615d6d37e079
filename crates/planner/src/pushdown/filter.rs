// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernels of [`Filter`]: what costs less than nothing is done before rows are chosen, the rest after.

use std::sync::Arc;

use super::{ChildSet, Kernels, NodeKey};
use crate::expr::{BoundExpression, Cost};
use crate::plan::PackPlan;
use crate::plan::operators::Filter;

/// So a filter over a struct chooses among the fields that are asked for, and no others.
pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels
        .with_annotate::<Filter>(NodeKey::Any, |node, plan| {
            if node.is_constant() {
                return None;
            }
            let free = node.cost() == Cost::Negative && !node.can_fail() && !node.is_volatile();
            Some(if free { ChildSet::one(Filter::INPUT) } else { ChildSet::all(plan.children().len()) })
        })
        .with_lower::<Filter>(NodeKey::Root, |_, plan, child| {
            let input = plan.children().shapes().get(child).filter(|_| child == Filter::INPUT)?;
            Some(BoundExpression::root(Arc::clone(&input.field)))
        })
        // *A constant over filter(x, p) → the constant over filter(nothing, p).*
        .with_reshape::<Filter>(|expression, plan, _| {
            let Some(input) = plan.children().shapes().get(Filter::INPUT) else { return Ok(None) };
            let nothing = PackPlan::empty(input.rows);
            let is_nothing = input.field.data_type() == nothing.as_plan().field().data_type();
            if !expression.is_constant() || is_nothing {
                return Ok(None);
            }
            Ok(Some((expression.clone(), plan.lift(Filter::INPUT, nothing.into())?)))
        })
}
