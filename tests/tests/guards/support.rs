// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Asking sessions and plans, and showing a fault of DataFusion's own scan.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use trommel_tests::session::{Format, Mode};

/// Linked and plain sessions with one, two and four partitions that split the smallest file.
pub fn trommel() -> impl Iterator<Item = Mode> {
    [true, false].into_iter().flat_map(|linked| {
        [1, 2, 4].map(|partitions| Mode {
            linked,
            split_files: true,
            ..Mode::new(Format::Trommel, partitions)
        })
    })
}

/// DataFusion's own scan in two partitions.
pub fn stock() -> Mode {
    Mode::new(Format::Parquet, 2)
}

/// The physical plan of a query.
pub async fn plan(session: &SessionContext, sql: &str) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(session.sql(sql).await?.create_physical_plan().await?)
}

/// The answer of a plan, a line a row, values separated by a comma.
pub async fn run(session: &SessionContext, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<String>> {
    lines(&collect(Arc::clone(plan), session.task_ctx()).await?)
}

/// The answer to a query.
pub async fn ask(session: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let plan = plan(session, sql).await?;
    run(session, &plan).await
}

/// Rows as lines.
pub fn lines(batches: &[RecordBatch]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| array_value_to_string(column, row));
            lines.push(values.collect::<Result<Vec<_>, _>>()?.join(","));
        }
    }
    Ok(lines)
}

/// Shows that DataFusion's own scan answers wrongly and Trommel rightly, in every mode.
pub async fn fault(what: &str, right: &[&str], ask: impl AsyncFn(Mode) -> Result<Vec<String>>) -> Result<()> {
    let answer = ask(stock()).await?;
    assert_ne!(answer, right, "DataFusion is mended ({what}): its part of this test can go");
    right_everywhere(right, ask).await
}

/// Shows that Trommel answers rightly in every mode.
pub async fn right_everywhere(right: &[&str], ask: impl AsyncFn(Mode) -> Result<Vec<String>>) -> Result<()> {
    for mode in trommel() {
        let answer = ask(mode).await.with_context(|| mode.to_string())?;
        assert_eq!(answer, right, "{mode}");
    }
    Ok(())
}

/// The leaf that the first inputs lead to.
pub fn leaf(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    plan.children().first().map_or_else(|| Arc::clone(plan), |input| leaf(input))
}

/// A filter without a producer, over the first column of a scan's output; it lets everything pass so far.
pub fn orphan(scan: &Arc<dyn ExecutionPlan>) -> Arc<DynamicFilterPhysicalExpr> {
    let first: Arc<dyn PhysicalExpr> = Arc::new(Column::new(scan.schema().field(0).name(), 0));
    Arc::new(DynamicFilterPhysicalExpr::new(vec![first], lit(true)))
}

/// What a scan answers to filters handed down in the Post phase.
pub fn offer(
    scan: &Arc<dyn ExecutionPlan>,
    filters: &[Arc<dyn PhysicalExpr>],
) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
    let filter = |filter: &Arc<dyn PhysicalExpr>| ChildFilterPushdownResult {
        filter: Arc::clone(filter),
        child_results: Vec::new(),
    };
    let offered = ChildPushdownResult {
        parent_filters: filters.iter().map(filter).collect(),
        self_filters: Vec::new(),
    };
    Ok(scan.handle_child_pushdown_result(FilterPushdownPhase::Post, offered, &ConfigOptions::new())?)
}

/// The scan that listens to `filter` too.
pub fn listening(
    scan: &Arc<dyn ExecutionPlan>,
    filter: &Arc<DynamicFilterPhysicalExpr>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let filter: Arc<dyn PhysicalExpr> = Arc::<DynamicFilterPhysicalExpr>::clone(filter);
    offer(scan, &[filter])?.updated_node.ok_or_else(|| anyhow!("the scan did not take the filter"))
}
