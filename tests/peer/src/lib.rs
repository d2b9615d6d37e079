// Licensed under the Apache License, Version 2.0. See LICENSE.

//! DataFusion's own SQL tests with each Parquet table read by Trommel.
//!
//! Every file runs twice in the engine of `datafusion-sqllogictest`: as it is, and with each external Parquet table
//! replaced by one that Trommel reads. The answer in the file decides. A record that fails as it is too (its data isn't
//! here, say) judges nothing; one that fails with Trommel alone *differs*, and must be listed with its cause.
//!
//! | module | what it holds |
//! |---|---|
//! | [`folder`] | a folder laid out as the files expect, and which files run |
//! | [`table`] | Parquet tables that Trommel reads |
//! | [`run`] | running a file in one engine |
//! | [`differences`] | records known to differ, with their causes |
//! | [`report`] | what a run found, for a reader and as the document |

use anyhow::Result;
use futures::{StreamExt, stream};

use crate::folder::Folder;
use crate::report::{FileReport, Report};
use crate::run::{Engine, run_file};

pub mod differences;
pub mod folder;
pub mod report;
pub mod run;
pub mod table;

/// How many files run side by side.
const SIDE_BY_SIDE: usize = 4;

/// Runs every file whose name holds one of `names`, if there are any, in both engines.
///
/// The current folder must be the [home](Folder::home) of `folder`.
///
/// # Errors
/// A file that can't be read.
pub async fn run_all(folder: &Folder, names: &[String]) -> Result<Report> {
    let mut report = Report::default();
    let mut files = Vec::new();
    for (name, skipped) in folder.files()? {
        if !names.is_empty() && !names.iter().any(|part| name.contains(part)) {
            continue;
        }
        match skipped {
            Some(reason) => report.skipped.entry(reason).or_default().push(name),
            None => files.push(name),
        }
    }
    let runs = files.into_iter().map(|name| async move {
        // One after the other: both write to the file's scratch folder.
        let stock = run_file(&name, Engine::Stock).await?;
        let trommel = run_file(&name, Engine::Trommel).await?;
        Ok::<_, anyhow::Error>((name, FileReport::judge(stock, trommel)))
    });
    let mut runs = stream::iter(runs).map(tokio::spawn).buffer_unordered(SIDE_BY_SIDE);
    while let Some(run) = runs.next().await {
        let (name, file) = run??;
        report.files.insert(name, file);
    }
    Ok(report)
}
