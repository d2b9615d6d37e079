// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Phase 3: an expression over a plan as an expression over one of the plan's children.

use std::convert::Infallible;

use super::Kernels;
use super::traverse::{Values, fold};
use crate::expr::BoundExpression;
use crate::plan::{PlanRef, fits};

/// Lowers expressions over a plan into one of the plan's children. Remembers what it has done, so that
/// trying a tree part by part, from the top, costs no more than trying it once.
pub(super) struct Lowering<'a> {
    plan: &'a PlanRef,
    child: usize,
    kernels: &'a Kernels,
    done: Values<Option<BoundExpression>>,
}

impl<'a> Lowering<'a> {
    /// A lowering of expressions that read `plan` into its child number `child`.
    pub fn new(plan: &'a PlanRef, child: usize, kernels: &'a Kernels) -> Self {
        Self { plan, child, kernels, done: Values::new() }
    }

    /// `expression` as an expression that reads the child.
    ///
    /// Nodes that have a kernel are replaced by what it gives, other nodes are rebuilt over their lowered
    /// children. `None` when a root isn't inside such a replacement, or something doesn't keep its type.
    pub fn lower(&mut self, expression: &BoundExpression) -> Option<BoundExpression> {
        let keeps_type = |new: &BoundExpression, old: &BoundExpression| fits(new.field(), old.field());
        let Ok(()) = fold::<_, Infallible>(
            expression,
            &mut self.done,
            |node| {
                Ok(match self.kernels.lower(node, self.plan, self.child) {
                    Some(new) => Some(Some(new).filter(|new| keeps_type(new, node))),
                    None if node.is_root() => Some(None),
                    None => None,
                })
            },
            |node, children| {
                let children: Option<Vec<_>> = children.into_iter().cloned().collect();
                let rebuilt = children.and_then(|children| node.with_children(children).ok());
                Ok(rebuilt.filter(|new| keeps_type(new, node)))
            },
        );
        self.done.get(expression)?.clone()
    }
}
