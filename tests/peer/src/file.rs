// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One file of SQL tests: its records, whether it runs, and the data it names that isn't there.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use datafusion_sqllogictest::DFColumnType;
use sqllogictest::{Record, parse_file};

use crate::Tables;

/// A file, read.
#[derive(Debug)]
pub struct TestFile {
    /// Its path below `test_files`.
    pub name: String,
    /// Its records, those of included files among them.
    pub records: Vec<Record<DFColumnType>>,
}

impl TestFile {
    /// Reads the file of this name below the folder `tests`.
    ///
    /// # Errors
    /// A file that can't be read or parsed.
    pub fn read(tests: &Path, name: String) -> Result<Self> {
        let records =
            parse_file::<DFColumnType>(tests.join(&name)).with_context(|| format!("reading {name}"))?;
        Ok(Self { name, records })
    }

    /// Why the file doesn't run, if it doesn't.
    pub fn skipped(&self, tables: Tables) -> Option<Skipped> {
        match self.name.as_str() {
            "encrypted_parquet.slt" => Some(Skipped::Encryption),
            "avro.slt" => Some(Skipped::Avro),
            _ if tables == Tables::External && !self.statements().any(is_parquet_table) => {
                Some(Skipped::NoParquetTable)
            }
            _ => None,
        }
    }

    /// The paths that its statements name and that lead nowhere from the current folder, without those of files that
    /// the tests write.
    pub fn missing(&self) -> Vec<String> {
        let named: BTreeSet<&str> = self.statements().flat_map(quoted).filter(|text| is_data(text)).collect();
        named.into_iter().filter(|path| !there(path)).map(str::to_owned).collect()
    }

    fn statements(&self) -> impl Iterator<Item = &str> {
        self.records.iter().filter_map(statement)
    }
}

/// The SQL of a record.
pub fn statement(record: &Record<DFColumnType>) -> Option<&str> {
    match record {
        Record::Statement { sql, .. } | Record::Query { sql, .. } | Record::Let { sql, .. } => Some(sql),
        _ => None,
    }
}

/// Why a file doesn't run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// It declares no external Parquet table, so that Trommel would read nothing.
    NoParquetTable,
    /// It needs the feature `avro` of the peer's tests, whose data isn't there.
    Avro,
    /// It needs the feature `parquet_encryption`.
    Encryption,
}

impl Skipped {
    /// The reason for a reader.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoParquetTable => "no external Parquet table is declared, so Trommel would read nothing",
            Self::Avro => "about Avro files, which the package doesn't hold",
            Self::Encryption => {
                "needs DataFusion's feature `parquet_encryption`; Trommel reads no encrypted files"
            }
        }
    }
}

fn is_parquet_table(sql: &str) -> bool {
    let words: Vec<_> = sql.split_whitespace().map(str::to_ascii_uppercase).collect();
    words.first().is_some_and(|word| word == "CREATE")
        && words.iter().any(|word| word == "EXTERNAL")
        && words.windows(3).any(|words| words[..2] == ["STORED", "AS"] && words[2].starts_with("PARQUET"))
}

/// What stands between single quotes.
fn quoted(sql: &str) -> impl Iterator<Item = &str> {
    sql.split('\'').skip(1).step_by(2)
}

/// Whether a text is the path of data that comes with the tests.
fn is_data(text: &str) -> bool {
    let path = text.strip_prefix("./").unwrap_or(text);
    (path.starts_with("../") || path.starts_with("test_files/") || path.starts_with("data/"))
        && !path.contains("scratch/")
}

/// Whether a path leads somewhere, as far as it holds no pattern.
fn there(path: &str) -> bool {
    let plain = path.split(['*', '[']).next().unwrap_or_default();
    let whole = plain.len() == path.len();
    let folder = if whole { plain } else { plain.rsplit_once('/').map_or("", |(folder, _)| folder) };
    Path::new(folder).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_parquet_tables_are_told_from_others() {
        assert!(is_parquet_table("create external table t stored\nas parquet location 'x'"));
        assert!(is_parquet_table("CREATE OR REPLACE EXTERNAL TABLE t STORED AS PARQUET;"));
        assert!(!is_parquet_table("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'parquet'"));
        assert!(!is_parquet_table("COPY t TO 'x' STORED AS PARQUET"));
    }

    #[test]
    fn data_is_told_from_other_text() {
        let sql = "CREATE … 'it''s' LOCATION '../core/a.csv' AND 'test_files/scratch/b/' OR 'data/c.csv'";
        assert_eq!(
            quoted(sql).filter(|text| is_data(text)).collect::<Vec<_>>(),
            ["../core/a.csv", "data/c.csv"]
        );
        assert!(there("src/*.rs") && there("src/file.rs") && !there("nowhere/*.rs") && !there("src/no.rs"));
    }
}
