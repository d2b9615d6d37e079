// Licensed under the Apache License, Version 2.0. See LICENSE.

//! DataFusion's own SQL tests with each Parquet table read by Trommel.
//!
//! Every file runs twice in the engine of `datafusion-sqllogictest`: as it is, and with tables replaced by such as
//! Trommel reads. The answer in the file decides. A record that fails as it is too (its data isn't here, say) judges
//! nothing; one that fails with Trommel alone *differs*, and must be listed with its cause.
//!
//! | module | what it holds |
//! |---|---|
//! | [`folder`] | a folder laid out as the files expect |
//! | [`file`] | one file: its records, whether it runs |
//! | [`engine`] | the two engines |
//! | [`table`] | external Parquet tables that Trommel reads |
//! | [`tpch`] | data that one of the files needs |
//! | [`copied`] | tables in memory and of other formats, copied to files that Trommel reads |
//! | [`run`] | running a file in one engine |
//! | [`report`] | what a run found, for a reader and as the document |
//! | [`differences`] | records known to differ, with their causes |

use std::sync::Arc;

use anyhow::Result;
use futures::{StreamExt, stream};

use crate::engine::Engine;
use crate::file::TestFile;
use crate::folder::Folder;
use crate::report::{FileReport, Report};
use crate::run::run_file;

pub mod copied;
pub mod differences;
pub mod engine;
pub mod file;
pub mod folder;
pub mod report;
pub mod run;
pub mod table;
pub mod tpch;

/// Which tables Trommel reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Those of `CREATE EXTERNAL TABLE … STORED AS PARQUET`.
    External,
    /// Those of every other statement too, copied to Parquet files.
    All,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Only files whose name holds one of these, if there are any.
    pub names: Vec<String>,
    /// Which tables Trommel reads.
    pub tables: Tables,
    /// How many files run side by side.
    pub side_by_side: usize,
}

impl Plan {
    /// The files to run, and the report of those to skip.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn files(&self, folder: &Folder) -> Result<(Vec<TestFile>, Report)> {
        let tests = folder.home().join("test_files");
        let (mut files, mut report) = (Vec::new(), Report::default());
        for name in folder.files()? {
            if !self.names.is_empty() && !self.names.iter().any(|part| name.contains(part)) {
                continue;
            }
            let file = TestFile::read(&tests, name)?;
            match file.skipped(self.tables) {
                Some(reason) => report.skipped.entry(reason).or_default().push(file.name),
                None => files.push(file),
            }
        }
        Ok((files, report))
    }
}

/// Runs every file of the plan in both engines; `done` hears of each when it is done.
///
/// The current folder must be the [home](Folder::home) of `folder`.
///
/// # Errors
/// A file that can't be read, or an engine that can't be set up for it.
pub async fn run_all(
    folder: &Folder,
    plan: &Plan,
    mut done: impl FnMut(&str, &FileReport),
) -> Result<Report> {
    let (files, mut report) = plan.files(folder)?;
    if files.iter().any(|file| file.name == tpch::TESTS) {
        tpch::write_tables(&folder.home())?;
    }
    let root: Arc<str> = folder.root().to_string_lossy().into();
    let tables = plan.tables;
    let runs = files.into_iter().map(|file| {
        let root = Arc::clone(&root);
        async move {
            // One after the other: both write to the file's scratch folder.
            let stock = run_file(&file, Engine::Stock, &root).await?;
            let trommel = run_file(&file, Engine::Trommel(tables), &root).await?;
            let judged = FileReport::judge(stock, trommel, file.missing());
            Ok::<_, anyhow::Error>((file.name, judged))
        }
    });
    let mut runs = stream::iter(runs).map(tokio::spawn).buffer_unordered(plan.side_by_side);
    while let Some(run) = runs.next().await {
        let (name, file) = run??;
        done(&name, &file);
        report.files.insert(name, file);
    }
    Ok(report)
}
