// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The type-checked expression tree.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion_common::ScalarValue;
use smallvec::SmallVec;

use super::{BindError, Cost, Errors, FOREIGN, Facts, FnRef, Foreign, Nulls, ScalarFnVTable};

/// What a node of an expression is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ExprKind {
    /// The value the expression is evaluated over, written `$`.
    Root(FieldRef),
    /// A constant.
    Literal(ScalarValue),
    /// A constant given at evaluation: a slot that a live filter fills anew with each generation.
    Param(u16, FieldRef),
    /// A call of a function we know; the children are its arguments.
    Call(FnRef),
    /// A subtree of another engine; the children are its inputs.
    Foreign(Arc<dyn Foreign>),
}

/// A type-checked expression: a tree whose every node knows the field of its value.
///
/// Cheap to clone. Equality is structural, by hash first.
#[derive(Clone)]
pub struct BoundExpression(Arc<Node>);

struct Node {
    kind: ExprKind,
    children: Vec<BoundExpression>,
    field: FieldRef,
    hash: u64,
    facts: Facts,
    can_fail: bool,
    volatile: bool,
    strict: bool,
    cost: Cost,
    scope: Scope,
}

/// Which root values the tree below a node reads.
#[derive(Debug, Clone, PartialEq)]
enum Scope {
    /// None: the value is a constant.
    Constant,
    /// One.
    Over(FieldRef),
    /// Several that differ.
    Mixed,
}

impl Scope {
    fn of(kind: &ExprKind, children: &[BoundExpression]) -> Self {
        if let ExprKind::Root(field) = kind {
            return Self::Over(Arc::clone(field));
        }
        let mut scopes = children.iter().map(|c| &c.0.scope).filter(|s| **s != Self::Constant);
        let Some(first) = scopes.next() else { return Self::Constant };
        if scopes.all(|s| s.is_same(first)) { first.clone() } else { Self::Mixed }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Over(a), Self::Over(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a == b,
        }
    }
}

impl BoundExpression {
    /// The node of this kind over these children, checked; the only way to make a node.
    ///
    /// # Errors
    /// When the kind doesn't take these children.
    pub fn try_new(kind: ExprKind, children: Vec<BoundExpression>) -> Result<Self, BindError> {
        let field = match &kind {
            ExprKind::Root(field) | ExprKind::Param(_, field) => {
                leaf("root", &children, || Arc::clone(field))?
            }
            ExprKind::Literal(value) => leaf("literal", &children, || {
                Arc::new(Field::new("literal", value.data_type(), value.is_null()))
            })?,
            ExprKind::Call(function) => {
                let args: SmallVec<[_; 4]> = children.iter().map(|c| Arc::clone(c.field())).collect();
                let field = function.return_field(&args)?;
                let facts = function.facts(&args);
                return Ok(Self::node(kind, children, field, facts));
            }
            ExprKind::Foreign(foreign) => {
                foreign_takes(foreign.as_ref(), &children)?;
                let (field, facts) = (Arc::clone(foreign.field()), foreign.facts());
                return Ok(Self::node(kind, children, field, facts));
            }
        };
        Ok(Self::node(kind, children, field, LEAF))
    }

    /// The node of these parts, which are known to go together.
    fn node(kind: ExprKind, children: Vec<BoundExpression>, field: FieldRef, facts: Facts) -> Self {
        let hash = hash(&kind, &children);
        let can_fail = facts.errors == Errors::Possible || children.iter().any(Self::can_fail);
        let volatile = facts.volatile || children.iter().any(Self::is_volatile);
        let strict = match (&kind, facts.nulls) {
            (ExprKind::Root(_), _) => true,
            (_, Nulls::Strict { .. }) => children.iter().any(Self::is_strict),
            (_, Nulls::Other) => false,
        };
        let cost = children.iter().map(Self::cost).fold(facts.cost, Cost::max);
        let scope = Scope::of(&kind, &children);
        Self(Arc::new(Node { kind, children, field, hash, facts, can_fail, volatile, strict, cost, scope }))
    }

    /// The root, with this field.
    pub fn root(field: FieldRef) -> Self {
        Self::node(ExprKind::Root(Arc::clone(&field)), Vec::new(), field, LEAF)
    }

    /// A constant.
    pub fn literal(value: ScalarValue) -> Self {
        let field = Arc::new(Field::new("literal", value.data_type(), value.is_null()));
        Self::node(ExprKind::Literal(value), Vec::new(), field, LEAF)
    }

    /// A call of `V`.
    ///
    /// # Errors
    /// When `V` doesn't take these arguments.
    pub fn call<V: ScalarFnVTable>(
        options: V::Options,
        args: Vec<BoundExpression>,
    ) -> Result<Self, BindError> {
        Self::try_new(ExprKind::Call(FnRef::new::<V>(options)), args)
    }

    /// What the node is.
    pub fn kind(&self) -> &ExprKind {
        &self.0.kind
    }

    /// The node's children: a call's arguments, a foreign node's inputs.
    pub fn children(&self) -> &[BoundExpression] {
        &self.0.children
    }

    /// The field of the node's value.
    pub fn field(&self) -> &FieldRef {
        &self.0.field
    }

    /// The options, when the node is a call of `V`.
    pub fn as_opt<V: ScalarFnVTable>(&self) -> Option<&V::Options> {
        match self.kind() {
            ExprKind::Call(function) => function.as_opt::<V>(),
            _ => None,
        }
    }

