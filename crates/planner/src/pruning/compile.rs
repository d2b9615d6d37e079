// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Compiling a bound expression into the tree that is judged.

use std::iter;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

use super::Truth;
use super::case::Case;
use super::leaf::{Comparison, Leaf, Membership, NullTest, Pattern, next_prefix, string};
use super::mapping::{Mapping, boolean, truth_of};
use super::node::Node;
use super::operand::{Operand, Operands, plain};
use super::probe::Probe;
use crate::expr::functions::{
    And, Case as CaseFn, CaseShape, Compare, CompareOp, InSet, InSetOptions, IsNull, Like, Not, Or, Pack,
    ValueSet,
};
use crate::expr::{BoundExpression, ExprKind};
use crate::floats::is_float;

/// How deep a predicate is looked into; AND and OR of any length count once.
pub(super) const MAX_DEPTH: usize = 256;

/// Up to how many tuples of a list are told apart.
const FEW_TUPLES: usize = 16;

/// Compiles a boolean expression over the struct of a table's columns: the tree, and its operands.
pub(super) fn compile(predicate: &BoundExpression) -> (Node, Vec<Operand>) {
    let mut compiler = Compiler::default();
    let node = compiler.node(predicate, 0);
    (node, compiler.operands.into_all())
}

#[derive(Default)]
struct Compiler {
    operands: Operands,
}

impl Compiler {
    fn node(&mut self, expr: &BoundExpression, depth: usize) -> Node {
        self.judgeable(expr, depth).unwrap_or_else(|| self.probe(expr))
    }

    /// A predicate that isn't looked into.
    fn probe(&mut self, expr: &BoundExpression) -> Node {
        let probe = is_boolean(expr).then(|| Probe::of(expr, &mut self.operands)).flatten();
        probe.map_or(Node::ANY, |probe| Node::Probe(Arc::new(probe)))
    }

    fn nodes(&mut self, exprs: &[BoundExpression], depth: usize) -> Vec<Node> {
        exprs.iter().map(|expr| self.node(expr, depth + 1)).collect()
    }

    /// The node of an expression; `None` when it can't be judged.
    fn judgeable(&mut self, expr: &BoundExpression, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH || !is_boolean(expr) {
            return None;
        }
        match expr.kind() {
            ExprKind::Literal(value) => return boolean(value).ok().map(|b| Node::Constant(truth_of(b))),
            ExprKind::Param(slot, _) => return Some(Node::Param(*slot)),
            ExprKind::Call(_) => {}
            _ => return None,
        }
        let args = expr.children();
        if expr.as_opt::<And>().is_some() {
            Some(Node::and(self.nodes(args, depth)))
        } else if expr.as_opt::<Or>().is_some() {
            Some(Node::or(self.nodes(args, depth)))
        } else if expr.as_opt::<Not>().is_some() {
            Some(self.node(args.first()?, depth + 1).map(Mapping::Not))
        } else if let Some(negated) = expr.as_opt::<IsNull>() {
            self.is_null(args.first()?, *negated, depth)
        } else if let Some(op) = expr.as_opt::<Compare>() {
            let [left, right] = args else { return None };
            self.compare(*op, left, right, depth)
        } else if let Some(options) = expr.as_opt::<InSet>() {
            let needle = args.first()?;
            match needle.as_opt::<Pack>() {
                Some(_) => self.tuple_in(expr, needle.children(), options),
                None => self.leaf(needle, Leaf::InSet(Membership::new(options))),
            }
        } else if let Some(options) = expr.as_opt::<Like>() {
            let [value, pattern] = args else { return None };
            let rest = |compiler: &mut Self| compiler.probe(expr).negated_if(options.negated);
            let like = self.like(value, pattern.as_literal()?, options.case_insensitive, rest)?;
            Some(like.negated_if(options.negated))
        } else if let Some(shape) = expr.as_opt::<CaseFn>() {
            self.case(*shape, args, depth)
        } else {
            // A boolean column: TRUE where it equals TRUE, and so on.
            self.compare_value(CompareOp::Eq, expr, &ScalarValue::Boolean(Some(true)))
        }
    }

