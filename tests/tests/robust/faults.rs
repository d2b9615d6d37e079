// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Stores that fail: the right answer, or one error that names the file and the bytes; never a mixture of versions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use rstest::rstest;
use tokio::time::timeout;
use trommel_tests::files::{create, integers, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{Fault, WATCHED, Watched, WatchedStore, put_into};

use super::support::{ask, plan};

const PATIENCE: Duration = Duration::from_secs(60);
/// Of `k`, over a thousand rows each of two files.
const QUERY: &str = "SELECT count(*), sum(v), min(k), max(k) FROM t WHERE v % 3 <> 1";

/// Files of 1 000 rows in row groups of 100: `k` rises from the file's first on, `v` says the version.
fn file(first: i64, version: i64) -> Result<Vec<u8>> {
    let k = (first..first + 1000).map(Some).collect();
    parquet(&integers(&[("k", k), ("v", vec![Some(version * 3); 1000])])?, 100, 50)
}

async fn session(partitions: usize) -> Result<(SessionContext, Arc<WatchedStore>)> {
    let files = [("t/0.parquet".to_owned(), file(0, 1)?), ("t/1.parquet".to_owned(), file(1000, 1)?)];
    let store = Watched::files(files).await?;
    let session =
        Mode { split_files: true, batch_size: Some(100), ..Mode::new(Format::Trommel, partitions) }.session();
    put_into(&store, &session)?;
    create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
    Ok((session, store))
}

const RIGHT: &str = "2000,6000,0,1999";

/// The first requests are for footers, the others for pages. Whichever fails, the query fails with one error; and once
/// the store has recovered, so has the table.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_clear_error(
    #[values(Fault::Unavailable, Fault::Truncated, Fault::Broken, Fault::TooLong)] fault: Fault,
    #[values(0, 1, 2, 3, 7)] after: usize,
    #[values(1, 4)] partitions: usize,
) -> Result<()> {
    let files = [("t/0.parquet".to_owned(), file(0, 1)?), ("t/1.parquet".to_owned(), file(1000, 1)?)];
    let store = Watched::files(files).await?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, partitions) }.session();
    put_into(&store, &session)?;
    store.fail(fault, after);
    let query = async {
        create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
        ask(&session, QUERY).await
    };
    let error = match timeout(PATIENCE, query).await? {
        // Nothing was asked that late.
        Ok(answer) => {
            ensure!(after >= 3, "{answer:?} after {} requests", store.requests());
            assert_eq!(answer, [RIGHT]);
            return Ok(());
        }
        Err(error) => format!("{error:#}"),
    };
    assert!(error.contains(".parquet") && error.contains(".."), "no file and range: {error}");
    let word = match fault {
        Fault::Unavailable => "503",
        Fault::Broken => "connection reset",
        _ => "were asked for, but",
    };
    assert!(error.contains(word), "{error}");
    assert!(!error.contains("panic"), "{error}");

    store.recover();
    _ = session.sql("DROP TABLE IF EXISTS t").await?;
    create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
    assert_eq!(ask(&session, QUERY).await?, [RIGHT]);
    Ok(())
}

/// A store that answers late and out of order changes nothing.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delays_change_nothing(#[values(1, 4)] partitions: usize) -> Result<()> {
    let (session, store) = session(partitions).await?;
    for delay in [1, 7] {
        store.delay(delay);
        assert_eq!(timeout(PATIENCE, ask(&session, QUERY)).await??, [RIGHT]);
    }
    Ok(())
}

/// What happens to a file while a query reads it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// Another file of the same size takes its place.
    SameSize,
    /// A shorter one does.
    Shorter,
    /// It is deleted.
    Vanished,
}

/// The answer is that of the version that was planned, or an error; never one part of each.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changes_while_it_is_read(
    #[values(Change::SameSize, Change::Shorter, Change::Vanished)] change: Change,
    #[values(1, 4)] partitions: usize,
    #[values(false, true)] after_the_first_batch: bool,
) -> Result<()> {
    let (session, store) = session(partitions).await?;
    let plan = plan(&session, "SELECT k, v FROM t").await?;
    let mut stream = datafusion::physical_plan::execute_stream(plan, session.task_ctx())?;
    let mut rows = 0;
    if after_the_first_batch {
        rows += stream.next().await.context("it has rows")??.num_rows();
    }
    match change {
        Change::SameSize => store.replace("t/1.parquet", file(1000, 2)?).await?,
        Change::Shorter => store.replace("t/1.parquet", file(1000, 2)?.split_off(4000)).await?,
        Change::Vanished => store.remove("t/1.parquet").await?,
    }
    let mut error = None;
    while let Some(batch) = timeout(PATIENCE, stream.next()).await? {
        match batch {
            Ok(batch) => {
                use arrow::array::AsArray;
                use arrow::datatypes::Int64Type;
                assert!(
                    batch.column(1).as_primitive::<Int64Type>().values().iter().all(|v| *v == 3),
                    "a mixture"
                );
                rows += batch.num_rows();
            }
            Err(failed) => {
                error = Some(failed.to_string());
                break;
            }
        }
    }
    // What was read ahead before the change may have been everything; several partitions run as soon as there is a stream.
    let Some(error) = error else {
        let has_begun = after_the_first_batch || partitions > 1;
        ensure!(has_begun && rows == 2000, "{rows} rows and no error");
        return Ok(());
    };
    assert!(error.contains("t/1.parquet"), "{error}");
    let word = if change == Change::Vanished { "not found" } else { "was replaced while it was being read" };
    assert!(error.contains(word), "{error}");

    // The next query sees what is there now.
    let now = match change {
        Change::SameSize => vec!["2000,9000,0,1999"],
        Change::Vanished => vec!["1000,3000,0,999"],
        Change::Shorter => {
            assert!(ask(&session, QUERY).await.is_err(), "half a file is no Parquet file");
            return Ok(());
        }
    };
    assert_eq!(ask(&session, QUERY).await?, now);
    Ok(())
}

/// A local file that is written into, in place, while a query reads it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_file_that_is_written_into() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0.parquet");
    std::fs::write(&path, file(0, 1)?)?;
    let session = Mode { batch_size: Some(100), ..Mode::new(Format::Trommel, 1) }.session();
    create(&session, "t", Format::Trommel, "", &format!("{}/", folder.path().display())).await?;
    let plan = plan(&session, "SELECT k, v FROM t").await?;
    let mut stream = datafusion::physical_plan::execute_stream(plan, session.task_ctx())?;
    let first = stream.next().await.context("it has rows")??;
    assert!(first.num_rows() > 0);
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(&path, file(0, 2)?)?;
    let mut rows = first.num_rows();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => rows += batch.num_rows(),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("was replaced while it was being read"), "{error}");
                return Ok(());
            }
        }
    }
    // All of it may have been read at once.
    assert_eq!(rows, 1000);
    Ok(())
}
