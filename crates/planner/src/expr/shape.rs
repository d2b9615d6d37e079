// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What stays the same when only the constants of an expression change.
//!
//! A live filter mostly moves by its thresholds: `v > 9998` becomes `v > 9999`. Its shape, compiled and
//! optimized once, has slots where it compares with constants; the next expression of the same shape gives
//! new values for the slots, and nothing else is done.
//!
//! A slot stands for a value that isn't NULL, right or left of a comparison. All other constants belong to
//! the shape: a NULL, a pattern, a set, TRUE, the result of a CASE, and what is compared with a cast or a sum.
//! There, another value is another meaning, which rules and pruning act upon.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion_common::ScalarValue;
use smallvec::SmallVec;

use super::functions::{Arithmetic, Cast, Compare};
use super::{BoundExpression, ExprKind};

/// An expression with slots for the constants it compares with.
#[derive(Debug, Clone)]
pub struct Shape {
    expression: BoundExpression,
    slots: usize,
}

impl Shape {
    /// The shape of an expression, and the values of its slots. `None` when it has slots already.
    pub fn of(expression: &BoundExpression) -> Option<(Self, Vec<ScalarValue>)> {
        let mut values = Vec::new();
        let mut stack = vec![(expression, Vec::new())];
        loop {
            let (node, done) = stack.last_mut()?;
            let node: &BoundExpression = node;
            if let Some(child) = node.children().get(done.len()) {
                match (slot_value(node, child), u16::try_from(values.len())) {
                    (Some(value), Ok(slot)) => {
                        let field = Arc::new(Field::new("slot", value.data_type(), false));
                        done.push(BoundExpression::try_new(ExprKind::Param(slot, field), Vec::new()).ok()?);
                        values.push(value.clone());
                    }
                    _ => stack.push((child, Vec::new())),
                }
                continue;
            }
            if matches!(node.kind(), ExprKind::Param(..)) {
                return None;
            }
            let (node, done) = stack.pop()?;
            let node = node.with_children(done).ok()?;
            match stack.last_mut() {
                Some((_, siblings)) => siblings.push(node),
                None => return Some((Self { expression: node, slots: values.len() }, values)),
            }
        }
    }

