// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A folder laid out as DataFusion's SQL tests expect: the tests, what they write, and the data beside them.
//!
//! The tests name files relative to `datafusion/sqllogictest` of a checkout. They come from the package
//! `datafusion-sqllogictest`, which has no data; that is linked from a checkout and from `parquet-testing`, as far as
//! these are there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use datafusion_sqllogictest::{DFColumnType, read_dir_recursive};
use serde_json::Value;
use sqllogictest::{Record, parse_file};
use tempfile::TempDir;

/// Where data that the package doesn't hold may be.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// A checkout of DataFusion, with its submodules.
    pub checkout: Option<PathBuf>,
    /// A checkout of `parquet-testing`; else that of the checkout.
    pub parquet_testing: Option<PathBuf>,
}

/// The laid out folder, gone when dropped.
#[derive(Debug)]
pub struct Folder {
    root: TempDir,
}

impl Folder {
    /// Lays the tests of the package and the data out in a temporary folder.
    ///
    /// # Errors
    /// A package or data that can't be read.
    pub fn lay_out(data: &Data) -> Result<Self> {
        let root = TempDir::with_prefix("trommel-peer-")?;
        let home = root.path().join("datafusion/sqllogictest");
        let package = package()?;
        for part in ["test_files", "data"] {
            copy(&package.join(part), &home.join(part))?;
        }
        let link = |from: Option<PathBuf>, to: &str| -> Result<()> {
            let Some(from) = from else { return Ok(()) };
            let from = from.canonicalize().with_context(|| from.display().to_string())?;
            Ok(symlink(from, root.path().join(to))?)
        };
        let of_checkout = |part: &str| data.checkout.as_ref().map(|checkout| checkout.join(part));
        link(of_checkout("testing"), "testing")?;
        link(of_checkout("datafusion/core"), "datafusion/core")?;
        link(of_checkout("datafusion/datasource-arrow"), "datafusion/datasource-arrow")?;
        link(data.parquet_testing.clone().or_else(|| of_checkout("parquet-testing")), "parquet-testing")?;
        Ok(Self { root })
    }

    /// The folder that the tests must run in.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("datafusion/sqllogictest")
    }

    /// Every test file, in order of their names, and why it doesn't run if it doesn't.
    ///
    /// # Errors
    /// A file that can't be read or parsed.
    pub fn files(&self) -> Result<Vec<(String, Option<Skipped>)>> {
        let tests = self.home().join("test_files");
        let mut files = Vec::new();
        for path in read_dir_recursive(&tests)? {
            if path.extension().is_some_and(|extension| extension == "slt") {
                let name = path.strip_prefix(&tests)?.to_string_lossy().into_owned();
                let skipped = skipped(&name, &path)?;
                files.push((name, skipped));
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Why a file doesn't run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// It declares no external Parquet table, so that Trommel would read nothing.
    NoParquetTable,
    /// It needs the feature `parquet_encryption`.
    Encryption,
}

impl Skipped {
    /// The reason for a reader.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoParquetTable => "declares no external Parquet table, so that Trommel would read nothing",
            Self::Encryption => {
                "needs DataFusion's feature `parquet_encryption`; Trommel reads no encrypted file"
            }
        }
    }
}

fn skipped(name: &str, path: &Path) -> Result<Option<Skipped>> {
    if name == "encrypted_parquet.slt" {
        return Ok(Some(Skipped::Encryption));
    }
    let records = parse_file::<DFColumnType>(path).with_context(|| name.to_owned())?;
    let declares = records.iter().any(|record| match record {
        Record::Statement { sql, .. } | Record::Query { sql, .. } => is_parquet_table(sql),
        _ => false,
    });
    Ok((!declares).then_some(Skipped::NoParquetTable))
}

fn is_parquet_table(sql: &str) -> bool {
    let words: Vec<_> = sql.split_whitespace().map(str::to_ascii_uppercase).collect();
    words.first().is_some_and(|word| word == "CREATE")
        && words.contains(&"EXTERNAL".to_owned())
        && words.windows(3).any(|words| words[..2] == ["STORED", "AS"] && words[2].starts_with("PARQUET"))
}

/// The folder of the package `datafusion-sqllogictest`.
fn package() -> Result<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest])
        .output()?;
    ensure!(cargo.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no package")?;
    let manifest = packages
        .iter()
        .find(|package| package["name"] == "datafusion-sqllogictest")
        .and_then(|package| package["manifest_path"].as_str())
        .context("cargo metadata doesn't list datafusion-sqllogictest")?;
    Ok(Path::new(manifest).parent().unwrap_or(Path::new("/")).to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in read_dir_recursive(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::copy(&file, target).with_context(|| file.display().to_string())?;
    }
    Ok(())
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
}
