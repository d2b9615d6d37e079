// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The metadata caches of the stores in use, one for each store whatever the table or session.
//!
//! A cache keeps nothing alive and never needs to be told of a change: its store is known by identity, and a file
//! by its version.

use std::sync::{Arc, Weak};

use datafusion::catalog::Session;
use object_store::ObjectStore;
use parking_lot::Mutex;
use trommel_scan::metadata::MetadataCache;

/// A store, as long as there is one, and its cache.
struct StoreCache {
    store: Weak<dyn ObjectStore>,
    cache: Arc<MetadataCache>,
}

static CACHES: Mutex<Vec<StoreCache>> = Mutex::new(Vec::new());

/// The cache of this store's metadata, as large as the session that first asks for it allows
/// (`datafusion.runtime.metadata_cache_limit`).
pub fn metadata_cache(store: &Arc<dyn ObjectStore>, session: &dyn Session) -> Arc<MetadataCache> {
    let store = Arc::downgrade(store);
    let mut caches = CACHES.lock();
    caches.retain(|known| known.store.strong_count() > 0);
    // A store is its address: the vtable half of the pointer may differ between copies of one.
    let found = caches.iter().find(|known| std::ptr::addr_eq(known.store.as_ptr(), store.as_ptr()));
    if let Some(known) = found {
        return Arc::clone(&known.cache);
    }
    let limit = session.runtime_env().cache_manager.get_metadata_cache_limit();
    let cache = Arc::new(MetadataCache::new(limit));
    caches.push(StoreCache { store, cache: Arc::clone(&cache) });
    cache
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;
    use object_store::memory::InMemory;

    #[test]
    fn one_cache_for_each_store() {
        let (one, other) = (SessionContext::new().state(), SessionContext::new().state());
        let a: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let b: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let of_a = metadata_cache(&a, &one);
        assert!(Arc::ptr_eq(&of_a, &metadata_cache(&Arc::clone(&a), &other)));
        assert!(!Arc::ptr_eq(&of_a, &metadata_cache(&b, &one)));
    }

    #[test]
    fn a_cache_goes_with_its_store() {
        let session = SessionContext::new().state();
        let a: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let of_a = Arc::downgrade(&metadata_cache(&a, &session));
        drop(a);
        let b: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        metadata_cache(&b, &session);
        assert!(of_a.upgrade().is_none());
    }
}
