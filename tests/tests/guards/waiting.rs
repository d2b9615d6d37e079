// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G6 and G13: a scan waits for no filter and for no other partition.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::common::collect;
use datafusion::prelude::SessionContext;
use rstest::rstest;
use tokio::time::timeout;
use trommel_tests::files::{Folder, integers};
use trommel_tests::plan::scans;
use trommel_tests::session::{Format, Mode};

use super::support::{leaf, lines, listening, orphan, plan, run, stock};

/// Longer than any of these scans takes, on a slow machine too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Four files of 500 rows in row groups of 100.
fn numbers() -> Result<Folder> {
    let column = |value: fn(i64) -> i64| (0..2000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("v", column(|k| k % 7))])?;
    Folder::new(&[0, 500, 1000, 1500].map(|start| rows.slice(start, 500)), 100)
}

async fn session(files: &Folder, mode: Mode, clause: &str) -> Result<SessionContext> {
    let session = Mode { split_files: true, ..mode }.session();
    files.create(&session, "t", mode.format, clause).await?;
    Ok(session)
}

/// The rows of one partition, the others never being asked for.
async fn drain(
    session: &SessionContext,
    plan: &Arc<dyn ExecutionPlan>,
    partition: usize,
) -> Result<Vec<String>> {
    lines(&collect(plan.execute(partition, session.task_ctx())?).await?)
}

fn below(bound: i64) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(Arc::new(Column::new("k", 0)), Operator::LtEq, lit(bound - 1)))
}

#[rstest]
#[tokio::test]
async fn a_filter_that_never_moves_is_not_waited_for(
    #[values(1, 4)] partitions: usize,
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let files = numbers()?;
    let session = session(&files, Mode { linked, ..Mode::new(Format::Trommel, partitions) }, "").await?;
    let scan = leaf(&plan(&session, "SELECT k, v FROM t").await?);
    let scan = listening(&scan, &orphan(&scan))?;
    assert_eq!(timeout(PATIENCE, run(&session, &scan)).await??.len(), 2000);
    Ok(())
}

#[tokio::test]
async fn a_filter_that_is_never_complete_is_not_waited_for() -> Result<()> {
    let files = numbers()?;
    let session = session(&files, Mode::new(Format::Trommel, 4), "").await?;
    let scan = leaf(&plan(&session, "SELECT k, v FROM t").await?);
    let filter = orphan(&scan);
    let scan = listening(&scan, &filter)?;
    filter.update(below(150))?;
    let rows = timeout(PATIENCE, run(&session, &scan)).await??;
    // Live filters leave out zones; which rows count is decided above.
    assert!((150..2000).contains(&rows.len()), "{} rows", rows.len());
    Ok(())
}

/// Whatever the others do, one partition of a scan comes to its end. Run apart, each with a context of its
/// own, the partitions have all rows between them, each once.
#[tokio::test]
async fn one_partition_alone_finishes() -> Result<()> {
    let files = numbers()?;
    let session = session(&files, Mode::new(Format::Trommel, 4), "").await?;
    let scan = leaf(&plan(&session, "SELECT k, v FROM t WHERE v < 6").await?);
    assert_eq!(scan.properties().partitioning.partition_count(), 4);
    let mut rows = Vec::new();
    for partition in [3, 0, 1, 2] {
        rows.extend(timeout(PATIENCE, drain(&session, &scan, partition)).await??);
    }
    let count = rows.len();
    rows.sort_unstable();
    rows.dedup();
    let expect = (0..2000).filter(|k| k % 7 < 6).count();
    assert_eq!((rows.len(), count), (expect, expect), "different rows, and rows");
    Ok(())
}

const JOIN: &str = "SELECT t.k FROM few JOIN t ON few.k = t.k";

/// A session with the join's build side too, and the join's plan: four partitions.
async fn join(
    files: &Folder,
    mode: Mode,
    clause: &str,
) -> Result<(SessionContext, Arc<dyn ExecutionPlan>, Folder)> {
    let session = session(files, mode, clause).await?;
    let few = Folder::new(&[integers(&[("k", vec![Some(5), Some(1999)])])?], 100)?;
    few.create(&session, "few", mode.format, clause).await?;
    let plan = plan(&session, JOIN).await?;
    assert_eq!(plan.properties().partitioning.partition_count(), 4);
    Ok((session, plan, few))
}

/// The option for engines that run partitions apart: no filter, so no barrier between the join's partitions.
#[tokio::test]
async fn a_scan_that_reports_no_filter_leaves_the_join_free() -> Result<()> {
    let files = numbers()?;
    let clause = "OPTIONS ('report_live_filters' 'false')";
    let (session, plan, _few) = join(&files, Mode::new(Format::Trommel, 4), clause).await?;
    let mut rows = Vec::new();
    for partition in 0..4 {
        rows.extend(timeout(PATIENCE, drain(&session, &plan, partition)).await??);
    }
    rows.sort();
    assert_eq!(rows, ["1999", "5"]);
    for scan in scans(&plan) {
        let moved = scan.live_filters().iter().any(|filter| snapshot_generation(filter.expr()) > 1);
        assert!(!moved, "the join built a filter");
    }
    Ok(())
}

/// What the option is for. The barrier is DataFusion's, whatever scan is below.
#[rstest]
#[case::trommel(Mode::new(Format::Trommel, 4))]
#[case::stock(Mode { partitions: 4, ..stock() })]
#[tokio::test]
async fn with_a_filter_reported_the_joins_partitions_wait_for_each_other(#[case] mode: Mode) -> Result<()> {
    let files = numbers()?;
    let (session, plan, _few) = join(&files, mode, "").await?;
    let alone = timeout(Duration::from_secs(1), drain(&session, &plan, 0)).await;
    assert!(alone.is_err(), "DataFusion is mended: one partition of a join finishes alone");
    Ok(())
}
