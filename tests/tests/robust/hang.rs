// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Nothing waits without a bound: not for a filter, not for another partition, not for a turn.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::common::collect;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use rstest::rstest;
use tokio::time::timeout;
use trommel_tests::files::{Folder, create, integers, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{WATCHED, Watched, WatchedStore, put_into};

use super::support::{ask, leaf, lines, plan};
use super::tpch;

/// Longer than any of these takes, on a slow machine too.
const PATIENCE: Duration = Duration::from_secs(120);

fn mode(partitions: usize, linked: bool) -> Mode {
    Mode { linked, split_files: true, partitioned_joins: true, ..Mode::new(Format::Trommel, partitions) }
}

/// A join below a grouped HAVING below a semi join below a TopK: filters from everywhere, and 24 partitions of each scan
/// on two threads. DataFusion's own scan without filters gives the answer.
#[rstest]
#[case::q18("q18")]
#[case::q17("q17")]
#[case::q20("q20")]
#[case::q21("q21")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_partitions_of_a_deep_plan(
    #[case] name: &str,
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let queries = tpch::queries()?;
    let (_, sql) = queries.iter().find(|(query, _)| query == name).context("a query of TPC-H")?;
    // At this scale nobody orders more than 300 of anything.
    let sql = sql.replace("> 300", "> 250");
    let stock = Mode {
        dynamic_filters: trommel_tests::session::DynamicFilters::OFF,
        ..Mode::new(Format::Parquet, 1)
    };
    let mut answers = Vec::new();
    for mode in [stock, mode(24, linked)] {
        let session = mode.session();
        tpch::create_tables(&session, mode.format).await?;
        let mut answer = timeout(PATIENCE, ask(&session, &sql)).await.with_context(|| mode.to_string())??;
        answer.sort();
        answers.push(answer);
    }
    assert!(!answers[0].is_empty());
    assert_eq!(answers[0], answers[1]);
    Ok(())
}

/// `t` of 2 000 rows in 20 row groups, `k` rising, on a store that answers after some milliseconds.
async fn session(mode: Mode) -> Result<(SessionContext, Arc<WatchedStore>)> {
    let column = |value: fn(i64) -> i64| (0..2000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("v", column(|k| k % 7))])?;
    let store = Watched::files([("t/0.parquet".to_owned(), parquet(&rows, 100, 50)?)]).await?;
    let session = Mode { batch_size: Some(50), ..mode }.session();
    put_into(&store, &session)?;
    create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
    store.delay(1);
    Ok((session, store))
}

/// Each step runs the scan again, with filters of its own.
#[rstest]
#[case::all("UNION ALL")]
#[case::distinct("UNION")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recursive_queries(
    #[case] union: &str,
    #[values(1, 24)] partitions: usize,
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let (session, _store) = session(mode(partitions, linked)).await?;
    let sql = format!(
        "WITH RECURSIVE r AS (SELECT k, 0 AS depth FROM t WHERE k < 3 {union}
             SELECT t.k, r.depth + 1 FROM r JOIN t ON t.k = r.k + 100 WHERE r.depth < 30)
         SELECT count(*), sum(k), max(depth) FROM r"
    );
    let steps = 20;
    let sum: i64 = (0..steps).map(|step| 3 * 100 * step + 3).sum();
    let right = format!("{},{sum},{}", 3 * steps, steps - 1);
    assert_eq!(timeout(PATIENCE, ask(&session, &sql)).await??, [right]);
    Ok(())
}

async fn rows(
    plan: &Arc<dyn ExecutionPlan>,
    partition: usize,
    session: &SessionContext,
) -> Result<Vec<String>> {
    lines(&collect(plan.execute(partition, session.task_ctx())?).await?)
}

/// A partition that was polled and then isn't any more holds up nobody, and goes on when it is polled again.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_left_alone(#[values("", "WITH ORDER (k)")] clause: &str) -> Result<()> {
    let (session, _store) = session(mode(4, true)).await?;
    session.sql("DROP TABLE t").await?;
    create(&session, "t", Format::Trommel, clause, &format!("{WATCHED}t/")).await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t WHERE v < 6").await?);
    assert_eq!(scan.properties().partitioning.partition_count(), 4);
    let context = session.task_ctx();
    let mut alone = scan.execute(0, Arc::clone(&context))?;
    let first = alone.next().await.context("it has rows")??;
    // A second request of it is under way.
    _ = timeout(Duration::from_micros(100), alone.next()).await;

    let mut all = Vec::new();
    for partition in 1..4 {
        let stream = scan.execute(partition, Arc::clone(&context))?;
        all.extend(lines(&timeout(PATIENCE, collect(stream)).await??)?);
    }
    let others = all.len();
    let rest = timeout(PATIENCE, collect(alone)).await??;
    all.extend(lines(&[first])?);
    all.extend(lines(&rest)?);
    let expect = (0..2000).filter(|k| k % 7 < 6).count();
    // What it had read when the time was up is gone with the poll's batch, if there was one.
    assert!(
        others >= expect / 2 && all.len() <= expect && all.len() + 100 > expect,
        "{} of {expect}",
        all.len()
    );
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "no row comes twice");
    Ok(())
}

/// Siblings that were dropped halfway take their share with them, and nobody waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_siblings() -> Result<()> {
    let (session, store) = session(mode(4, true)).await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t WHERE v < 6").await?);
    let context = session.task_ctx();
    for partition in 0..3 {
        let mut stream = scan.execute(partition, Arc::clone(&context))?;
        assert!(stream.next().await.is_some());
    }
    let last = timeout(PATIENCE, collect(scan.execute(3, Arc::clone(&context))?)).await??;
    let mut last = lines(&last)?;
    let count = last.len();
    last.sort_unstable();
    last.dedup();
    assert_eq!(last.len(), count, "no row comes twice");
    assert_eq!(store.in_flight(), 0);
    // The next run has everything.
    let mut all = Vec::new();
    for partition in 0..4 {
        all.extend(timeout(PATIENCE, rows(&scan, partition, &session)).await??);
    }
    assert_eq!(all.len(), (0..2000).filter(|k| k % 7 < 6).count());
    Ok(())
}

/// A limit is reached, the rest of the join is dropped in mid-flight; often, since it is a race.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_join_that_is_cut_short(#[values(true, false)] linked: bool) -> Result<()> {
    let (session, _store) = session(mode(8, linked)).await?;
    let few = Folder::new(&[integers(&[("k", (0..500).map(|k| Some(k * 4)).collect())])?], 100)?;
    few.create(&session, "few", Format::Trommel, "").await?;
    for _ in 0..20 {
        let answer =
            timeout(PATIENCE, ask(&session, "SELECT t.k FROM few JOIN t ON few.k = t.k LIMIT 7")).await??;
        assert_eq!(answer.len(), 7);
    }
    Ok(())
}
