// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Range requests: merged, bounded in size and number, and only ever of the planned version of a file.
//!
//! Merging is done here and not by `ObjectStore::get_ranges`, which merges neighbours without a bound: a
//! request here is at most [`MAX_REQUEST`] long, so that requests run side by side and the first bytes
//! come soon. A range longer than that is cut.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _};
use parking_lot::Mutex;

use crate::ScanError;
use crate::fragment::{Fragment, Version};

/// No request asks for more bytes than this.
pub const MAX_REQUEST: u64 = 16 << 20;
/// Ranges of a remote file no further apart than this are fetched by one request, unless told otherwise.
/// Requests run side by side, so a gap saves a request's cost but not its latency.
pub const REMOTE_COALESCE_GAP: u64 = 256 << 10;
/// The same for local files, where a request costs about as much as copying this much.
pub const LOCAL_COALESCE_GAP: u64 = 2 << 10;
/// How many requests of one fetch run at a time.
const REQUESTS_IN_FLIGHT: usize = 8;

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

    /// The requests made.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How long fetches took, from asking to having all.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Ordering::Relaxed))
    }
}

/// Bytes of a file that are in memory.
pub trait HeldBytes: Send + Sync {
    /// The bytes of a range of the file; `None` unless all of them are held.
    fn get(&self, range: &Range<u64>) -> Option<Bytes>;
}

/// Reads ranges of one fragment's bytes.
#[derive(Debug, Clone)]
pub struct RangeReader {
    store: Arc<dyn ObjectStore>,
    path: Path,
    version: Version,
    counters: Arc<IoCounters>,
    coalesce_gap: u64,
    kept: Option<Arc<Kept>>,
}

impl RangeReader {
    /// A reader of the fragment in `store`.
    pub fn new(store: Arc<dyn ObjectStore>, fragment: &Fragment, counters: Arc<IoCounters>) -> Self {
        let (path, version) = (fragment.location.clone(), fragment.version.clone());
        Self { store, path, version, counters, coalesce_gap: REMOTE_COALESCE_GAP, kept: None }
    }

    /// The same reader, fetching gaps of up to this many bytes along with what is around them.
    #[must_use]
    pub fn with_coalesce_gap(mut self, bytes: u64) -> Self {
        self.coalesce_gap = bytes;
        self
    }

    /// The same reader, not fetching what is kept already.
    #[must_use]
    pub fn with_kept(mut self, kept: Arc<Kept>) -> Self {
        self.kept = Some(kept);
        self
    }

    /// Fetches ranges given in any order, overlapping or not. Those `keep` are kept for the next fetch, if
    /// the reader [keeps](Self::with_kept) anything.
    ///
    /// An error when a range reaches beyond the file, when the store fails, when the file is no longer
    /// the planned version, or when an answer has not the length asked for. Dropping the future drops
    /// the requests.
    pub async fn fetch(
        &self,
        ranges: Vec<Range<u64>>,
        keep: &[Range<u64>],
    ) -> Result<FetchedRanges, ScanError> {
        let Some(kept) = &self.kept else { return self.fetch_all(ranges).await };
        let here = kept.pieces();
        let mut fetched = self.fetch_all(without(ranges, &here)).await?;
        kept.keep(keep, &fetched);
        fetched.add(here);
        Ok(fetched)
    }

