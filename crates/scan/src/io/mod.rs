// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Range requests: merged, bounded in size and number, and only ever of the planned version of a file.
//!
//! Merging is done here and not by `ObjectStore::get_ranges`, which merges neighbours without a bound: a
//! request here is [so long](Distance::longest_request) at most, so that requests run side by side and the
//! first bytes come soon. A range longer than that is cut.
//!
//! A store that hands out descriptors of local files is asked once for each file; the ranges are then read
//! at their places, without another open and without a hop to another thread.

mod held;
pub mod interpose;
mod kept;
mod local;
mod request;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use object_store::path::Path;

pub use self::held::{FetchedRanges, HeldBytes};
pub use self::kept::Kept;
pub(crate) use self::request::request;

use self::held::missing;
use self::local::LocalFile;
use self::request::{Answer, ask};
use crate::ScanError;
use crate::fragment::{Fragment, Version};

/// How many requests of one fetch run at a time.
const REQUESTS_IN_FLIGHT: usize = 16;

/// How far away a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// On this machine: a request costs about as much as copying a few kilobytes, and waits for nothing.
    Local,
    /// Across a network: a request waits far longer than its bytes take.
    Remote,
}

impl Distance {
    /// Ranges of a file no further apart than this many bytes are fetched by one request. Requests run side
    /// by side, so that a gap saves a request's cost but not its latency.
    pub fn coalesce_gap(self) -> u64 {
        match self {
            Self::Local => 2 << 10,
            Self::Remote => 256 << 10,
        }
    }

    /// No request asks for more bytes than this. An object store sends some 100 MB a second on each request, after
    /// some 30 ms: a request of as many bytes as come in half that time waits for them little longer than for the first.
    pub fn longest_request(self) -> u64 {
        match self {
            Self::Local => 16 << 20,
            Self::Remote => 3 << 19,
        }
    }
}

/// What was asked of stores; shared by all that work for one query.
#[derive(Debug, Default)]
pub struct IoCounters {
    bytes: AtomicU64,
    requests: AtomicU64,
    waited_nanos: AtomicU64,
}

impl IoCounters {
    /// The bytes received.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The requests made; reads of an open local file are requests.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How long fetches took, from asking to having all.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Ordering::Relaxed))
    }

    fn asked(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn received(&self, bytes: &Bytes) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Reads ranges of one fragment's bytes. Clones share the file once it is open.
#[derive(Debug, Clone)]
pub struct RangeReader {
    store: Arc<dyn ObjectStore>,
    path: Path,
    version: Version,
    counters: Arc<IoCounters>,
    distance: Distance,
    coalesce_gap: u64,
    file: Arc<OnceLock<LocalFile>>,
    kept: Option<Arc<Kept>>,
}

impl RangeReader {
    /// A reader of the fragment in `store`.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        fragment: &Fragment,
        distance: Distance,
        counters: Arc<IoCounters>,
    ) -> Self {
        Self {
            store,
            path: fragment.location.clone(),
            version: fragment.version.clone(),
            counters,
            distance,
            coalesce_gap: distance.coalesce_gap(),
            file: Arc::default(),
            kept: None,
        }
    }

    /// The same reader, fetching gaps of up to this many bytes along with what is around them.
    #[must_use]
    pub fn with_coalesce_gap(mut self, bytes: u64) -> Self {
        self.coalesce_gap = bytes;
        self
    }

    /// The same reader of the same file, counting elsewhere.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<IoCounters>) -> Self {
        self.counters = counters;
        self
    }

    /// The same reader, not fetching what is kept already.
    #[must_use]
    pub fn with_kept(mut self, kept: Option<Arc<Kept>>) -> Self {
        self.kept = kept;
        self
    }

    /// How far away the fragment is.
    pub fn distance(&self) -> Distance {
        self.distance
    }

    /// Fetches what isn't held yet of some ranges, given in any order, overlapping or not, and holds it.
    /// Those `keep` are kept for the next fetch, if the reader [keeps](Self::with_kept) anything.
    ///
    /// # Errors
    /// When a range reaches beyond the file, when the store fails, when the file is no longer the planned
    /// version, or when an answer has not the length asked for. Dropping the future drops the requests.
    pub async fn fetch(
        &self,
        held: &mut FetchedRanges,
        ranges: Vec<Range<u64>>,
        keep: &[Range<u64>],
    ) -> Result<(), ScanError> {
        if let Some(kept) = &self.kept {
            held.add(kept.pieces());
        }
        let ranges = missing(ranges, held);
        if ranges.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let requests = coalesce(ranges, self.coalesce_gap, self.distance.longest_request());
        held.add(self.request_all(requests).await?);
        let waited = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.waited_nanos.fetch_add(waited, Ordering::Relaxed);
        if let Some(kept) = &self.kept {
            kept.keep(keep, held);
        }
        Ok(())
    }

    async fn request_all(&self, requests: Vec<Range<u64>>) -> Result<Vec<(u64, Bytes)>, ScanError> {
        let mut requests = requests.into_iter();
        let mut pieces = Vec::with_capacity(requests.len());
        if self.distance == Distance::Local && self.file.get().is_none() {
            // One request alone tells whether the store hands out descriptors.
            if let Some(range) = requests.next() {
                pieces.push((range.start, self.request(range).await?));
            }
        }
        if let Some(file) = self.file.get() {
            file.check(&self.path, &self.version)?;
            for range in requests {
                pieces.push((range.start, file.read(&self.path, &self.version, range, &self.counters)?));
            }
            return Ok(pieces);
        }
        let rest: Vec<_> = stream::iter(requests)
            .map(|range| async move { Ok((range.start, self.request(range).await?)) })
            .buffered(REQUESTS_IN_FLIGHT)
            .try_collect()
            .await?;
        pieces.extend(rest);
        Ok(pieces)
    }

    /// One request; a file that the answer comes with is left open for the next ones.
    async fn request(&self, range: Range<u64>) -> Result<Bytes, ScanError> {
        let answer = ask(&self.store, &self.path, &self.version, range.clone(), &self.counters).await?;
        match answer {
            Answer::Bytes(bytes) => Ok(bytes),
            Answer::File(file) => {
                let file = self.file.get_or_init(|| file);
                file.read_counted(&self.path, range, &self.counters)
            }
        }
    }
}

/// The requests that cover `ranges`: sorted, disjoint, none longer than `limit`, gaps up to `gap` included.
fn coalesce(mut ranges: Vec<Range<u64>>, gap: u64, limit: u64) -> Vec<Range<u64>> {
    ranges.retain(|r| r.start < r.end);
    ranges.sort_unstable_by_key(|r| (r.start, r.end));
    let mut requests: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut start = range.start;
        if let Some(last) = requests.last_mut() {
            start = start.max(last.end);
            if start >= range.end {
                continue;
            }
            if start - last.end <= gap && range.end - last.start <= limit {
                last.end = range.end;
                continue;
            }
        }
        while range.end - start > limit {
            requests.push(start..start + limit);
            start += limit;
        }
        requests.push(start..range.end);
    }
    requests
}

#[cfg(test)]
// A list of one range is what is meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests;
