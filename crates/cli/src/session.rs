// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The session that the commands run in.
//!
//! | module | what it holds |
//! |---|---|
//! | [`stores`] | the object store that a location is in, by the usual environment variables |
//! | [`locations`] | a location as a table, which SQL may name in a query: `FROM 'sales/*.parquet'` |

pub mod locations;
pub mod stores;

use std::env;
use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Result;
use datafusion::catalog::DynamicFileCatalog;
use datafusion::config::ConfigOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::ExplainFormat;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_cli::functions::{
    ListFilesCacheFunc, MetadataCacheFunc, ParquetMetadataFunc, StatisticsCacheFunc,
};
use datafusion_cli::object_storage::instrumented::InstrumentedObjectStoreRegistry;
use datafusion_cli::object_storage::{AwsOptions, GcpOptions, StdinCarriesCommands};
use datafusion_trommel::TrommelSessionExt;

use locations::LocationTables;

/// What a session is told.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// How many partitions a plan has; by default one for each processor.
    pub partitions: Option<NonZeroUsize>,
    /// How many bytes queries may hold in memory before they spill or fail; by default there is no limit.
    pub memory: Option<usize>,
    /// Whether SQL comes from the standard input, which can't be a table then.
    pub sql_from_stdin: bool,
}

/// A session with Trommel in it, and the registry that can count what its stores are asked for.
pub struct Session {
    /// The session.
    pub context: SessionContext,
    /// Its stores.
    pub stores: Arc<InstrumentedObjectStoreRegistry>,
    /// Tables of locations.
    pub tables: Arc<LocationTables>,
}

impl Session {
    /// A new session; `DATAFUSION_…` environment variables set its options.
    ///
    /// # Errors
    /// An environment variable that is no value of its option.
    pub fn new(limits: &Limits) -> Result<Self> {
        let stores = Arc::new(InstrumentedObjectStoreRegistry::new());
        let mut runtime = RuntimeEnvBuilder::new().with_object_store_registry(Arc::clone(&stores) as _);
        if let Some(bytes) = limits.memory {
            runtime = runtime.with_memory_limit(bytes, 1.0);
        }
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config(limits)?)
            .with_runtime_env(runtime.build_arc()?)
            .with_trommel()
            .build();

        let tables = Arc::new(LocationTables::default());
        let catalogs = DynamicFileCatalog::new(Arc::clone(state.catalog_list()), Arc::clone(&tables) as _);
        let state =
            SessionStateBuilder::new_from_existing(state).with_catalog_list(Arc::new(catalogs)).build();
        let context = SessionContext::new_with_state(state);
        tables.serve(context.state_weak_ref());

        context.register_table_options_extension(AwsOptions::default());
        context.register_table_options_extension(GcpOptions::default());
        let caches = || Arc::clone(&context.runtime_env().cache_manager);
        context.register_udtf("parquet_metadata", Arc::new(ParquetMetadataFunc {}));
        context.register_udtf("metadata_cache", Arc::new(MetadataCacheFunc::new(caches())));
        context.register_udtf("statistics_cache", Arc::new(StatisticsCacheFunc::new(caches())));
        context.register_udtf("list_files_cache", Arc::new(ListFilesCacheFunc::new(caches())));
        Ok(Self { context, stores, tables })
    }
}

/// The options, as a person at a terminal would have them.
fn config(limits: &Limits) -> Result<SessionConfig> {
    let mut options = ConfigOptions::from_env()?;
    if env::var_os("DATAFUSION_EXPLAIN_FORMAT").is_none() {
        options.explain.format = ExplainFormat::Tree;
    }
    if env::var_os("DATAFUSION_FORMAT_NULL").is_none() {
        "NULL".clone_into(&mut options.format.null);
    }
    let mut config = SessionConfig::from(options).with_information_schema(true);
    if let Some(partitions) = limits.partitions {
        config = config.with_target_partitions(partitions.get());
    }
    if limits.sql_from_stdin {
        config = config.with_extension(Arc::new(StdinCarriesCommands));
    }
    Ok(config)
}
