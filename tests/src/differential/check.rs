// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Judging the answers of one instance.

use std::fmt::{self, Display};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use futures::FutureExt;
use tempfile::TempDir;

use super::instance::Instance;
use super::query::Query;
use crate::plan::{counts, scans};
use crate::relation::Answer;
use crate::session::Format;
use crate::slt::panic_text;

/// How long one query may take before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Another answer.
    Wrong,
    /// An error where there is an answer.
    Error,
    /// A panic.
    Panic,
    /// No answer in time.
    Hang,
    /// The machinery failed: a query that no engine can plan, a file that can't be written.
    Harness,
}

/// A wrong answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The query, by its number in the instance.
    pub query: usize,
    /// What is wrong.
    pub class: Class,
    /// Why, in words.
    pub reason: String,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.class, self.reason)
    }
}

impl Failure {
    fn harness(error: &anyhow::Error) -> Self {
        Self { query: 0, class: Class::Harness, reason: format!("{error:#}") }
    }
}

/// Runs `instance`; returns words about what happened, to count.
///
/// # Errors
/// The first answer that is not right, a panic, or a hang.
pub async fn check(instance: &Instance, patience: Duration) -> Result<Vec<String>, Failure> {
    let folder =
        TempDir::with_prefix("trommel-differential-").map_err(|error| Failure::harness(&error.into()))?;
    let (memory, stock, tested) =
        sessions(instance, folder.path()).await.map_err(|error| Failure::harness(&error))?;
    let runs: &[&str] =
        if instance.mode.format == Format::Parquet { &["only"] } else { &["first", "second"] };
    let mut words = Vec::new();
    for (number, query) in instance.queries.iter().enumerate() {
        let fail = |(class, reason)| Failure { query: number, class, reason };
        let reference = match plan(&memory, &query.reference).await {
            Ok(plan) => run(&memory, plan, patience).await.map_err(|(_, reason)| reason),
            Err((_, error)) => {
                let reason = format!("the oracle cannot plan {}: {error}", query.reference);
                return Err(fail((Class::Harness, reason)));
            }
        };
        let outcome = match &reference {
            Ok(answer) if answer.is_empty() => "no rows",
            Ok(_) => "rows",
            Err(_) => "error",
        };
        words.push(format!("answer={}: {outcome}", query.shape));
        let found = check_query(query, &reference, &tested, runs, patience).await;
        words.extend(found.map_err(|(class, reason)| fail((class, format!("{reason}\n  {}", query.sql))))?);
        if let Some(stock) = &stock {
            let vote = vote(query, stock, patience).await;
            let agrees = query.relation.check(&reference, &vote).is_ok();
            words.push(format!("stock={}", if agrees { "agrees" } else { "differs" }));
        }
    }
    Ok(words)
}

/// The oracle in memory, DataFusion's own scan if it is asked, and the session to judge.
async fn sessions(
    instance: &Instance,
    folder: &Path,
) -> Result<(SessionContext, Option<SessionContext>, SessionContext)> {
    instance.write(folder)?;
    let stock = match instance.ask_stock {
        true => Some(instance.stock(folder).await?),
        false => None,
    };
    Ok((instance.in_memory()?, stock, instance.tested(folder).await?))
}

type Outcome<T> = Result<T, (Class, String)>;

async fn check_query(
    query: &Query,
    reference: &Result<Answer, String>,
    tested: &SessionContext,
    runs: &[&str],
    patience: Duration,
) -> Outcome<Vec<String>> {
    let judge = |answer: &Result<Answer, String>| {
        let class = if answer.is_ok() { Class::Wrong } else { Class::Error };
        query.relation.check(reference, answer).map_err(|error| (class, format!("{error:#}")))
    };
    let mut words = Vec::new();
    // A query that fails while it is planned may do so, as one that fails while it runs.
    let first = match plan(tested, &query.sql).await {
        Ok(plan) => plan,
        Err((Class::Error, reason)) => {
            judge(&Err(reason))?;
            return Ok(words);
        }
        Err(fault) => return Err(fault),
    };
    for (n, number) in runs.iter().enumerate() {
        // Only between runs: a reset cuts scans off from the operators that hand filters down to them.
        let plan = match n {
            0 => Arc::clone(&first),
            _ => reset_plan_states(Arc::clone(&first)).map_err(|error| (Class::Error, error.to_string()))?,
        };
        let answer = match run(tested, Arc::clone(&plan), patience).await {
            Ok(answer) => Ok(answer),
            Err((Class::Error, reason)) => Err(reason),
            Err((fault, reason)) => return Err((fault, format!("{number} run: {reason}"))),
        };
        judge(&answer).map_err(|(class, reason)| (class, format!("{number} run: {reason}")))?;
        note_scans(&plan, &mut words);
    }
    Ok(words)
}

