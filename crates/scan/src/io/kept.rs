// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bytes kept from one fetch to the next.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{FetchedRanges, HeldBytes};

/// Bytes kept from one fetch to the next: dictionary pages, which every run of a row group's pages needs.
///
/// Held for as long as somebody will come for them: each of the readers that share this says when it is
/// done, and the last one lets the bytes go.
#[derive(Debug)]
pub struct Kept {
    pieces: Mutex<Vec<(u64, Bytes)>>,
    readers: AtomicUsize,
}

impl Kept {
    /// Nothing yet, for this many readers.
    pub fn new(readers: usize) -> Self {
        Self { pieces: Mutex::default(), readers: AtomicUsize::new(readers) }
    }

    /// One reader is done, whether it read anything or not.
    pub fn done(&self) {
        if self.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pieces.lock().clear();
        }
    }

    pub(super) fn pieces(&self) -> Vec<(u64, Bytes)> {
        self.pieces.lock().clone()
    }

    pub(super) fn keep(&self, ranges: &[Range<u64>], fetched: &FetchedRanges) {
        let mut pieces = self.pieces.lock();
        for range in ranges {
            let at = pieces.partition_point(|(start, _)| *start < range.start);
            let known = pieces.get(at).is_some_and(|(start, _)| *start == range.start);
            if let Some(bytes) = fetched.get(range).filter(|_| !known) {
                // A copy, or a few dictionary pages would hold on to all that was fetched along with them.
                pieces.insert(at, (range.start, Bytes::copy_from_slice(&bytes)));
            }
        }
    }
}