    fn is_null(&mut self, of: &BoundExpression, negated: bool, depth: usize) -> Option<Node> {
        if let Some(leaf) = self.leaf(of, Leaf::IsNull(NullTest { negated })) {
            return Some(leaf);
        }
        Some(self.node(of, depth + 1).map(Mapping::IsNull { negated }))
    }

    fn compare(
        &mut self,
        op: CompareOp,
        left: &BoundExpression,
        right: &BoundExpression,
        depth: usize,
    ) -> Option<Node> {
        match (left.kind(), right.kind()) {
            (_, ExprKind::Literal(value)) if value.is_null() && !op.is_distinct() => {
                Some(Node::Constant(Truth::NULL))
            }
            (_, ExprKind::Literal(value)) => {
                self.compare_value(op, left, value).or_else(|| self.map_value(op, left, value, depth))
            }
            (_, ExprKind::Param(slot, _)) => {
                let leaf = Leaf::Compare(Comparison::with_param(op, *slot));
                self.leaf(left, leaf).or_else(|| {
                    is_boolean(left).then(|| self.node(left, depth + 1).map(Mapping::CompareParam(op, *slot)))
                })
            }
            (ExprKind::Literal(_) | ExprKind::Param(..), _) => self.compare(op.swap(), right, left, depth),
            // Both in the order of one type, dictionaries aside.
            _ if plain(left.field().data_type()) == plain(right.field().data_type()) => {
                Some(Node::Pair(op, [self.operands.number(left)?, self.operands.number(right)?]))
            }
            _ => None,
        }
    }

    /// A comparison of an operand with a value.
    fn compare_value(
        &mut self,
        op: CompareOp,
        operand: &BoundExpression,
        value: &ScalarValue,
    ) -> Option<Node> {
        let comparison = Comparison::with_value(op, value).ok()?;
        self.leaf(operand, Leaf::Compare(comparison))
    }

    /// A comparison of anything else with a value.
    fn map_value(
        &mut self,
        op: CompareOp,
        expr: &BoundExpression,
        value: &ScalarValue,
        depth: usize,
    ) -> Option<Node> {
        let mapping = Mapping::compare(op, value)?;
        Some(self.node(expr, depth + 1).map(mapping))
    }

    fn like(
        &mut self,
        operand: &BoundExpression,
        pattern: &ScalarValue,
        ignore_case: bool,
        rest: impl Fn(&mut Self) -> Node,
    ) -> Option<Node> {
        let Some(pattern) = pattern.try_as_str()? else { return Some(Node::Constant(Truth::NULL)) };
        let data_type = plain(operand.field().data_type()).clone();
        let mut compare = |op, text: String| self.compare_value(op, operand, &string(&data_type, text)?);
        let pattern = Pattern::parse(pattern);
        if ignore_case && !pattern.has_no_case() {
            let (ranges, is_all) = pattern.any_case();
            let is_whole = is_all && matches!(pattern, Pattern::Exactly(_));
            let range = |[least, most]: [String; 2]| match is_whole {
                true => compare(CompareOp::Eq, least),
                false => {
                    let from = compare(CompareOp::GtEq, least)?;
                    Some(Node::and(vec![from, compare(CompareOp::Lt, next_prefix(&most)?)?]))
                }
            };
            let ranges = Node::or(ranges.into_iter().map(range).collect::<Option<_>>()?);
            return Some(if is_all { ranges } else { Node::and(vec![ranges, rest(self)]) });
        }
        let (text, more) = match pattern {
            Pattern::Exactly(text) => return compare(CompareOp::Eq, text),
            Pattern::StartsWith(text) => (text, false),
            Pattern::Begins(text) => (text, true),
        };
        let next = next_prefix(&text);
        let from = compare(CompareOp::GtEq, text)?;
        let to = next.map(|next| compare(CompareOp::Lt, next)).unwrap_or(None);
        let rest = more.then(|| rest(self));
        Some(Node::and([Some(from), to, rest].into_iter().flatten().collect()))
    }

