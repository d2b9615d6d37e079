// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G7: a scan asks its store for nothing before it is polled, and for nothing after it is dropped.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use rstest::rstest;
use tokio::time::{sleep, timeout};
use trommel_tests::files::{create, integers, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{WATCHED, Watched, WatchedStore, put_into};

use super::support::plan;

/// A session of four partitions with tables `t`, of 40 row groups of 100 rows, and `few` in a watched store.
async fn session() -> Result<(SessionContext, Arc<WatchedStore>)> {
    let column = |value: fn(i64) -> i64| (0..4000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("v", column(|k| k * 7919 % 4001))])?;
    let few = integers(&[("k", vec![Some(5), Some(3999)])])?;
    let files = [
        ("t/0.parquet".to_owned(), parquet(&rows, 100, 100)?),
        ("few/0.parquet".to_owned(), parquet(&few, 100, 100)?),
    ];
    let store = Watched::files(files).await?;
    // A batch is a morsel, or several would make one.
    let mode = Mode { split_files: true, batch_size: Some(100), ..Mode::new(Format::Trommel, 4) };
    let session = mode.session();
    put_into(&store, &session)?;
    for table in ["t", "few"] {
        create(&session, table, Format::Trommel, "", &format!("{WATCHED}{table}/")).await?;
    }
    Ok((session, store))
}

/// Through operators that do not poll as soon as they are executed (those that merge partitions do).
#[rstest]
#[case::scan("SELECT k, v FROM t WHERE v < 1000")]
#[case::topk("SELECT * FROM t ORDER BY v LIMIT 5")]
#[case::join("SELECT t.v FROM few JOIN t ON few.k = t.k")]
#[tokio::test]
async fn nothing_is_read_before_the_first_poll(#[case] sql: &str) -> Result<()> {
    let (session, store) = session().await?;
    let plan = plan(&session, sql).await?;
    let planned = store.requests();
    let partitions = plan.properties().partitioning.partition_count();
    let streams = (0..partitions).map(|partition| plan.execute(partition, session.task_ctx()));
    let streams = streams.collect::<Result<Vec<_>, _>>()?;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(store.requests(), planned, "requests between planning and the first poll");

    let rows: Vec<_> = futures::future::join_all(streams.into_iter().map(StreamExt::collect::<Vec<_>>)).await;
    assert!(rows.iter().flatten().all(Result::is_ok));
    assert!(store.requests() > planned, "nothing was read at all");
    Ok(())
}

/// Planning again asks for no byte of content: footers are cached.
#[tokio::test]
async fn planning_reads_no_data() -> Result<()> {
    let (session, store) = session().await?;
    plan(&session, "SELECT * FROM t").await?;
    let opened = store.requests();
    plan(&session, "SELECT v FROM t WHERE k > 17 ORDER BY v LIMIT 3").await?;
    assert_eq!(store.requests(), opened);
    Ok(())
}

/// Waits until a request is under way.
async fn until_requested(store: &WatchedStore, before: usize) -> Result<()> {
    let requested = async {
        while store.requests() == before {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(30), requested).await.context("no request came")
}

async fn assert_quiet(store: &WatchedStore) {
    let so_far = store.requests();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(store.requests(), so_far, "requests after the stream was dropped");
}

fn first_stream(
    plan: &Arc<dyn ExecutionPlan>,
    session: &SessionContext,
) -> Result<datafusion::execution::SendableRecordBatchStream> {
    Ok(plan.execute(0, session.task_ctx())?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_dropped_in_mid_morsel_asks_for_nothing_more() -> Result<()> {
    let (session, store) = session().await?;
    let plan = plan(&session, "SELECT k, v FROM t").await?;
    store.delay(20);
    let before = store.requests();
    let mut stream = first_stream(&plan, &session)?;
    let first = stream.next().await.context("there are rows")??;
    assert!(first.num_rows() > 0);
    let so_far = store.requests();
    assert!(so_far > before);
    // The next morsel's request waits for its answer when the stream goes.
    while let Ok(batch) = timeout(Duration::from_millis(5), stream.next()).await {
        batch.context("there is another morsel")??;
        if store.requests() > so_far {
            break;
        }
    }
    drop(stream);
    assert_quiet(&store).await;
    Ok(())
}

#[rstest]
#[case::scan("SELECT k, v FROM t")]
#[case::aggregate("SELECT v % 10, sum(k) FROM t GROUP BY v % 10")]
#[case::join("SELECT few.k, t.v FROM few RIGHT JOIN t ON few.k = t.k")]
#[case::sort("SELECT * FROM t ORDER BY v")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_dropped_midway_asks_for_nothing_more(#[case] sql: &str) -> Result<()> {
    let (session, store) = session().await?;
    let plan = plan(&session, sql).await?;
    store.delay(20);
    let before = store.requests();
    let query = tokio::spawn(collect(plan, session.task_ctx()));
    until_requested(&store, before).await?;
    query.abort();
    assert!(query.await.is_err_and(|error| error.is_cancelled()));
    // Tasks that the engine aborted stop at their next await.
    sleep(Duration::from_millis(10)).await;
    assert_quiet(&store).await;
    Ok(())
}
