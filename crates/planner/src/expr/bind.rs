// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Binding: from names to positions, from guesses to types.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{HashMap, HashSet};
use smallvec::SmallVec;

use super::functions::{And, GetItem, Or};
use super::{BindError, BoundExpression, ExprKind, Expression, FnId, FnRef, ScalarFnVTable, Unbound};

/// How many nodes there is room for from the start.
const TYPICAL: usize = 48;

/// What expressions are bound to: the value they are evaluated over. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Scope {
    root: BoundExpression,
    /// The root's fields, bound: no expression but reads some, and a table may have many. None for a name that
    /// several have, or one that can't be read.
    fields: Arc<HashMap<String, Option<BoundExpression>>>,
}

impl Scope {
    /// The scope of a value with this field: over a table, the struct of its columns.
    pub fn new(root: FieldRef) -> Self {
        let root = BoundExpression::root(root);
        let mut fields = HashMap::default();
        if let DataType::Struct(of) = root.field().data_type() {
            for (position, field) in of.iter().enumerate() {
                let bound = GetItem::of(root.clone(), position).ok();
                fields.entry(field.name().clone()).and_modify(|several| *several = None).or_insert(bound);
            }
        }
        Self { root, fields: Arc::new(fields) }
    }

    /// The root, bound.
    pub fn root(&self) -> &BoundExpression {
        &self.root
    }

    /// The expression, checked and typed. Nothing is optimized, but AND and OR take any number of terms, so
    /// `a AND (b AND c)` is one node; and equal subexpressions are one node, too.
    ///
    /// Works without recursion.
    ///
    /// # Errors
    /// When a name isn't that of one field, or a function doesn't take its arguments.
    pub fn bind(&self, expression: &Expression) -> Result<BoundExpression, BindError> {
        let mut nodes = HashSet::with_capacity(TYPICAL);
        let mut stack = vec![Frame::new(expression)];
        loop {
            let Some(frame) = stack.last_mut() else { return Ok(self.root.clone()) };
            if let Some(child) = frame.children.get(frame.bound.len()) {
                let child = Frame::new(child);
                stack.push(child);
                continue;
            }
            let Some(frame) = stack.pop() else { return Ok(self.root.clone()) };
            let node = self.node(frame.expression, frame.bound)?;
            let node = nodes.get_or_insert_with(&node, BoundExpression::clone).clone();
            match stack.last_mut() {
                Some(parent) => parent.bound.push(node),
                None => return Ok(node),
            }
        }
    }

    /// The node over children that are bound already.
    fn node(
        &self,
        expression: &Expression,
        children: Vec<BoundExpression>,
    ) -> Result<BoundExpression, BindError> {
        match (expression.kind(), &children[..]) {
            (Unbound::Root, []) => Ok(self.root.clone()),
            (Unbound::Root, _) => Err(BindError::Leaf { node: "root", children: children.len() }),
            (Unbound::Literal(value), _) => {
                BoundExpression::try_new(ExprKind::Literal(value.clone()), children)
            }
            (Unbound::Param(slot, field), _) => {
                BoundExpression::try_new(ExprKind::Param(*slot, FieldRef::clone(field)), children)
            }
            (Unbound::Call(function), _) => {
                BoundExpression::try_new(ExprKind::Call(function.clone()), children)
            }
            (Unbound::Field(name), [of]) => match self.fields.get(&**name) {
                Some(Some(field)) if of.is_root() => Ok(field.clone()),
                _ => GetItem::of(of.clone(), position(of, name)?),
            },
            (Unbound::Field(_), _) => Err(BindError::Arity {
                function: GetItem::ID,
                expected: "1".to_owned(),
                actual: children.len(),
            }),
        }
    }
}

