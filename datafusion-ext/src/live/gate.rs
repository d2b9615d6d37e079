// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether evaluating a live filter for each row is worth it.
//!
//! A live filter always judges zones, which costs next to nothing. Asking it of every row pays only if it
//! drops enough of them: what it saves for each row is the decoding of the other columns and the work of the
//! operators above. Both sides are measured while the scan runs.

use std::sync::Arc;

use parking_lot::Mutex;
use trommel_scan::execute::StepCounts;

/// Fewer rows than this tell too little to decide by.
const SAMPLE: u64 = 16 << 10;
/// A closed gate stays closed for at most this many morsels before it lets one through as a sample.
const LONGEST_PAUSE: u32 = 64;

/// The measured decision whether one conjunct of a live filter is evaluated for each row.
#[derive(Debug, Default)]
pub struct Gate {
    counts: Arc<StepCounts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The counts up to the last decision.
    asked: u64,
    kept: u64,
    nanos: u64,
    /// For how many more morsels the gate is closed.
    closed_for: u32,
    /// How long it was closed last.
    pause: u32,
}

impl Gate {
    /// Where the conjunct counts what it costs and drops.
    pub fn counts(&self) -> &Arc<StepCounts> {
        &self.counts
    }

    /// Whether to evaluate the conjunct for the rows of one more morsel, if each row that it drops saves
    /// this many nanoseconds.
    pub fn lets_through(&self, saving: f64) -> bool {
        let mut state = self.state.lock();
        if state.closed_for > 0 {
            state.closed_for -= 1;
            return false;
        }
        let (asked, kept) = (self.counts.asked(), self.counts.kept());
        let nanos = u64::try_from(self.counts.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let sample = asked.saturating_sub(state.asked);
        if sample < SAMPLE {
            return true;
        }
        let dropped = sample.saturating_sub(kept.saturating_sub(state.kept));
        let pays = dropped as f64 * saving > nanos.saturating_sub(state.nanos) as f64;
        // The filter may have tightened since: each pause ends with a new sample, and they grow.
        let pause = if pays { 0 } else { (2 * state.pause).clamp(1, LONGEST_PAUSE) };
        *state = State { asked, kept, nanos, closed_for: pause, pause };
        pays
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn asked_through(gate: &Gate, morsels: usize, kept: u64, saving: f64) -> usize {
        let through = |_: &usize| {
            let through = gate.lets_through(saving);
            if through {
                gate.counts.add(SAMPLE, kept, Duration::from_nanos(10 * SAMPLE));
            }
            through
        };
        (0..morsels).filter(through).count()
    }

    #[test]
    fn a_filter_that_pays_is_always_asked() {
        assert_eq!(asked_through(&Gate::default(), 1000, SAMPLE / 4, 20.0), 1000);
    }

    #[test]
    fn one_that_does_not_is_sampled_ever_more_rarely() {
        let gate = Gate::default();
        let sampled = asked_through(&gate, 1000, SAMPLE, 20.0);
        assert!((10..40).contains(&sampled), "{sampled}");
        assert!(asked_through(&gate, 200, 0, 20.0) > 120, "it opens again when it begins to drop rows");
    }

    #[test]
    fn what_a_dropped_row_saves_decides() {
        assert!(asked_through(&Gate::default(), 100, SAMPLE / 2, 10.0) < 20);
        assert_eq!(asked_through(&Gate::default(), 100, SAMPLE / 2, 30.0), 100);
    }
}
