// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which partitions' streams belong to one execution of a plan node.
//!
//! `ExecutionPlan::execute(partition, context)` doesn't say which run of the plan it belongs to, yet the
//! partitions of one run share a queue of work, and rows would be doubled and lost if two runs mixed.
//!
//! Two calls with one task context belong to one run, unless they are for the same partition. Some callers
//! make a context for each partition; for these, the n-th call for each partition belongs to the n-th run.
//! A run of which a stream was dropped before its end is over, and no other context joins it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::execution::TaskContext;
use parking_lot::Mutex;

/// How many runs wait for partitions that may never come.
const MOST_OPEN: usize = 16;

/// The executions of one node instance, each with a shared state `T`.
pub struct Executions<T> {
    partitions: usize,
    open: Mutex<Vec<Open<T>>>,
}

/// An execution that some partition hasn't joined yet.
struct Open<T> {
    shared: Arc<Shared<T>>,
    joined: Vec<bool>,
    /// Held, so that no other context gets its address.
    context: Arc<TaskContext>,
}

struct Shared<T> {
    state: T,
    broken_off: AtomicBool,
}

/// One partition's part in an execution.
pub struct Joined<T> {
    shared: Arc<Shared<T>>,
    ended: bool,
}

impl<T> Executions<T> {
    /// No execution yet, of a node with this many partitions.
    pub fn new(partitions: usize) -> Self {
        Self { partitions, open: Mutex::default() }
    }

    /// Joins the execution that `partition` and `context` belong to, made by `start` if this is its first
    /// partition; `None` when there is no such partition.
    ///
    /// An execution is remembered until all partitions have joined, even if those that have are done: what
    /// they have read must not be read again.
    pub fn join(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
        start: impl FnOnce() -> T,
    ) -> Option<Joined<T>> {
        if partition >= self.partitions {
            return None;
        }
        let mut open = self.open.lock();
        open.retain(|run| Arc::ptr_eq(&run.context, context) || !run.is_over());
        let lacks = |run: &&mut Open<T>| !run.joined[partition];
        let known = open.iter().any(|run| Arc::ptr_eq(&run.context, context));
        let run = match known {
            true => open.iter_mut().find(|run| Arc::ptr_eq(&run.context, context) && lacks(run)),
            false => open.iter_mut().find(lacks),
        };
        let shared = match run {
            Some(run) => {
                run.joined[partition] = true;
                Arc::clone(&run.shared)
            }
            None => {
                let shared = Arc::new(Shared { state: start(), broken_off: AtomicBool::new(false) });
                let mut joined = vec![false; self.partitions];
                joined[partition] = true;
                open.push(Open { shared: Arc::clone(&shared), joined, context: Arc::clone(context) });
                shared
            }
        };
        open.retain(|run| run.joined.contains(&false));
        if open.len() > MOST_OPEN {
            open.remove(0);
        }
        Some(Joined { shared, ended: false })
    }
}

impl<T> Open<T> {
    /// Whether no stream is left and one was dropped before its end.
    fn is_over(&self) -> bool {
        Arc::strong_count(&self.shared) == 1 && self.shared.broken_off.load(Ordering::Acquire)
    }
}

impl<T> Joined<T> {
    /// What the partitions share.
    pub fn state(&self) -> &T {
        &self.shared.state
    }

    /// Says that this partition has come to its end.
    pub fn end(&mut self) {
        self.ended = true;
    }
}

impl<T> Drop for Joined<T> {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.broken_off.store(true, Ordering::Release);
        }
    }
}

impl<T> fmt::Debug for Executions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executions").field("open", &self.open.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Runs = Executions<u32>;

    fn context() -> Arc<TaskContext> {
        Arc::new(TaskContext::default())
    }

    /// Joins as a stream that is still running.
    fn join(runs: &Runs, partition: usize, context: &Arc<TaskContext>, tag: u32) -> Joined<u32> {
        runs.join(partition, context, || tag).unwrap()
    }

    fn tag(joined: &Joined<u32>) -> u32 {
        *joined.state()
    }

    #[test]
    fn partitions_of_one_context_share() {
        let (runs, a) = (Runs::new(2), context());
        let (first, second) = (join(&runs, 0, &a, 1), join(&runs, 1, &a, 2));
        assert_eq!([tag(&first), tag(&second)], [1, 1]);
    }

    #[test]
    fn a_second_run_shares_nothing_with_the_first() {
        let (runs, a) = (Runs::new(2), context());
        let first = [join(&runs, 0, &a, 1), join(&runs, 1, &a, 2)];
        let second = [join(&runs, 0, &a, 3), join(&runs, 1, &a, 4)];
        assert_eq!([first.each_ref().map(tag), second.each_ref().map(tag)], [[1, 1], [3, 3]]);
    }

    #[test]
    fn runs_side_by_side_are_told_apart_by_their_contexts() {
        let (runs, a, b) = (Runs::new(2), context(), context());
        let a0 = join(&runs, 0, &a, 1);
        let b0 = join(&runs, 0, &b, 2);
        let b1 = join(&runs, 1, &b, 3);
        let a1 = join(&runs, 1, &a, 4);
        assert_eq!([tag(&a0), tag(&a1), tag(&b0), tag(&b1)], [1, 1, 2, 2]);
    }

    #[test]
    fn a_context_per_partition_is_one_run() {
        let runs = Runs::new(2);
        let mut first = join(&runs, 0, &context(), 1);
        first.end();
        drop(first);
        assert_eq!(tag(&join(&runs, 1, &context(), 2)), 1);
    }

    #[test]
    fn a_run_that_was_broken_off_is_not_joined_by_another() {
        let (runs, a, b) = (Runs::new(2), context(), context());
        drop(join(&runs, 0, &a, 1));
        let b1 = join(&runs, 1, &b, 2);
        let b0 = join(&runs, 0, &b, 3);
        assert_eq!([tag(&b0), tag(&b1)], [2, 2]);
    }

    #[test]
    fn runs_that_never_become_whole_are_forgotten_in_the_end() {
        let runs = Runs::new(2);
        let streams: Vec<_> = (0..100).map(|tag| join(&runs, 0, &context(), tag)).collect();
        assert_eq!(streams.iter().map(tag).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        assert_eq!(runs.open.lock().len(), MOST_OPEN);
    }

    #[test]
    fn there_is_no_partition_beyond_the_last() {
        assert!(Runs::new(1).join(1, &context(), || 1).is_none());
    }
}
