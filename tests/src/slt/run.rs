// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running files of SQL cases in one mode.
//!
//! Each file runs in a fresh session, to its end: a failing record is reported and the next one runs. Its text may use
//! `${CASES}` (its own folder, absolute), `${SCRATCH}` (an empty folder, one for each run) and `${FORMAT}`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sqllogictest::{Normalizer, Record, RecordOutput, Runner, parse_file, strict_column_validator};
use tempfile::TempDir;

use super::column::Column;
use super::database::{Database, Faults};
use super::report::{CaseId, Failure, Report};
use crate::session::Mode;

/// Runs every `.slt` file among or below `paths`, in order of their names.
///
/// # Errors
/// A path that doesn't exist or holds no case, or a file that can't be read. A file that can't be parsed is a failing
/// record.
pub async fn run(paths: &[PathBuf], mode: &Mode) -> Result<Report> {
    let scratch = TempDir::with_prefix("trommel-slt-")?;
    let mut report = Report::default();
    for path in paths {
        for file in files(path)? {
            report.extend(run_file(&file, mode, scratch.path()).await?);
        }
    }
    Ok(report)
}

/// The case files at or below `path`.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "slt") {
                found.push(path);
            }
        }
    }
    ensure!(!found.is_empty(), "no .slt file in {}", path.display());
    found.sort();
    Ok(found)
}

async fn run_file(file: &Path, mode: &Mode, scratch: &Path) -> Result<Report> {
    let file = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut case = CaseId { file: name, case: String::new() };
    let mut report = Report::default();

    let records = match parse_file::<Column>(&file) {
        Ok(records) => records,
        Err(error) => {
            report.failures.push(Failure { case, message: format!("{error:?}") });
            return Ok(report);
        }
    };

    let faults = Faults::default();
    let session = mode.session();
    let mut runner = Runner::new(|| {
        let database = Database::new(session.clone(), faults.clone());
        async move { Ok(database) }
    });
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(trimmed);
    runner.with_validator(same_lines);
    runner.set_var("CASES".to_owned(), folder.to_string_lossy().into_owned());
    runner.set_var("SCRATCH".to_owned(), scratch.to_string_lossy().into_owned());
    runner.set_var("FORMAT".to_owned(), mode.format.to_string());

    for record in records {
        match &record {
            Record::Halt { .. } => break,
            Record::Comment(lines) => {
                if let Some(name) = lines.iter().rev().find_map(|line| case_name(line)) {
                    case.case = name.to_owned();
                    report.cases.insert(case.clone());
                }
            }
            _ => {}
        }
        let outcome = runner.run_async(record).await;
        let faults = faults.take();
        let message = match outcome {
            _ if !faults.is_empty() => faults.join("\n"),
            Ok(RecordOutput::Nothing) => continue,
            Ok(_) => {
                report.passed += 1;
                continue;
            }
            Err(error) => error.to_string(),
        };
        report.failures.push(Failure { case: case.clone(), message });
    }
    runner.shutdown_async().await;
    Ok(report)
}

/// The NAME of a comment line ` case NAME: …`.
fn case_name(comment: &str) -> Option<&str> {
    comment.trim_start().strip_prefix("case ")?.split(':').next().map(str::trim)
}

/// White space at the end of a line means nothing.
#[allow(clippy::ptr_arg)] // the type sqllogictest asks for
fn trimmed(line: &String) -> String {
    line.trim_end().to_owned()
}

/// Whether each row, its values joined by one blank, is the expected line.
fn same_lines(normalizer: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    actual.len() == expected.len()
        && actual.iter().zip(expected).all(|(row, line)| normalizer(&row.join(" ")) == normalizer(line))
}
