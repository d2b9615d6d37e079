// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which partitions' streams belong to one execution of a plan node.
//!
//! `ExecutionPlan::execute(partition, context)` doesn't say which run of the plan it belongs to. Two calls with
//! one task context do belong together, unless they are for the same partition. Nothing can be told of calls
//! with different contexts: some callers make one for each partition, others run a plan twice side by side.
//!
//! So the answer must not hang on it. Each partition has a share of the work of its own (see
//! [`Queue`](super::queue::Queue)); only partitions that are known to belong together help each other out.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::execution::TaskContext;
use parking_lot::Mutex;

/// How many executions wait for partitions that may never come. One that is forgotten shares no more.
const MOST_OPEN: usize = 16;

/// The executions of one node instance, each with a shared state `T`.
pub struct Executions<T> {
    partitions: usize,
    open: Mutex<Vec<Open<T>>>,
}

/// An execution that some partition hasn't joined yet.
struct Open<T> {
    shared: Arc<Shared<T>>,
    /// Held, so that no other context gets its address.
    context: Arc<TaskContext>,
}

struct Shared<T> {
    state: T,
    joined: Vec<AtomicBool>,
}

/// One partition's part in an execution.
pub struct Joined<T>(Arc<Shared<T>>);

impl<T> Executions<T> {
    /// No execution yet, of a node with this many partitions.
    pub fn new(partitions: usize) -> Self {
        Self { partitions, open: Mutex::default() }
    }

    /// Joins the execution of `context`, made by `start` if `partition` is the first of it; `None` when
    /// there is no such partition.
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
        let known = open.iter().find(|run| Arc::ptr_eq(&run.context, context) && !run.shared.has(partition));
        let shared = match known {
            Some(run) => Arc::clone(&run.shared),
            None => {
                let joined = (0..self.partitions).map(|_| AtomicBool::new(false)).collect();
                let shared = Arc::new(Shared { state: start(), joined });
                open.push(Open { shared: Arc::clone(&shared), context: Arc::clone(context) });
                shared
            }
        };
        shared.joined[partition].store(true, Ordering::Release);
        open.retain(|run| (0..self.partitions).any(|p| !run.shared.has(p)));
        if open.len() > MOST_OPEN {
            open.remove(0);
        }
        Some(Joined(shared))
    }
}

impl<T> Shared<T> {
    fn has(&self, partition: usize) -> bool {
        self.joined[partition].load(Ordering::Acquire)
    }
}

impl<T> Joined<T> {
    /// What the partitions share.
    pub fn state(&self) -> &T {
        &self.0.state
    }

    /// Whether a partition has joined the execution.
    pub fn has(&self, partition: usize) -> bool {
        self.0.has(partition)
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

    fn join(runs: &Runs, partition: usize, context: &Arc<TaskContext>, tag: u32) -> Joined<u32> {
        runs.join(partition, context, || tag).unwrap()
    }

    fn tags(joined: &[&Joined<u32>]) -> Vec<u32> {
        joined.iter().map(|j| *j.state()).collect()
    }

    #[test]
    fn partitions_of_one_context_share() {
        let (runs, a) = (Runs::new(2), context());
        let first = join(&runs, 0, &a, 1);
        assert!(first.has(0) && !first.has(1));
        let second = join(&runs, 1, &a, 2);
        assert_eq!(tags(&[&first, &second]), [1, 1]);
        assert!(first.has(1));
    }

    #[test]
    fn a_second_run_shares_nothing_with_the_first() {
        let (runs, a) = (Runs::new(2), context());
        let first = [join(&runs, 0, &a, 1), join(&runs, 1, &a, 2)];
        let second = [join(&runs, 0, &a, 3), join(&runs, 1, &a, 4)];
        assert_eq!(tags(&[&first[0], &first[1], &second[0], &second[1]]), [1, 1, 3, 3]);
    }

    #[test]
    fn runs_side_by_side_are_told_apart_by_their_contexts() {
        let (runs, a, b) = (Runs::new(2), context(), context());
        let (a0, b1) = (join(&runs, 0, &a, 1), join(&runs, 1, &b, 2));
        let (b0, a1) = (join(&runs, 0, &b, 3), join(&runs, 1, &a, 4));
        assert_eq!(tags(&[&a0, &a1, &b0, &b1]), [1, 1, 2, 2]);
    }

    #[test]
    fn a_context_for_each_partition_shares_nothing() {
        let runs = Runs::new(2);
        let (first, second) = (join(&runs, 0, &context(), 1), join(&runs, 1, &context(), 2));
        assert_eq!(tags(&[&first, &second]), [1, 2]);
    }

    #[test]
    fn runs_that_never_become_whole_are_forgotten_in_the_end() {
        let runs = Runs::new(2);
        for tag in 0..100 {
            join(&runs, 0, &context(), tag);
        }
        assert_eq!(runs.open.lock().len(), MOST_OPEN);
    }

    #[test]
    fn there_is_no_partition_beyond_the_last() {
        assert!(Runs::new(1).join(1, &context(), || 1).is_none());
    }
}
