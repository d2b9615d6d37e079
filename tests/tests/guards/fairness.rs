// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A long run of skipped zones gives other tasks their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};
use rstest::rstest;
use trommel_tests::files::{create, integers, parquet};
use trommel_tests::session::{Format, Mode};
use trommel_tests::store::{WATCHED, Watched, put_into};

use super::support::{leaf, listening, orphan, plan, run};

const ZONES: usize = 20_000;

/// One thread runs the scan, a task that only counts its turns, and a timer.
#[rstest]
#[case::row_groups(1, ZONES / 1024)]
#[case::pages_of_one_row_group(ZONES, 0)]
#[tokio::test(flavor = "current_thread")]
async fn skipping_zones_starves_nobody(#[case] row_group_rows: usize, #[case] least: usize) -> Result<()> {
    let rows = integers(&[("k", (0..ZONES as i64).map(Some).collect())])?;
    let store = Watched::files([("t/0.parquet".to_owned(), parquet(&rows, row_group_rows, 1)?)]).await?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 1) }.session();
    put_into(&store, &session)?;
    create(&session, "t", Format::Trommel, "", &format!("{WATCHED}t/")).await?;
    let scan = leaf(&plan(&session, "SELECT k FROM t").await?);
    let filter = orphan(&scan);
    let scan = listening(&scan, &filter)?;
    filter.update(Arc::new(BinaryExpr::new(Arc::new(Column::new("k", 0)), Operator::LtEq, lit(-1i64))))?;

    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let counter = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let timer = tokio::spawn(async {
        let (mut late, period) = (Duration::ZERO, Duration::from_millis(5));
        for _ in 0..20 {
            let start = Instant::now();
            tokio::time::sleep(period).await;
            late = late.max(start.elapsed().saturating_sub(period));
        }
        late
    });
    let before = store.requests();
    let start = Instant::now();
    assert_eq!(run(&session, &scan).await?.len(), 0);
    let elapsed = start.elapsed();
    let turns = turns.load(Ordering::Relaxed);
    counter.abort();
    assert_eq!(store.requests(), before, "zones skipped before reading cost no request");
    assert!(turns >= least, "{turns} turns while {ZONES} zones were skipped in {elapsed:?}");
    let late = timer.await?;
    assert!(late < Duration::from_millis(500), "a timer was {late:?} late");
    Ok(())
}
