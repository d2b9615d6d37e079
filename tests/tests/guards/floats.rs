// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G10 and G11: NaN lies beyond the bounds in a file, and ±0.0 are equal yet not the same bits.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Float64Array};
use arrow::record_batch::RecordBatch;
use rstest::rstest;
use trommel_tests::files::Folder;
use trommel_tests::session::{Format, Mode};

use super::support::{ask, fault, right_everywhere};

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

/// The set that a join publishes holds -0.0 alone, and DataFusion's IN compares bits; of two keys, it is a set of
/// structs.
#[rstest]
#[case::one_key("a.x = b.x")]
#[case::two_keys("a.x = b.x AND a.y = b.y")]
#[tokio::test]
async fn zeros_of_both_signs_join(#[case] on: &str) -> Result<()> {
    let file = |zero: f64, rows: usize| -> Result<Folder> {
        let column = |value| Arc::new(Float64Array::from(vec![value; rows])) as ArrayRef;
        Folder::new(&[RecordBatch::try_from_iter([("x", column(zero)), ("y", column(1.0))])?], 100)
    };
    let (probe, build) = (file(0.0, 3)?, file(-0.0, 1)?);
    fault("IN by bits", &["3"], async |mode| {
        let session = mode.session();
        session.sql("SET datafusion.execution.parquet.pushdown_filters = true").await?;
        let clause = always(mode);
        probe.create(&session, "a", mode.format, clause).await?;
        build.create(&session, "b", mode.format, clause).await?;
        ask(&session, &format!("SELECT count(*) FROM b JOIN a ON {on}")).await
    })
    .await
}

/// A set of many keys is looked up in the join's table, by hash; one side is hashed as it is, the other in parts.
#[rstest]
#[tokio::test]
async fn zeros_of_both_signs_join_by_hash(#[values(false, true)] partitioned_joins: bool) -> Result<()> {
    let values = |zero: f64| [zero].into_iter().chain((1..500).map(f64::from)).collect();
    let probe = Folder::new(&[floats(values(0.0))?, floats(values(0.0))?], 100)?;
    let build = Folder::new(&[floats(values(-0.0))?], 100)?;
    right_everywhere(&["1000,0.0"], async |mode| {
        let session = Mode { partitioned_joins, ..mode }.session();
        probe.create(&session, "a", mode.format, always(mode)).await?;
        build.create(&session, "b", mode.format, always(mode)).await?;
        ask(&session, "SELECT count(*), min(a.x) FROM b JOIN a ON a.x = b.x").await
    })
    .await
}

/// Lets the scan ask each row, whether that pays or not.
fn always(mode: Mode) -> &'static str {
    if mode.format == Format::Trommel { "OPTIONS ('live_row_filters' 'always')" } else { "" }
}
