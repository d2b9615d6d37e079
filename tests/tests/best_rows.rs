// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A scan below a TopK puts out no more rows of a morsel than the TopK can want, and all that it can want.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion::physical_plan::{ExecutionPlan, collect};
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

/// The scan of the table with many rows puts out this many of them.
fn put_out(plan: &dyn ExecutionPlan) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("pushdown_rows_matched"));
    let own = own.map_or(0, |rows| rows.as_usize());
    plan.children().into_iter().map(|child| put_out(child.as_ref())).fold(own, usize::max)
}

/// 1 000 rows: `k` rises, `n` too and every hundredth is NULL, `c` takes ten values. `few` has the keys 3, 5 and 7.
#[rstest]
#[case::greatest("SELECT k FROM t ORDER BY k DESC LIMIT 3", &[Some(999), Some(998), Some(997)], 3..=6)]
#[case::with_an_offset("SELECT k FROM t ORDER BY k DESC LIMIT 2 OFFSET 1", &[Some(998), Some(997)], 3..=6)]
#[case::nulls_are_the_best("SELECT n FROM t ORDER BY n DESC NULLS FIRST LIMIT 2", &[None, None], 2..=10)]
#[case::nulls_are_the_worst("SELECT n FROM t ORDER BY n DESC NULLS LAST LIMIT 2", &[Some(999), Some(998)], 2..=4)]
#[case::some_nulls("SELECT n FROM t ORDER BY n NULLS FIRST LIMIT 11 OFFSET 9", &[None, Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), Some(8), Some(9), Some(10)], 20..=40)]
#[case::ties_on_the_first_key("SELECT k FROM t ORDER BY c DESC, k DESC LIMIT 2", &[Some(999), Some(989)], 100..=100)]
#[case::of_the_rows_that_a_filter_leaves("SELECT k FROM t WHERE c = 4 ORDER BY k DESC LIMIT 2", &[Some(994), Some(984)], 2..=4)]
#[case::rows_that_a_join_may_drop("SELECT t.k FROM t JOIN few ON t.k = few.k ORDER BY t.k DESC LIMIT 2", &[Some(7), Some(5)], 3..=1000)]
#[case::rows_that_a_filter_above_may_drop("SELECT k FROM (SELECT k, k + random() * 0 AS j FROM t) WHERE j < 10 ORDER BY k DESC LIMIT 2", &[Some(9), Some(8)], 1000..=1000)]
#[case::most_rows_are_wanted("SELECT k FROM t ORDER BY k LIMIT 300 OFFSET 298", &[Some(298), Some(299)], 598..=1000)]
#[tokio::test]
async fn what_a_topk_may_want(
    #[case] sql: &str,
    #[case] expect: &[Option<i64>],
    #[case] rows: std::ops::RangeInclusive<usize>,
    #[values(1, 2)] partitions: usize,
) -> Result<()> {
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, partitions) }.session();
    let many = integers(&[
        ("k", (0..1000).map(Some).collect()),
        ("n", (0..1000).map(|k| (k % 100 != 0).then_some(k)).collect()),
        ("c", (0..1000).map(|k| Some(k % 10)).collect()),
    ])?;
    let few = integers(&[("k", vec![Some(3), Some(5), Some(7)])])?;
    let (many, few) = (Folder::new(&[many], 1000)?, Folder::new(&[few], 10)?);
    many.create(&session, "t", Format::Trommel, "").await?;
    few.create(&session, "few", Format::Trommel, "").await?;
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await?;
    let got: Vec<Option<i64>> =
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>()).collect();
    assert_eq!(got[..expect.len()], *expect);
    let got = put_out(plan.as_ref());
    assert!(rows.contains(&got), "{got} rows of {rows:?}");
    Ok(())
}
