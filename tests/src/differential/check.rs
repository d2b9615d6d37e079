// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running a scenario against its oracle.
//!
//! The oracle is DataFusion over the same rows in memory: one partition, no dynamic filters, hence no scan that skips
//! anything. Every plan of the tested session runs twice, since a second run must not see what the first one learnt
//! (DataFusion's own scan does, as `reset_plan_states` warns, so there each plan runs once).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use futures::FutureExt;
use tempfile::TempDir;

use super::layout;
use super::query::Query;
use super::scenario::Scenario;
use crate::relation::Answer;
use crate::session::{DynamicFilters, Format, Mode};
use crate::slt::panic_text;

/// How long one query may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `scenario`; returns words about what happened, to count.
///
/// # Errors
/// The first answer that is not right, a panic, or a hang.
pub(super) async fn check(scenario: &Scenario) -> Result<Vec<String>> {
    let rows = scenario.table.batch("")?;
    let build = scenario.build.batch("u")?;
    let folder = TempDir::with_prefix("trommel-differential-")?;
    layout::write(&rows, &scenario.layouts, folder.path())?;

    let oracle = Mode { dynamic_filters: DynamicFilters::OFF, ..Mode::new(Format::Parquet, 1) }.session();
    oracle.register_table("t", in_memory(&rows)?)?;
    oracle.register_table("u", in_memory(&build)?)?;

    let tested = scenario.mode.session();
    let (format, location) = (scenario.mode.format, folder.path().display());
    tested.sql(&format!("CREATE EXTERNAL TABLE t STORED AS {format} LOCATION '{location}/'")).await?;
    tested.register_table("u", in_memory(&build)?)?;

    let runs: &[&str] = if format == Format::Parquet { &["only"] } else { &["first", "second"] };
    let mut words = Vec::new();
    for query in &scenario.queries {
        let found = check_query(query, &oracle, &tested, runs).await;
        words.extend(found.with_context(|| format!("wrong answer to: {}", query.sql))?);
    }
    Ok(words)
}

fn in_memory(rows: &RecordBatch) -> Result<Arc<MemTable>> {
    Ok(Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows.clone()]])?))
}

async fn check_query(
    query: &Query,
    oracle: &SessionContext,
    tested: &SessionContext,
    runs: &[&str],
) -> Result<Vec<String>> {
    let reference = match plan(oracle, &query.reference).await {
        Ok(plan) => run(oracle, plan).await,
        Err(error) => bail!("the oracle cannot plan {}: {error}", query.reference),
    };
    let outcome = match &reference {
        Ok(answer) if answer.is_empty() => "no rows",
        Ok(_) => "rows",
        Err(_) => "error",
    };
    let mut words = vec![format!("answer={}: {outcome}", query.shape)];

    // A query that fails while it is planned may do so, as one that fails while it runs.
    let first = match plan(tested, &query.sql).await {
        Ok(plan) => plan,
        Err(error) => {
            query.relation.check::<_, anyhow::Error>(&reference, &Err(error))?;
            return Ok(words);
        }
    };
    for (n, number) in runs.iter().enumerate() {
        // Only between runs: a reset cuts scans off from the operators that hand filters down to them.
        let plan = if n == 0 { Arc::clone(&first) } else { reset_plan_states(Arc::clone(&first))? };
        let answer = run(tested, Arc::clone(&plan)).await;
        if let Err(error) = &answer {
            ensure!(!error.is::<Fault>(), "{number} run: {error}");
        }
        query.relation.check(&reference, &answer).with_context(|| format!("{number} run"))?;
        note_metrics(plan.as_ref(), &mut words);
    }
    Ok(words)
}

async fn plan(session: &SessionContext, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(session.sql(sql).await?.create_physical_plan().await?)
}

/// A panic or a hang: never a right outcome.
#[derive(Debug)]
struct Fault(String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

async fn run(session: &SessionContext, plan: Arc<dyn ExecutionPlan>) -> Result<Answer> {
    let schema = plan.schema();
    let batches = collect(plan, session.task_ctx());
    match AssertUnwindSafe(tokio::time::timeout(PATIENCE, batches)).catch_unwind().await {
        Ok(Ok(batches)) => Answer::try_new(&schema, &batches?),
        Ok(Err(_elapsed)) => Err(anyhow!(Fault(format!("no answer within {} s", PATIENCE.as_secs())))),
        Err(panic) => Err(anyhow!(Fault(format!("panic: {}", panic_text(panic.as_ref()))))),
    }
}

/// The counts above zero that Trommel's scans report, so that a run can tell whether anything was skipped at all.
fn note_metrics(plan: &dyn ExecutionPlan, words: &mut Vec<String>) {
    if plan.name() == "FilteredReadExec" {
        for metric in plan
            .metrics()
            .iter()
            .flat_map(|metrics| metrics.aggregate_by_name().iter().cloned().collect::<Vec<_>>())
        {
            if metric.value().as_usize() > 0 {
                words.push(format!("metric={}", metric.value().name()));
            }
        }
    }
    for child in plan.children() {
        note_metrics(child.as_ref(), words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::layout::Layout;
    use super::super::table::{Arrangement, Column, Table};
    use super::*;
    use crate::relation::Relation;

    /// A scenario on DataFusion's own scan: 40 clustered rows, one value in `specials` special.
    fn scenario(sql: &str, specials: u8) -> Scenario {
        let column =
            |kind| Column { kind, spread: 20, arrangement: Arrangement::Clustered, nulls: 0, specials };
        let table = Table { rows: 40, columns: Kind::ALL.map(column).to_vec(), seed: 3 };
        let relation = Relation::default();
        let (sql, reference) = (sql.to_owned(), sql.to_owned());
        Scenario {
            build: Table { rows: 3, ..table.clone() },
            table,
            layouts: vec![Layout {
                row_group_rows: 8,
                page_rows: 4,
                page_index: true,
                dictionary: true,
                statistics: true,
                bloom: false,
            }],
            mode: Mode::new(Format::Parquet, 3),
            queries: vec![Query { shape: "filter", sql, reference, relation, forms: Vec::new() }],
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn right_answers_pass() {
        let words = check(&scenario("SELECT id, s FROM t WHERE f > 2.0", 0)).await.unwrap();
        assert_eq!(words, ["answer=filter: rows"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_nan_that_the_scan_skips_is_found() {
        // NaN is above every number, but not above the bounds in a file.
        let error =
            check(&scenario("SELECT id FROM t WHERE f > CAST('Infinity' AS DOUBLE)", 1)).await.unwrap_err();
        assert!(format!("{error:#}").contains("rows where"), "{error:#}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_error_of_both_passes() {
        let words = check(&scenario("SELECT 1 / (id % 2) FROM t", 0)).await.unwrap();
        assert_eq!(words, ["answer=filter: error"]);
    }
}
