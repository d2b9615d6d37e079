// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running a file in one engine, to its end.

use std::path::Path;

use anyhow::{Context, Result};
use datafusion_sqllogictest::{df_value_validator, setup_scratch_dir, value_normalizer};
use sqllogictest::{
    Location, Normalizer, Record, RecordOutput, Runner, TestErrorKind, strict_column_validator,
};

use crate::Tables;
use crate::engine::{Engine, FileSession};
use crate::file::{TestFile, statement};

/// What became of one record.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The line it starts at, after the name of the file it is included from, if it is.
    pub place: String,
    /// Its statement.
    pub sql: String,
    /// Whether Trommel was asked to scan for it.
    pub scanned: bool,
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// How a record failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// In which way.
    pub kind: FailureKind,
    /// The whole message.
    pub text: String,
}

/// In which way a record failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Another answer.
    Answer,
    /// An error, as expected, of another text.
    ErrorText,
    /// Anything else: an error instead of an answer, an answer instead of an error, columns of other types.
    Other,
}

/// Runs every record of the file, whose folder is `test_files` of the current one; `root` stands for DataFusion's
/// checkout.
///
/// # Errors
/// A file for which there is no session.
pub async fn run_file(file: &TestFile, engine: Engine, root: &str) -> Result<Vec<Outcome>> {
    let name = Path::new(&file.name);
    let session = FileSession::open(name, engine).await.with_context(|| file.name.clone())?;
    setup_scratch_dir(name)?;

    let mut runner = Runner::new(|| async { Ok(session.connect(name, root)) });
    runner.add_label("Datafusion");
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(value_normalizer);
    runner.with_validator(df_value_validator);

    let mut outcomes = Vec::new();
    for record in &file.records {
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        let sql = statement(record).unwrap_or_default();
        // Rows of several files come in no order that a table in memory would promise either.
        let any_order = engine == Engine::Trommel(Tables::All) && !has_order(sql);
        runner.with_validator(if any_order { same_rows_in_any_order } else { df_value_validator });
        let before = session.scans().count();
        let failure = match runner.run_async(record.clone()).await {
            Ok(RecordOutput::Nothing) => continue,
            Ok(_) => None,
            Err(error) => {
                let kind = match error.kind() {
                    TestErrorKind::QueryResultMismatch { .. } => FailureKind::Answer,
                    TestErrorKind::ErrorMismatch { .. } => FailureKind::ErrorText,
                    _ => FailureKind::Other,
                };
                Some(Failure { kind, text: error.to_string() })
            }
        };
        if let Some(location) = location(record) {
            let scanned = session.scans().count() > before;
            outcomes.push(Outcome { place: place(location, name), sql: sql.to_owned(), scanned, failure });
        }
    }
    runner.shutdown_async().await;
    Ok(outcomes)
}

fn location(record: &Record<datafusion_sqllogictest::DFColumnType>) -> Option<&Location> {
    match record {
        Record::Statement { loc, .. } | Record::Query { loc, .. } | Record::Let { loc, .. } => Some(loc),
        _ => None,
    }
}

/// Where a record is: its line, after the name of its file if that is included in `file`.
fn place(location: &Location, file: &Path) -> String {
    let own = Path::new(location.file()).file_name();
    let line = location.line();
    match own {
        Some(own) if Some(own) != file.file_name() => format!("{}:{line}", own.to_string_lossy()),
        _ => line.to_string(),
    }
}

/// Whether a query asks for an order anywhere.
fn has_order(sql: &str) -> bool {
    let words: Vec<_> = sql.split_whitespace().map(str::to_ascii_uppercase).collect();
    words.windows(2).any(|words| words[0].ends_with("ORDER") && words[1] == "BY")
}

/// As [`df_value_validator`], of both answers sorted.
fn same_rows_in_any_order(normalizer: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    if df_value_validator(normalizer, actual, expected) {
        return true;
    }
    let mut actual: Vec<_> = actual.iter().map(|row| normalizer(&row.join(" "))).collect();
    let mut expected: Vec<_> = expected.iter().map(normalizer).collect();
    actual.sort();
    expected.sort();
    actual == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_seen() {
        assert!(has_order("SELECT a FROM t\nORDER  BY a"));
        assert!(has_order("SELECT array_agg(a order by b) FROM t"));
        assert!(has_order("SELECT row_number() OVER (ORDER BY a) FROM t"));
        assert!(!has_order("SELECT a FROM orders GROUP BY a"));
    }

    #[test]
    fn rows_in_any_order_are_the_same_rows() {
        let same = |actual: &[&[&str]], expected: &[&str]| {
            let rows = |row: &&[&str]| row.iter().map(|value| (*value).to_owned()).collect();
            let actual: Vec<Vec<String>> = actual.iter().map(rows).collect();
            let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
            same_rows_in_any_order(value_normalizer, &actual, &expected)
        };
        assert!(same(&[&["2", "b"], &["1", "a"]], &["1 a", "2 b "]));
        assert!(!same(&[&["1", "a"], &["1", "a"]], &["1 a"]));
    }
}
