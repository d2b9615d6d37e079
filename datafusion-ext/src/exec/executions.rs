// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which partitions' streams belong to one execution of a plan node.
//!
//! `ExecutionPlan::execute(partition)` doesn't say which run of the plan it belongs to, yet the partitions
//! of one run share a queue of work. The rule: *the n-th call for each partition belongs to the n-th
//! execution* of the node instance. It holds for plans run twice, one after the other or side by side,
//! and for partitions run one after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// The executions of one node instance, each with a shared state `T`.
pub struct Executions<T> {
    calls: Mutex<Calls<T>>,
}

struct Calls<T> {
    /// How often each partition was executed.
    per_partition: Vec<u64>,
    /// The executions that some partition hasn't joined yet, by number.
    open: BTreeMap<u64, (Arc<T>, usize)>,
}

impl<T> Executions<T> {
    /// No execution yet, of a node with this many partitions.
    pub fn new(partitions: usize) -> Self {
        let calls = Calls { per_partition: vec![0; partitions], open: BTreeMap::new() };
        Self { calls: Mutex::new(calls) }
    }

    /// Joins the next execution for `partition`, made by `start` if no other partition joined it before;
    /// `None` when there is no such partition.
    pub fn join(&self, partition: usize, start: impl FnOnce() -> T) -> Option<Arc<T>> {
        let mut calls = self.calls.lock();
        let partitions = calls.per_partition.len();
        let number = calls.per_partition.get_mut(partition)?;
        let execution = *number;
        *number += 1;
        let (state, joined) = calls.open.entry(execution).or_insert_with(|| (Arc::new(start()), 0));
        *joined += 1;
        let (state, complete) = (Arc::clone(state), *joined == partitions);
        // The streams keep the state alive; until all have joined, it is kept for those to come, even if
        // the earlier ones are done: what they have read must not be read again.
        if complete {
            calls.open.remove(&execution);
        }
        Some(state)
    }
}

impl<T> fmt::Debug for Executions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executions").field("calls", &self.calls.lock().per_partition).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(executions: &Executions<u32>, partition: usize, tag: u32) -> u32 {
        *executions.join(partition, || tag).unwrap()
    }

    #[test]
    fn partitions_of_one_run_share() {
        let executions = Executions::new(2);
        assert_eq!(join(&executions, 0, 1), 1);
        assert_eq!(join(&executions, 1, 2), 1);
    }

    #[test]
    fn a_second_run_shares_nothing_with_the_first() {
        let executions = Executions::new(2);
        assert_eq!([join(&executions, 0, 1), join(&executions, 1, 2)], [1, 1]);
        assert_eq!([join(&executions, 0, 3), join(&executions, 1, 4)], [3, 3]);
    }

    #[test]
    fn runs_side_by_side_are_paired_by_call_number() {
        let executions = Executions::new(2);
        assert_eq!([join(&executions, 0, 1), join(&executions, 0, 2)], [1, 2]);
        assert_eq!([join(&executions, 1, 3), join(&executions, 1, 4)], [1, 2]);
    }

    #[test]
    fn a_partition_that_comes_late_joins_the_run_it_belongs_to() {
        let executions = Executions::new(2);
        drop(executions.join(0, || 1));
        assert_eq!(join(&executions, 1, 2), 1);
    }

    #[test]
    fn there_is_no_partition_beyond_the_last() {
        assert_eq!(Executions::new(1).join(1, || 1), None);
    }
}
