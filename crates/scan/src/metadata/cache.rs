// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Metadata of files, kept as long as their version is current.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use object_store::ObjectStore;
use object_store::path::Path;
use parking_lot::Mutex;

use super::FragmentMetadata;
use crate::ScanError;
use crate::fragment::{Fragment, Version};
use crate::io::IoCounters;

type Loaded = Result<Arc<FragmentMetadata>, Arc<ScanError>>;
type Load = Shared<BoxFuture<'static, Loaded>>;

/// The metadata of the files of one store, bounded in bytes.
///
/// An entry serves only fragments of an equal [`Version`]. Where the store gives no tag, that says little of a
/// file written a moment ago, which may be written again at the same size and, to the second, at the same
/// time: such a file is read anew each time until it has settled. Loads of one file at one time share one read,
/// which runs as a task of its own: it goes on while any of those who wait for it still does, whether or
/// not they are polled, and stops when the last one is gone.
#[derive(Debug)]
pub struct MetadataCache {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Path, Entry>,
    loads: HashMap<Path, Pending>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Pending {
    version: Version,
    /// Whether the file had [settled](is_settled) when the read began.
    settled: bool,
    load: WeakShared<BoxFuture<'static, Loaded>>,
}

#[derive(Debug)]
struct Entry {
    version: Version,
    metadata: Arc<FragmentMetadata>,
    bytes: usize,
    used: u64,
}

impl MetadataCache {
    /// A cache of at most about `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { capacity: bytes, state: Mutex::default() }
    }

    /// The metadata of a fragment: kept, if of an equal version, else read.
    ///
    /// `counters` counts the read if this call is the one that starts it. Must be called within a tokio
    /// runtime. Errors as [`FragmentMetadata::load`]'s; none is kept.
    pub async fn get_or_load(
        &self,
        store: &Arc<dyn ObjectStore>,
        fragment: &Fragment,
        counters: &Arc<IoCounters>,
    ) -> Result<Arc<FragmentMetadata>, ScanError> {
        let load = {
            let mut state = self.state.lock();
            if let Some(metadata) = state.get(fragment) {
                return Ok(metadata);
            }
            state.load(store, fragment, counters)
        };
        let loaded = load.await;
        let mut state = self.state.lock();
        if state.loads.get(&fragment.location).is_some_and(|pending| pending.version == fragment.version) {
            let settled = state.loads.remove(&fragment.location).is_some_and(|pending| pending.settled);
            if let Some(metadata) = loaded.as_ref().ok().filter(|_| settled) {
                state.insert(fragment, metadata, self.capacity);
            }
        }
        loaded.map_err(ScanError::Shared)
    }

    /// How many bytes are held, about.
    pub fn memory_size(&self) -> usize {
        self.state.lock().bytes
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.state.lock() = State::default();
    }
}

impl State {
    fn get(&mut self, fragment: &Fragment) -> Option<Arc<FragmentMetadata>> {
        self.clock += 1;
        let entry = self.entries.get_mut(&fragment.location)?;
        if entry.version != fragment.version {
            return None;
        }
        entry.used = self.clock;
        Some(Arc::clone(&entry.metadata))
    }

    fn load(
        &mut self,
        store: &Arc<dyn ObjectStore>,
        fragment: &Fragment,
        counters: &Arc<IoCounters>,
    ) -> Load {
        if let Some(pending) = self.loads.get(&fragment.location)
            && pending.version == fragment.version
            && let Some(load) = pending.load.upgrade()
        {
            return load;
        }
        let settled = is_settled(&fragment.version, Utc::now());
        let (store, counters, wanted) = (Arc::clone(store), Arc::clone(counters), fragment.clone());
        let task = AbortOnDrop(tokio::spawn(async move {
            FragmentMetadata::load(&store, &wanted, &counters).await.map(Arc::new).map_err(Arc::new)
        }));
        let path = fragment.location.clone();
        let load = task.join(path.clone()).boxed().shared();
        if let Some(weak) = load.downgrade() {
            let version = fragment.version.clone();
            self.loads.insert(path, Pending { version, settled, load: weak });
        }
        load
    }

    fn insert(&mut self, fragment: &Fragment, metadata: &Arc<FragmentMetadata>, capacity: usize) {
        let bytes = metadata.memory_size();
        if bytes > capacity {
            return;
        }
        let entry = Entry {
            version: fragment.version.clone(),
            metadata: Arc::clone(metadata),
            bytes,
            used: self.clock,
        };
        self.bytes += bytes;
        if let Some(old) = self.entries.insert(fragment.location.clone(), entry) {
            self.bytes -= old.bytes;
        }
        if self.bytes <= capacity {
            return;
        }
        // Make room at once for what comes next, so that a full cache isn't searched on every insert.
        let mut by_age: Vec<_> = self.entries.iter().map(|(path, e)| (e.used, path.clone())).collect();
        by_age.sort_unstable_by_key(|(used, _)| *used);
        for (_, path) in by_age {
            if self.bytes <= capacity - capacity / 8 {
                break;
            }
            if path != fragment.location
                && let Some(old) = self.entries.remove(&path)
            {
                self.bytes -= old.bytes;
            }
        }
    }
}

/// Whether a file that is read from `now` on, and found to be of this version, can't be written again and
/// look the same.
///
/// A second more than the coarsest clock of a store allows for clocks that differ.
fn is_settled(version: &Version, now: DateTime<Utc>) -> bool {
    version.e_tag.is_some() || now.signed_duration_since(version.last_modified) >= TimeDelta::seconds(2)
}

/// A task that ends when nobody waits for it any more.
struct AbortOnDrop(tokio::task::JoinHandle<Loaded>);

impl AbortOnDrop {
    async fn join(mut self, path: Path) -> Loaded {
        (&mut self.0).await.unwrap_or_else(|error| {
            let detail = format!("reading its metadata ended early: {error}");
            Err(Arc::new(ScanError::Malformed { path, detail }))
        })
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::tagged(Some("1"), 10_000, 10_000, true)]
    #[case::same_second(None, 10_000, 10_900, false)]
    #[case::next_second(None, 10_000, 11_999, false)]
    #[case::finer_clock(None, 10_500, 12_499, false)]
    #[case::settled(None, 10_000, 12_000, true)]
    #[case::long_ago(None, 10_000, 9_000_000, true)]
    #[case::in_the_future(None, 10_000, 5_000, false)]
    fn files_settle(
        #[case] tag: Option<&str>,
        #[case] written: i64,
        #[case] now: i64,
        #[case] settled: bool,
    ) {
        let time = |millis| DateTime::from_timestamp_millis(millis).unwrap();
        let version = Version { size: 1, e_tag: tag.map(str::to_owned), last_modified: time(written) };
        assert_eq!(is_settled(&version, time(now)), settled);
    }
}