    /// The value, when the node is a literal.
    pub fn as_literal(&self) -> Option<&ScalarValue> {
        match self.kind() {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the node is the root.
    pub fn is_root(&self) -> bool {
        matches!(self.kind(), ExprKind::Root(_))
    }

    /// The same kind of node over other children; this very node when they are the same.
    ///
    /// # Errors
    /// When the kind doesn't take these children.
    pub fn with_children(&self, children: Vec<BoundExpression>) -> Result<Self, BindError> {
        if children.len() == self.children().len()
            && children.iter().zip(self.children()).all(|(a, b)| a.ptr_eq(b))
        {
            return Ok(self.clone());
        }
        Self::try_new(self.kind().clone(), children)
    }

    /// Whether both are the same node, not just equal ones.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What is known of this node alone, its children aside.
    pub fn facts(&self) -> Facts {
        self.0.facts
    }

    /// Whether evaluating the whole tree can fail for some row.
    pub fn can_fail(&self) -> bool {
        self.0.can_fail
    }

    /// Whether any node of the tree may give another value for the same input.
    pub fn is_volatile(&self) -> bool {
        self.0.volatile
    }

    /// Whether the whole tree is NULL wherever the roots it reads are.
    pub fn is_strict(&self) -> bool {
        self.0.strict
    }

    /// What the dearest node of the tree costs.
    pub fn cost(&self) -> Cost {
        self.0.cost
    }

    /// Whether the tree reads no root.
    pub fn is_constant(&self) -> bool {
        self.0.scope == Scope::Constant
    }

    /// Whether the tree reads no root but those of `whole`.
    pub(crate) fn is_within_scope_of(&self, whole: &Self) -> bool {
        match (&self.0.scope, &whole.0.scope) {
            (Scope::Constant, _) | (_, Scope::Mixed) => true,
            (scope, whole) => scope.is_same(whole),
        }
    }

    /// Where the node lies, as its identity: no other node lies there as long as this one is kept.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Whether any node of the tree satisfies `test`.
    pub fn any(&self, mut test: impl FnMut(&BoundExpression) -> bool) -> bool {
        let mut stack = vec![self];
        while let Some(node) = stack.pop() {
            if test(node) {
                return true;
            }
            stack.extend(node.children());
        }
        false
    }
}

/// The facts of a node without children.
const LEAF: Facts =
    Facts { cost: Cost::Negative, ..Facts::infallible(Nulls::Strict { null_only_from_null: true }) };

/// The field of a leaf.
fn leaf(
    node: &'static str,
    children: &[BoundExpression],
    field: impl FnOnce() -> FieldRef,
) -> Result<FieldRef, BindError> {
    match children.len() {
        0 => Ok(field()),
        children => Err(BindError::Leaf { node, children }),
    }
}

/// Checks that a foreign node gets inputs of exactly the types it was made for.
fn foreign_takes(foreign: &dyn Foreign, children: &[BoundExpression]) -> Result<(), BindError> {
    let inputs = foreign.inputs();
    if inputs.len() != children.len() {
        let expected = inputs.len().to_string();
        return Err(BindError::Arity { function: FOREIGN, expected, actual: children.len() });
    }
    match inputs
        .iter()
        .zip(children)
        .position(|(input, child)| input.data_type() != child.field().data_type())
    {
        None => Ok(()),
        Some(argument) => Err(BindError::Type {
            function: FOREIGN,
            argument,
            expected: inputs[argument].data_type().to_string(),
            actual: children[argument].field().data_type().clone(),
        }),
    }
}

fn hash(kind: &ExprKind, children: &[BoundExpression]) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(kind).hash(&mut hasher);
    match kind {
        ExprKind::Root(field) => field.data_type().hash(&mut hasher),
        ExprKind::Literal(value) => value.hash(&mut hasher),
        ExprKind::Param(slot, field) => (slot, field.data_type()).hash(&mut hasher),
        ExprKind::Call(function) => function.hash(&mut hasher),
        ExprKind::Foreign(foreign) => foreign.fingerprint().hash(&mut hasher),
    }
    children.iter().for_each(|c| c.0.hash.hash(&mut hasher));
    hasher.finish()
}

impl PartialEq for ExprKind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Root(a), Self::Root(b)) => a == b,
            (Self::Literal(a), Self::Literal(b)) => a == b && a.data_type() == b.data_type(),
            (Self::Param(a, x), Self::Param(b, y)) => a == b && x == y,
            (Self::Call(a), Self::Call(b)) => a == b,
            (Self::Foreign(a), Self::Foreign(b)) => {
                Arc::ptr_eq(a, b)
                    || a.fingerprint() == b.fingerprint() && format!("{a:?}") == format!("{b:?}")
            }
            _ => false,
        }
    }
}

impl PartialEq for BoundExpression {
    fn eq(&self, other: &Self) -> bool {
        let mut stack = vec![(self, other)];
        while let Some((a, b)) = stack.pop() {
            if a.ptr_eq(b) {
                continue;
            }
            if a.0.hash != b.0.hash || a.kind() != b.kind() || a.children().len() != b.children().len() {
                return false;
            }
            stack.extend(a.children().iter().zip(b.children()));
        }
        true
    }
}

impl Eq for BoundExpression {}

impl Hash for BoundExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
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
