// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The queue of units that the partitions of an execution claim from.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Who may claim which unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// A partition that is through with its share takes from those of the partitions that it is known to
    /// run with. Only the planner of this process says so, for it knows that they run here.
    Queue,
    /// Each partition keeps to its share, whether the others run here or not.
    Static,
}

/// Units in the order they are to be claimed. Claiming is one atomic step.
///
/// Unit n is in the share of partition n modulo the number of partitions, so the shares together are all
/// units, whoever runs with whom.
#[derive(Debug)]
pub struct Queue<U> {
    units: Vec<U>,
    sharing: Sharing,
    /// How many units of each share were claimed.
    claimed: Vec<AtomicUsize>,
}

impl<U> Queue<U> {
    /// A queue for this many partitions.
    pub fn new(units: Vec<U>, sharing: Sharing, partitions: usize) -> Self {
        Self { units, sharing, claimed: (0..partitions).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// The next unit for a partition: of its own share, in queue order, then of others' for which `together`
    /// holds. `None` when there is none left for it.
    pub fn claim(&self, partition: usize, together: impl Fn(usize) -> bool) -> Option<&U> {
        let others = (0..self.claimed.len())
            .filter(|other| self.sharing == Sharing::Queue && *other != partition && together(*other));
        std::iter::once(partition).chain(others).find_map(|share| self.claim_of(share))
    }

    fn claim_of(&self, share: usize) -> Option<&U> {
        let turn = self.claimed.get(share)?.fetch_add(1, Ordering::Relaxed);
        self.units.get(turn.saturating_mul(self.claimed.len()).saturating_add(share))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn drain(queue: &Queue<usize>, partition: usize, together: bool) -> Vec<usize> {
        std::iter::from_fn(|| queue.claim(partition, |_| together).copied()).collect()
    }

    #[rstest]
    #[case::together(Sharing::Queue, true, vec![1, 3, 0, 2, 4], vec![])]
    #[case::apart(Sharing::Queue, false, vec![1, 3], vec![0, 2, 4])]
    #[case::split(Sharing::Static, true, vec![1, 3], vec![0, 2, 4])]
    fn each_unit_is_claimed_once(
        #[case] sharing: Sharing,
        #[case] together: bool,
        #[case] one: Vec<usize>,
        #[case] zero: Vec<usize>,
    ) {
        let queue = Queue::new((0..5).collect(), sharing, 2);
        assert_eq!(drain(&queue, 1, together), one);
        assert_eq!(drain(&queue, 0, together), zero);
    }
}
