// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The work-list driver: rewrites a tree, of whatever kind, by rules until none fires.
//!
//! The order is fixed: children in argument order, then the node itself, for which the rules are tried
//! from the first. When one fires, the driver starts over at the replacement: its whole subtree is
//! visited, and then the replacement's own rules from the first. A parent is rebuilt only when a child
//! changed, and tries its rules after that; children whose place that changes are visited again. So at the
//! end no rule fires anywhere.
//!
//! What was settled once is remembered by its address, together with the [place](Tree::Place) it was met
//! in: a replacement that reuses settled subtrees costs no more than its new nodes, and an expression
//! that nothing fires on comes back as the very node it was.
//!
//! Nothing here recurses: the depth of a tree is limited by memory only.

use std::collections::VecDeque;
use std::error::Error;
use std::hash::Hash;

use datafusion_common::{HashMap, HashSet};

use super::RewriteError;

/// A node with children, as the driver sees it. Cheap to clone.
pub trait Tree: Clone {
    /// What the nodes above say of a node, so far as it matters to rules.
    type Place: Copy + Eq + Hash;

    /// Why a node can't be looked at or rebuilt.
    type Error: Error + Send + Sync + 'static;

    /// The node's identity: different for different nodes that exist at the same time.
    fn address(&self) -> usize;

    /// How many children are visited.
    fn arity(&self) -> usize;

    /// A child.
    ///
    /// # Errors
    /// When it can't be made.
    fn child(&self, child: usize) -> Result<&Self, Self::Error>;

    /// The place of a child, given the node's own.
    fn place_of(&self, child: usize, place: Self::Place) -> Self::Place;

    /// The same node over other children.
    ///
    /// # Errors
    /// When it doesn't take them.
    fn with_children(&self, children: Vec<Self>) -> Result<Self, Self::Error>;

    /// Whether both are the same tree, if not the same node.
    fn is_identical(&self, other: &Self) -> bool;

    /// Checks that this node can stand for `original` in its place, a part of the tree `whole`.
    ///
    /// # Errors
    /// The reason why it can't.
    fn check_stands_for(&self, original: &Self, place: Self::Place, whole: &Self) -> Result<(), String>;

    /// The node in words, cut short.
    fn label(&self) -> String;
}

/// The rules of a run.
pub trait Rules<N: Tree> {
    /// Whether there may be a rule for the node.
    fn concern(&self, node: &N, place: N::Place) -> bool;

    /// What the first rule that fires makes of the node, whose children are settled.
    ///
    /// # Errors
    /// When a rule failed.
    fn rewrite(&self, node: &N, place: N::Place) -> Result<Option<Fired<N>>, RewriteError>;

    /// Told of every firing, when it has been checked.
    fn fired(&self, _rule: &'static str, _before: &N, _after: &N) {}
}

/// A rule has fired.
#[derive(Debug)]
pub struct Fired<N> {
    /// The rule.
    pub rule: &'static str,
    /// What it put in the node's place.
    pub replacement: N,
}

/// How many firings are kept to be named in an error.
const RECENT: usize = 6;

/// How many rules may fire in any tree, however small.
const LEAST_BUDGET: usize = 1024;

/// How many rules may fire for each node.
const BUDGET_PER_NODE: usize = 16;

/// How many nodes there is room for from the start.
const TYPICAL: usize = 48;

/// Rewrites `tree`, met in `place`, until no rule fires.
///
/// `budget` is how many rules may fire: by default `max(1024, 16 × nodes)`.
///
/// # Errors
/// When a rule fails, gives back what it was given, or something that can't stand for it; when a node
/// can't be rebuilt; when the budget is used up.
pub fn rewrite<N: Tree>(
    tree: &N,
    place: N::Place,
    rules: &impl Rules<N>,
    budget: Option<usize>,
) -> Result<N, RewriteError> {
    let budget = Budget { limit: budget, spent: 0, recent: VecDeque::with_capacity(RECENT) };
    let (settled, stack) = (HashMap::with_capacity(TYPICAL), Vec::with_capacity(TYPICAL));
    Run { whole: tree, rules, settled, stack, budget }.run(place)
}

struct Run<'a, N: Tree, R> {
    whole: &'a N,
    rules: &'a R,
    settled: HashMap<(usize, N::Place), Settled<N>>,
    stack: Vec<Frame<N>>,
    budget: Budget<N>,
}

struct Settled<N> {
    /// Kept so that no other node comes to lie at its address.
    _origin: N,
    result: N,
}

/// A node being worked on.
struct Frame<N: Tree> {
    /// The node as it was met.
    origin: N,
    /// What has become of it.
    node: N,
    place: N::Place,
    /// The next child to visit.
    next: usize,
    /// The settled children before `next`, once one of them differs from the node's.
    changed: Option<Vec<N>>,
}

impl<N: Tree> Frame<N> {
    fn new(node: N, place: N::Place) -> Self {
        Self { origin: node.clone(), node, place, next: 0, changed: None }
    }

    /// Takes the settled form of the next child.
    fn accept(&mut self, settled: N) -> Result<(), N::Error> {
        let child = self.node.child(self.next)?;
        if self.changed.is_none() && child.address() != settled.address() {
            let mut before = Vec::with_capacity(self.node.arity());
            for i in 0..self.next {
                before.push(self.node.child(i)?.clone());
            }
            self.changed = Some(before);
        }
        if let Some(children) = &mut self.changed {
            children.push(settled);
        }
        self.next += 1;
        Ok(())
    }
}

