// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Operators as vtables with data.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::codec::{CodecError, ExprCodec};

use super::{Children, PlanError, PlanRef, Shape};

/// An operator's stable name, for example `trommel.concat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(&'static str);

impl PlanId {
    /// The id with this name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A plan operator: what tells one use of it from another, and which children it takes.
///
/// A type that implements this holds no state. Field, row count and children are the common part of
/// every node, so an operator never rebuilds them.
pub trait PlanVTable: Sized + Send + Sync + 'static {
    /// What a node of this operator holds besides its shape and children, caches included.
    type Data: fmt::Debug + Send + Sync;

    /// The operator's stable name.
    const ID: PlanId;

    /// The data of a node of this shape that had `data` and now gets `children`.
    ///
    /// This is where children are checked and what is derived from them is refreshed. It looks at the
    /// children's shapes only, so that lazy children stay lazy.
    ///
    /// # Errors
    /// When the operator doesn't take these children.
    fn with_children(data: &Self::Data, shape: &Shape, children: &Children) -> Result<Self::Data, PlanError>;

    /// A value for each row of a child as a value for each row of the node, which is `plan`.
    ///
    /// Rows of a child usually are rows of the node, and this is `value` itself; where they aren't (a
    /// dictionary's values) it is the node over `value`.
    ///
    /// # Errors
    /// When the operator doesn't take the value.
    fn lift(
        _data: &Self::Data,
        _plan: &PlanRef,
        _child: usize,
        value: PlanRef,
    ) -> Result<PlanRef, PlanError> {
        Ok(value)
    }

    /// What a node holds besides its shape and children, as bytes; `None` when it can't be written.
    ///
    /// # Errors
    /// When something in it has no codec.
    fn encode(_data: &Self::Data, _expressions: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(None)
    }

    /// What [`encode`](Self::encode) wrote, from bytes that may be anything. The node is made by
    /// [`with_children`](Self::with_children), which checks the rest.
    ///
    /// # Errors
    /// When the bytes are nothing that such a node holds.
    fn decode(_bytes: &[u8], _expressions: &ExprCodec) -> Result<Self::Data, CodecError> {
        Err(CodecError::Operator(Self::ID.to_string()))
    }

    /// What a child is to this node, in a word.
    fn child_name(data: &Self::Data, shape: &Shape, child: usize) -> String;

    /// Writes the node without its children, on one line.
    ///
    /// # Errors
    /// When the formatter fails.
    fn fmt(data: &Self::Data, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// [`PlanVTable`] with its data, as a trait object.
pub(super) trait DynOperator: Any + Send + Sync {
    fn with_children(&self, shape: &Shape, children: &Children) -> Result<Arc<dyn DynOperator>, PlanError>;
    fn lift(&self, plan: &PlanRef, child: usize, value: PlanRef) -> Result<PlanRef, PlanError>;
    fn child_name(&self, shape: &Shape, child: usize) -> String;
    fn encode(&self, expressions: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError>;
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// An operator's data, tagged with the operator.
pub(super) struct Operator<V: PlanVTable>(pub(super) V::Data);

impl<V: PlanVTable> DynOperator for Operator<V> {
    fn with_children(&self, shape: &Shape, children: &Children) -> Result<Arc<dyn DynOperator>, PlanError> {
        Ok(Arc::new(Operator::<V>(V::with_children(&self.0, shape, children)?)))
    }

    fn lift(&self, plan: &PlanRef, child: usize, value: PlanRef) -> Result<PlanRef, PlanError> {
        V::lift(&self.0, plan, child, value)
    }

    fn child_name(&self, shape: &Shape, child: usize) -> String {
        V::child_name(&self.0, shape, child)
    }

    fn encode(&self, expressions: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        V::encode(&self.0, expressions)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        V::fmt(&self.0, f)
    }
}
