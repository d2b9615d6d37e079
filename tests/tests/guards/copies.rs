// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G8: however often the Post phase runs, a scan holds one copy of each live filter.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_trommel::{FilteredReadExec, LinkDynamicFilters};
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::plan::scans;
use trommel_tests::session::{Format, Mode};

use super::support::{leaf, listening, offer, orphan, plan, run};

fn numbers() -> Result<Folder> {
    let column = |value: fn(i64) -> i64| (0..1000).map(|row| Some(value(row))).collect::<Vec<_>>();
    Folder::new(&[integers(&[("k", column(|k| k)), ("v", column(|k| k * 7919 % 1009))])?], 100)
}

fn held(plan: &Arc<dyn ExecutionPlan>) -> Vec<usize> {
    scans(plan).into_iter().map(|scan| scan.live_filters().len()).collect()
}

#[rstest]
#[case::topk("SELECT k FROM t ORDER BY v LIMIT 3", &[1])]
#[case::aggregates("SELECT min(v), max(k) FROM t WHERE k % 2 = 0", &[1])]
#[case::join("SELECT a.v FROM t a JOIN t b ON a.k = b.v", &[0, 1])]
#[case::topk_over_join("SELECT b.v FROM t a JOIN t b ON a.k = b.v ORDER BY b.k LIMIT 3", &[0, 2])]
#[tokio::test]
async fn the_post_phase_runs_again(
    #[case] sql: &str,
    #[case] filters: &[usize],
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let files = numbers()?;
    let mode = Mode { linked, split_files: true, ..Mode::new(Format::Trommel, 2) };
    let session = mode.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let mut plan = plan(&session, sql).await?;
    assert_eq!(held(&plan), filters);
    let config = ConfigOptions::new();
    for _ in 0..2 {
        plan = FilterPushdown::new_post_optimization().optimize(plan, &config)?;
        if linked {
            plan = LinkDynamicFilters::default().optimize(plan, &config)?;
        }
        assert_eq!(held(&plan), filters);
    }
    let fresh = mode.session();
    files.create(&fresh, "t", Format::Trommel, "").await?;
    assert_eq!(sorted(run(&session, &plan).await?), sorted(super::support::ask(&fresh, sql).await?));
    Ok(())
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// The identity alone doesn't make a copy: one filter may come by two ways, bound to different columns.
#[tokio::test]
async fn a_filter_over_other_columns_is_another_filter() -> Result<()> {
    let files = numbers()?;
    let session = Mode::new(Format::Trommel, 2).session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let scan = leaf(&plan(&session, "SELECT k, v FROM t").await?);
    let filter = orphan(&scan);
    let scan = listening(&scan, &filter)?;
    let same: Arc<dyn PhysicalExpr> = filter;
    assert!(offer(&scan, &[Arc::clone(&same)])?.updated_node.is_none(), "a copy changes nothing");

    let elsewhere = same.with_new_children(vec![Arc::new(Column::new("v", 1))])?;
    let scan = offer(&scan, &[elsewhere])?.updated_node.context("the scan takes it")?;
    let scan: &FilteredReadExec = scan.downcast_ref().context("it is a scan")?;
    assert_eq!(scan.live_filters().len(), 2);
    Ok(())
}
