// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Under a pool of 64 MB queries run, or fail with DataFusion's own error.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_trommel::TrommelSessionExt;
use rstest::rstest;
use trommel_tests::files::{Folder, create, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{WATCHED, Watched, put_into};

use super::support::{ask, plan};
use super::tpch;

const POOL: usize = 64 << 20;

/// A session of four partitions whose operators have so much memory between them.
fn session(bytes: usize) -> Result<(SessionContext, Arc<dyn MemoryPool>)> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool)).build_arc()?;
    let state = SessionStateBuilder::new()
        .with_config(SessionConfig::new().with_target_partitions(4))
        .with_runtime_env(runtime)
        .with_default_features()
        .with_trommel()
        .build();
    Ok((SessionContext::new_with_state(state), pool))
}

/// Of one table, or with a small build side.
#[rstest]
#[case::topk("SELECT * FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey LIMIT 20")]
#[case::topk_of_many("SELECT l_comment FROM lineitem ORDER BY l_comment LIMIT 1000 OFFSET 100")]
#[case::min_max("SELECT min(l_shipdate), max(l_comment), count(*) FROM lineitem WHERE l_quantity < 30")]
#[case::groups(
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), avg(l_discount), count(*) FROM lineitem GROUP BY 1, 2"
)]
#[case::filter("SELECT * FROM lineitem WHERE l_comment LIKE '%furious%' AND l_quantity > 45")]
#[case::broadcast(
    "SELECT count(*), sum(l_extendedprice) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey WHERE s_nationkey = 3"
)]
#[case::semi(
    "SELECT count(*) FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_mktsegment = 'BUILDING')"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_tables_and_broadcast_joins_run(#[case] sql: &str) -> Result<()> {
    let (session, pool) = session(POOL)?;
    tpch::create_tables(&session, Format::Trommel).await?;
    let mut answer = ask(&session, sql).await?;
    assert_eq!(pool.reserved(), 0, "memory that nobody gave back");

    let stock = Mode::new(Format::Parquet, 1).session();
    tpch::create_tables(&stock, Format::Parquet).await?;
    let mut expect = ask(&stock, sql).await?;
    answer.sort();
    expect.sort();
    assert_eq!(answer, expect);
    Ok(())
}

/// Too little memory is DataFusion's error, whatever runs; never a panic, and never another answer.
#[rstest]
#[case::enough(POOL)]
#[case::little(1 << 20)]
#[case::none(1 << 10)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_runs_or_says_that_memory_is_short(#[case] bytes: usize) -> Result<()> {
    let (session, pool) = session(bytes)?;
    tpch::create_tables(&session, Format::Trommel).await?;
    let mut short = 0;
    for (name, sql) in tpch::queries()? {
        match session.sql(&sql).await?.collect().await {
            Ok(_) => {}
            Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => short += 1,
            Err(error) => return Err(error).context(name),
        }
        // Tasks that are being dropped give back what they hold.
        for _ in 0..200 {
            if pool.reserved() == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(pool.reserved(), 0, "{name} kept memory");
    }
    assert!((bytes < POOL) == (short > 0), "{short} queries of 22 found {bytes} bytes too few");
    Ok(())
}

/// Reading ahead of a distant store stops where memory does; it is no reason to fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_distant_file_is_read_with_whatever_memory_there_is() -> Result<()> {
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let rows = RecordBatch::try_from_iter([("k", k)])?;
    let store = Watched::files([("t/0.parquet".to_owned(), parquet(&rows, 1000, 1000)?)]).await?;
    for bytes in [0, 1 << 10, POOL] {
        let (session, pool) = session(bytes)?;
        put_into(&store, &session)?;
        create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
        let batches = session.sql("SELECT k FROM t WHERE k % 2 = 0").await?.collect().await?;
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 25_000);
        assert_eq!(pool.reserved(), 0);
    }
    Ok(())
}

/// A few rows of many don't hold on to the pages they came from.
#[rstest]
#[case::some_of_each_page("SELECT s FROM t WHERE k % 5000 = 17")]
#[case::first("SELECT s FROM t ORDER BY k DESC LIMIT 10")]
#[case::limit("SELECT s FROM t LIMIT 10")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_answers_are_small(#[case] sql: &str) -> Result<()> {
    let s: ArrayRef = Arc::new(StringArray::from_iter_values((0..50_000).map(|k| format!("{k:0>200}"))));
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let files = Folder::new(&[RecordBatch::try_from_iter([("k", k), ("s", s)])?], 10_000)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 4) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let plan = plan(&session, sql).await?;
    let batches = datafusion::physical_plan::collect(plan, session.task_ctx()).await?;
    let column = |batch: &RecordBatch| batch.column(0).get_buffer_memory_size();
    let (rows, bytes) =
        (batches.iter().map(RecordBatch::num_rows).sum::<usize>(), batches.iter().map(column).sum::<usize>());
    assert_eq!(rows, 10);
    assert!(bytes < 1 << 20, "{rows} rows of 200 bytes hold {bytes} bytes");
    Ok(())
}
