// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The scans under comparison, and one run of a query on one of them.
//!
//! Every run has a session of its own, with a runtime of its own: no footer, page index, statistic or listing
//! is remembered from another run, so all engines pay for theirs. Only the operating system's page cache stays
//! warm. The clock runs from making the session to the last row.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_trommel::TrommelSessionExt;
use object_store::local::LocalFileSystem;
use url::Url;

use super::answer::Answer;
use super::counting_store::{Counting, CountingStore, Reads};
use super::data::TpchData;
use super::layout::TpchTable;
use super::queries::Query;

/// A scan of Parquet files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Trommel's.
    Trommel,
    /// DataFusion's own, with its defaults.
    Stock,
    /// DataFusion's own, told to evaluate filters while it reads, and to put the most selective first.
    StockPushdown,
}

impl Engine {
    /// All of them, in the order they are reported.
    pub const ALL: [Self; 3] = [Self::Trommel, Self::Stock, Self::StockPushdown];

    /// What `STORED AS` says.
    fn format(self) -> &'static str {
        match self {
            Self::Trommel => "TROMMEL",
            Self::Stock | Self::StockPushdown => "PARQUET",
        }
    }

    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Trommel | Self::Stock => &[],
            Self::StockPushdown => &[
                ("datafusion.execution.parquet.pushdown_filters", "true"),
                ("datafusion.execution.parquet.reorder_filters", "true"),
            ],
        }
    }

    /// A fresh session without tables, which counts what it reads of local files.
    ///
    /// # Errors
    /// A setting isn't one of DataFusion's.
    pub fn session(self, settings: &[(&str, &str)], partitions: usize) -> Result<EngineSession> {
        let mut config = SessionConfig::new().with_target_partitions(partitions);
        for (key, value) in self.settings().iter().chain(settings) {
            config.options_mut().set(key, value)?;
        }
        let runtime = RuntimeEnvBuilder::new().build_arc()?;
        let store = Arc::new(Counting::reads_of(Arc::new(LocalFileSystem::new())));
        runtime.register_object_store(&Url::parse("file://")?, Arc::clone(&store) as _);
        let builder =
            SessionStateBuilder::new().with_default_features().with_config(config).with_runtime_env(runtime);
        let state = match self {
            Self::Trommel => builder.with_trommel().build(),
            Self::Stock | Self::StockPushdown => builder.build(),
        };
        Ok(EngineSession { engine: self, context: SessionContext::new_with_state(state), store })
    }

    /// A fresh session with `tables` of `data`.
    ///
    /// # Errors
    /// A setting isn't one of DataFusion's, or the engine can't open a table.
    pub async fn open(
        self,
        data: &TpchData,
        tables: &[TpchTable],
        settings: &[(&str, &str)],
        partitions: usize,
    ) -> Result<EngineSession> {
        let session = self.session(settings, partitions)?;
        session.open_tables(data, tables).await?;
        Ok(session)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trommel => "Trommel",
            Self::Stock => "stock",
            Self::StockPushdown => "stock + pushdown",
        })
    }
}

/// A session on one engine.
pub struct EngineSession {
    engine: Engine,
    context: SessionContext,
    store: Arc<CountingStore>,
}

impl EngineSession {
    /// DataFusion's part of the session.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// What the session read of files since it was made.
    pub fn reads(&self) -> Reads {
        self.store.reads()
    }

    /// Makes tables of some of `data`.
    ///
    /// # Errors
    /// The engine can't open a file.
    pub async fn open_tables(&self, data: &TpchData, tables: &[TpchTable]) -> Result<()> {
        for &table in tables {
            self.open_table(table.name(), &data.file(table)).await?;
        }
        Ok(())
    }

    /// Makes a table of `file` on the session's engine.
    ///
    /// # Errors
    /// The engine can't open the file.
    pub async fn open_table(&self, name: &str, file: &Path) -> Result<()> {
        // As a URL, so that no character of a folder's name is taken for a wildcard or a quote.
        let url = Url::from_file_path(file).map_err(|()| anyhow!("{} isn't absolute", file.display()))?;
        let location = url.as_str().replace('\'', "''");
        let format = self.engine.format();
        let create = format!("CREATE EXTERNAL TABLE {name} STORED AS {format} LOCATION '{location}'");
        self.context.sql(&create).await?.collect().await?;
        Ok(())
    }
}

