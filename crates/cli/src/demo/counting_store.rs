// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An object store that counts what is read through it.
//!
//! Every byte of a file counts, whatever it is for: footers, page indexes, dictionaries, data. A range asked
//! for counts in full when the store answers, even if the reader then drops the stream. Each range is one
//! request. Listings and `HEAD` requests move no file content and aren't counted.
//!
//! While it counts, the store hands out no descriptor of a local file
//! ([`File`](object_store::GetResultPayload::File)), of which a reader could read whatever it
//! likes unseen, but streams it. That takes longer, so what is timed isn't counted.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectStore, Result};
use trommel_scan::io::interpose::{Interpose, Interposed, streamed};

/// What was read through a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Ranges of files asked for.
    pub requests: u64,
    /// Bytes in these ranges.
    pub bytes: u64,
}

/// A store that counts what is read through it.
pub type CountingStore = Interposed<Counting>;

/// Counts what is read of a store.
#[derive(Debug)]
pub struct Counting {
    inner: Arc<dyn ObjectStore>,
    counts: AtomicBool,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counting {
    /// Counts the reads of `inner`, from nought.
    pub fn reads_of(inner: Arc<dyn ObjectStore>) -> CountingStore {
        Interposed(Self {
            inner,
            counts: AtomicBool::new(true),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Counts from now on, or answers as the wrapped store does.
    pub fn set_counting(&self, counts: bool) {
        self.counts.store(counts, Ordering::Relaxed);
    }

    /// What was read so far.
    pub fn reads(&self) -> Reads {
        Reads { requests: self.requests.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }

    fn count(&self, bytes: u64) {
        if self.counts.load(Ordering::Relaxed) {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl Interpose for Counting {
    const WHAT: &'static str = "counted";

    fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        let answer = self.inner.get_opts(location, options).await?;
        if head || !self.counts.load(Ordering::Relaxed) {
            return Ok(answer);
        }
        self.count(answer.range.end - answer.range.start);
        Ok(streamed(answer))
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let parts = self.inner.get_ranges(location, ranges).await?;
        parts.iter().for_each(|part| self.count(part.len() as u64));
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;
    use object_store::{GetRange, GetResultPayload, ObjectStoreExt};

    use super::*;

    /// A local store over a folder with one file of 1 000 bytes; the folder lives as long as the guard.
    async fn store() -> (CountingStore, Path, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        let store = Counting::reads_of(Arc::new(local));
        let path = Path::from("file");
        store.put(&path, vec![7_u8; 1000].into()).await.unwrap();
        (store, path, folder)
    }

    #[tokio::test]
    async fn ranges_count_one_by_one() {
        let (store, path, _folder) = store().await;
        assert_eq!(store.reads(), Reads::default(), "writing isn't reading");

        let parts = store.get_ranges(&path, &[0..10, 500..600]).await.unwrap();
        assert_eq!(parts.iter().map(Bytes::len).collect::<Vec<_>>(), [10, 100]);
        assert_eq!(store.reads(), Reads { requests: 2, bytes: 110 });

        store.get_range(&path, 990..1000).await.unwrap();
        assert_eq!(store.reads(), Reads { requests: 3, bytes: 120 });
    }

    #[tokio::test]
    async fn a_suffix_counts_its_own_length() {
        let (store, path, _folder) = store().await;
        let options = GetOptions { range: Some(GetRange::Suffix(8)), ..Default::default() };
        store.get_opts(&path, options).await.unwrap();
        assert_eq!(store.reads(), Reads { requests: 1, bytes: 8 });
    }

    #[tokio::test]
    async fn no_descriptor_evades_being_counted() {
        let (store, path, _folder) = store().await;
        let result = store.get_opts(&path, GetOptions::new().with_range(Some(10..15))).await.unwrap();
        assert!(matches!(result.payload, GetResultPayload::Stream(..)));
        assert_eq!(result.bytes().await.unwrap().as_ref(), [7; 5]);
        assert_eq!(store.reads(), Reads { requests: 1, bytes: 5 });

        store.set_counting(false);
        let result = store.get(&path).await.unwrap();
        assert!(matches!(result.payload, GetResultPayload::File(..)));
        store.get_ranges(&path, &[0..10, 20..30]).await.unwrap();
        assert_eq!(store.reads(), Reads { requests: 1, bytes: 5 });
    }

    #[tokio::test]
    async fn heads_lists_and_failures_count_nothing() {
        let (store, path, _folder) = store().await;
        store.head(&path).await.unwrap();
        store.list_with_delimiter(None).await.unwrap();
        store.get(&Path::from("absent")).await.unwrap_err();
        assert_eq!(store.reads(), Reads::default());
    }
}
