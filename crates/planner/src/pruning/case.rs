// Licensed under the Apache License, Version 2.0. See LICENSE.

//! CASE over truth values: the union of the truths of the arms that some row may reach.
//!
//! An arm is taken where its condition is TRUE and passed where it is FALSE or NULL; no arm after one that is
//! always TRUE is reached. Sound because every row takes some arm that is counted here, and the result
//! is then a value of that arm.
//!
//! A condition of which nothing is known makes its arm possible and no later one impossible. So the filter
//! that a partitioned join hands down, `CASE hash % n WHEN 0 THEN f0 … ELSE false END`, is what any of
//! the partitions wants: the hull of their bounds and the merge of their keys.

use super::Truth;
use super::extent::Extent;
use super::judge::Judge;
use super::node::Node;

/// A CASE whose results are booleans.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// A condition and a result for each arm.
    pub arms: Vec<(Node, Node)>,
    /// The result where no condition is TRUE.
    pub otherwise: Node,
}

impl Case {
    /// The rows of `live` for which the CASE may be one of `set`.
    pub fn may(&self, judge: &Judge<'_>, set: Truth, live: &Extent) -> Extent {
        let (mut found, mut coming) = (Extent::Nothing, live.clone());
        let add = |found: Extent, then: &Node, taking: Extent| {
            let rest = taking.minus(&found, judge.rows());
            found.union(then.may(judge, set, &rest), judge.rows())
        };
        for (when, then) in &self.arms {
            found = add(found, then, when.may(judge, Truth::TRUE, &coming));
            coming = when.may(judge, Truth::FALSE.or_else(Truth::NULL), &coming);
            if coming.is_empty() {
                return found;
            }
        }
        add(found, &self.otherwise, coming)
    }
}
