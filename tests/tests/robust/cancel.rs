// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Dropping a stream stops its requests and tasks at once, and leaves nothing behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use futures::{FutureExt, StreamExt};
use rstest::rstest;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use trommel_tests::files::{create, integers, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{Fault, WATCHED, Watched, WatchedStore, put_into};

use super::support::{ask, leaf, plan};

/// How soon everything must have stopped.
const SOON: Duration = Duration::from_millis(100);

/// Four partitions over `t` of 4 000 rows in 40 row groups, and `few`.
async fn session() -> Result<(SessionContext, Arc<WatchedStore>)> {
    let column = |value: fn(i64) -> i64| (0..4000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("v", column(|k| k * 7919 % 4001))])?;
    let few = integers(&[("k", vec![Some(5), Some(3999)])])?;
    let files = [
        ("t/0.parquet".to_owned(), parquet(&rows, 100, 100)?),
        ("few/0.parquet".to_owned(), parquet(&few, 100, 100)?),
    ];
    let store = Watched::files(files).await?;
    let session =
        Mode { split_files: true, batch_size: Some(100), ..Mode::new(Format::Trommel, 4) }.session();
    put_into(&store, &session)?;
    for table in ["t", "few"] {
        create(&session, table, Format::Trommel, "", &format!("{WATCHED}{table}/")).await?;
    }
    Ok((session, store))
}

/// How long it takes until no request and no task is left but those of before.
async fn until_still(store: &WatchedStore, tasks: usize) -> Result<Duration> {
    let start = Instant::now();
    let still = async {
        while store.in_flight() > 0 || Handle::current().metrics().num_alive_tasks() > tasks {
            tokio::task::yield_now().await;
        }
    };
    let elapsed = timeout(Duration::from_secs(20), still).await.map(|()| start.elapsed());
    elapsed.with_context(|| {
        let alive = Handle::current().metrics().num_alive_tasks();
        format!("{} requests and {alive} tasks (of {tasks}) are left", store.in_flight())
    })
}

/// Whether the answers wait to begin, to end, or just take their time.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_query_stops_soon(
    #[values(
        "SELECT k, v FROM t",
        "SELECT v FROM t WHERE k % 3 = 1 ORDER BY v LIMIT 5",
        "SELECT v % 10, sum(k) FROM t GROUP BY v % 10",
        "SELECT few.k, t.v FROM few JOIN t ON few.k = t.k",
        "SELECT t.v FROM t WHERE k NOT IN (SELECT k FROM few)",
        "SELECT max(v), min(k) FROM t WHERE v % 2 = 0"
    )]
    sql: &str,
    #[values(None, Some(Fault::Silent), Some(Fault::Stalled))] fault: Option<Fault>,
) -> Result<()> {
    let (session, store) = session().await?;
    let tasks = Handle::current().metrics().num_alive_tasks();
    // Once is enough: on a busy machine nothing comes soon.
    let mut soonest = Duration::MAX;
    for _ in 0..5 {
        store.recover();
        store.delay(0);
        let plan = plan(&session, sql).await?;
        store.delay(5);
        if let Some(fault) = fault {
            store.fail(fault, 3);
        }
        let before = store.requests();
        let query = tokio::spawn(collect(plan, session.task_ctx()));
        let under_way = async {
            while store.requests() < before + 3 || (fault.is_some() && store.in_flight() == 0) {
                sleep(Duration::from_millis(1)).await;
            }
        };
        // Some are done with fewer requests, which is as good.
        _ = timeout(Duration::from_millis(500), under_way).await;
        query.abort();
        _ = query.await;
        soonest = soonest.min(until_still(&store, tasks).await?);
        let so_far = store.requests();
        sleep(SOON).await;
        assert_eq!(store.requests(), so_far, "requests after the query was dropped");
        if soonest < SOON {
            break;
        }
    }
    assert!(soonest < SOON, "{soonest:?}");
    // Nothing is broken for the next one.
    store.recover();
    store.delay(0);
    assert_eq!(ask(&session, "SELECT count(*), sum(k) FROM t").await?, ["4000,7998000"]);
    Ok(())
}

/// Open files of this process, where the system tells.
fn open_files() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// Each cycle starts a partition, polls it once or lets it put out a batch, and drops it.
#[rstest]
#[case::polled_once(0, 10_000)]
#[case::with_a_batch(1, 1_000)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_many_runs(#[case] batches: usize, #[case] cycles: usize) -> Result<()> {
    let (session, store) = session().await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t WHERE v >= 0").await?);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let pool = Arc::clone(&session.runtime_env().memory_pool);
    let reserved = pool.reserved();
    let first = session.task_ctx();
    let forgotten = Arc::downgrade(&first);
    drop(scan.execute(0, first)?);
    if batches == 0 {
        store.delay(60_000);
    }
    for cycle in 0..cycles {
        let mut stream = scan.execute(cycle % 4, session.task_ctx())?;
        for _ in 0..batches {
            assert!(stream.next().await.is_some());
        }
        _ = stream.next().now_or_never();
        assert!(store.in_flight() <= 64, "{} requests at once", store.in_flight());
    }
    until_still(&store, tasks).await?;
    assert_eq!(pool.reserved(), reserved, "memory that nobody gave back");
    assert!(forgotten.upgrade().is_none(), "the scan holds on to runs that never become whole");
    Ok(())
}

/// The same of local files, whose descriptors stay open as long as they are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_stays_open() -> Result<()> {
    let rows = integers(&[("k", (0..4000).map(Some).collect())])?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("0.parquet"), parquet(&rows, 100, 100)?)?;
    let session =
        Mode { split_files: true, batch_size: Some(100), ..Mode::new(Format::Trommel, 4) }.session();
    create(&session, "t", Format::Trommel, "", &format!("{}/", folder.path().display())).await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t").await?);
    let run = async |cycle: usize| -> Result<()> {
        let mut stream = scan.execute(cycle % 4, session.task_ctx())?;
        stream.next().await.context("it has rows")??;
        Ok(())
    };
    run(0).await?;
    let before = open_files();
    for cycle in 0..1000 {
        run(cycle).await?;
    }
    // Other tests of this process open files too.
    let more = open_files().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    assert!(more < 200, "{more} files stayed open");
    Ok(())
}
