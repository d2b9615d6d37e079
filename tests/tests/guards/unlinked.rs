// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Sessions without `LinkDynamicFilters`: what is believed by its shape alone.

use anyhow::Result;
use datafusion::prelude::SessionContext;
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::plan::count;
use trommel_tests::session::{Format, Mode};

use super::support::{ask, plan, run};

/// 2 000 rows in row groups of 100, `k` rising.
async fn session(linked: bool, partitions: usize) -> Result<(SessionContext, Folder)> {
    let column = |value: fn(i64) -> i64| (0..2000).map(|row| Some(value(row))).collect::<Vec<_>>();
    let rows = integers(&[("k", column(|k| k)), ("v", column(|k| k % 7))])?;
    let files = Folder::new(&[rows.slice(0, 1000), rows.slice(1000, 1000)], 100)?;
    let session = Mode { linked, ..Mode::new(Format::Trommel, partitions) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    Ok((session, files))
}

async fn pruned(session: &SessionContext, sql: &str, right: &[&str]) -> Result<bool> {
    let plan = plan(session, sql).await?;
    assert_eq!(run(session, &plan).await?, right, "{sql}");
    Ok(count(&plan, "row_groups_pruned_dynamic_filter") > 0)
}

#[rstest]
#[case::topk("SELECT k FROM t ORDER BY k LIMIT 3")]
#[case::join("SELECT a.k FROM t a JOIN t b ON a.k = b.v")]
#[tokio::test]
async fn explain_says_so(#[case] sql: &str) -> Result<()> {
    for (format, mark) in [("indent", "linked=false"), ("tree", "linked: false")] {
        for linked in [true, false] {
            let (session, _files) = session(linked, 1).await?;
            let text = ask(&session, &format!("EXPLAIN FORMAT {format} {sql}")).await?.join("\n");
            assert_eq!(text.contains(mark), !linked, "{text}");
        }
    }
    // A scan without live filters has nothing to link.
    let (session, _files) = session(false, 1).await?;
    assert!(!ask(&session, "EXPLAIN SELECT k FROM t").await?.join("\n").contains("linked"));
    Ok(())
}

/// A lone strict comparison may be half of a min/max filter, unless a sort asked for that very key.
#[rstest]
#[case::linked_asked(true, true, true)]
#[case::linked_not_asked(true, false, true)]
#[case::plain_asked(false, true, true)]
#[case::plain_not_asked(false, false, false)]
#[tokio::test]
async fn a_lone_topk(#[case] linked: bool, #[case] asked: bool, #[case] believed: bool) -> Result<()> {
    let (session, _files) = session(linked, 1).await?;
    session.sql(&format!("SET datafusion.optimizer.enable_sort_pushdown = {asked}")).await?;
    let sql = "SELECT k FROM t ORDER BY k LIMIT 3";
    assert_eq!(pruned(&session, sql, &["0", "1", "2"]).await?, believed);
    Ok(())
}

/// What no min/max filter looks like is believed.
#[rstest]
#[case::two_keys("SELECT k FROM t ORDER BY k, v LIMIT 3", &["0", "1", "2"])]
#[case::nulls_first("SELECT k FROM t ORDER BY k NULLS FIRST LIMIT 3", &["0", "1", "2"])]
#[case::join("SELECT count(*) FROM (VALUES (5), (1999)) u(x) JOIN t ON u.x = t.k", &["2"])]
#[tokio::test]
async fn shapes_that_can_be_told(
    #[case] sql: &str,
    #[case] right: &[&str],
    #[values(true, false)] linked: bool,
) -> Result<()> {
    let (session, _files) = session(linked, 1).await?;
    session.sql("SET datafusion.optimizer.enable_sort_pushdown = false").await?;
    assert!(pruned(&session, sql, right).await?);
    Ok(())
}

/// A min/max filter is never believed, however sound it may be: nothing tells it from half of one.
#[rstest]
#[case::max("SELECT max(k) FROM t WHERE v % 1 = 0", "1999")]
#[case::both("SELECT min(k), max(k) FROM t WHERE v % 1 = 0", "0,1999")]
#[tokio::test]
async fn aggregates(#[case] sql: &str, #[case] right: &str) -> Result<()> {
    let (session, _files) = session(false, 2).await?;
    assert!(!pruned(&session, sql, &[right]).await?);
    Ok(())
}
