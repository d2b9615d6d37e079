// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G10 and G11: NaN lies beyond the bounds in a file, and ±0.0 are equal yet not the same bits.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Float64Array};
use arrow::record_batch::RecordBatch;
use rstest::rstest;
use trommel_tests::files::Folder;

use super::support::{ask, fault};

fn floats(values: Vec<f64>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(values)) as ArrayRef)])?)
}

/// A row group's maximum says nothing of NaN, which is above every number.
#[rstest]
#[case::topk("SELECT x FROM t ORDER BY x DESC LIMIT 1", &["NaN"])]
#[case::predicate("SELECT x FROM t WHERE x > 1e12", &["NaN"])]
#[tokio::test]
async fn nan_is_beyond_the_bounds(#[case] sql: &str, #[case] right: &[&str]) -> Result<()> {
    let large: Vec<_> = (0..100).map(|n| 1e9 + f64::from(n)).collect();
    let small: Vec<_> = (0..100).map(|n| if n == 50 { f64::NAN } else { f64::from(n) }).collect();
    let files = Folder::new(&[floats([large, small].concat())?], 100)?;
    fault("NaN beyond the bounds", right, async |mode| {
        let session = mode.session();
        files.create(&session, "t", mode.format, "").await?;
        ask(&session, sql).await
    })
    .await
}

/// The set that a join publishes holds -0.0 alone, and DataFusion's IN compares bits.
#[tokio::test]
async fn zeros_of_both_signs_join() -> Result<()> {
    let probe = Folder::new(&[floats(vec![0.0; 3])?], 100)?;
    let build = Folder::new(&[floats(vec![-0.0])?], 100)?;
    fault("IN by bits", &["3"], async |mode| {
        let session = mode.session();
        session.sql("SET datafusion.execution.parquet.pushdown_filters = true").await?;
        probe.create(&session, "a", mode.format, "").await?;
        build.create(&session, "b", mode.format, "").await?;
        ask(&session, "SELECT count(*) FROM b JOIN a ON a.x = b.x").await
    })
    .await
}
