// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What statistics prove isn't read: counts and extremes of rows that zones decide, and limits that proven rows fill.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::SessionContext;
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

/// 1 000 rows in row groups of 100: `k` rises, `n` is NULL in the last row group.
async fn table(session: &SessionContext) -> Result<Folder> {
    let rows = integers(&[
        ("k", (0..1000).map(Some).collect()),
        ("n", (0..1000).map(|k| (k < 900).then_some(k)).collect()),
    ])?;
    let files = Folder::new(&[rows], 100)?;
    files.create(session, "t", Format::Trommel, "").await?;
    Ok(files)
}

fn session() -> SessionContext {
    Mode { split_files: true, ..Mode::new(Format::Trommel, 2) }.session()
}

/// A query's only row, and whether a scan was needed for it.
async fn ask(sql: &str) -> Result<(Vec<Option<i64>>, bool)> {
    let session = session();
    let _files = table(&session).await?;
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let scans = displayable(plan.as_ref()).indent(false).to_string().contains("FilteredReadExec");
    let batches = collect(plan, session.task_ctx()).await?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).context("a row")?;
    let value = |column: &Arc<dyn Array>| {
        let column = column.as_primitive::<Int64Type>();
        column.is_valid(0).then(|| column.value(0))
    };
    Ok((batch.columns().iter().map(value).collect(), scans))
}

#[rstest]
#[case::all_rows("SELECT count(*), min(k), max(k) FROM t WHERE k >= 0", &[Some(1000), Some(0), Some(999)], false)]
#[case::whole_zones("SELECT count(*) FROM t WHERE k < 500", &[Some(500)], false)]
#[case::no_row("SELECT count(*) FROM t WHERE k < 0", &[Some(0)], false)]
#[case::null_never_passes("SELECT count(*) FROM t WHERE n >= 0", &[Some(900)], false)]
#[case::part_of_a_zone("SELECT count(*) FROM t WHERE k < 550", &[Some(550)], true)]
#[case::extremes_of_some_rows("SELECT max(k) FROM t WHERE k < 500", &[Some(499)], true)]
#[case::count_of_values("SELECT count(n) FROM t WHERE k >= 0", &[Some(900)], false)]
#[tokio::test]
async fn aggregates(#[case] sql: &str, #[case] expect: &[Option<i64>], #[case] scans: bool) -> Result<()> {
    assert_eq!(ask(sql).await?, (expect.to_vec(), scans));
    Ok(())
}

/// Rows, how many filters dropped, and how many were decoded.
async fn limited(sql: &str) -> Result<(Vec<i64>, usize, usize)> {
    let session = session();
    let _files = table(&session).await?;
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await?;
    let rows = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    let sum = |name| total(plan.as_ref(), name);
    Ok((rows.collect(), sum("pushdown_rows_pruned"), sum("rows_decoded")))
}

fn total(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |m| m.as_usize());
    own + plan.children().into_iter().map(|child| total(child.as_ref(), name)).sum::<usize>()
}

/// Six zones lie wholly within the range, two partly.
#[tokio::test]
async fn a_limit_is_filled_from_proven_zones_where_they_suffice() -> Result<()> {
    let (rows, dropped, decoded) = limited("SELECT k FROM t WHERE k BETWEEN 150 AND 850 LIMIT 550").await?;
    assert_eq!((rows.len(), dropped), (550, 0));
    assert!(rows.iter().all(|k| (200..800).contains(k)), "{rows:?}");
    assert!(decoded <= 600);

    let (rows, dropped, _) = limited("SELECT k FROM t WHERE k BETWEEN 150 AND 850 LIMIT 650").await?;
    assert_eq!(rows.len(), 650);
    assert!(rows.iter().all(|k| (150..=850).contains(k)) && dropped > 0);
    Ok(())
}

#[tokio::test]
async fn a_promised_order_decides_which_rows_are_taken() -> Result<()> {
    let session = session();
    let rows = integers(&[("k", (0..1000).map(Some).collect())])?;
    let files = Folder::new(&[rows], 100)?;
    files.create(&session, "s", Format::Trommel, "WITH ORDER (k)").await?;
    let sql = "SELECT k FROM s WHERE k BETWEEN 150 AND 850 ORDER BY k LIMIT 3";
    let batches = session.sql(sql).await?.collect().await?;
    let rows: Vec<_> =
        batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    assert_eq!(rows, [150, 151, 152]);
    Ok(())
}
