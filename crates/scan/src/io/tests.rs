// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Requests against stores in memory, local files, and stores that get stuck.

use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{GetOptions, GetResult, GetResultPayload, ObjectStoreExt as _, PutPayload, Result};
use proptest::prelude::*;
use rstest::rstest;

use super::interpose::{Interpose, Interposed};
use super::*;

/// What a fetch of some ranges holds.
async fn fetch(
    reader: &RangeReader,
    ranges: Vec<Range<u64>>,
    keep: &[Range<u64>],
) -> std::result::Result<FetchedRanges, ScanError> {
    let mut held = FetchedRanges::default();
    reader.fetch(&mut held, ranges, keep).await?;
    Ok(held)
}

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
        let mut held = FetchedRanges::default();
        held.add(requests.into_iter().map(piece).collect());
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
        let distance = if local { Distance::Local } else { Distance::Remote };
        RangeReader::new(Arc::clone(&store), fragment, distance, Arc::clone(&counters)).with_coalesce_gap(4)
    };
    let held = fetch(&read(&fragment), vec![50..60, 0..10, 12..20], &[]).await.unwrap();
    assert_eq!(held.get(&(52..55)).unwrap(), vec![52, 53, 54]);
    assert_eq!(held.get(&(20..51)), None);
    assert_eq!((counters.bytes(), counters.requests()), (30, 2));

    let error = fetch(&read(&fragment), vec![90..101], &[]).await.unwrap_err().to_string();
    assert!(error.contains("a.parquet") && error.contains("90..101"), "{error}");

    std::thread::sleep(Duration::from_millis(20));
    let same_size = put(&store, &path, (100..200).collect()).await;
    let mut untagged = fragment.clone();
    untagged.version.e_tag = None;
    for old in [&fragment, &untagged] {
        let error = fetch(&read(old), vec![0..10], &[]).await.unwrap_err();
        assert!(matches!(error, ScanError::Changed { .. }), "{error}");
    }
    let shorter = put(&store, &path, vec![1; 50]).await;
    let error = fetch(&read(&same_size), vec![80..90], &[]).await.unwrap_err();
    assert!(matches!(error, ScanError::Changed { .. }), "{error}");
    store.delete(&path).await.unwrap();
    let error = fetch(&read(&shorter), vec![0..10], &[]).await.unwrap_err();
    assert!(matches!(error, ScanError::Store { .. }), "{error}");
}

/// An open file is asked for no second time; what is written into it is noticed, and what takes its place is
/// another file.
#[rstest]
#[case::written_into(true)]
#[case::replaced(false)]
#[tokio::test]
async fn an_open_file_stays_the_planned_one(#[case] written_into: bool) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let path = Path::from("a.parquet");
    let fragment = put(&store, &path, (0..100).collect()).await;
    let counters = Arc::new(IoCounters::default());
    let reader = RangeReader::new(Arc::clone(&store), &fragment, Distance::Local, Arc::clone(&counters))
        .with_coalesce_gap(0);
    let held = fetch(&reader, vec![0..10, 20..30], &[]).await.unwrap();
    assert_eq!(held.get(&(20..22)).unwrap(), vec![20, 21]);
    assert_eq!((counters.bytes(), counters.requests()), (20, 2));
    std::thread::sleep(Duration::from_millis(20));
    if written_into {
        std::fs::write(folder.path().join("a.parquet"), [7; 100]).unwrap();
        let error = fetch(&reader, vec![40..50], &[]).await.unwrap_err();
        assert!(matches!(error, ScanError::Changed { .. }), "{error}");
    } else {
        put(&store, &path, vec![7; 100]).await;
        assert_eq!(fetch(&reader, vec![40..42], &[]).await.unwrap().get(&(40..42)).unwrap(), vec![40, 41]);
    }
}

#[rstest]
#[case::before_the_answer(false)]
#[case::within_the_answer(true)]
#[tokio::test]
async fn a_dropped_fetch_drops_its_requests(#[case] answers: bool) {
    let (inner, fragment) = stored((0..100).collect()).await;
    let store = Arc::new(Interposed(Stuck { inner, answers, in_flight: Arc::default() }));
    let in_flight = || store.in_flight.load(Ordering::SeqCst);
    let erased = Arc::<Interposed<Stuck>>::clone(&store);
    let reader = RangeReader::new(erased, &fragment, Distance::Remote, Arc::default()).with_coalesce_gap(0);
    let mut fetch = Box::pin(fetch(&reader, (0..20).map(|i| 5 * i..5 * i + 1).collect(), &[]));
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
    let reader = RangeReader::new(store, &fragment, Distance::Remote, Arc::clone(&counters))
        .with_coalesce_gap(0)
        .with_kept(Some(Arc::clone(&kept)));
    let byte = |bytes: Bytes| bytes[0];
    let first = fetch(&reader, vec![10..20, 20..25], &[10..20]).await.unwrap();
    assert_eq!((first.get(&(10..20)).map(byte), counters.bytes()), (Some(10), 15));
    let second = fetch(&reader, vec![10..20, 30..35], &[10..20]).await.unwrap();
    assert_eq!((second.get(&(10..20)).map(byte), second.get(&(30..35)).map(byte)), (Some(10), Some(30)));
    assert_eq!(counters.bytes(), 20, "the kept bytes were not asked for again");
    // A range that was merged with a kept one is put together again.
    assert_eq!(fetch(&reader, vec![10..22], &[]).await.unwrap().get(&(10..22)).map(|b| b.len()), Some(12));
    kept.done();
    assert_eq!(kept.pieces().len(), 1);
    kept.done();
    assert!(kept.pieces().is_empty(), "the last reader lets go");
}

/// Lets answers never end, or never begin, and counts those that are waited for.
#[derive(Debug)]
struct Stuck {
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

#[async_trait]
impl Interpose for Stuck {
    const WHAT: &'static str = "stuck";

    fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let held = InFlight::new(&self.in_flight);
        let mut answer = self.inner.get_opts(path, options).await?;
        if !self.answers {
            std::future::pending::<()>().await;
        }
        answer.payload = GetResultPayload::Stream(stream::pending().inspect(move |_| _ = &held).boxed());
        Ok(answer)
    }
}
