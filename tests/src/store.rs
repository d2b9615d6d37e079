// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An object store that counts requests, answers late, and fails as it is told.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, stream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, Result};
use trommel_scan::io::interpose::{Interpose, Interposed, streamed};

/// Files in memory that are watched.
pub type WatchedStore = Interposed<Watched>;

/// Counts every request for a file's content when it is made, and those that wait for their answer or its end; answers
/// after a delay, or wrongly.
#[derive(Debug)]
pub struct Watched {
    inner: Arc<dyn ObjectStore>,
    requests: AtomicUsize,
    in_flight: Arc<AtomicUsize>,
    delay_millis: AtomicU64,
    fault: Mutex<Option<Planned>>,
}

/// What goes wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The store is not available (what is left of a 503 when a client has tried often enough).
    Unavailable,
    /// The body ends before its end, without an error.
    Truncated,
    /// The connection breaks in the middle of the body.
    Broken,
    /// The body is longer than what was asked for.
    TooLong,
    /// The answer never begins.
    Silent,
    /// The body never goes on after its middle.
    Stalled,
}

/// A fault of some requests to come.
#[derive(Debug, Clone, Copy)]
struct Planned {
    fault: Fault,
    /// How many requests are answered rightly before.
    after: usize,
}

/// Where sessions find a [`WatchedStore`].
pub const WATCHED: &str = "watched://store/";

impl Watched {
    /// A store of these files, by name, found at [`WATCHED`] in any session it is put into.
    ///
    /// # Errors
    /// A name that is no path.
    pub async fn files(
        files: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> anyhow::Result<Arc<WatchedStore>> {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let store = Self {
            inner,
            requests: AtomicUsize::new(0),
            in_flight: Arc::default(),
            delay_millis: AtomicU64::new(0),
            fault: Mutex::default(),
        };
        let store = Arc::new(Interposed(store));
        for (name, bytes) in files {
            store.replace(&name, bytes).await?;
        }
        Ok(store)
    }

    /// Writes a file, whether there was one of this name or not.
    ///
    /// # Errors
    /// A name that is no path.
    pub async fn replace(&self, name: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
        self.inner.put(&Path::parse(name)?, bytes.into()).await?;
        Ok(())
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// There is none of this name.
    pub async fn remove(&self, name: &str) -> anyhow::Result<()> {
        Ok(self.inner.delete(&Path::parse(name)?).await?)
    }

    /// Requests for content so far, answered or not.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Requests for content whose answers haven't come to their end, nor been dropped.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Lets requests wait this long for their answer from now on.
    pub fn delay(&self, millis: u64) {
        self.delay_millis.store(millis, Ordering::SeqCst);
    }

    /// Lets every request for content fail in this way, but for so many to come first.
    pub fn fail(&self, fault: Fault, after: usize) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(Planned { fault, after });
    }

    /// Lets no request fail any more.
    pub fn recover(&self) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What goes wrong with one more request.
    fn next_fault(&self) -> Option<Fault> {
        let mut planned = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let Planned { fault, after } = planned.as_mut()?;
        if *after > 0 {
            *after -= 1;
            return None;
        }
        Some(*fault)
    }
}

/// Puts a watched store into a session.
///
/// # Errors
/// None: the URL is fixed.
pub fn put_into(store: &Arc<WatchedStore>, session: &SessionContext) -> anyhow::Result<()> {
    let store: Arc<dyn ObjectStore> = Arc::<WatchedStore>::clone(store);
    session.register_object_store(ObjectStoreUrl::parse(WATCHED)?.as_ref(), store);
    Ok(())
}

#[async_trait]
impl Interpose for Watched {
    const WHAT: &'static str = "watched";

    fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            return self.inner.get_opts(location, options).await;
        }
        self.requests.fetch_add(1, Ordering::SeqCst);
        let held = InFlight::new(&self.in_flight);
        let delay = self.delay_millis.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        let fault = self.next_fault();
        match fault {
            Some(Fault::Unavailable) => return Err(error("503 Service Unavailable")),
            Some(Fault::Silent) => std::future::pending::<()>().await,
            _ => {}
        }
        let mut answer = streamed(self.inner.get_opts(location, options).await?);
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = std::mem::take(&mut answer.attributes);
        let bytes = answer.bytes().await?;
        let half = bytes.slice(..bytes.len() / 2);
        let pieces: Vec<Result<Bytes>> = match fault {
            Some(Fault::Truncated | Fault::Stalled) => vec![Ok(half)],
            Some(Fault::Broken) => vec![Ok(half), Err(error("connection reset"))],
            Some(Fault::TooLong) => vec![Ok(bytes.clone()), Ok(half)],
            _ => vec![Ok(bytes)],
        };
        let body = stream::iter(pieces);
        let body = match fault {
            Some(Fault::Stalled) => body.chain(stream::pending()).boxed(),
            _ => body.boxed(),
        };
        let payload = GetResultPayload::Stream(body.inspect(move |_| _ = &held).boxed());
        Ok(GetResult { payload, meta, range, attributes })
    }
}

fn error(what: &str) -> Error {
    Error::Generic { store: "watched", source: what.to_owned().into() }
}

/// One request under way.
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
