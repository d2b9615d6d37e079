// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What pushdown knows of functions and operators: registries that are open to everyone.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::annotate::annotate;
use super::{filter, list_pack, pack, segment, take};
use crate::expr::{BoundExpression, ExprKind, FnId, ScalarFnVTable};
use crate::plan::{PlanError, PlanId, PlanRef, PlanVTable};

/// Positions of a plan's children, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildSet(SmallVec<[usize; 4]>);

impl ChildSet {
    /// No child.
    pub fn none() -> Self {
        Self::default()
    }

    /// One child.
    pub fn one(child: usize) -> Self {
        Self(SmallVec::from_iter([child]))
    }

    /// All of a plan's `len` children.
    pub fn all(len: usize) -> Self {
        Self((0..len).collect())
    }

    /// The only child in the set, if there is exactly one.
    pub fn single(&self) -> Option<usize> {
        match self.0.as_slice() {
            [child] => Some(*child),
            _ => None,
        }
    }

    /// Whether a child is in the set.
    pub fn contains(&self, child: usize) -> bool {
        self.0.contains(&child)
    }

    /// The children, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Adds the children of another set.
    pub fn extend(&mut self, other: &ChildSet) {
        if other.0.iter().any(|child| self.0.binary_search(child).is_err()) {
            self.0.extend(other.iter());
            self.0.sort_unstable();
            self.0.dedup();
        }
    }
}

impl FromIterator<usize> for ChildSet {
    fn from_iter<I: IntoIterator<Item = usize>>(children: I) -> Self {
        let mut set = Self(children.into_iter().collect());
        set.0.sort_unstable();
        set.0.dedup();
        set
    }
}

/// What a node of an expression is, as far as kernels are registered for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKey {
    /// The root.
    Root,
    /// A constant.
    Literal,
    /// A parameter.
    Param,
    /// A call of this function.
    Call(FnId),
    /// A node of another engine.
    Foreign,
    /// Whatever has no kernel of its own.
    Any,
}

impl NodeKey {
    /// The key of calls of `V`.
    pub const fn call<V: ScalarFnVTable>() -> Self {
        Self::Call(V::ID)
    }

    /// The key of a node.
    pub fn of(node: &BoundExpression) -> Self {
        match node.kind() {
            ExprKind::Root(_) => Self::Root,
            ExprKind::Literal(_) => Self::Literal,
            ExprKind::Param(..) => Self::Param,
            ExprKind::Call(function) => Self::Call(function.id()),
            ExprKind::Foreign(_) => Self::Foreign,
        }
    }
}

/// Which children of `plan` the value of `node` needs, if the kernel can tell; otherwise it needs what
/// the node's own children need, and the root needs all.
pub type AnnotateKernel = dyn Fn(&BoundExpression, &PlanRef) -> Option<ChildSet> + Send + Sync;

/// The expression over the value of a child of `plan` (given by position) that equals `node` over the
/// value of `plan`, for every row, if the kernel has one.
///
/// Equal means: the same type, values and NULLs, no error where `node` has none, and not volatile.
pub type LowerKernel = dyn Fn(&BoundExpression, &PlanRef, usize) -> Option<BoundExpression> + Send + Sync;

/// An expression and a plan that are, together, what `expression` over `plan` is, if there is a form that
/// lets more of the expression go down. It may ask which children of `plan` the expression needs.
///
/// A form must not have a further form without end.
pub type ReshapeKernel =
    dyn Fn(&BoundExpression, &PlanRef, &dyn Fn() -> ChildSet) -> Result<Reshaped, PlanError> + Send + Sync;

/// Another form of an expression over a plan, if there is one.
pub type Reshaped = Option<(BoundExpression, PlanRef)>;

type Registry<K> = HashMap<(NodeKey, PlanId), Arc<K>>;

/// The kernels by expression node and plan operator.
#[derive(Clone)]
pub struct Kernels {
    annotate: Registry<AnnotateKernel>,
    lower: Registry<LowerKernel>,
    reshape: HashMap<PlanId, Arc<ReshapeKernel>>,
}

impl Kernels {
    /// No kernels: nothing is pushed into operators that have no rule of their own.
    pub fn empty() -> Self {
        Self { annotate: HashMap::new(), lower: HashMap::new(), reshape: HashMap::new() }
    }

    /// Registers the dependencies of a node over the operator `P`; replaces what was there.
    #[must_use]
    pub fn with_annotate<P: PlanVTable>(
        mut self,
        node: NodeKey,
        kernel: impl Fn(&BoundExpression, &PlanRef) -> Option<ChildSet> + Send + Sync + 'static,
    ) -> Self {
        self.annotate.insert((node, P::ID), Arc::new(kernel));
        self
    }

    /// Registers the lowering of a node into the children of the operator `P`; replaces what was there.
    #[must_use]
    pub fn with_lower<P: PlanVTable>(
        mut self,
        node: NodeKey,
        kernel: impl Fn(&BoundExpression, &PlanRef, usize) -> Option<BoundExpression> + Send + Sync + 'static,
    ) -> Self {
        self.lower.insert((node, P::ID), Arc::new(kernel));
        self
    }

    /// Registers another form of expressions over the operator `P`; replaces what was there.
    #[must_use]
    pub fn with_reshape<P: PlanVTable>(
        mut self,
        kernel: impl Fn(&BoundExpression, &PlanRef, &dyn Fn() -> ChildSet) -> Result<Reshaped, PlanError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.reshape.insert(P::ID, Arc::new(kernel));
        self
    }

    /// What a kernel says of the node's dependencies.
    pub(super) fn annotate(&self, node: &BoundExpression, plan: &PlanRef) -> Option<ChildSet> {
        find(&self.annotate, node, plan)?(node, plan)
    }

    /// What a kernel makes of the node in the scope of a child.
    pub(super) fn lower(
        &self,
        node: &BoundExpression,
        plan: &PlanRef,
        child: usize,
    ) -> Option<BoundExpression> {
        find(&self.lower, node, plan)?(node, plan, child)
    }

    /// Another form of an expression over a plan.
    pub(super) fn reshape(
        &self,
        expression: &BoundExpression,
        plan: &PlanRef,
    ) -> Result<Reshaped, PlanError> {
        let Some(kernel) = self.reshape.get(&plan.id()) else { return Ok(None) };
        kernel(expression, plan, &|| {
            annotate(expression, plan, self).remove(expression).map(|a| a.children).unwrap_or_default()
        })
    }
}

/// The kernel of a node over a plan.
fn find<'k, K: ?Sized>(
    registry: &'k Registry<K>,
    node: &BoundExpression,
    plan: &PlanRef,
) -> Option<&'k Arc<K>> {
    let of = |key| registry.get(&(key, plan.id()));
    of(NodeKey::of(node)).or_else(|| of(NodeKey::Any))
}

impl Default for Kernels {
    /// The kernels of the operators in [`crate::plan::operators`].
    fn default() -> Self {
        [pack::install, take::install, list_pack::install, filter::install, segment::install]
            .into_iter()
            .fold(Self::empty(), |kernels, install: fn(Self) -> Self| install(kernels))
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernels")
            .field("annotate", &self.annotate.len())
            .field("lower", &self.lower.len())
            .field("reshape", &self.reshape.len())
            .finish()
    }
}
