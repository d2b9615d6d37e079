// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G3, G4 and G14: which rows a limit lets through is settled before anything above it.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter_pushdown::PushedDown;
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{DynamicFilters, Format, Mode};

use super::support::{ask, fault, leaf, listening, offer, orphan, plan, stock};

/// 1 000 rows in row groups of 100: `k` and `j` rise, `r` falls. Sorted by `k`, and said to be.
fn rising() -> Result<Folder> {
    let column = |value: fn(i64) -> i64| (0..1000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("j", column(|k| k)), ("r", column(|k| 1000 - k))])?;
    Folder::new(&[rows], 100)
}

const ORDER: &str = "WITH ORDER (k)";

/// The declared order makes the inner sort superfluous, its limit goes into the scan, and the join's filter goes
/// below that limit (no issue known).
#[tokio::test]
async fn a_join_filter_stays_above_a_limit() -> Result<()> {
    let big = rising()?;
    let mid = Folder::new(&[integers(&[("j", (900..930).map(Some).collect())])?], 100)?;
    let sql = "SELECT count(*) FROM (SELECT * FROM big ORDER BY k LIMIT 200) x JOIN mid USING (j)";
    fault("join filter below a limit", &["0"], async |mode| {
        let session = mode.session();
        big.create(&session, "big", mode.format, ORDER).await?;
        mid.create(&session, "mid", mode.format, "").await?;
        ask(&session, sql).await
    })
    .await
}

/// The outer sort asks the limited scan for another order (no issue known).
#[rstest]
#[case::with_dynamic_filters(DynamicFilters::ON)]
#[case::without(DynamicFilters::OFF)]
#[tokio::test]
async fn a_sort_above_a_limit_does_not_choose_its_rows(
    #[case] dynamic_filters: DynamicFilters,
) -> Result<()> {
    let files = rising()?;
    fault("sort pushed below a limit", &["401", "402", "403", "404", "405"], async |mode| {
        let session = Mode { dynamic_filters, ..mode }.session();
        files.create(&session, "t", mode.format, ORDER).await?;
        ask(&session, "SELECT r FROM (SELECT * FROM t ORDER BY k LIMIT 600) ORDER BY r LIMIT 5").await
    })
    .await
}

/// A limit without an order may choose any rows, but as many as there are.
#[tokio::test]
async fn a_limit_without_order_is_filled() -> Result<()> {
    let files = rising()?;
    for mode in super::support::trommel() {
        let session = mode.session();
        files.create(&session, "t", mode.format, "").await?;
        let sql = "SELECT count(*) FROM (SELECT * FROM t WHERE r % 7 = 3 LIMIT 50) x";
        assert_eq!(ask(&session, sql).await?, ["50"], "{mode}");
    }
    Ok(())
}

async fn scan() -> Result<(Folder, Arc<dyn ExecutionPlan>)> {
    let files = rising()?;
    let session = Mode::new(Format::Trommel, 2).session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let scan = leaf(&plan(&session, "SELECT k, r FROM t").await?);
    Ok((files, scan))
}

fn by_r() -> [PhysicalSortExpr; 1] {
    [PhysicalSortExpr::new_default(Arc::new(Column::new("r", 1)))]
}

#[tokio::test]
async fn a_limited_scan_takes_no_filter_and_no_sort() -> Result<()> {
    let (_files, scan) = scan().await?;
    let limited = scan.with_fetch(Some(10)).context("a scan takes a limit")?;
    assert_eq!(limited.fetch(), Some(10));
    let filter: Arc<dyn PhysicalExpr> = orphan(&limited);
    let answer = offer(&limited, &[filter])?;
    assert!(matches!(answer.filters.as_slice(), [PushedDown::No]) && answer.updated_node.is_none());
    assert!(matches!(limited.try_pushdown_sort(&by_r())?, SortOrderPushdownResult::Unsupported));
    // The same scan without the limit does.
    assert!(matches!(scan.try_pushdown_sort(&by_r())?, SortOrderPushdownResult::Inexact { .. }));
    Ok(())
}

/// DataFusion's own scan takes the limit, and spends it on rows that the filter's producer then drops.
#[tokio::test]
async fn a_listening_scan_takes_no_limit() -> Result<()> {
    let (_files, scan) = scan().await?;
    let listening = listening(&scan, &orphan(&scan))?;
    assert!(listening.with_fetch(Some(10)).is_none());
    assert!(listening.with_fetch(None).is_some(), "taking a limit away does no harm");

    let files = rising()?;
    let session = stock().session();
    files.create(&session, "t", Format::Parquet, "").await?;
    let scan = leaf(&plan(&session, "SELECT k, r FROM t").await?);
    let listening = self::listening(&scan, &orphan(&scan))?;
    assert!(listening.with_fetch(Some(10)).is_some(), "DataFusion is mended: its part of this test can go");
    Ok(())
}