    /// `(x, y, …) [NOT] IN (tuples)`: it can't hold but where each term is one that some tuple has there.
    ///
    /// A tuple itself is never NULL, and its NULLs equal NULLs.
    fn tuple_in(
        &mut self,
        expr: &BoundExpression,
        terms: &[BoundExpression],
        options: &InSetOptions,
    ) -> Option<Node> {
        let tuples = options.set.values().as_struct_opt()?;
        let mut nodes = vec![];
        for (term, values) in terms.iter().zip(tuples.columns()) {
            let Ok(set) = ValueSet::try_new(values) else { continue };
            let set = Arc::new(set);
            let Some(found) = self.leaf(term, Leaf::InSet(Membership::of(&set, false))) else { continue };
            let is_true = Mapping::Compare(CompareOp::IsNotDistinctFrom, Some(true));
            let null = set.has_null().then(|| self.leaf(term, Leaf::IsNull(NullTest { negated: false })));
            nodes.push(Node::or(iter::once(found.map(is_true)).chain(null.flatten()).collect()));
        }
        if tuples.len() <= FEW_TUPLES {
            let tuple = |row: usize| {
                let same = |(term, values): (&BoundExpression, &ArrayRef)| {
                    let value = ScalarValue::try_from_array(values, row).ok()?;
                    self.compare_value(CompareOp::IsNotDistinctFrom, term, &value)
                };
                Node::and(terms.iter().zip(tuples.columns()).filter_map(same).collect())
            };
            nodes.push(Node::or((0..tuples.len()).map(tuple).collect()));
        }
        nodes.push(self.probe(expr).negated_if(options.negated));
        let null = options.set.has_null().then_some(Node::Constant(Truth::NULL));
        let found = Node::or(iter::once(Node::and(nodes)).chain(null).collect());
        Some(found.negated_if(options.negated))
    }

    fn case(&mut self, shape: CaseShape, args: &[BoundExpression], depth: usize) -> Option<Node> {
        let operand = args.first().filter(|_| shape.operand);
        let mut arms = Vec::with_capacity(shape.arms);
        for when in (0..shape.arms).map(|arm| shape.when(arm)) {
            let then = self.node(args.get(when + 1)?, depth + 1);
            let when = match operand {
                Some(operand) => self.case_matches(operand, &args[when], depth),
                None => self.node(&args[when], depth + 1),
            };
            arms.push((when, then));
        }
        let otherwise = match shape.otherwise() {
            Some(otherwise) => self.node(args.get(otherwise)?, depth + 1),
            None => Node::Constant(Truth::NULL),
        };
        let is_known = |node: &Node| !matches!(node, Node::Constant(Truth::ANY));
        let known = is_known(&otherwise) || arms.iter().any(|(_, then)| is_known(then));
        known.then(|| Node::Case(Box::new(Case { arms, otherwise })))
    }

    /// Whether a CASE's operand matches a WHEN: equality, but of floats by another order.
    fn case_matches(&mut self, operand: &BoundExpression, when: &BoundExpression, depth: usize) -> Node {
        if is_float(operand.field().data_type()) {
            return Node::ANY;
        }
        self.compare(CompareOp::Eq, operand, when, depth).unwrap_or(Node::ANY)
    }

    /// A test of an operand; `None` when the expression isn't one.
    fn leaf(&mut self, operand: &BoundExpression, leaf: Leaf) -> Option<Node> {
        Some(Node::Leaf(self.operands.number(operand)?, leaf))
    }
}

fn is_boolean(expr: &BoundExpression) -> bool {
    matches!(expr.field().data_type(), DataType::Boolean | DataType::Null)
}
