// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The engines under comparison, and sessions on them.
//!
//! Every engine has a store that counts what it alone reads, and footers it has read once stay cached, page
//! indexes included, with room for all. What else is remembered depends on [`Caches`].

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::cache::cache_manager::{CacheManagerConfig, FileMetadataCache};
use datafusion::execution::cache::default_cache::DefaultCache;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_trommel::TrommelSessionExt;
use object_store::ObjectStore;
use trommel::demo::counting_store::{Counting, CountingStore, Reads};
use url::Url;

use crate::data::BenchmarkData;
use crate::suites::Query;

/// Room for footers and page indexes, in bytes: far more than any of the tables has.
const FOOTER_CACHE: usize = 1 << 30;

/// A scan of Parquet files in DataFusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum Engine {
    /// Trommel's scan
    Trommel,
    /// DataFusion's own Parquet scan, with its defaults
    #[value(name = "datafusion")]
    DataFusion,
    /// The same with pushdown_filters and reorder_filters
    #[value(name = "datafusion-tuned")]
    DataFusionTuned,
}

impl Engine {
    /// All of them, in the order they are reported.
    pub const ALL: [Self; 3] = [Self::Trommel, Self::DataFusion, Self::DataFusionTuned];

    /// The one that others are compared with.
    pub const BASELINE: Self = Self::DataFusion;

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trommel => "trommel",
            Self::DataFusion => "datafusion",
            Self::DataFusionTuned => "datafusion-tuned",
        }
    }

    /// What `STORED AS` says.
    fn format(self) -> &'static str {
        match self {
            Self::Trommel => "TROMMEL",
            Self::DataFusion | Self::DataFusionTuned => "PARQUET",
        }
    }

    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Trommel | Self::DataFusion => &[],
            Self::DataFusionTuned => &[
                ("datafusion.execution.parquet.pushdown_filters", "true"),
                ("datafusion.execution.parquet.reorder_filters", "true"),
            ],
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What an engine remembers from one session to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// Whatever it does by default.
    All,
    /// Footers only: no listing, no statistics. Later sessions start anew.
    Footers,
}

/// An engine with its store and its caches.
pub struct Host {
    engine: Engine,
    partitions: usize,
    store: Arc<CountingStore>,
    /// What the URLs of the store's files begin with.
    place: &'static str,
    footers: Arc<FileMetadataCache>,
    /// With all caches.
    runtime: Arc<RuntimeEnv>,
}

/// What the URLs of files on this machine begin with.
const NEAR: &str = "file://";
/// What the URLs of the same files in a distant store begin with: engines treat files of this machine otherwise.
const FAR: &str = "distant://store";

impl Host {
    /// An engine that reads local files through `files`, which may be `distant`, with plans of this many
    /// partitions.
    ///
    /// # Errors
    /// There is no runtime to be had, for want of a temporary folder.
    pub fn new(
        engine: Engine,
        files: Arc<dyn ObjectStore>,
        distant: bool,
        partitions: usize,
    ) -> Result<Self> {
        let store = Arc::new(Counting::reads_of(files));
        let footers: Arc<FileMetadataCache> = Arc::new(DefaultCache::new(FOOTER_CACHE));
        let place = if distant { FAR } else { NEAR };
        let runtime = runtime(Caches::All, &store, place, &footers)?;
        Ok(Self { engine, partitions, store, place, footers, runtime })
    }

    /// A new session with the query's settings and tables.
    ///
    /// # Errors
    /// A setting isn't one of DataFusion's, or the engine can't open a table.
    pub async fn open(&self, data: &BenchmarkData, query: &Query, caches: Caches) -> Result<Session> {
        let mut config = SessionConfig::new().with_target_partitions(self.partitions);
        for (key, value) in self.engine.settings().iter().chain(&query.settings) {
            config.options_mut().set(key, value)?;
        }
        let runtime = match caches {
            Caches::All => Arc::clone(&self.runtime),
            Caches::Footers => runtime(caches, &self.store, self.place, &self.footers)?,
        };
        let builder =
            SessionStateBuilder::new().with_default_features().with_config(config).with_runtime_env(runtime);
        let state = match self.engine {
            Engine::Trommel => builder.with_trommel().build(),
            Engine::DataFusion | Engine::DataFusionTuned => builder.build(),
        };
        let context = SessionContext::new_with_state(state);
        for table in query.tables() {
            let file = data.file(table);
            // As a URL, so that no character of a folder's name is taken for a wildcard or a quote.
            let url =
                Url::from_file_path(&file).map_err(|()| anyhow!("{} isn't absolute", file.display()))?;
            let location = format!("{}{}", self.place, url.path()).replace('\'', "''");
            let format = self.engine.format();
            let create = format!("CREATE EXTERNAL TABLE {table} STORED AS {format} LOCATION '{location}'");
            context.sql(&create).await?.collect().await?;
        }
        Ok(Session { context, store: Arc::clone(&self.store) })
    }
}

/// A runtime whose files are those of `store`.
fn runtime(
    caches: Caches,
    store: &Arc<CountingStore>,
    place: &str,
    footers: &Arc<FileMetadataCache>,
) -> Result<Arc<RuntimeEnv>> {
    let config = CacheManagerConfig::default()
        .with_file_metadata_cache(Some(Arc::clone(footers)))
        .with_metadata_cache_limit(FOOTER_CACHE);
    let config = match caches {
        Caches::All => config,
        // Opening a table fills the one cache of listings, but not that of statistics: there is a new one.
        Caches::Footers => config.with_list_files_cache_limit(0),
    };
    let runtime = RuntimeEnvBuilder::new().with_cache_manager(config).build_arc()?;
    runtime.register_object_store(&Url::parse(place)?, Arc::clone(store) as _);
    Ok(runtime)
}

/// A session on one engine, with the tables of one query.
#[derive(Clone)]
pub struct Session {
    context: SessionContext,
    store: Arc<CountingStore>,
}

impl Session {
    /// DataFusion's part of the session.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Whether what the engine reads is counted from now on.
    pub fn set_counting(&self, counts: bool) {
        self.store.set_counting(counts);
    }

    /// What the engine has read of files, in all sessions, as far as it was counted.
    pub fn reads(&self) -> Reads {
        self.store.reads()
    }
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;

    use super::*;
    use crate::data::tests::tiny;

    /// All engines alike: the first session reads the footers, later ones find them, whatever else is forgotten.
    #[tokio::test]
    async fn footers_are_read_once_by_every_engine() {
        let (data, _folder) = tiny(&["nation", "region"]);
        let query =
            Query::new("q", "", "SELECT n_name, r_name FROM nation, region WHERE n_regionkey = r_regionkey");
        for engine in Engine::ALL {
            let host = Host::new(engine, Arc::new(LocalFileSystem::new()), false, 2).unwrap();
            let mut bytes = Vec::new();
            let mut before = 0;
            for _ in 0..3 {
                let session = host.open(&data, &query, Caches::Footers).await.unwrap();
                let opened = session.reads().bytes;
                session.context().sql(&query.sql).await.unwrap().collect().await.unwrap();
                bytes.push((opened - before, session.reads().bytes - opened));
                before = session.reads().bytes;
            }
            assert!(bytes[0].0 > 0, "{engine}: {bytes:?}");
            assert_eq!((bytes[1].0, bytes[2].0), (0, 0), "{engine} opens from cached footers: {bytes:?}");
            assert!(
                bytes[1].1 > 0 && bytes[1].1 == bytes[2].1,
                "{engine} reads its data each time: {bytes:?}"
            );
        }
    }
}