impl<N: Tree, R: Rules<N>> Run<'_, N, R> {
    fn run(mut self, place: N::Place) -> Result<N, RewriteError> {
        if let Some(settled) = self.settled(self.whole, place) {
            return Ok(settled);
        }
        self.stack.push(Frame::new(self.whole.clone(), place));
        while let Some(mut frame) = self.stack.pop() {
            if frame.next < frame.node.arity() {
                let child = frame.node.child(frame.next).map_err(|e| self.unusable(&frame.node, e))?;
                let place = frame.node.place_of(frame.next, frame.place);
                match self.settled(child, place) {
                    Some(settled) => {
                        frame.accept(settled).map_err(|e| self.unusable(&frame.node, e))?;
                        self.stack.push(frame);
                    }
                    None => {
                        let child = Frame::new(child.clone(), place);
                        self.stack.extend([frame, child]);
                    }
                }
            } else if let Some(frame) = self.rewrite_root(frame)? {
                self.stack.push(frame);
            } else if self.stack.is_empty() {
                break;
            }
        }
        match self.settled(self.whole, place) {
            Some(settled) => Ok(settled),
            None => Ok(self.whole.clone()),
        }
    }

    /// What a node is known to settle as.
    fn settled(&self, node: &N, place: N::Place) -> Option<N> {
        if node.arity() == 0 && !self.rules.concern(node, place) {
            return Some(node.clone());
        }
        self.settled.get(&(node.address(), place)).map(|s| s.result.clone())
    }

    /// Tries the rules at a node whose children are settled. Gives the frame back when there is more to
    /// do, else hands the settled node to its parent.
    fn rewrite_root(&mut self, mut frame: Frame<N>) -> Result<Option<Frame<N>>, RewriteError> {
        if let Some(children) = frame.changed.take() {
            let node = frame.node.with_children(children).map_err(|e| self.unusable(&frame.node, e))?;
            if let Err(reason) = node.check_stands_for(&frame.node, frame.place, self.whole) {
                return Err(self.unusable(&frame.node, reason));
            }
            let moved = |c| node.place_of(c, frame.place) != frame.node.place_of(c, frame.place);
            let any_moved = (0..node.arity()).any(moved);
            frame.node = node;
            if any_moved {
                // What settled in one place may not be settled in another.
                frame.next = 0;
                return Ok(Some(frame));
            }
        }
        if let Some(Fired { rule, replacement }) = self.rules.rewrite(&frame.node, frame.place)? {
            self.check(rule, &frame, &replacement)?;
            self.rules.fired(rule, &frame.node, &replacement);
            self.budget.spend(rule, &frame.node, self.whole)?;
            match self.settled(&replacement, frame.place) {
                Some(settled) => frame.node = settled,
                None => {
                    (frame.node, frame.next) = (replacement, 0);
                    return Ok(Some(frame));
                }
            }
        }
        self.settle(frame)?;
        Ok(None)
    }

    fn settle(&mut self, frame: Frame<N>) -> Result<(), RewriteError> {
        let Frame { origin, node, place, .. } = frame;
        if origin.address() != node.address() {
            let fixpoint = Settled { _origin: node.clone(), result: node.clone() };
            self.settled.insert((node.address(), place), fixpoint);
        }
        let accepted = match self.stack.last_mut() {
            Some(parent) => parent.accept(node.clone()),
            None => Ok(()),
        };
        accepted.map_err(|e| self.unusable(&origin, e))?;
        self.settled.insert((origin.address(), place), Settled { _origin: origin, result: node });
        Ok(())
    }

    fn check(&self, rule: &'static str, frame: &Frame<N>, replacement: &N) -> Result<(), RewriteError> {
        let Frame { node, place, .. } = frame;
        if node.is_identical(replacement) {
            return Err(RewriteError::Identical { rule, root: node.label() });
        }
        replacement.check_stands_for(node, *place, self.whole).map_err(|reason| RewriteError::Misfit {
            rule,
            root: node.label(),
            replacement: replacement.label(),
            reason,
        })
    }

    fn unusable(&self, node: &N, reason: impl Into<Box<dyn Error + Send + Sync>>) -> RewriteError {
        RewriteError::Node { root: node.label(), recent: self.budget.recent(), source: reason.into() }
    }
}

/// How many rules may fire, how many have, and the last of them.
struct Budget<N> {
    limit: Option<usize>,
    spent: usize,
    recent: VecDeque<(&'static str, N)>,
}

impl<N: Tree> Budget<N> {
    fn spend(&mut self, rule: &'static str, node: &N, whole: &N) -> Result<(), RewriteError> {
        self.spent += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((rule, node.clone()));
        if self.spent <= self.limit.unwrap_or(LEAST_BUDGET) {
            return Ok(());
        }
        // Most trees never get here, so nodes are counted only now.
        let limit = self.limit.unwrap_or_else(|| LEAST_BUDGET.max(BUDGET_PER_NODE * count(whole)));
        self.limit = Some(limit);
        if self.spent <= limit {
            return Ok(());
        }
        Err(RewriteError::Budget { budget: limit, recent: self.recent() })
    }

    fn recent(&self) -> Vec<(&'static str, String)> {
        self.recent.iter().map(|(rule, node)| (*rule, node.label())).collect()
    }
}

/// How many nodes the tree has, shared ones counted once.
fn count<N: Tree>(tree: &N) -> usize {
    let (mut seen, mut stack) = (HashSet::from([tree.address()]), vec![tree]);
    while let Some(node) = stack.pop() {
        let children = (0..node.arity()).filter_map(|c| node.child(c).ok());
        stack.extend(children.filter(|c| seen.insert(c.address())));
    }
    seen.len()
}

#[cfg(test)]
mod tests;
