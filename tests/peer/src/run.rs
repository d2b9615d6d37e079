// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running a file in one engine, to its end.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use datafusion_sqllogictest::{
    DFColumnType, DataFusion, TestContext, df_value_validator, setup_scratch_dir, value_normalizer,
};
use futures::FutureExt;
use indicatif::ProgressBar;
use sqllogictest::{Record, RecordOutput, Runner, parse_file, strict_column_validator};

use crate::table::read_parquet_by_trommel;

/// The most time a record may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who reads external Parquet tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// DataFusion's own scan.
    Stock,
    /// Trommel.
    Trommel,
}

/// What became of one record.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The line it starts at, after the name of the file it is included from, if it is.
    pub place: String,
    /// Its statement.
    pub sql: String,
    /// What went wrong.
    pub error: Option<String>,
}

/// What became of the records of a file.
#[derive(Debug, Clone, Default)]
pub struct Outcomes {
    /// Those that ran, in order.
    pub records: Vec<Outcome>,
    /// How many scans of Parquet tables Trommel planned.
    pub scans: usize,
}

/// Runs every record of the file of this name below `test_files` of the current folder.
///
/// # Errors
/// A file that can't be read, or for which there is no session.
pub async fn run_file(name: &str, engine: Engine) -> Result<Outcomes> {
    let relative = PathBuf::from(name);
    let path = Path::new("test_files").join(&relative).canonicalize().with_context(|| name.to_owned())?;
    let context = TestContext::try_new_for_test_file(&relative).await.context("a feature is missing")?;
    let session = context.session_ctx();
    let scans = match engine {
        Engine::Stock => Arc::new(AtomicUsize::new(0)),
        Engine::Trommel => read_parquet_by_trommel(session),
    };
    setup_scratch_dir(&relative)?;

    let mut runner = Runner::new(|| async {
        Ok(DataFusion::new(session.clone(), relative.clone(), ProgressBar::hidden()))
    });
    runner.add_label("Datafusion");
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(value_normalizer);
    runner.with_validator(df_value_validator);

    let mut records = Vec::new();
    for record in parse_file::<DFColumnType>(&path)? {
        let (loc, sql) = match &record {
            Record::Halt { .. } => break,
            Record::Statement { loc, sql, .. } | Record::Query { loc, sql, .. } => (Some(loc), sql.clone()),
            _ => (None, String::new()),
        };
        let place = loc.map(|loc| {
            let included = Path::new(loc.file()).file_name() != relative.file_name();
            let file = Path::new(loc.file()).file_name().unwrap_or_default().to_string_lossy();
            if included { format!("{file}:{}", loc.line()) } else { loc.line().to_string() }
        });
        let outcome = AssertUnwindSafe(runner.run_async(record)).catch_unwind();
        let error = match tokio::time::timeout(PATIENCE, outcome).await {
            Ok(Ok(Ok(RecordOutput::Nothing))) => continue,
            Ok(Ok(Ok(_))) => None,
            Ok(Ok(Err(error))) => Some(error.to_string()),
            Ok(Err(_)) => Some("a panic".to_owned()),
            Err(_) => Some(format!("no answer after {} s", PATIENCE.as_secs())),
        };
        if let Some(place) = place {
            records.push(Outcome { place, sql, error });
        }
    }
    runner.shutdown_async().await;
    Ok(Outcomes { records, scans: scans.load(Ordering::Relaxed) })
}
