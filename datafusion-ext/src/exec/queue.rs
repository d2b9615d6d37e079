// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The queue of units that the partitions of an execution claim from.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Who may claim which unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Any partition claims the next unit. Only the planner of this process says so, for it knows that
    /// all partitions run here.
    Queue,
    /// Unit n belongs to partition n modulo the number of partitions, whether that partition runs here
    /// or not.
    Static,
}

/// Units in the order they are to be claimed. Claiming is one atomic step.
#[derive(Debug)]
pub struct Queue<U> {
    units: Vec<U>,
    sharing: Sharing,
    /// How many units were claimed, by all partitions together or by each.
    claimed: Vec<AtomicUsize>,
}

impl<U> Queue<U> {
    /// A queue for this many partitions.
    pub fn new(units: Vec<U>, sharing: Sharing, partitions: usize) -> Self {
        let cursors = if sharing == Sharing::Queue { 1 } else { partitions };
        Self { units, sharing, claimed: (0..cursors).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// The next unit for a partition; `None` when there is none left for it.
    ///
    /// The units a partition gets are in queue order.
    pub fn claim(&self, partition: usize) -> Option<&U> {
        let (cursor, step, offset) = match self.sharing {
            Sharing::Queue => (0, 1, 0),
            Sharing::Static => (partition, self.claimed.len(), partition),
        };
        let turn = self.claimed.get(cursor)?.fetch_add(1, Ordering::Relaxed);
        self.units.get(turn.saturating_mul(step).saturating_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::shared(Sharing::Queue, vec![vec![0, 2, 4], vec![1, 3]])]
    #[case::each_its_own(Sharing::Static, vec![vec![0, 2, 4], vec![1, 3]])]
    fn in_turns(#[case] sharing: Sharing, #[case] expect: Vec<Vec<usize>>) {
        let queue = Queue::new((0..5).collect(), sharing, 2);
        let mut got = vec![Vec::new(); 2];
        for turn in 0..8 {
            got[turn % 2].extend(queue.claim(turn % 2).copied());
        }
        assert_eq!(got, expect);
    }

    #[test]
    fn one_partition_alone_takes_all_of_a_shared_queue_but_only_its_share_of_a_split_one() {
        let alone = |sharing| {
            let queue = Queue::new((0..5).collect(), sharing, 2);
            std::iter::from_fn(|| queue.claim(1).copied()).collect::<Vec<usize>>()
        };
        assert_eq!(alone(Sharing::Queue), [0, 1, 2, 3, 4]);
        assert_eq!(alone(Sharing::Static), [1, 3]);
    }
}
