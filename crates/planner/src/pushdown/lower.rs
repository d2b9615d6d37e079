// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Phase 3: an expression over a plan as an expression over one of the plan's children.

use super::Kernels;
use super::traverse::replace;
use crate::expr::{BindError, BoundExpression};
use crate::plan::{PlanRef, fits};

/// The lowering of an expression isn't known.
struct NotLowered;

impl From<BindError> for NotLowered {
    fn from(_: BindError) -> Self {
        Self
    }
}

/// `expression`, which reads `plan`, as an expression that reads child number `child`.
///
/// Nodes that have a kernel are replaced by what it gives, other nodes are rebuilt over their lowered
/// children. `None` when a root isn't inside such a replacement, or something doesn't keep its type.
pub(super) fn lower(
    expression: &BoundExpression,
    plan: &PlanRef,
    child: usize,
    kernels: &Kernels,
) -> Option<BoundExpression> {
    let keeps_type = |new: &BoundExpression, old: &BoundExpression| fits(new.field(), old.field());
    let lowered = replace(expression, |node| match kernels.lower(node, plan, child) {
        Some(new) if keeps_type(&new, node) => Ok(Some(new)),
        Some(_) => Err(NotLowered),
        None if node.is_root() => Err(NotLowered),
        None => Ok(None),
    });
    lowered.ok().filter(|new| keeps_type(new, expression))
}
