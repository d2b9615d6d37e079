// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G5: after `reset_plan_states` a scan has forgotten what it learnt from filters of the run before.

use std::sync::Arc;

use anyhow::{Context, Result};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion_trommel::FilteredReadExec;
use trommel_tests::files::{Folder, integers};
use trommel_tests::plan::{count, scans};
use trommel_tests::session::{Format, Mode};

use super::support::{ask, fault, leaf, plan, right_everywhere, run};

/// Ten row groups of 100 rows, each with one small `r` of its own among large ones.
fn spread() -> Result<Folder> {
    let value = |row: i64| if row % 100 == 50 { row / 100 } else { 1000 + row };
    let rows = integers(&[("r", (0..1000).map(|row| Some(value(row))).collect())])?;
    Folder::new(&[rows], 100)
}

const TOP: &str = "SELECT r FROM t ORDER BY r LIMIT 5";

/// The sort makes a new filter, the scan keeps the old one with its last, sharpest bound (apache/datafusion#19905).
#[tokio::test]
async fn a_topk_runs_again() -> Result<()> {
    let files = spread()?;
    fault("#19905", &["0", "1", "2", "3", "4"], async |mode| {
        let session = mode.session();
        files.create(&session, "t", mode.format, "").await?;
        let plan = plan(&session, TOP).await?;
        let first = run(&session, &plan).await?;
        assert_eq!(first, ["0", "1", "2", "3", "4"], "{mode}");
        run(&session, &reset_plan_states(plan)?).await
    })
    .await
}

#[tokio::test]
async fn joins_and_aggregates_run_again() -> Result<()> {
    let files = spread()?;
    let few = Folder::new(&[integers(&[("r", vec![Some(3), Some(7), Some(1234)])])?], 100)?;
    for (sql, right) in [
        ("SELECT count(*), max(t.r) FROM few JOIN t ON few.r = t.r", "3,1234"),
        ("SELECT min(r), max(r) FROM t WHERE r % 1 = 0", "0,1999"),
    ] {
        right_everywhere(&[right, right, right], async |mode| {
            let session = mode.session();
            files.create(&session, "t", mode.format, "").await?;
            few.create(&session, "few", mode.format, "").await?;
            let mut plan = plan(&session, sql).await?;
            let mut answers = run(&session, &plan).await?;
            for _ in 0..2 {
                plan = reset_plan_states(plan)?;
                answers.extend(run(&session, &plan).await?);
            }
            Ok(answers)
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_reset_scan_is_a_scan_without_a_past() -> Result<()> {
    let files = spread()?;
    let session = Mode::new(Format::Trommel, 1).session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let plan = plan(&session, TOP).await?;
    run(&session, &plan).await?;
    let used = leaf(&plan);
    assert!(count(&used, "output_rows") > 0);

    let fresh = Arc::clone(&used).reset_state()?;
    let scan: &FilteredReadExec = fresh.downcast_ref().context("a reset scan is a scan")?;
    assert!(scan.live_filters().is_empty());
    assert_eq!(count(&fresh, "output_rows"), 0, "it has metrics of its own");
    assert_eq!(run(&session, &fresh).await?.len(), 1000, "and reads everything");
    assert_eq!(scans(&plan)[0].live_filters().len(), 1, "the old one stays as it is");
    assert_eq!(ask(&session, TOP).await?, ["0", "1", "2", "3", "4"], "a plan of its own shares nothing");
    Ok(())
}