/// What a session answers to the query.
pub async fn vote(query: &Query, session: &SessionContext, patience: Duration) -> Result<Answer, String> {
    let answer = async { run(session, plan(session, &query.sql).await?, patience).await };
    answer.await.map_err(|(class, reason)| format!("{class:?}: {reason}"))
}

async fn plan(session: &SessionContext, sql: &str) -> Outcome<Arc<dyn ExecutionPlan>> {
    let plan = async { session.sql(sql).await?.create_physical_plan().await };
    match AssertUnwindSafe(plan).catch_unwind().await {
        Ok(plan) => plan.map_err(|error| (Class::Error, error.to_string())),
        Err(panic) => Err((Class::Panic, panic_text(panic.as_ref()).to_owned())),
    }
}

async fn run(session: &SessionContext, plan: Arc<dyn ExecutionPlan>, patience: Duration) -> Outcome<Answer> {
    let schema = plan.schema();
    let batches = collect(plan, session.task_ctx());
    match AssertUnwindSafe(tokio::time::timeout(patience, batches)).catch_unwind().await {
        Ok(Ok(Ok(batches))) => {
            Answer::try_new(&schema, &batches).map_err(|error| (Class::Harness, error.to_string()))
        }
        Ok(Ok(Err(error))) => Err((Class::Error, error.to_string())),
        Ok(Err(_elapsed)) => Err((Class::Hang, format!("no answer within {} s", patience.as_secs()))),
        Err(panic) => Err((Class::Panic, panic_text(panic.as_ref()).to_owned())),
    }
}

/// The counts above zero that Trommel's scans report, so that a run can tell whether anything was skipped at all, and
/// whether an order was promised.
fn note_scans(plan: &Arc<dyn ExecutionPlan>, words: &mut Vec<String>) {
    for scan in scans(plan) {
        let counted = counts(scan).into_iter().filter(|(_, count)| *count > 0);
        words.extend(counted.map(|(name, _)| format!("metric={name}")));
        if scan.properties().output_ordering().is_some() {
            let partitions =
                if scan.properties().partitioning.partition_count() > 1 { "several" } else { "one" };
            words.push(format!("promised-order={partitions}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::layout::{Dictionary, Layout};
    use super::super::scenario::Scenario;
    use super::super::table::{Arrangement, Column, Table};
    use super::*;
    use crate::relation::Relation;
    use crate::session::Mode;

    /// A scenario on DataFusion's own scan: 40 clustered rows, one value in `specials` special.
    async fn outcome(sql: &str, specials: u8) -> Result<Vec<String>, Failure> {
        let column =
            |kind| Column { kind, spread: 20, arrangement: Arrangement::Clustered, nulls: 0, specials };
        let table = Table { rows: 40, columns: Kind::CORE.map(column).to_vec(), seed: 3 };
        let relation = Relation::default();
        let (sql, reference) = (sql.to_owned(), sql.to_owned());
        let layout =
            Layout { row_group_rows: 8, page_rows: 4, dictionary: Dictionary::Full, ..Layout::PLAIN };
        let scenario = Scenario {
            build: Table { rows: 3, ..table.clone() },
            table,
            order: None,
            layouts: vec![layout],
            has_partitions: false,
            evolution: None,
            live_row_filters: "when_it_pays",
            build_layout: None,
            mode: Mode::new(Format::Parquet, 3),
            ask_stock: false,
            queries: vec![Query { shape: "filter", sql, reference, relation, forms: Vec::new() }],
        };
        check(&Instance::of(&scenario).unwrap(), PATIENCE).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn right_answers_pass() {
        assert_eq!(outcome("SELECT id, s FROM t WHERE f > 2.0", 0).await.unwrap(), ["answer=filter: rows"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_nan_that_the_scan_skips_is_found() {
        // NaN is above every number, but not above the bounds in a file.
        let failure = outcome("SELECT id FROM t WHERE f > CAST('Infinity' AS DOUBLE)", 1).await.unwrap_err();
        assert!(failure.class == Class::Wrong && failure.reason.contains("rows where"), "{failure}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_error_of_both_passes() {
        assert_eq!(outcome("SELECT 1 / (id % 2) FROM t", 0).await.unwrap(), ["answer=filter: error"]);
    }
}
