// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Coalesced range requests.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use object_store::ObjectStore;

use crate::ScanError;
use crate::fragment::Fragment;

/// What was asked of stores.
#[derive(Debug, Default)]
pub struct IoCounters {
    bytes: AtomicU64,
    requests: AtomicU64,
}

impl IoCounters {
    /// The bytes received.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The requests made.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Bytes of a file that are in memory.
pub trait HeldBytes: Send + Sync {
    /// The bytes of a range of the file; `None` unless all of them are held.
    fn get(&self, range: &Range<u64>) -> Option<Bytes>;
}

/// Reads ranges of one fragment's bytes.
#[derive(Debug, Clone)]
pub struct RangeReader {}

impl RangeReader {
    /// A reader of the fragment in `store`.
    pub fn new(_store: Arc<dyn ObjectStore>, _fragment: &Fragment, _counters: Arc<IoCounters>) -> Self {
        Self {}
    }

    /// The same reader, fetching gaps of up to this many bytes along with what is around them.
    #[must_use]
    pub fn with_coalesce_gap(self, _bytes: u64) -> Self {
        self
    }

    /// Fetches ranges given in any order, overlapping or not.
    pub async fn fetch(&self, _ranges: Vec<Range<u64>>) -> Result<FetchedRanges, ScanError> {
        Ok(FetchedRanges {})
    }
}

/// Fetched ranges of one file.
#[derive(Debug, Clone, Default)]
pub struct FetchedRanges {}

impl HeldBytes for FetchedRanges {
    fn get(&self, _range: &Range<u64>) -> Option<Bytes> {
        None
    }
}
