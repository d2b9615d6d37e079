// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G9: a live filter that can't be evaluated keeps every zone; it fails no query.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::datatypes::DataType;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase,
};
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

use super::support::{ask, leaf, listening, orphan, plan, run, stock};

fn k() -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new("k", 0))
}

fn binary(left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, op, right))
}

/// 10 / (k - k) > 100
fn division_by_zero() -> Arc<dyn PhysicalExpr> {
    let zero = binary(k(), Operator::Minus, k());
    binary(binary(lit(10i64), Operator::Divide, zero), Operator::Gt, lit(100i64))
}

/// CAST(k AS TINYINT) > 100, beyond what the type holds
fn cast_too_narrow() -> Arc<dyn PhysicalExpr> {
    binary(Arc::new(CastExpr::new(k(), DataType::Int8, None)), Operator::Gt, lit(100i8))
}

/// k > 'text', of types that don't compare
fn other_type() -> Arc<dyn PhysicalExpr> {
    binary(k(), Operator::Gt, lit("text"))
}

#[rstest]
#[case::division_by_zero(division_by_zero())]
#[case::cast_too_narrow(cast_too_narrow())]
#[case::other_type(other_type())]
#[tokio::test]
async fn a_live_filter_that_fails_keeps_every_row(#[case] current: Arc<dyn PhysicalExpr>) -> Result<()> {
    let rows = integers(&[("k", (1000..2000).map(Some).collect())])?;
    let files = Folder::new(&[rows], 100)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 2) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t").await?);
    let filter = orphan(&scan);
    let scan = listening(&scan, &filter)?;
    filter.update(current)?;
    assert_eq!(run(&session, &scan).await?.len(), 1000);
    Ok(())
}

/// What the guard is for: evaluating rows, DataFusion's own scan fails the query.
#[rstest]
#[case::division_by_zero(division_by_zero())]
#[case::cast_too_narrow(cast_too_narrow())]
#[tokio::test]
async fn the_stock_scan_fails(#[case] current: Arc<dyn PhysicalExpr>) -> Result<()> {
    let rows = integers(&[("k", (1000..2000).map(Some).collect())])?;
    let files = Folder::new(&[rows], 100)?;
    let session = stock().session();
    session.sql("SET datafusion.execution.parquet.pushdown_filters = true").await?;
    files.create(&session, "t", Format::Parquet, "").await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t").await?);
    let filter = orphan(&scan);
    let offered: Arc<dyn PhysicalExpr> = Arc::<DynamicFilterPhysicalExpr>::clone(&filter);
    let config = session.copied_config();
    let offered = ChildPushdownResult {
        parent_filters: vec![ChildFilterPushdownResult { filter: offered, child_results: Vec::new() }],
        self_filters: Vec::new(),
    };
    let answer = scan.handle_child_pushdown_result(FilterPushdownPhase::Post, offered, config.options())?;
    let scan = answer.updated_node.context("the scan takes it")?;
    filter.update(current)?;
    assert!(run(&session, &scan).await.is_err(), "DataFusion is mended: this test can go");
    Ok(())
}

/// The other half: what fails on a row that counts is an error of the query.
#[tokio::test]
async fn a_static_filter_that_fails_on_a_row_fails_the_query() -> Result<()> {
    let rows = integers(&[("k", (0..1000).map(Some).collect())])?;
    let files = Folder::new(&[rows], 100)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 2) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let error = ask(&session, "SELECT k FROM t WHERE 10 / (k - 550) > 3").await;
    assert!(error.is_err_and(|error| error.to_string().to_lowercase().contains("divide by zero")));
    Ok(())
}
