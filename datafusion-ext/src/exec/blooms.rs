// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What Bloom filters tell of a morsel, where statistics left it open.
//!
//! They are fetched when a morsel is about to be read, all of its row group together, and are kept for the
//! execution. Failing to fetch one excludes nothing.

use std::sync::Arc;

use parking_lot::Mutex;
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::Candidates;
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::ScanError;
use trommel_scan::io::{FetchedRanges, HeldBytes, RangeReader};
use trommel_scan::zones::FragmentBlooms;

use crate::table::Snapshot;

/// The Bloom filters of a snapshot, as far as they have been fetched.
#[derive(Debug)]
pub struct Blooms {
    fragments: Vec<Mutex<FragmentBlooms>>,
}

impl Blooms {
    /// None yet.
    pub fn new(snapshot: &Snapshot) -> Self {
        let blooms = snapshot.fragments.iter().map(|fragment| {
            let (metadata, adaptation) = (&fragment.open.metadata, &fragment.open.adaptation);
            Mutex::new(FragmentBlooms::new(Arc::clone(metadata), Arc::clone(adaptation)))
        });
        Self { fragments: blooms.collect() }
    }

    /// Fetches the filters of these columns in the row groups of these rows; whether there is any.
    ///
    /// # Errors
    /// When bytes can't be fetched.
    pub async fn fetch(
        &self,
        fragment: usize,
        columns: &[ColumnPath],
        rows: &RowRanges<FragmentRows>,
        file: &RangeReader,
    ) -> Result<bool, ScanError> {
        let wanted = self.fragments[fragment].lock().wanted(columns, rows);
        if wanted.is_empty() {
            return Ok(self.fragments[fragment].lock().has_any());
        }
        let mut held = FetchedRanges::default();
        file.fetch(&mut held, wanted.iter().map(|(_, range)| range.clone()).collect(), &[]).await?;
        let mut blooms = self.fragments[fragment].lock();
        for (id, range) in wanted {
            if let Some(bytes) = held.get(&range) {
                blooms.put(id, &bytes);
            }
        }
        Ok(blooms.has_any())
    }

    /// Asks the filters of a fragment that were fetched.
    pub fn ask<T>(&self, fragment: usize, question: impl FnOnce(&dyn Candidates) -> T) -> T {
        question(&*self.fragments[fragment].lock())
    }
}
