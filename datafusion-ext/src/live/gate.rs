// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether evaluating a live filter for each row is worth it.
//!
//! A live filter always judges zones, which costs next to nothing. Asking it of every row pays only if it
//! drops enough of them. What it costs and drops is measured while the scan runs; what a dropped row saves
//! is estimated ([`Savings`]).

use std::sync::Arc;

use datafusion::physical_plan::joins::PartitionMode;
use parking_lot::Mutex;
use trommel_scan::execute::{StepCounts, TRIAL};

use super::Origin;

/// Fewer rows than this tell too little to decide by while a gate is open.
const SAMPLE: u64 = 16 << 10;
/// A closed gate stays closed for at most this many morsels before there is another trial.
const LONGEST_PAUSE: u32 = 64;

/// What rows save that live filters drop, in nanoseconds each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Savings {
    /// What the filter's producer does with a row to drop it itself.
    pub probing: f64,
    /// Sending a row to the partition where it is probed.
    pub moving: f64,
    /// Decoding the output columns.
    pub decoding: f64,
}

impl Savings {
    /// Those of a filter of this origin.
    pub fn of(&self, origin: Option<&Origin>) -> Saving {
        let is_moved = matches!(origin, Some(Origin::Join { mode: PartitionMode::Partitioned, .. }));
        let moving = if is_moved { self.moving } else { 0.0 };
        Saving { work_above: self.probing + moving, decoding: self.decoding }
    }
}

/// What a row saves that one live filter drops, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saving {
    /// The work of the operators above.
    work_above: f64,
    /// Decoding the output columns.
    decoding: f64,
}

/// Where more than one row in so many is kept, runs of dropped rows are too short for decoding to skip them.
const SPARSE: u64 = 50;

impl Saving {
    /// The same where so many of some rows are kept.
    fn nanos(&self, asked: u64, kept: u64) -> f64 {
        if kept.saturating_mul(SPARSE) < asked { self.work_above + self.decoding } else { self.work_above }
    }
}

/// What a gate says of one more morsel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The conjunct isn't worth asking.
    Closed,
    /// Only some rows are to be asked, to see whether it is.
    Trial,
    /// All rows are to be asked.
    Open,
}

/// The measured decision whether one conjunct of a live filter is evaluated for each row.
#[derive(Debug, Default)]
pub struct Gate {
    counts: Arc<StepCounts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
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
    /// A gate that is open until there is experience, or for what may be dear, begins with a trial.
    pub fn new(open: bool) -> Self {
        Self { counts: Arc::default(), state: Mutex::new(State { open, ..State::default() }) }
    }

    /// Where the conjunct counts what it costs and drops.
    pub fn counts(&self) -> &Arc<StepCounts> {
        &self.counts
    }

    /// Whether to evaluate the conjunct for the rows of one more morsel.
    pub fn admits(&self, saving: Saving) -> Admission {
        let mut state = self.state.lock();
        if state.closed_for > 0 {
            state.closed_for -= 1;
            return Admission::Closed;
        }
        let (asked, kept) = (self.counts.asked(), self.counts.kept());
        let nanos = u64::try_from(self.counts.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let sample = asked.saturating_sub(state.asked);
        let enough = if state.open { SAMPLE } else { TRIAL / 2 };
        if sample < enough {
            return if state.open { Admission::Open } else { Admission::Trial };
        }
        let left = kept.saturating_sub(state.kept);
        let cost = nanos.saturating_sub(state.nanos) as f64;
        let open = sample.saturating_sub(left) as f64 * saving.nanos(sample, left) > cost;
        // The filter may have tightened since: each pause ends with a trial, and they grow.
        let pause = if open { 0 } else { (2 * state.pause).clamp(1, LONGEST_PAUSE) };
        *state = State { open, asked, kept, nanos, closed_for: pause.saturating_sub(1), pause };
        if open { Admission::Open } else { Admission::Closed }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// How many of some morsels are asked in full, and how many for a trial.
    fn asked(gate: &Gate, morsels: usize, kept: f64, work_above: f64) -> (usize, usize) {
        let saving = Saving { work_above, decoding: 0.0 };
        let (mut full, mut trials) = (0, 0);
        for _ in 0..morsels {
            let rows = match gate.admits(saving) {
                Admission::Closed => continue,
                Admission::Trial => TRIAL,
                Admission::Open => 100_000,
            };
            *if rows == TRIAL { &mut trials } else { &mut full } += 1;
            gate.counts.add(rows, (rows as f64 * kept) as u64, Duration::from_nanos(10 * rows));
        }
        (full, trials)
    }

    #[test]
    fn a_filter_that_pays_is_always_asked() {
        assert_eq!(asked(&Gate::new(true), 1000, 0.25, 20.0), (1000, 0));
        assert_eq!(asked(&Gate::new(false), 1000, 0.25, 20.0), (999, 1));
    }

    #[test]
    fn one_that_does_not_is_tried_ever_more_rarely() {
        let gate = Gate::new(true);
        let (full, trials) = asked(&gate, 1000, 1.0, 20.0);
        assert!(full == 1 && (10..40).contains(&trials), "{full}, {trials}");
        let (full, _) = asked(&gate, 200, 0.0, 20.0);
        assert!(full > 120, "it opens again when it begins to drop rows: {full}");
    }

    #[test]
    fn rows_that_would_be_moved_save_more() {
        let savings = Savings { probing: 6.0, moving: 30.0, decoding: 50.0 };
        let join = |mode| Origin::Join { join_type: datafusion::common::JoinType::Inner, mode };
        let above = |origin: Option<&Origin>| savings.of(origin).work_above;
        assert_eq!(above(Some(&join(PartitionMode::Partitioned))), 36.0);
        assert_eq!(above(Some(&join(PartitionMode::CollectLeft))), 6.0);
        assert_eq!((above(Some(&Origin::Other)), above(None)), (6.0, 6.0));
    }

    #[test]
    fn decoding_is_saved_where_few_rows_are_kept() {
        let saving = Saving { work_above: 5.0, decoding: 50.0 };
        assert_eq!([saving.nanos(1000, 19), saving.nanos(1000, 20)], [55.0, 5.0]);
    }

    #[test]
    fn what_a_dropped_row_saves_decides() {
        assert_eq!(asked(&Gate::new(false), 100, 0.5, 10.0).0, 0);
        assert_eq!(asked(&Gate::new(false), 100, 0.5, 30.0), (99, 1));
    }
}
