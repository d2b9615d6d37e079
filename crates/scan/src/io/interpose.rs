// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Stores that stand between a reader and another store, to watch what is read or to disturb it.
//!
//! An [`Interpose`] says what it does to reads and listings; [`Interposed`] makes a store of it and forwards everything
//! else.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// What stands between a reader and a store.
#[async_trait]
pub trait Interpose: fmt::Debug + Send + Sync + 'static {
    /// What it does to the store, as an adjective.
    const WHAT: &'static str;

    /// The store that has the files.
    fn inner(&self) -> &Arc<dyn ObjectStore>;

    /// Answers one request, `HEAD` requests included.
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult>;

    /// Answers for several ranges of a file; each is a request, and they run side by side.
    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let request = |range: &Range<u64>| {
            let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..Default::default() };
            async move { self.get_opts(location, options).await?.bytes().await }
        };
        try_join_all(ranges.iter().map(request)).await
    }

    /// Passes a listing on.
    fn list(
        &self,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        listing
    }

    /// Answers for what is right below a folder.
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner().list_with_delimiter(prefix).await
    }
}

/// The store that an [`Interpose`] makes of another.
#[derive(Debug)]
pub struct Interposed<T>(pub T);

/// What stands in between.
impl<T> Deref for Interposed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Interpose> fmt::Display for Interposed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", T::WHAT, self.0.inner())
    }
}

// Every method is forwarded: a default would bypass what the store inside does better.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<T: Interpose> ObjectStore for Interposed<T> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.0.inner().put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.inner().put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.inner().delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(self.0.inner().list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(self.0.inner().list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.inner().copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.inner().rename_opts(from, to, options).await
    }
}

/// The answer as a stream: a descriptor of a local file would be read unseen.
pub fn streamed(answer: GetResult) -> GetResult {
    if !matches!(answer.payload, GetResultPayload::File(..)) {
        return answer;
    }
    let (meta, range, attributes) = (answer.meta.clone(), answer.range.clone(), answer.attributes.clone());
    GetResult { payload: GetResultPayload::Stream(answer.into_stream()), meta, range, attributes }
}
