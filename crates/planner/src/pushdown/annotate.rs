// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Phase 1: which of a plan's children each node of an expression needs.

use std::convert::Infallible;

use super::traverse::{Values, fold};
use super::{ChildSet, Kernels};
use crate::expr::{BoundExpression, Errors};
use crate::plan::PlanRef;

/// What is known of the tree below a node, the node included.
#[derive(Debug, Clone)]
pub(super) struct Annotation {
    /// The children of the plan that it needs.
    pub children: ChildSet,
    /// Whether evaluating it can fail for some row.
    pub can_fail: bool,
    /// Whether two evaluations may differ.
    pub volatile: bool,
}

/// Annotates every node of `expression` over `plan`.
pub(super) fn annotate(
    expression: &BoundExpression,
    plan: &PlanRef,
    kernels: &Kernels,
) -> Values<Annotation> {
    let mut annotations = Values::new();
    let Ok(()) = fold::<Annotation, Infallible>(
        expression,
        &mut annotations,
        |_| Ok(None),
        |node, below| {
            let facts = node.facts();
            let children = kernels.annotate(node, plan).unwrap_or_else(|| match node.is_root() {
                true => ChildSet::all(plan.children().len()),
                false => union(&below),
            });
            Ok(Annotation {
                children,
                can_fail: facts.errors == Errors::Possible || below.iter().any(|a| a.can_fail),
                volatile: facts.volatile || below.iter().any(|a| a.volatile),
            })
        },
    );
    annotations
}

fn union(annotations: &[&Annotation]) -> ChildSet {
    let mut union = ChildSet::none();
    annotations.iter().for_each(|a| union.extend(&a.children));
    union
}
