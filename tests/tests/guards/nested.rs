// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G12: a TopK by a nested key publishes a filter in another order than its own; no scan may use it.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array, StructArray};
use arrow::datatypes::{DataType, Field};
use arrow::record_batch::RecordBatch;
use rstest::rstest;
use trommel_tests::files::Folder;
use trommel_tests::plan::{count, scans};
use trommel_tests::session::{Format, Mode};

use super::support::{ask, plan, run};

/// A struct column in row groups of 100 rows; in the last its field is NULL, which comes first in descending order.
fn structs() -> Result<Folder> {
    let values = (0..400).map(|row| (row < 300).then_some(1000 - row));
    let field: ArrayRef = Arc::new(Int64Array::from_iter(values));
    let nested = StructArray::from(vec![(Arc::new(Field::new("a", DataType::Int64, true)), field)]);
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..400));
    let nested: ArrayRef = Arc::new(nested);
    Folder::new(&[RecordBatch::try_from_iter_with_nullable([("s", nested, true), ("id", id, true)])?], 100)
}

#[rstest]
#[tokio::test]
async fn a_topk_by_a_nested_key_prunes_nothing(
    #[values("s DESC", "s", "id, s DESC", "s NULLS FIRST, id")] order: &str,
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let files = structs()?;
    let session = Mode { linked, ..Mode::new(Format::Trommel, 1) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let plan = plan(&session, &format!("SELECT id FROM t ORDER BY {order} LIMIT 2")).await?;
    if linked {
        assert!(scans(&plan).iter().all(|scan| scan.live_filters().is_empty()), "the filter is dropped");
    }
    run(&session, &plan).await?;
    for name in ["row_groups_pruned_dynamic_filter", "page_index_pages_pruned_dynamic_filter"] {
        assert_eq!(count(&plan, name), 0, "{name}");
    }
    Ok(())
}

/// What the guard is for, and why no scan can do more: the sort itself drops rows by that filter, in memory too. Without
/// the limit the first row is another one.
#[tokio::test]
async fn the_engine_disagrees_with_itself() -> Result<()> {
    let session = Mode::new(Format::Parquet, 1).session();
    session.sql("SET datafusion.execution.batch_size = 100").await?;
    let files = structs()?;
    files.create(&session, "files", Format::Parquet, "").await?;
    session.sql("CREATE TABLE t AS SELECT * FROM files").await?;
    let sorted = ask(&session, "SELECT s FROM t ORDER BY s DESC").await?;
    let limited = ask(&session, "SELECT s FROM t ORDER BY s DESC LIMIT 1").await?;
    assert_ne!(sorted[0], limited[0], "DataFusion is mended: G12 can go");
    Ok(())
}