    async fn fetch_all(&self, ranges: Vec<Range<u64>>) -> Result<FetchedRanges, ScanError> {
        let start = Instant::now();
        let requests = coalesce(ranges, self.coalesce_gap, MAX_REQUEST);
        let pieces = stream::iter(requests)
            .map(|range| async move {
                let start = range.start;
                let bytes = request(&self.store, &self.path, &self.version, range, &self.counters).await?;
                Ok((start, bytes))
            })
            .buffered(REQUESTS_IN_FLIGHT)
            .try_collect()
            .await?;
        let waited = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.waited_nanos.fetch_add(waited, Ordering::Relaxed);
        Ok(FetchedRanges { pieces })
    }
}

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

    fn pieces(&self) -> Vec<(u64, Bytes)> {
        self.pieces.lock().clone()
    }

    fn keep(&self, ranges: &[Range<u64>], fetched: &FetchedRanges) {
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

/// The parts of `ranges` that lie in no piece.
fn without(ranges: Vec<Range<u64>>, pieces: &[(u64, Bytes)]) -> Vec<Range<u64>> {
    let mut left = ranges;
    for (start, bytes) in pieces {
        let end = start + bytes.len() as u64;
        let around =
            |range: Range<u64>| [range.start..range.end.min(*start), range.start.max(end)..range.end];
        left = left.into_iter().flat_map(around).filter(|range| range.start < range.end).collect();
    }
    left
}

/// Fetched ranges of one file.
#[derive(Debug, Clone, Default)]
pub struct FetchedRanges {
    /// Offsets and bytes; sorted, disjoint.
    pieces: Vec<(u64, Bytes)>,
}

impl FetchedRanges {
    /// A whole file of which these are the bytes.
    pub fn whole(bytes: Bytes) -> Self {
        Self { pieces: vec![(0, bytes)] }
    }

    /// Adds pieces; where something is held already, that is left as it is.
    fn add(&mut self, pieces: Vec<(u64, Bytes)>) {
        for (start, bytes) in pieces {
            let end = start + bytes.len() as u64;
            let at = self.pieces.partition_point(|(held, _)| *held < start);
            let before = at.checked_sub(1).map_or(0, |i| self.pieces[i].0 + self.pieces[i].1.len() as u64);
            let after = self.pieces.get(at).map_or(u64::MAX, |(held, _)| *held);
            if before <= start && end <= after {
                self.pieces.insert(at, (start, bytes));
            }
        }
    }

    /// How many bytes are held, gaps that were fetched along included.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl HeldBytes for FetchedRanges {
    /// Shares the fetched bytes; only a range that was cut into several requests is copied.
    fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.start >= range.end {
            return Some(Bytes::new());
        }
        let first = self.pieces.partition_point(|(start, _)| *start <= range.start).checked_sub(1)?;
        let part = |(start, bytes): &(u64, Bytes)| {
            let end = start + bytes.len() as u64;
            let (from, to) = (range.start.max(*start), range.end.min(end));
            (from < to).then(|| bytes.slice((from - start) as usize..(to - start) as usize))
        };
        let head = part(&self.pieces[first])?;
        let wanted = range.end - range.start;
        if head.len() as u64 == wanted {
            return Some(head);
        }
        let mut joined = BytesMut::from(head);
        for piece in &self.pieces[first + 1..] {
            if piece.0 != range.start + joined.len() as u64 || joined.len() as u64 == wanted {
                break;
            }
            joined.extend_from_slice(&part(piece)?);
        }
        (joined.len() as u64 == wanted).then(|| joined.freeze())
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

/// One request for a range of one version of a file.
pub(crate) async fn request(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    version: &Version,
    range: Range<u64>,
    counters: &IoCounters,
) -> Result<Bytes, ScanError> {
    let malformed = |detail: String| ScanError::Malformed { path: path.clone(), detail };
    let store_error = |source| ScanError::Store { path: path.clone(), source };
    let changed =
        |found: String| ScanError::Changed { path: path.clone(), expected: version.to_string(), found };
    if range.end > version.size {
        let detail = format!("bytes {range:?} are needed, but it has {} bytes", version.size);
        return Err(malformed(detail));
    }
    // A weak tag never matches a precondition; it is compared with the answer's.
    let if_match = version.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
    let options =
        GetOptions { range: Some(GetRange::Bounded(range.clone())), if_match, ..Default::default() };
    counters.requests.fetch_add(1, Ordering::Relaxed);
    let answer = match store.get_opts(path, options).await {
        Ok(answer) => answer,
        Err(object_store::Error::Precondition { .. }) => return Err(changed("another version".to_owned())),
        // Stores differ in what they say of a range beyond a file that shrank: ask what is there now.
        Err(source) => {
            return Err(match store.head(path).await {
                Ok(meta) if !is_version(&meta, version) => changed(Version::of(&meta).to_string()),
                _ => store_error(source),
            });
        }
    };
    if !is_version(&answer.meta, version) {
        return Err(changed(Version::of(&answer.meta).to_string()));
    }
    let bytes = answer.bytes().await.map_err(store_error)?;
    if bytes.len() as u64 != range.end - range.start {
        let detail = format!("bytes {range:?} were asked for, but {} bytes came", bytes.len());
        return Err(malformed(detail));
    }
    counters.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    Ok(bytes)
}

/// Whether what a store answered is the planned version, as far as both tell.
fn is_version(found: &ObjectMeta, planned: &Version) -> bool {
    let tags_differ = match (&found.e_tag, &planned.e_tag) {
        (Some(found), Some(planned)) => found != planned,
        _ => {
            // Listings may give the time to the millisecond where answers give it to the second.
            let (a, b) = (found.last_modified, planned.last_modified);
            let coarse = a.timestamp_subsec_nanos() == 0 || b.timestamp_subsec_nanos() == 0;
            if coarse { a.timestamp() != b.timestamp() } else { a != b }
        }
    };
    found.size == planned.size && !tags_differ
}

#[cfg(test)]
// A list of one range is what is meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use async_trait::async_trait;
    use futures::stream::BoxStream;
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;
    use object_store::{
        CopyOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, PutMultipartOptions,
        PutOptions, PutPayload, PutResult, Result,
    };
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(&[], 10, 100, &[])]
    #[case::empty_ranges(&[(5, 5)], 10, 100, &[])]
    #[case::disorder_and_overlap(&[(20, 30), (0, 10), (5, 25)], 0, 100, &[(0, 30)])]
    #[case::gap_within(&[(0, 10), (20, 30)], 10, 100, &[(0, 30)])]
    #[case::gap_beyond(&[(0, 10), (21, 30)], 10, 100, &[(0, 10), (21, 30)])]
    #[case::limit_stops_merging(&[(0, 60), (60, 120)], 10, 100, &[(0, 60), (60, 120)])]
    #[case::long_range_is_cut(&[(0, 250)], 10, 100, &[(0, 100), (100, 200), (200, 250)])]
    #[case::overlap_beyond_limit(&[(0, 90), (50, 130)], 10, 100, &[(0, 90), (90, 130)])]
    #[case::contained(&[(0, 90), (10, 20)], 10, 100, &[(0, 90)])]
    fn requests_are_merged_and_cut(
        #[case] ranges: &[(u64, u64)],
        #[case] gap: u64,
        #[case] limit: u64,
        #[case] expect: &[(u64, u64)],
    ) {
        let ranges = ranges.iter().map(|(a, b)| *a..*b).collect();
        let got: Vec<_> = coalesce(ranges, gap, limit).iter().map(|r| (r.start, r.end)).collect();
        assert_eq!(got, expect);
    }

    proptest! {
        #[test]
        fn every_range_is_served_from_the_requests(
            ranges in prop::collection::vec((0u64..500, 0u64..200), 0..20), gap in 0u64..50, limit in 1u64..100,
        ) {
            let file: Bytes = (0..700u32).map(|i| (i * 7 % 251) as u8).collect();
            let ranges: Vec<_> = ranges.into_iter().map(|(start, len)| start..start + len).collect();
            let requests = coalesce(ranges.clone(), gap, limit);
            prop_assert!(requests.iter().all(|r| r.start < r.end && r.end - r.start <= limit));
            prop_assert!(requests.windows(2).all(|w| w[0].end <= w[1].start));
            let piece = |r: Range<u64>| (r.start, file.slice(r.start as usize..r.end as usize));
            let held = FetchedRanges { pieces: requests.into_iter().map(piece).collect() };
            for r in ranges {
                prop_assert_eq!(held.get(&r).unwrap(), file.slice(r.start as usize..r.end as usize));
            }
            prop_assert!(held.get(&(690..701)).is_none());
        }
    }

    async fn stored(bytes: Vec<u8>) -> (Arc<dyn ObjectStore>, Fragment) {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let fragment = put(&store, &Path::from("a.parquet"), bytes).await;
        (store, fragment)
    }

    async fn put(store: &Arc<dyn ObjectStore>, path: &Path, bytes: Vec<u8>) -> Fragment {
        store.put(path, PutPayload::from(bytes)).await.unwrap();
        Fragment::new(store.head(path).await.unwrap())
    }

    #[rstest]
    #[case::memory(false)]
    #[case::local(true)]
    #[tokio::test]
    async fn only_the_planned_version_is_read(#[case] local: bool) {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn ObjectStore> = if local {
            Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap())
        } else {
            Arc::new(InMemory::new())
        };
        let path = Path::from("a.parquet");
        let fragment = put(&store, &path, (0..100).collect()).await;
        let counters = Arc::new(IoCounters::default());
        let read = |fragment: &Fragment| {
            RangeReader::new(Arc::clone(&store), fragment, Arc::clone(&counters)).with_coalesce_gap(4)
        };
        let held = read(&fragment).fetch(vec![50..60, 0..10, 12..20], &[]).await.unwrap();
        assert_eq!(held.get(&(52..55)).unwrap(), vec![52, 53, 54]);
        assert_eq!(held.get(&(20..51)), None);
        assert_eq!((counters.bytes(), counters.requests()), (30, 2));

        let error = read(&fragment).fetch(vec![90..101], &[]).await.unwrap_err().to_string();
        assert!(error.contains("a.parquet") && error.contains("90..101"), "{error}");

        std::thread::sleep(Duration::from_millis(20));
        let same_size = put(&store, &path, (100..200).collect()).await;
        let mut untagged = fragment.clone();
        untagged.version.e_tag = None;
        for old in [&fragment, &untagged] {
            let error = read(old).fetch(vec![0..10], &[]).await.unwrap_err();
            assert!(matches!(error, ScanError::Changed { .. }), "{error}");
        }
        let shorter = put(&store, &path, vec![1; 50]).await;
        let error = read(&same_size).fetch(vec![80..90], &[]).await.unwrap_err();
        assert!(matches!(error, ScanError::Changed { .. }), "{error}");
        store.delete(&path).await.unwrap();
        let error = read(&shorter).fetch(vec![0..10], &[]).await.unwrap_err();
        assert!(matches!(error, ScanError::Store { .. }), "{error}");
    }

    #[rstest]
    #[case::before_the_answer(false)]
    #[case::within_the_answer(true)]
    #[tokio::test]
    async fn a_dropped_fetch_drops_its_requests(#[case] answers: bool) {
        let (inner, fragment) = stored((0..100).collect()).await;
        let store = Arc::new(StuckStore { inner, answers, in_flight: Arc::default() });
        let in_flight = || store.in_flight.load(Ordering::SeqCst);
        let erased = Arc::<StuckStore>::clone(&store);
        let reader = RangeReader::new(erased, &fragment, Arc::default()).with_coalesce_gap(0);
        let mut fetch = Box::pin(reader.fetch((0..20).map(|i| 5 * i..5 * i + 1).collect(), &[]));
        assert!(futures::poll!(&mut fetch).is_pending());
        assert_eq!(in_flight(), REQUESTS_IN_FLIGHT);
        drop(fetch);
        assert_eq!(in_flight(), 0);
    }

    #[tokio::test]
    async fn what_is_kept_is_fetched_once() {
        let (store, fragment) = stored((0..100).collect()).await;
        let counters = Arc::new(IoCounters::default());
        let kept = Arc::new(Kept::new(2));
        let reader = RangeReader::new(store, &fragment, Arc::clone(&counters))
            .with_coalesce_gap(0)
            .with_kept(Arc::clone(&kept));
        let byte = |bytes: Bytes| bytes[0];
        let first = reader.fetch(vec![10..20, 20..25], &[10..20]).await.unwrap();
        assert_eq!((first.get(&(10..20)).map(byte), counters.bytes()), (Some(10), 15));
        let second = reader.fetch(vec![10..20, 30..35], &[10..20]).await.unwrap();
        assert_eq!((second.get(&(10..20)).map(byte), second.get(&(30..35)).map(byte)), (Some(10), Some(30)));
        assert_eq!(counters.bytes(), 20, "the kept bytes were not asked for again");
        // A range that was merged with a kept one is put together again.
        assert_eq!(reader.fetch(vec![10..22], &[]).await.unwrap().get(&(10..22)).map(|b| b.len()), Some(12));
        kept.done();
        assert_eq!(kept.pieces().len(), 1);
        kept.done();
        assert!(kept.pieces().is_empty(), "the last reader lets go");
    }

    /// A store whose answers never end, or never begin, and that counts those that are waited for.
    #[derive(Debug)]
    struct StuckStore {
        inner: Arc<dyn ObjectStore>,
        answers: bool,
        in_flight: Arc<AtomicUsize>,
    }

    struct InFlight(Arc<AtomicUsize>);

    impl InFlight {
        fn new(count: &Arc<AtomicUsize>) -> Self {
            count.fetch_add(1, Ordering::SeqCst);
            Self(Arc::clone(count))
        }
    }

    impl Drop for InFlight {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl std::fmt::Display for StuckStore {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "stuck {}", self.inner)
        }
    }

    #[async_trait]
    impl ObjectStore for StuckStore {
        async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
            let held = InFlight::new(&self.in_flight);
            let mut answer = self.inner.get_opts(path, options).await?;
            if !self.answers {
                std::future::pending::<()>().await;
            }
            answer.payload = GetResultPayload::Stream(stream::pending().inspect(move |_| _ = &held).boxed());
            Ok(answer)
        }

        async fn put_opts(&self, path: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
            self.inner.put_opts(path, payload, opts).await
        }

        async fn put_multipart_opts(
            &self,
            path: &Path,
            opts: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.inner.put_multipart_opts(path, opts).await
        }

        fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
            self.inner.delete_stream(paths)
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.inner.list(prefix)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.inner.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.inner.copy_opts(from, to, options).await
        }
    }
}
