// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Phase 1: which of a plan's children each node of an expression needs.

use std::collections::HashMap;
use std::convert::Infallible;

use super::traverse::fold;
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

/// The annotations of all nodes of an expression over one plan.
pub(super) struct Annotations(HashMap<BoundExpression, Annotation>);

impl Annotations {
    /// Annotates every node of `expression` over `plan`.
    pub fn new(expression: &BoundExpression, plan: &PlanRef, kernels: &Kernels) -> Self {
        let annotated = fold::<_, Infallible>(
            expression,
            |_| Ok(None),
            |node, below: Vec<&Annotation>| {
                let facts = node.facts();
                let children = kernels.annotate(node, plan).unwrap_or_else(|| match node.is_root() {
                    true => ChildSet::all(plan.children().len()),
                    false => below.iter().fold(ChildSet::none(), |mut set, annotation| {
                        set.extend(&annotation.children);
                        set
                    }),
                });
                Ok(Annotation {
                    children,
                    can_fail: facts.errors == Errors::Possible || below.iter().any(|a| a.can_fail),
                    volatile: facts.volatile || below.iter().any(|a| a.volatile),
                })
            },
        );
        match annotated {
            Ok(annotations) => Self(annotations),
        }
    }

    /// A node's annotation.
    pub fn get(&self, node: &BoundExpression) -> Option<&Annotation> {
        self.0.get(node)
    }
}