    /// The expression with its slots, numbered from 0 in the order they are read.
    pub fn expression(&self) -> &BoundExpression {
        &self.expression
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Puts the constants of an expression of this shape into `values`, one for each slot; `false`, and
    /// anything in `values`, when it is of another shape.
    pub fn patch(&self, expression: &BoundExpression, values: &mut Vec<ScalarValue>) -> bool {
        values.clear();
        let mut stack = SmallVec::<[_; 32]>::from_slice(&[(&self.expression, expression)]);
        // Every column reads the same root, whose field is long: it is compared once.
        let mut same_roots = None;
        while let Some((shape, node)) = stack.pop() {
            if let ExprKind::Param(_, field) = shape.kind() {
                match node.as_literal() {
                    Some(value) if !value.is_null() && &value.data_type() == field.data_type() => {
                        values.push(value.clone());
                    }
                    _ => return false,
                }
            } else if !shape.ptr_eq(node) && same_roots != Some((shape.address(), node.address())) {
                if shape.children().len() != node.children().len() || shape.kind() != node.kind() {
                    return false;
                }
                if shape.is_root() {
                    same_roots = Some((shape.address(), node.address()));
                }
                stack.extend(shape.children().iter().zip(node.children()).rev());
            }
        }
        values.len() == self.slots
    }

    /// The constants of an expression, one for each slot; `None` when it is of another shape.
    pub fn values_of(&self, expression: &BoundExpression) -> Option<Vec<ScalarValue>> {
        let mut values = Vec::with_capacity(self.slots);
        self.patch(expression, &mut values).then_some(values)
    }
}

/// The constant that a child is, if a slot can stand for it.
fn slot_value<'a>(node: &BoundExpression, child: &'a BoundExpression) -> Option<&'a ScalarValue> {
    node.as_opt::<Compare>()?;
    let value = child.as_literal().filter(|value| !value.is_null())?;
    let computed = |e: &BoundExpression| e.as_opt::<Cast>().is_some() || e.as_opt::<Arithmetic>().is_some();
    (!node.children().iter().any(computed)).then_some(value)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use rstest::rstest;

    use super::*;
    use crate::expr::functions::ArithmeticOp;
    use crate::expr::functions::CompareOp::{Eq, Gt, Lt};
    use crate::optimizer::tests::support::*;
    use crate::optimizer::{ExpressionOptimizer, Position};

    /// The filter of a TopK over two keys.
    fn top_k(first: i32, second: &str) -> BoundExpression {
        let tie = and([is("in", Eq, first), or([is_null(column("sn")), is("sn", Lt, second)])]);
        or([is("in", Gt, first), tie])
    }

    #[test]
    fn a_shape_has_slots_for_what_is_compared_with() {
        let (shape, values) = Shape::of(&top_k(5, "m")).unwrap();
        assert_eq!(
            shape.expression().to_string(),
            "($.in > ?0 OR ($.in = ?1 AND ($.sn IS NULL OR $.sn < ?2)))"
        );
        assert_eq!(values, [ScalarValue::from(5), ScalarValue::from(5), ScalarValue::from("m")]);
        assert_eq!(shape.slots(), 3);
        assert!(Shape::of(shape.expression()).is_none());
    }

    #[rstest]
    #[case::same(top_k(5, "m"), Some(vec!["5", "5", "m"]))]
    #[case::other_values(top_k(7, "a"), Some(vec!["7", "7", "a"]))]
    #[case::other_operator(or([is("in", Lt, 5), top_k(5, "m").children()[1].clone()]), None)]
    #[case::other_column(or([is("i", Gt, 5), top_k(5, "m").children()[1].clone()]), None)]
    #[case::null(or([is("in", Gt, ScalarValue::Int32(None)), top_k(5, "m").children()[1].clone()]), None)]
    #[case::more(or([is("in", Gt, 5), top_k(5, "m").children()[1].clone(), column("bn")]), None)]
    #[case::constant(boolean(false), None)]
    fn values(#[case] expression: BoundExpression, #[case] expect: Option<Vec<&str>>) {
        let (shape, _) = Shape::of(&top_k(1, "z")).unwrap();
        let values = shape.values_of(&expression);
        let texts = values.map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(texts, expect.map(|texts| texts.into_iter().map(ToOwned::to_owned).collect()));
    }

    #[rstest]
    #[case::pattern(like("sn", "a%"))]
    #[case::set(in_set(column("in"), [1, 2]))]
    #[case::result(case(None, [(column("b"), lit(1))], Some(lit(2))))]
    #[case::null(is("in", Eq, ScalarValue::Int32(None)))]
    #[case::boolean(and([column("b"), boolean(true)]))]
    #[case::beside_a_cast(compare(cast(column("in"), DataType::Int64), Lt, lit(5i64)))]
    #[case::beside_a_sum(compare(arithmetic(column("in"), ArithmeticOp::Add, lit(1)), Eq, lit(5)))]
    fn other_constants_belong_to_the_shape(#[case] expression: BoundExpression) {
        let (shape, values) = Shape::of(&expression).unwrap();
        assert!(values.is_empty());
        assert!(shape.expression().ptr_eq(&expression));
    }

    #[test]
    fn a_shape_is_optimized_once_for_all_values() {
        let flipped = |bound: i32| and([compare(lit(bound), Lt, column("in")), boolean(true)]);
        let (shape, _) = Shape::of(&flipped(1)).unwrap();
        let optimizer = ExpressionOptimizer::default();
        let optimized = optimizer.optimize(shape.expression(), Position::Filter).unwrap();
        assert_eq!(optimized.to_string(), "$.in > ?0");
        assert_eq!(shape.values_of(&flipped(9)).unwrap(), [ScalarValue::from(9)]);
    }
}
