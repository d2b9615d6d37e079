// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An object store in memory that counts requests and answers late.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// Files in memory; every request for a file's content is counted when it is made and answered after a delay.
#[derive(Debug, Default)]
pub struct WatchedStore {
    inner: InMemory,
    requests: AtomicUsize,
    delay_millis: AtomicU64,
}

/// Where sessions find a [`WatchedStore`].
pub const WATCHED: &str = "watched://store/";

impl WatchedStore {
    /// A store of these files, by name, found at [`WATCHED`] in any session it is put into.
    ///
    /// # Errors
    /// A name that is no path.
    pub async fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> anyhow::Result<Arc<Self>> {
        let store = Self::default();
        for (name, bytes) in files {
            store.inner.put(&Path::parse(name)?, bytes.into()).await?;
        }
        Ok(Arc::new(store))
    }

    /// Puts the store into a session.
    ///
    /// # Errors
    /// None: the URL is fixed.
    pub fn put_into(self: &Arc<Self>, session: &SessionContext) -> anyhow::Result<()> {
        let store: Arc<dyn ObjectStore> = Arc::<Self>::clone(self);
        session.register_object_store(ObjectStoreUrl::parse(WATCHED)?.as_ref(), store);
        Ok(())
    }

    /// Requests for content so far, answered or not.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Lets requests wait this long for their answer from now on.
    pub fn delay(&self, millis: u64) {
        self.delay_millis.store(millis, Ordering::SeqCst);
    }
}

impl fmt::Display for WatchedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("watched")
    }
}

#[async_trait]
impl ObjectStore for WatchedStore {
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
        if !options.head {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let delay = self.delay_millis.load(Ordering::SeqCst);
            if delay > 0 {
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
        }
        let result = self.inner.get_opts(location, options).await?;
        if !matches!(result.payload, GetResultPayload::File(..)) {
            return Ok(result);
        }
        // A descriptor would be read unseen.
        let (meta, range, attributes) =
            (result.meta.clone(), result.range.clone(), result.attributes.clone());
        let payload = GetResultPayload::Stream(result.into_stream());
        Ok(GetResult { payload, meta, range, attributes })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
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