/// How many zones of one kind a plan's scans looked at, and how many of them they never read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Zones {
    /// Judged by statistics.
    pub considered: u64,
    /// Of these, not read.
    pub skipped: u64,
}

/// What one run of a query cost, and its answer.
#[derive(Debug)]
pub struct Run {
    /// From making the session to the last row.
    pub elapsed: Duration,
    /// All that was read, if that was counted.
    pub reads: Reads,
    /// Row groups.
    pub row_groups: Zones,
    /// Pages, in row groups that were read.
    pub pages: Zones,
    /// The rows.
    pub answer: Answer,
}

/// Runs `query` once on `engine`, in a session made for it. Either what is read is counted, or the time is
/// that of a user's session: counting [takes longer](CountingStore).
///
/// # Errors
/// Whatever the engine reports.
pub async fn run(
    engine: Engine,
    query: &Query,
    data: &TpchData,
    partitions: usize,
    counted: bool,
) -> Result<Run> {
    let start = Instant::now();
    let session = engine.session(query.settings, partitions)?;
    session.store.set_counting(counted);
    session.open_tables(data, query.tables).await?;
    let plan = session.context.sql(&query.sql).await?.create_physical_plan().await?;
    let batches = collect(Arc::clone(&plan), session.context.task_ctx()).await?;
    let elapsed = start.elapsed();

    let answer = Answer::new(&plan.schema(), &batches, query.sort_key)?;
    let (mut row_groups, mut pages) = (Zones::default(), Zones::default());
    add_zones(plan.as_ref(), &mut row_groups, &mut pages);
    Ok(Run { elapsed, reads: session.reads(), row_groups, pages, answer })
}

/// Adds up what the scans at and below `plan` say about the zones they skipped.
fn add_zones(plan: &dyn ExecutionPlan, row_groups: &mut Zones, pages: &mut Zones) {
    for metric in plan.metrics().iter().flat_map(|metrics| metrics.iter()) {
        // What one metric says: zones skipped, and zones judged for the first time.
        let (name, skipped, considered) = match metric.value() {
            MetricValue::PruningMetrics { name, pruning_metrics } => {
                let pruned = pruning_metrics.pruned();
                (name, pruned, pruned + pruning_metrics.matched())
            }
            MetricValue::Count { name, count } => (name, count.value(), 0),
            _ => continue,
        };
        match name.as_ref() {
            "row_groups_pruned_statistics" => {
                row_groups.considered += considered as u64;
                row_groups.skipped += skipped as u64;
            }
            // These judge again what the statistics let pass.
            "row_groups_pruned_dynamic_filter"
            | "row_groups_pruned_bloom_filter"
            | "limit_pruned_row_groups" => {
                row_groups.skipped += skipped as u64;
            }
            "page_index_pages_pruned" => {
                pages.considered += considered as u64;
                pages.skipped += skipped as u64;
            }
            _ => {}
        }
    }
    for child in plan.children() {
        add_zones(child.as_ref(), row_groups, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::queries::{Constants, TABLES, queries};

    #[tokio::test]
    async fn a_run_counts_its_own_reads_only() {
        let folder = tempfile::Builder::new().prefix("it's [a] *").tempdir().unwrap();
        let mut data = TpchData::find(folder.path(), 0.001, &TABLES).unwrap();
        data.write_missing(2, &|_| ()).unwrap();
        let queries = queries(&Constants { high_price: 400_000, last_key: 5988 });
        let range = queries.last().unwrap();

        let first = run(Engine::Stock, range, &data, 1, true).await.unwrap();
        let second = run(Engine::Stock, range, &data, 1, true).await.unwrap();
        assert_eq!(first.reads, second.reads, "no cache is shared between runs");
        let footers = 16;
        assert!(first.reads.bytes > footers && first.reads.requests > 2, "{:?}", first.reads);
        assert_eq!(first.row_groups, Zones { considered: 1, skipped: 0 });
    }

    #[tokio::test]
    async fn every_stock_engine_gives_the_same_answers() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = TpchData::find(folder.path(), 0.001, &TABLES).unwrap();
        data.write_missing(2, &|_| ()).unwrap();
        for query in queries(&Constants { high_price: 400_000, last_key: 5988 }) {
            let stock = run(Engine::Stock, &query, &data, 2, true).await.unwrap();
            let pushdown = run(Engine::StockPushdown, &query, &data, 2, true).await.unwrap();
            assert_eq!(pushdown.answer.difference(&stock.answer), None, "{}", query.name);
        }
    }
}
