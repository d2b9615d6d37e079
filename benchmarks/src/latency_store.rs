// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A store as far away as an object store is: each request waits for its first byte, then for the rest.
//!
//! Requests don't slow each other down, however many there are. Nothing is merged: each range is a request, and
//! ranges asked for together wait side by side. A file never comes as a descriptor, which would be near.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, GetResultPayload, ListResult, ObjectMeta, ObjectStore, Result};
use trommel_scan::io::interpose::{Interpose, Interposed};

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

/// A store that is far away.
pub type LatencyStore = Interposed<Latency>;

/// Moves a store away.
#[derive(Debug)]
pub struct Latency {
    inner: Arc<dyn ObjectStore>,
    distance: Distance,
}

impl Latency {
    /// Moves `inner` away.
    pub fn of(inner: Arc<dyn ObjectStore>, distance: Distance) -> LatencyStore {
        Interposed(Self { inner, distance })
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

#[async_trait]
impl Interpose for Latency {
    const WHAT: &'static str = "distant";

    fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
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

    fn list(
        &self,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        tokio::time::sleep(self.distance.first_byte).map(move |()| listing).flatten_stream().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.wait().await;
        self.inner.list_with_delimiter(prefix).await
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
        (Latency::of(inner, distance), path)
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