/// The position of the field of this name.
fn position(of: &BoundExpression, name: &str) -> Result<usize, BindError> {
    let fields = match of.field().data_type() {
        DataType::Struct(fields) => fields,
        other => {
            return Err(BindError::Type {
                function: GetItem::ID,
                argument: 0,
                expected: "a struct".to_owned(),
                actual: other.clone(),
            });
        }
    };
    let mut named = fields.iter().enumerate().filter(|(_, field)| field.name() == name);
    match (named.next(), named.count()) {
        (Some((position, _)), 0) => Ok(position),
        (first, more) => {
            Err(BindError::Name { name: name.to_owned(), found: more + usize::from(first.is_some()) })
        }
    }
}

/// A node whose children are being bound.
struct Frame<'a> {
    expression: &'a Expression,
    children: SmallVec<[&'a Expression; 2]>,
    bound: Vec<BoundExpression>,
}

impl<'a> Frame<'a> {
    fn new(expression: &'a Expression) -> Self {
        let children = match connective(expression) {
            Some(id) => terms(expression, id),
            None => expression.children().iter().collect(),
        };
        Self { expression, bound: Vec::with_capacity(children.len()), children }
    }
}

fn connective(expression: &Expression) -> Option<FnId> {
    let is = |f: &FnRef| f.as_opt::<And>().is_some() || f.as_opt::<Or>().is_some();
    match expression.kind() {
        Unbound::Call(function) if is(function) => Some(function.id()),
        _ => None,
    }
}

/// The terms of a nest of one connective, in order.
fn terms(expression: &Expression, id: FnId) -> SmallVec<[&Expression; 2]> {
    let (mut terms, mut stack): (_, Vec<_>) = (SmallVec::new(), expression.children().iter().rev().collect());
    while let Some(term) = stack.pop() {
        match connective(term) {
            Some(inner) if inner == id => stack.extend(term.children().iter().rev()),
            _ => terms.push(term),
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;
    use rstest::rstest;

    use super::*;
    use crate::expr::functions::{Compare, CompareOp};

    fn scope() -> Scope {
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let inner = DataType::Struct(vec![field("x", DataType::Int64)].into());
        let fields = vec![
            field("a", DataType::Int64),
            field("b", DataType::Boolean),
            field("s", inner),
            field("twice", DataType::Int64),
            field("twice", DataType::Int64),
        ];
        Scope::new(Arc::new(Field::new("table", DataType::Struct(fields.into()), false)))
    }

    fn positive(of: Expression) -> Expression {
        Expression::call::<Compare>(CompareOp::Gt, vec![of, Expression::literal(0i64)])
    }

    fn b() -> Expression {
        Expression::column("b")
    }

    #[rstest]
    #[case::column(Expression::column("a"), "$.a")]
    #[case::field(positive(Expression::column("s").field("x")), "$.s.x > 0")]
    #[case::terms(b().and(b().negated().and(b()).and(b().or(b().or(b())))), "($.b AND NOT $.b AND $.b AND ($.b OR $.b OR $.b))")]
    #[case::no_such_name(Expression::column("z"), "no field is called z")]
    #[case::two_of_a_name(Expression::column("twice"), "2 fields are called twice")]
    #[case::not_a_struct(Expression::column("a").field("x"), "trommel.get_item: argument 0 is Int64, but it must be a struct")]
    #[case::not_boolean(Expression::column("a").and(b()), "trommel.and: argument 0 is Int64, but it must be Boolean")]
    #[case::one_term(Expression::call::<And>((), vec![b()]), "trommel.and takes two or more arguments, not 1")]
    #[case::leaf(Expression::new(Unbound::Root, vec![b()]), "root is a leaf, but it was given 1 children")]
    fn binding(#[case] expression: Expression, #[case] expect: &str) {
        let result = match scope().bind(&expression) {
            Ok(bound) => bound.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(result, expect);
    }

    #[test]
    fn equal_subexpressions_are_one_node() {
        let column = || Expression::column("a");
        let both = positive(column()).or(positive(column()).negated());
        let bound = scope().bind(&both).unwrap();
        let [left, right] = bound.children() else { panic!("{bound}") };
        assert!(left.ptr_eq(&right.children()[0]));
    }
}
