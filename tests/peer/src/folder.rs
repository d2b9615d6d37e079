// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A folder laid out as DataFusion's SQL tests expect: the tests, what they write, and the data beside them.
//!
//! The tests name files relative to `datafusion/sqllogictest` of a checkout of DataFusion. They come from the package
//! `datafusion-sqllogictest`, which has little data; the rest is linked from packages, from a checkout and from
//! `parquet-testing`, as far as these are there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use datafusion_sqllogictest::read_dir_recursive;
use serde_json::Value;
use tempfile::TempDir;

/// Where data that the package doesn't hold may be.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// A checkout of DataFusion, with its submodules.
    pub checkout: Option<PathBuf>,
    /// A checkout of `parquet-testing`; without it, that of the checkout of DataFusion.
    pub parquet_testing: Option<PathBuf>,
}

/// The laid out folder, gone when dropped.
#[derive(Debug)]
pub struct Folder {
    temporary: TempDir,
    /// Its path without symbolic links, as tests print it.
    root: PathBuf,
}

impl Folder {
    /// Lays the tests of the package and the data out in a temporary folder.
    ///
    /// # Errors
    /// A package or data that can't be read.
    pub fn lay_out(data: &Data) -> Result<Self> {
        let temporary = TempDir::with_prefix("trommel-peer-")?;
        let root = temporary.path().canonicalize()?;
        let folder = Self { temporary, root };
        let packages = packages()?;
        let tests = package(&packages, "datafusion-sqllogictest")?;
        for part in ["test_files", "data"] {
            copy(&tests.join(part), &folder.home().join(part))?;
        }

        let of_checkout = |part: &str| data.checkout.as_ref().map(|checkout| checkout.join(part));
        let arrow_files = match of_checkout("datafusion/datasource-arrow") {
            Some(arrow_files) => arrow_files,
            None => package(&packages, "datafusion-datasource-arrow")?,
        };
        folder.link(Some(arrow_files), "datafusion/datasource-arrow")?;
        folder.link(of_checkout("datafusion/core"), "datafusion/core")?;
        folder.link(of_checkout("testing"), "testing")?;
        let parquet_testing = data.parquet_testing.clone().or_else(|| of_checkout("parquet-testing"));
        folder.link(parquet_testing, "parquet-testing")?;
        Ok(folder)
    }

    fn link(&self, from: Option<PathBuf>, to: &str) -> Result<()> {
        let Some(from) = from else { return Ok(()) };
        let from = from.canonicalize().with_context(|| from.display().to_string())?;
        Ok(symlink(from, self.root.join(to))?)
    }

    /// What stands for the root of a checkout of DataFusion.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that the tests must run in.
    pub fn home(&self) -> PathBuf {
        self.root.join("datafusion/sqllogictest")
    }

    /// The name of every test file, below `test_files`, in order.
    ///
    /// # Errors
    /// A folder that can't be read.
    pub fn files(&self) -> Result<Vec<String>> {
        let tests = self.home().join("test_files");
        let mut files = Vec::new();
        for path in read_dir_recursive(&tests)? {
            if path.extension().is_some_and(|extension| extension == "slt") {
                files.push(path.strip_prefix(&tests)?.to_string_lossy().into_owned());
            }
        }
        files.sort();
        Ok(files)
    }

    /// Removes the folder, which dropping it does too, but tells no error.
    ///
    /// # Errors
    /// Something in it that can't be removed.
    pub fn remove(self) -> Result<()> {
        Ok(self.temporary.close()?)
    }
}

/// What cargo tells of the packages that this one is built with.
fn packages() -> Result<Value> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest])
        .output()?;
    ensure!(cargo.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&cargo.stderr));
    Ok(serde_json::from_slice(&cargo.stdout)?)
}

/// The folder of a package's sources.
fn package(packages: &Value, name: &str) -> Result<PathBuf> {
    let packages = packages["packages"].as_array().context("cargo metadata lists no package")?;
    let manifest = packages
        .iter()
        .find(|package| package["name"] == name)
        .and_then(|package| package["manifest_path"].as_str())
        .with_context(|| format!("cargo metadata doesn't list {name}"))?;
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
