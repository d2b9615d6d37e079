// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What zones tell of the static filters: worked out once for each fragment, for whoever asks first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use trommel_planner::pruning::{PrunePredicate, Verdicts};

use crate::table::Snapshot;

/// The verdicts of one execution's static filters.
#[derive(Debug)]
pub struct StaticVerdicts {
    snapshot: Arc<Snapshot>,
    prune: Option<PrunePredicate>,
    fragments: Vec<OnceLock<Verdicts>>,
    errors: AtomicUsize,
}

impl StaticVerdicts {
    /// Of filters in the form that judges zones, if they say anything of these.
    pub fn new(snapshot: &Arc<Snapshot>, prune: Option<&PrunePredicate>) -> Self {
        Self {
            snapshot: Arc::clone(snapshot),
            prune: prune.cloned(),
            fragments: snapshot.fragments.iter().map(|_| OnceLock::new()).collect(),
            errors: AtomicUsize::new(0),
        }
    }

    /// What judges zones.
    pub fn prune(&self) -> Option<&PrunePredicate> {
        self.prune.as_ref()
    }

    /// What zones tell of all rows of a fragment; `None` when they say nothing of them.
    pub fn of(&self, fragment: usize) -> Option<&Verdicts> {
        let prune = self.prune.as_ref()?;
        Some(self.fragments.get(fragment)?.get_or_init(|| {
            let verdicts = self.snapshot.judge(fragment, prune);
            self.errors.fetch_add(verdicts.errors, Ordering::Relaxed);
            verdicts
        }))
    }

    /// How many errors there were since this was asked last.
    pub fn take_errors(&self) -> usize {
        self.errors.swap(0, Ordering::Relaxed)
    }
}
