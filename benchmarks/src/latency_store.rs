// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A store as far away as an object store is: each request waits for its first byte, then for the rest.
//!
//! Requests don't slow each other down, however many there are. Nothing is merged: each range is a request, and
//! ranges asked for together wait side by side. A file never comes as a descriptor, which would be near.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// Bytes that arrive at one time.
const PIECE: usize = 1 << 18;

/// How far away a store is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// From a request to its first byte.
    pub first_byte: Duration,
    /// Of each request, in bytes a second.
    pub bandwidth: f64,
}

impl Default for Distance {
    /// 30 ms and 100 MB/s.
    fn default() -> Self {
        Self { first_byte: Duration::from_millis(30), bandwidth: 100e6 }
    }
}

impl Distance {
    /// How long this many bytes take once the first is there.
    fn transfer(&self, bytes: usize) -> Duration {
        Duration::try_from_secs_f64(bytes as f64 / self.bandwidth).unwrap_or_default()
    }
}

/// Another store, moved away.
#[derive(Debug)]
pub struct LatencyStore {
    inner: Arc<dyn ObjectStore>,
    distance: Distance,
}

impl LatencyStore {
    /// Moves `inner` away.
    pub fn new(inner: Arc<dyn ObjectStore>, distance: Distance) -> Self {
        Self { inner, distance }
    }

    async fn wait(&self) {
        tokio::time::sleep(self.distance.first_byte).await;
    }

    /// The bytes, as they arrive.
    fn arriving(&self, bytes: Bytes) -> BoxStream<'static, Result<Bytes>> {
        let distance = self.distance;
        let pieces = stream::unfold(bytes, move |mut rest| async move {
            if rest.is_empty() {
                return None;
            }
            let piece = rest.split_to(PIECE.min(rest.len()));
            tokio::time::sleep(distance.transfer(piece.len())).await;
            Some((Ok(piece), rest))
        });
        pieces.boxed()
    }
}

impl fmt::Display for LatencyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "distant {}", self.inner)
    }
}

// Every method is forwarded: a default would bypass what the wrapped store does better.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ObjectStore for LatencyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.wait().await;
        let head = options.head;
        let mut result = self.inner.get_opts(location, options).await?;
        if head {
            return Ok(result);
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let attributes = std::mem::take(&mut result.attributes);
        let payload = GetResultPayload::Stream(self.arriving(result.bytes().await?));
        Ok(GetResult { payload, meta, range, attributes })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let request = |range: &Range<u64>| {
            let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..Default::default() };
            async move { self.get_opts(location, options).await?.bytes().await }
        };
        try_join_all(ranges.iter().map(request)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listing = self.inner.list(prefix);
        tokio::time::sleep(self.distance.first_byte).map(move |()| listing).flatten_stream().boxed()
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let listing = self.inner.list_with_offset(prefix, offset);
        tokio::time::sleep(self.distance.first_byte).map(move |()| listing).flatten_stream().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.wait().await;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use futures::TryStreamExt;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    const BYTES: usize = 1_000_000;

    /// A store with one file, 40 ms away at 10 MB/s: the whole file takes 140 ms.
    async fn store() -> (LatencyStore, Path) {
        let inner = Arc::new(InMemory::new());
        let path = Path::from("file");
        inner.put(&path, vec![7_u8; BYTES].into()).await.unwrap();
        let distance = Distance { first_byte: Duration::from_millis(40), bandwidth: 10e6 };
        (LatencyStore::new(inner, distance), path)
    }

    async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
        let start = Instant::now();
        (work.await, start.elapsed())
    }

    #[tokio::test]
    async fn bytes_take_their_time() {
        let (store, path) = store().await;
        let (bytes, elapsed) = timed(async { store.get(&path).await.unwrap().bytes().await.unwrap() }).await;
        assert_eq!(bytes.len(), BYTES);
        assert!(elapsed >= Duration::from_millis(140), "{elapsed:?}");
        let (bytes, elapsed) = timed(store.get_range(&path, 5..15)).await;
        assert_eq!(bytes.unwrap().len(), 10);
        assert!(elapsed >= Duration::from_millis(40), "{elapsed:?}");
    }

    #[tokio::test]
    async fn requests_wait_side_by_side() {
        let (store, path) = store().await;
        let ranges: Vec<_> = (0..100_u64).map(|at| at * 1000..at * 1000 + 10).collect();
        let (parts, elapsed) = timed(store.get_ranges(&path, &ranges)).await;
        let parts = parts.unwrap();
        assert!(parts.iter().all(|part| part.len() == 10) && parts.len() == 100);
        // One after the other they would take four seconds.
        assert!((40..2000).contains(&elapsed.as_millis()), "{elapsed:?}");
    }

    #[tokio::test]
    async fn heads_and_lists_wait_too() {
        let (store, path) = store().await;
        let start = Instant::now();
        assert_eq!(store.head(&path).await.unwrap().size, BYTES as u64);
        assert!(start.elapsed() >= Duration::from_millis(40));
        assert_eq!(store.list(None).try_collect::<Vec<_>>().await.unwrap().len(), 1);
        assert!(start.elapsed() >= Duration::from_millis(80));
    }
}
