// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The node of a plan, erased and typed.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use arrow::datatypes::FieldRef;

use crate::codec::{CodecError, ExprCodec};

use super::vtable::{DynOperator, Operator};
use super::{Children, LineDisplay, PlanError, PlanId, PlanVTable, Shape, TreeDisplay};

/// A scan plan: an operator over children, with the field and the number of its rows.
///
/// Cheap to clone. Two plans are told apart by pointer only.
#[derive(Clone)]
pub struct PlanRef(Arc<PlanNode>);

struct PlanNode {
    id: PlanId,
    shape: Shape,
    children: Children,
    operator: Arc<dyn DynOperator>,
}

impl PlanRef {
    /// Which operator this is.
    pub fn id(&self) -> PlanId {
        self.0.id
    }

    /// The field and the number of rows.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// The field of the plan's value.
    pub fn field(&self) -> &FieldRef {
        &self.0.shape.field
    }

    /// How many rows the plan's value has; of a filtered one, how many it was chosen from.
    pub fn rows(&self) -> u64 {
        self.0.shape.rows
    }

    /// The children, made or not.
    pub fn children(&self) -> &Children {
        &self.0.children
    }

    /// A child, which is made now if it wasn't.
    ///
    /// # Errors
    /// When there is no such child, or it can't be made.
    pub fn child(&self, child: usize) -> Result<&PlanRef, PlanError> {
        self.0.children.get(child)
    }

    /// A value for each row of a child as one for each row of this node, see [`PlanVTable::lift`].
    ///
    /// # Errors
    /// When the operator doesn't take the value.
    pub fn lift(&self, child: usize, value: PlanRef) -> Result<PlanRef, PlanError> {
        self.0.operator.lift(self, child, value)
    }

    /// What a child is to this node, in a word.
    pub fn child_name(&self, child: usize) -> String {
        self.0.operator.child_name(self.shape(), child)
    }

    /// What the node holds besides its shape and children, as bytes; see [`PlanVTable::encode`].
    pub(crate) fn encode(&self, expressions: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        self.0.operator.encode(expressions)
    }

    /// The operator's data, when this is a node of `V`.
    pub fn as_opt<V: PlanVTable>(&self) -> Option<&V::Data> {
        let operator: &dyn Any = &*self.0.operator;
        operator.downcast_ref::<Operator<V>>().map(|o| &o.0)
    }

    /// This plan as a node of `V`, when it is one.
    pub fn downcast<V: PlanVTable>(&self) -> Option<Plan<V>> {
        let operator: Arc<dyn Any + Send + Sync> = Arc::clone(&self.0.operator) as _;
        Some(Plan { plan: self.clone(), operator: operator.downcast().ok()? })
    }

    /// The same operator over other children, with the same field and number of rows.
    ///
    /// # Errors
    /// When the operator doesn't take these children.
    pub fn with_children(&self, children: Children) -> Result<PlanRef, PlanError> {
        let operator = self.0.operator.with_children(self.shape(), &children)?;
        Ok(Self(Arc::new(PlanNode { id: self.id(), shape: self.shape().clone(), children, operator })))
    }

    /// Whether both are the same node.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where the node lies, as its identity: no other node lies there as long as this one is kept.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The tree as far as it has been made, one node a line.
    pub fn tree(&self) -> TreeDisplay<'_> {
        TreeDisplay::new(self)
    }

    /// The same on one line.
    pub fn line(&self) -> LineDisplay<'_> {
        LineDisplay::new(self)
    }
}

impl fmt::Display for PlanRef {
    /// Writes this node without its children.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.operator.fmt(f)
    }
}

impl fmt::Debug for PlanRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tree(), f)
    }
}

/// A scan plan known to be a node of `V`; dereferences to the operator's data.
pub struct Plan<V: PlanVTable> {
    plan: PlanRef,
    operator: Arc<Operator<V>>,
}

impl<V: PlanVTable> Plan<V> {
    /// The node of this shape and data over these children, checked.
    ///
    /// # Errors
    /// When the operator doesn't take these children.
    pub fn try_from_parts(shape: Shape, data: &V::Data, children: Children) -> Result<Self, PlanError> {
        let data = V::with_children(data, &shape, &children)?;
        Ok(Self::new_unchecked(shape, data, children))
    }

    /// The node of these parts, which are known to go together.
    pub(super) fn new_unchecked(shape: Shape, data: V::Data, children: Children) -> Self {
        let operator = Arc::new(Operator::<V>(data));
        let erased: Arc<dyn DynOperator> = Arc::clone(&operator) as _;
        let plan = PlanRef(Arc::new(PlanNode { id: V::ID, shape, children, operator: erased }));
        Self { plan, operator }
    }

    /// The plan, whatever its operator.
    pub fn as_plan(&self) -> &PlanRef {
        &self.plan
    }
}

impl<V: PlanVTable> Deref for Plan<V> {
    type Target = V::Data;

    fn deref(&self) -> &V::Data {
        &self.operator.0
    }
}

impl<V: PlanVTable> From<Plan<V>> for PlanRef {
    fn from(plan: Plan<V>) -> Self {
        plan.plan
    }
}

impl<V: PlanVTable> Clone for Plan<V> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), operator: Arc::clone(&self.operator) }
    }
}

impl<V: PlanVTable> fmt::Debug for Plan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.plan, f)
    }
}
