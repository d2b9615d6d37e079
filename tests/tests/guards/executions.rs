// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A plan run twice without a reset, one after the other and side by side: each run has all rows once.

use std::sync::Arc;

use anyhow::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

use super::support::{leaf, lines, plan, run};

const ROWS: i64 = 2000;

async fn scan(clause: &str) -> Result<(SessionContext, Arc<dyn ExecutionPlan>, Folder)> {
    let rows = integers(&[("k", (0..ROWS).map(Some).collect())])?;
    let files = Folder::new(&[rows], 100)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 4) }.session();
    files.create(&session, "t", Format::Trommel, clause).await?;
    let plan = leaf(&plan(&session, "SELECT k FROM t WHERE k % 3 = 1").await?);
    assert_eq!(plan.properties().partitioning.partition_count(), 4);
    Ok((session, plan, files))
}

fn all() -> Vec<i64> {
    (0..ROWS).filter(|k| k % 3 == 1).collect()
}

fn numbers(lines: &[String]) -> Result<Vec<i64>> {
    Ok(lines.iter().map(|line| line.parse()).collect::<Result<_, _>>()?)
}

/// That a run had each row once.
fn assert_complete(lines: &[String]) -> Result<()> {
    let mut rows = numbers(lines)?;
    rows.sort_unstable();
    let count = rows.len();
    rows.dedup();
    let missing = all().len() - rows.len();
    assert!(rows == all() && count == rows.len(), "{missing} rows missing, {} doubled", count - rows.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_after_the_other() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    for _ in 0..3 {
        assert_complete(&run(&session, &plan).await?)?;
    }
    Ok(())
}

/// The runs' calls for the partitions come in any order: the engine makes them from tasks of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn side_by_side() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    for _ in 0..10 {
        let (a, b) = futures::future::join(run(&session, &plan), run(&session, &plan)).await;
        assert_complete(&a?)?;
        assert_complete(&b?)?;
    }
    Ok(())
}

/// Two runs whose streams are started and polled in turns.
async fn in_turns(
    session: &SessionContext,
    plan: &Arc<dyn ExecutionPlan>,
    starts: &[(usize, usize, Arc<TaskContext>)],
    sorted: bool,
) -> Result<()> {
    let start = |(run, partition, context): &(usize, usize, Arc<TaskContext>)| {
        Ok((*run, plan.execute(*partition, Arc::clone(context))?.fuse()))
    };
    let mut streams = starts.iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut rows = [Vec::new(), Vec::new()];
    let mut more = true;
    while more {
        more = false;
        for (run, stream) in &mut streams {
            if let Some(batch) = stream.next().await {
                let batch = lines(&[batch?])?;
                assert!(!sorted || numbers(&batch)?.is_sorted(), "{batch:?}");
                rows[*run].extend(batch);
                more = true;
            }
        }
    }
    rows.iter().try_for_each(|run| assert_complete(run))?;
    assert_complete(&run(session, plan).await?)
}

/// With a context for each run or for each call, as callers do; with a declared order or without.
#[rstest]
#[tokio::test]
async fn partition_by_partition(
    #[values("", "WITH ORDER (k)")] clause: &str,
    #[values(true, false)] context_per_run: bool,
) -> Result<()> {
    let (session, plan, _files) = scan(clause).await?;
    let contexts = [session.task_ctx(), session.task_ctx()];
    let context = |run: usize| if context_per_run { Arc::clone(&contexts[run]) } else { session.task_ctx() };
    let calls = (0..4).flat_map(|partition| [(0, partition), (1, partition)]);
    let starts: Vec<_> = calls.map(|(run, partition)| (run, partition, context(run))).collect();
    in_turns(&session, &plan, &starts, !clause.is_empty()).await
}

/// One run starts its partitions from the first, the other from the last: only the context tells them apart.
#[tokio::test]
async fn from_both_ends() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    let contexts = [session.task_ctx(), session.task_ctx()];
    let calls = (0..4).flat_map(|n| [(0, n), (1, 3 - n)]);
    let starts: Vec<_> = calls.map(|(run, partition)| (run, partition, Arc::clone(&contexts[run]))).collect();
    in_turns(&session, &plan, &starts, false).await
}

/// A run given up halfway takes nothing from the next.
#[tokio::test]
async fn a_run_given_up_takes_nothing_from_the_next() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    for partition in 0..4 {
        let mut stream = plan.execute(partition, session.task_ctx())?;
        assert!(stream.try_next().await?.is_some());
    }
    assert_complete(&run(&session, &plan).await?)?;
    Ok(())
}

/// A limit is granted to each run anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_counts_for_each_run() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    let limited = plan.with_fetch(Some(150)).unwrap_or(plan);
    let (a, b) = futures::future::join(run(&session, &limited), run(&session, &limited)).await;
    assert_eq!([a?.len(), b?.len(), run(&session, &limited).await?.len()], [150; 3]);
    Ok(())
}

#[tokio::test]
async fn there_is_no_partition_beyond_the_last() -> Result<()> {
    let (session, plan, _files) = scan("").await?;
    assert!(plan.execute(4, session.task_ctx()).is_err());
    Ok(())
}
