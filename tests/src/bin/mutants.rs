// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Puts each fault of `mutants.txt` into a copy of the workspace and runs the test that must notice it.
//!
//! Prints `killed`, `SURVIVED` or `invalid` (it doesn't compile, or no longer fits) for each; exits 1 unless all are
//! killed. The copy lies in `target/mutants` and shares the dependencies already built.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use trommel_tests::mutants::Mutant;

/// Shows that the tests notice the faults listed in mutants.txt.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only the mutants whose name holds this.
    name: Option<String>,
    /// Only print their names.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode> {
    let Arguments { name, list } = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no workspace")?;
    let mut mutants = Mutant::parse_list(&fs::read_to_string(root.join("tests/mutants.txt"))?)?;
    mutants.retain(|mutant| name.as_ref().is_none_or(|name| mutant.name.contains(name)));
    if list {
        mutants.iter().for_each(|mutant| println!("{}", mutant.name));
        return Ok(ExitCode::SUCCESS);
    }

    let workspace = Copy::of(root)?;
    let tests: BTreeSet<&[String]> = mutants.iter().map(|mutant| mutant.test.as_slice()).collect();
    for test in tests {
        ensure!(workspace.cargo(test, &[])?, "without any mutant `cargo {}` fails", test.join(" "));
    }
    let mut killed = 0;
    for mutant in &mutants {
        let verdict = verdict(mutant, &workspace)?;
        println!("{verdict} {}", mutant.name);
        killed += usize::from(verdict == "killed");
    }
    println!("{killed} of {} killed", mutants.len());
    Ok(if killed == mutants.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn verdict(mutant: &Mutant, workspace: &Copy) -> Result<&'static str> {
    let file = workspace.root.join(&mutant.file);
    let source = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let Ok(changed) = mutant.apply(&source) else { return Ok("invalid") };
    fs::write(&file, changed)?;
    let verdict = if !workspace.cargo(&mutant.test, &["--no-run"])? {
        "invalid"
    } else if workspace.cargo(&mutant.test, &[])? {
        "SURVIVED"
    } else {
        "killed"
    };
    fs::write(&file, source)?;
    Ok(verdict)
}

/// A copy of the workspace to change.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of(root: &Path) -> Result<Self> {
        let target = root.join("target");
        let copy = target.join("mutants");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        let files = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()?;
        ensure!(files.status.success(), "cannot list the files of {}", root.display());
        for file in String::from_utf8(files.stdout)?.lines() {
            let to = copy.join(file);
            fs::create_dir_all(to.parent().context("no folder")?)?;
            if root.join(file).is_file() {
                fs::copy(root.join(file), to)?;
            }
        }
        Ok(Self { root: copy, target })
    }

    /// Whether a cargo command succeeds; `more` goes before any `--` of it.
    fn cargo(&self, arguments: &[String], more: &[&str]) -> Result<bool> {
        let own = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let status = Command::new("cargo")
            .args(&arguments[..own])
            .args(more)
            .args(&arguments[own..])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(status.success())
    }
}
