// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Puts each fault of `mutants.txt` into a copy of the workspace and runs the test that must notice it.
//!
//! Each gets a line, `killed NAME: by the tests that failed`, `SURVIVED NAME` or `INVALID NAME: why` (it doesn't
//! compile, or no longer fits); the exit code is 1 unless all are killed. The copy lies in `target/mutants`. It shares
//! the dependencies already built, and what is built of itself lasts from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use trommel_tests::mutants::{Mutant, failed_tests};

/// Shows that the tests notice the faults listed in mutants.txt.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only the mutants whose name or file holds this.
    name: Option<String>,
    /// Only print them.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode> {
    let Arguments { name, list } = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no workspace")?;
    let mut mutants = Mutant::parse_list(&fs::read_to_string(root.join("tests/mutants.txt"))?)?;
    mutants.retain(|m| name.as_ref().is_none_or(|name| m.name.contains(name) || m.file.contains(name)));
    if list {
        mutants.iter().for_each(|m| println!("{}: {}, cargo {}", m.name, m.file, m.test.join(" ")));
        return Ok(ExitCode::SUCCESS);
    }

    let workspace = Copy::of(root)?;
    let tests: BTreeSet<&[String]> = mutants.iter().map(|mutant| mutant.test.as_slice()).collect();
    for test in tests {
        let outcome = workspace.cargo(test, &[])?;
        ensure!(outcome.passed, "without any mutant `cargo {}` fails:\n{}", test.join(" "), outcome.output);
    }
    println!("without mutants all tests pass");

    let mut killed = 0;
    for mutant in &mutants {
        let start = Instant::now();
        let verdict = verdict(mutant, &workspace)?;
        println!("{verdict} ({:.0} s)", start.elapsed().as_secs_f32());
        killed += usize::from(matches!(verdict, Verdict::Killed { .. }));
    }
    println!("{killed} of {} killed", mutants.len());
    Ok(if killed == mutants.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of a mutant.
enum Verdict<'a> {
    Killed { name: &'a str, by: Vec<String> },
    Survived { name: &'a str },
    Invalid { name: &'a str, why: String },
}

impl Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { name, by } => match by.as_slice() {
                [] => write!(f, "killed {name}: by a crash"),
                [test] => write!(f, "killed {name}: by {test}"),
                [test, more @ ..] => write!(f, "killed {name}: by {test} and {} more", more.len()),
            },
            Self::Survived { name } => write!(f, "SURVIVED {name}"),
            Self::Invalid { name, why } => write!(f, "INVALID {name}: {why}"),
        }
    }
}

fn verdict<'a>(mutant: &'a Mutant, workspace: &Copy) -> Result<Verdict<'a>> {
    let name = mutant.name.as_str();
    let file = workspace.root.join(&mutant.file);
    let source = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let changed = match mutant.apply(&source) {
        Ok(changed) => changed,
        Err(why) => return Ok(Verdict::Invalid { name, why: why.to_string() }),
    };
    fs::write(&file, changed)?;
    let built = workspace.cargo(&mutant.test, &["--no-run"])?;
    let outcome = if built.passed { workspace.cargo(&mutant.test, &[])? } else { built };
    fs::write(&file, source)?;
    workspace.tidy()?;
    Ok(match outcome {
        Outcome { passed: true, .. } => Verdict::Survived { name },
        Outcome { output, tested: true, .. } => Verdict::Killed { name, by: failed_tests(&output) },
        Outcome { output, .. } => Verdict::Invalid { name, why: output },
    })
}

/// A copy of the workspace to change.
struct Copy {
    root: PathBuf,
    target: PathBuf,
    files: BTreeMap<PathBuf, PathBuf>,
}

/// What a cargo command came to.
struct Outcome {
    passed: bool,
    /// Whether tests were run at all.
    tested: bool,
    output: String,
}

impl Copy {
    fn of(root: &Path) -> Result<Self> {
        let target = root.join("target");
        let copy = target.join("mutants");
        let files = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()?;
        ensure!(files.status.success(), "cannot list the files of {}", root.display());
        let files = String::from_utf8(files.stdout)?;
        let files = files.lines().map(|file| (copy.join(file), root.join(file)));
        let workspace =
            Self { files: files.filter(|(_, from)| from.is_file()).collect(), root: copy, target };
        for (to, from) in &workspace.files {
            // What is as it was keeps its time, so that cargo doesn't build it again.
            let content = fs::read(from)?;
            if fs::read(to).ok().as_ref() != Some(&content) {
                fs::create_dir_all(to.parent().context("no folder")?)?;
                fs::write(to, content)?;
            }
        }
        workspace.tidy()?;
        Ok(workspace)
    }

    /// Removes what tests left behind: a remembered failure of one mutant must not help to kill another.
    fn tidy(&self) -> io::Result<()> {
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else if !self.files.contains_key(&entry.path()) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Runs a cargo command; `more` goes before any `--` of it.
    fn cargo(&self, arguments: &[String], more: &[&str]) -> Result<Outcome> {
        let own = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let output = Command::new("cargo")
            .args(&arguments[..own])
            .arg("--quiet")
            .args(more)
            .args(&arguments[own..])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .output()?;
        let streams = [output.stdout, output.stderr].concat();
        Ok(Outcome {
            passed: output.status.success(),
            tested: !more.contains(&"--no-run"),
            output: String::from_utf8_lossy(&streams).into_owned(),
        })
    }
}
