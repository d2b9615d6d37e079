// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The compiled form of a predicate: a tree that is asked for which rows it may give one of some truth values.
//!
//! A question to a node becomes questions to its children. Each is asked only of the rows for which the answer
//! still matters: a term of an AND of those where all terms before it may be TRUE, say. Terms are taken as
//! independent of each other, so an answer may hold rows that a closer look would leave out, never the reverse.

use std::sync::Arc;

use super::Truth;
use super::case::Case;
use super::extent::Extent;
use super::judge::{Judge, param};
use super::leaf::Leaf;
use super::mapping::{Mapping, boolean, truth_of};
use super::probe::Probe;
use crate::expr::functions::CompareOp;

/// A node of a compiled predicate.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// The same set everywhere; [`Truth::ANY`] for what can't be judged.
    Constant(Truth),
    /// A boolean parameter.
    Param(u16),
    /// A test of an operand, by its number.
    Leaf(usize, Leaf),
    /// A comparison of two operands.
    Pair(CompareOp, [usize; 2]),
    /// What bounds don't decide.
    Probe(Arc<Probe>),
    /// A function of one boolean.
    Map(Mapping, Box<Node>),
    /// AND of two or more.
    And(Vec<Node>),
    /// OR of two or more.
    Or(Vec<Node>),
    /// CASE.
    Case(Box<Case>),
}

impl Node {
    /// What can't be judged.
    pub const ANY: Node = Node::Constant(Truth::ANY);

    /// AND, the constants among the terms folded.
    pub fn and(terms: Vec<Node>) -> Self {
        Self::fold(terms, Truth::TRUE, Truth::and, Self::And)
    }

    /// OR, the constants among the terms folded.
    pub fn or(terms: Vec<Node>) -> Self {
        Self::fold(terms, Truth::FALSE, Truth::or, Self::Or)
    }

    fn fold(
        terms: Vec<Node>,
        neutral: Truth,
        op: fn(Truth, Truth) -> Truth,
        node: fn(Vec<Node>) -> Node,
    ) -> Self {
        let mut constant = neutral;
        let mut rest: Vec<Node> = Vec::with_capacity(terms.len());
        for term in terms {
            match term {
                Self::Constant(truth) => constant = op(constant, truth),
                term => rest.push(term),
            }
        }
        // FALSE settles an AND and TRUE an OR, whatever the other terms are.
        if rest.is_empty() || constant == neutral.negate() {
            return Self::Constant(constant);
        }
        if constant != neutral {
            rest.push(Self::Constant(constant));
        }
        if rest.len() == 1 { rest.swap_remove(0) } else { node(rest) }
    }

    /// A function of a node, folded when the node is constant.
    pub fn map(self, mapping: Mapping) -> Self {
        match (self, mapping.table(&[])) {
            (Self::Constant(truth), Ok(table)) => Self::Constant(table.of(truth)),
            (node, _) => Self::Map(mapping, Box::new(node)),
        }
    }

    /// The negation, if `negated`.
    pub fn negated_if(self, negated: bool) -> Self {
        if negated { self.map(Mapping::Not) } else { self }
    }

    /// Calls `visit` with this node and all below.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        match self {
            Self::Map(_, node) => node.visit(visit),
            Self::And(terms) | Self::Or(terms) => terms.iter().for_each(|term| term.visit(visit)),
            Self::Case(case) => {
                case.arms.iter().flat_map(|(when, then)| [when, then]).for_each(|node| node.visit(visit));
                case.otherwise.visit(visit);
            }
            _ => {}
        }
    }

    /// The rows of `live` for which the predicate may be one of `set`.
    pub fn may(&self, judge: &Judge<'_>, set: Truth, live: &Extent) -> Extent {
        if live.is_empty() || set == Truth::NONE {
            return Extent::Nothing;
        }
        match self {
            _ if set == Truth::ANY => live.clone(),
            Self::Constant(truth) => constant(*truth, set, live),
            Self::Param(slot) => {
                let truth = param(*slot, judge.params()).and_then(boolean).map(truth_of);
                constant(judge.ok(truth).unwrap_or(Truth::ANY), set, live)
            }
            Self::Leaf(operand, leaf) => judge.leaf(*operand, leaf, set, live),
            Self::Pair(op, operands) => judge.pair(*op, *operands, set, live),
            Self::Probe(probe) => judge.probe(probe, set, live),
            Self::Map(mapping, node) => match judge.ok(mapping.table(judge.params())) {
                Some(table) => node.may(judge, table.preimage(set), live),
                None => live.clone(),
            },
            Self::And(terms) => Junction { terms, negated: false, judge }.may(set, live),
            Self::Or(terms) => Junction { terms, negated: true, judge }.may(set.negate(), live),
            Self::Case(case) => case.may(judge, set, live),
        }
    }
}

fn constant(truth: Truth, set: Truth, live: &Extent) -> Extent {
    if truth.meets(set) { live.clone() } else { Extent::Nothing }
}

/// An AND of terms, or of their negations.
struct Junction<'a> {
    terms: &'a [Node],
    negated: bool,
    judge: &'a Judge<'a>,
}

impl Junction<'_> {
    /// It may be
    /// * TRUE where every term may be;
    /// * FALSE where some term may be;
    /// * NULL where some term may be and every term may be TRUE or NULL;
    /// * other than FALSE where every term may be, other than TRUE where some term may be.
    fn may(&self, set: Truth, live: &Extent) -> Extent {
        let other_than_false = Truth::TRUE.or_else(Truth::NULL);
        match set {
            Truth::TRUE => self.every(set, live),
            Truth::NULL => self.some(set, &self.every(other_than_false, live)),
            _ if set == other_than_false => self.every(set, live),
            _ if !set.may_be_true() => self.some(set, live),
            _ => {
                let falls = self.some(Truth::FALSE, live);
                let rest = live.minus(&falls, self.judge.rows());
                falls.union(self.every(Truth::TRUE, &rest), self.judge.rows())
            }
        }
    }

    fn every(&self, set: Truth, live: &Extent) -> Extent {
        let mut terms = self.terms.iter();
        let first = terms.next().map_or_else(|| live.clone(), |term| self.ask(term, set, live));
        terms.fold(first, |live, term| self.ask(term, set, &live))
    }

    fn some(&self, set: Truth, live: &Extent) -> Extent {
        let (mut found, mut rest) = (Extent::Nothing, live.clone());
        for term in self.terms {
            let more = self.ask(term, set, &rest);
            rest = rest.minus(&more, self.judge.rows());
            found = found.union(more, self.judge.rows());
            if rest.is_empty() {
                break;
            }
        }
        found
    }

    fn ask(&self, term: &Node, set: Truth, live: &Extent) -> Extent {
        term.may(self.judge, if self.negated { set.negate() } else { set }, live)
    }
}
