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
use super::judge::Judge;
use super::judged::Judged;
use super::lanes::Lanes;
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
    /// The truth sets over the judge's rows.
    pub fn judge(&self, judge: &Judge<'_>) -> Judged {
        // "TRUE" in these says that some row may come to the next arm.
        let mut coming = Judged::Constant(Truth::TRUE);
        let mut result = Judged::Constant(Truth::NONE);
        for (when, then) in &self.arms {
            let when = when.judge(judge);
            let taking =
                judge.zip(coming.clone(), when.clone(), |coming, when| Lanes::reached(coming.t & when.t));
            coming = judge.zip(coming, when, |coming, when| Lanes::reached(coming.t & (when.f | when.n)));
            if !taking.is_always(Truth::NONE) {
                result = judge.zip(result, arm(judge, taking, then), Lanes::or_else);
            }
            if coming.is_always(Truth::NONE) {
                return result;
            }
        }
        judge.zip(result, arm(judge, coming, &self.otherwise), Lanes::or_else)
    }
}

/// An arm's truth sets where it may be taken, and nothing elsewhere.
fn arm(judge: &Judge<'_>, taking: Judged, then: &Node) -> Judged {
    judge.zip(taking, then.judge(judge), |taking, then| then.only(taking.t))
}

impl Lanes {
    /// TRUE in the lanes of `mask`, nothing in the others.
    fn reached(mask: u64) -> Self {
        Self { t: mask, f: 0, n: 0 }
    }
}
