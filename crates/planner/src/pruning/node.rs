// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The compiled form of a predicate: a tree whose every node has a truth set in every zone.

use super::Truth;
use super::case::Case;
use super::judge::{Judge, param};
use super::judged::Judged;
use super::lanes::Lanes;
use super::leaf::Leaf;
use super::mapping::{Mapping, boolean, truth_of};

/// A node of a compiled predicate.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// The same set everywhere; [`Truth::ANY`] for what can't be judged.
    Constant(Truth),
    /// A boolean parameter.
    Param(u16),
    /// A test of an operand, by its number.
    Leaf(usize, Leaf),
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
            (Self::Constant(truth), Ok(table)) => Self::Constant(Lanes::splat(truth).map(table).get(0)),
            (node, _) => Self::Map(mapping, Box::new(node)),
        }
    }

    /// The truth sets over the judge's rows.
    pub fn judge(&self, judge: &Judge<'_>) -> Judged {
        match self {
            Self::Constant(truth) => Judged::Constant(*truth),
            Self::Param(slot) => {
                let truth = param(*slot, judge.params()).and_then(boolean).map(truth_of);
                Judged::Constant(judge.or_any(truth))
            }
            Self::Leaf(operand, leaf) => judge.leaf(*operand, leaf),
            Self::Map(mapping, node) => match judge.ok(mapping.table(judge.params())) {
                Some(table) => node.judge(judge).map(|lanes| lanes.map(table)),
                None => Judged::Constant(Truth::ANY),
            },
            Self::And(terms) => all(judge, terms, Truth::TRUE, Lanes::and),
            Self::Or(terms) => all(judge, terms, Truth::FALSE, Lanes::or),
            Self::Case(case) => case.judge(judge),
        }
    }
}

/// The terms joined by `op`, up to the first that settles every row.
fn all(judge: &Judge<'_>, terms: &[Node], neutral: Truth, op: fn(Lanes, Lanes) -> Lanes) -> Judged {
    let mut joined = Judged::Constant(neutral);
    for term in terms {
        joined = judge.zip(joined, term.judge(judge), op);
        if joined.is_always(neutral.negate()) {
            break;
        }
    }
    joined
}
