// Licensed under the Apache License, Version 2.0. See LICENSE.

//! G1 and G2: DataFusion 55.2 publishes a min/max filter that forgets an aggregate.

use anyhow::Result;
use trommel_tests::files::{Folder, integers};
use trommel_tests::plan::count;
use trommel_tests::session::{Format, Mode};

use super::support::{ask, fault, plan, run};

/// Two files, each of ten row groups of 100 rows in which `v` and `k` fall from 1 000 and 2 000 on.
fn falling() -> Result<Folder> {
    let fall = |from: i64| (0..1000).map(|row| Some(from - row)).collect::<Vec<_>>();
    let file = |less: i64| integers(&[("k", fall(2000 - less)), ("v", fall(1000 - less))]);
    Folder::new(&[file(0)?, file(1)?], 100)
}

/// An aggregate over an expression has no part in the filter (apache/datafusion#24816).
#[tokio::test]
async fn an_aggregate_of_an_expression_is_not_forgotten() -> Result<()> {
    let files = falling()?;
    fault("#24816", &["1001,1000"], async |mode| {
        let session = mode.session();
        files.create(&session, "t", mode.format, "").await?;
        ask(&session, "SELECT min(k + 1), max(v) FROM t").await
    })
    .await
}

/// A partition that starts with NULLs alone keeps its bound NULL for good, and a NULL bound has no part in the filter
/// (apache/datafusion#25147).
#[tokio::test]
async fn an_aggregate_whose_bound_is_null_is_not_forgotten() -> Result<()> {
    // The best row group of each file, which any scan would read first, has no `w`.
    let best_without = |from: i64| {
        let falling = |first: i64| (first..1000).map(move |row| Some(from - row));
        let w: Vec<_> = std::iter::repeat_n(None, 100).chain(falling(100)).collect();
        integers(&[("v", falling(0).collect()), ("w", w), ("k", vec![Some(1); 1000])])
    };
    let files = Folder::new(&[best_without(1000)?, best_without(1001)?], 100)?;
    fault("#25147", &["1001,1"], async |mode| {
        // The condition keeps the engine from answering out of statistics; batches are row groups even above it.
        let session = Mode { batch_size: Some(100), ..mode }.session();
        files.create(&session, "t", mode.format, "").await?;
        ask(&session, "SELECT max(v), min(w) FROM t WHERE k + 0 = 1").await
    })
    .await
}

/// The guard must not cost what is sound: a filter of one aggregate, or one that names all, prunes in a linked session.
#[tokio::test]
async fn sound_filters_prune() -> Result<()> {
    let files = falling()?;
    for (select, right) in [("max(v)", "1000"), ("min(v)", "0"), ("max(v), max(k)", "1000,2000")] {
        let session = Mode::new(Format::Trommel, 2).session();
        files.create(&session, "t", Format::Trommel, "").await?;
        // No page is proven by this condition, so statistics can't answer.
        let plan = plan(&session, &format!("SELECT {select} FROM t WHERE k % 1 = 0")).await?;
        assert_eq!(run(&session, &plan).await?, [right], "{select}");
        assert!(count(&plan, "page_index_pages_pruned_dynamic_filter") > 0, "{select}");
    }
    Ok(())
}
