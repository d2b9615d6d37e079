// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Expressions before they are bound: names instead of positions, and no types.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion_common::ScalarValue;

use super::functions::{And, Not, Or};
use super::{FnRef, ScalarFnVTable};

/// An expression that hasn't been bound to a [`Scope`](super::Scope): it may be wrong in any way.
///
/// Cheap to clone. Constructors put together what they are given and look at none of it.
#[derive(Clone)]
pub struct Expression(Arc<Node>);

struct Node {
    kind: Unbound,
    children: Vec<Expression>,
}

/// What a node of an unbound expression is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Unbound {
    /// The value the expression is evaluated over.
    Root,
    /// The field of this name of the child, a struct.
    Field(Arc<str>),
    /// A constant.
    Literal(ScalarValue),
    /// A constant given at evaluation.
    Param(u16, FieldRef),
    /// A call of a function; the children are its arguments.
    Call(FnRef),
}

impl Expression {
    /// The node of this kind over these children.
    pub fn new(kind: Unbound, children: Vec<Expression>) -> Self {
        Self(Arc::new(Node { kind, children }))
    }

    /// The value the expression is evaluated over.
    pub fn root() -> Self {
        Self::new(Unbound::Root, Vec::new())
    }

    /// The column of this name.
    pub fn column(name: &str) -> Self {
        Self::root().field(name)
    }

    /// A constant.
    pub fn literal(value: impl Into<ScalarValue>) -> Self {
        Self::new(Unbound::Literal(value.into()), Vec::new())
    }

    /// A call of `V`.
    pub fn call<V: ScalarFnVTable>(options: V::Options, args: Vec<Expression>) -> Self {
        Self::new(Unbound::Call(FnRef::new::<V>(options)), args)
    }

    /// The field of this name.
    pub fn field(self, name: &str) -> Self {
        Self::new(Unbound::Field(name.into()), vec![self])
    }

    /// `self AND other`.
    pub fn and(self, other: Expression) -> Self {
        Self::call::<And>((), vec![self, other])
    }

    /// `self OR other`.
    pub fn or(self, other: Expression) -> Self {
        Self::call::<Or>((), vec![self, other])
    }

    /// `NOT self`.
    pub fn negated(self) -> Self {
        Self::call::<Not>((), vec![self])
    }

    /// What the node is.
    pub fn kind(&self) -> &Unbound {
        &self.0.kind
    }

    /// The node's children: a call's arguments.
    pub fn children(&self) -> &[Expression] {
        &self.0.children
    }
}

impl Drop for Node {
    /// Drops a deep tree without recursion.
    fn drop(&mut self) {
        let mut stack = std::mem::take(&mut self.children);
        while let Some(child) = stack.pop() {
            if let Some(mut node) = Arc::into_inner(child.0) {
                stack.append(&mut node.children);
            }
        }
    }
}

impl fmt::Debug for Expression {
    /// Writes this node without its children: those of a deep tree are too many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.kind(), self.children().len())
    }
}
