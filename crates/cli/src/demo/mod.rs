// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel demo`: the same queries over the same files on Trommel's scan and on DataFusion's own.
//!
//! | module | what it holds |
//! |---|---|
//! | [`layout`] | how TPC-H tables are laid out in Parquet |
//! | [`data`] | writing them, finding those already there |
//! | [`counting_store`] | an object store that counts what is read |
//! | [`queries`] | the queries |
//! | [`engines`] | the scans, and one run of a query on one of them |
//! | [`answer`] | when two answers are equal |
//! | [`report`] | the table of results |

pub mod answer;
pub mod counting_store;
pub mod data;
pub mod engines;
pub mod layout;
pub mod queries;
pub mod report;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tempfile::TempDir;

use answer::Answer;
use data::TpchData;
use engines::{Engine, Run};
use queries::{Constants, Query};
use report::{Comparison, Medians};

/// The exit code of an interrupted process, by the custom of shells.
const INTERRUPTED: i32 = 130;

const SCALES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// Show on TPC-H data what a scan that listens doesn't read
///
/// Writes the TPC-H tables `lineitem` and `orders` as Parquet files, laid out as tpchgen-cli does by default, and
/// runs six queries on each of three scans: Trommel's, DataFusion's own, and DataFusion's own with
/// pushdown_filters. Answers are compared; then a table gives the medians of time, bytes and requests.
///
/// Engines take turns, query by query, in one process: a warm-up, then the runs that count. Each run has a fresh
/// session, so footers and page indexes are read, and counted, by every engine in every run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trommel demo                          a tenth of scale 1, in a temporary folder\n  \
    trommel demo --scale 1 --dir /tmp/t   scale 1; a second call uses the files again\n  \
    trommel demo --scale 0.01             a quick look, good enough for a debug build")]
pub struct DemoArgs {
    /// TPC-H scale factor, from 0.001 to 100: 1 means six million lines in 0.3 GB. Below 0.1 a table is but a few
    /// row groups, and there is little to skip
    #[arg(long, value_name = "F", default_value = "0.1", value_parser = parse_scale)]
    pub scale: f64,

    /// Folder for the data; what it already holds at this scale is used again, and nothing is removed from it. By
    /// default a temporary folder, removed at the end
    #[arg(long, value_name = "D")]
    pub dir: Option<PathBuf>,

    /// Keep the temporary folder, and say where it is
    #[arg(long)]
    pub keep: bool,

    /// Runs that count, for each query on each engine [default: 5, or 2 in a debug build]
    #[arg(long, value_name = "N")]
    pub repeat: Option<NonZeroUsize>,

    /// Partitions of a plan, that is, threads it can keep busy [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub partitions: Option<NonZeroUsize>,
}

impl DemoArgs {
    fn repeat(&self) -> usize {
        self.repeat.map_or(if cfg!(debug_assertions) { 2 } else { 5 }, NonZeroUsize::get)
    }

    fn partitions(&self) -> usize {
        self.partitions.map_or_else(processors, NonZeroUsize::get)
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn parse_scale(text: &str) -> Result<f64, String> {
    let (least, most) = (SCALES.start(), SCALES.end());
    match text.parse() {
        Ok(scale) if SCALES.contains(&scale) => Ok(scale),
        _ => Err(format!("a scale is a number from {least} to {most}")),
    }
}

/// How a demo ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every engine answered, and they agree.
    Agreed,
    /// An engine reported an error.
    Failed,
    /// Two engines gave different answers.
    Disagreed,
}

impl Outcome {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Agreed => 0,
            Self::Failed => 1,
            Self::Disagreed => 3,
        }
    }

    fn of(comparisons: &[Comparison]) -> Self {
        let failed = |comparison: &Comparison| comparison.engines.iter().any(|(_, result)| result.is_err());
        match comparisons {
            all if all.iter().any(|comparison| comparison.disagreement.is_some()) => Self::Disagreed,
            all if all.iter().any(failed) => Self::Failed,
            _ => Self::Agreed,
        }
    }
}

/// Runs the demo and writes its results to `out`; progress goes to the standard error.
///
/// # Errors
/// The data can't be written or read, or `out` can't be written. An engine that fails is part of the results.
pub fn run(args: &DemoArgs, out: &mut dyn Write) -> Result<Outcome> {
    let folder = Folder::new(args)?;
    let mut data = TpchData::find(folder.path(), args.scale, &queries::TABLES)?;
    write_data(&mut data, out)?;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let comparisons = runtime.block_on(compare_all(&data, args.repeat(), args.partitions()))?;

    writeln!(
        out,
        "Each run in a fresh session: footers, page indexes and dictionaries count. Medians of {} runs, {} partitions.",
        args.repeat(),
        args.partitions()
    )?;
    report::write(out, &comparisons)?;
    let outcome = Outcome::of(&comparisons);
    write_hints(args, outcome, &data, out)?;
    folder.close(out)?;
    Ok(outcome)
}

/// Where the data is: a folder of the user's, or a temporary one, removed with this value.
enum Folder {
    Named(PathBuf),
    Temporary { folder: TempDir, keep: bool },
}

impl Folder {
    fn new(args: &DemoArgs) -> Result<Self> {
        if let Some(folder) = &args.dir {
            return Ok(Self::Named(folder.clone()));
        }
        let folder = tempfile::Builder::new()
            .prefix("trommel-demo-")
            .tempdir()
            .context("can't make a temporary folder: name one with --dir")?;
        if !args.keep {
            remove_when_interrupted(folder.path().to_owned());
        }
        Ok(Self::Temporary { folder, keep: args.keep })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Named(folder) => folder,
            Self::Temporary { folder, .. } => folder.path(),
        }
    }

    fn close(self, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Named(_) => {}
            Self::Temporary { folder, keep: true } => {
                writeln!(out, "The data is kept in {}", folder.keep().display())?;
            }
            Self::Temporary { folder, keep: false } => {
                let path = folder.path().to_owned();
                folder.close().with_context(|| format!("can't remove {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// An interrupted process drops nothing, and the data is too large to be left behind.
fn remove_when_interrupted(folder: PathBuf) {
    let handler = move || {
        let _ = fs::remove_dir_all(&folder);
        exit(INTERRUPTED);
    };
    // Fails where a handler is installed already: then it is the other's business.
    let _ = ctrlc::set_handler(handler);
}

fn write_data(data: &mut TpchData, out: &mut dyn Write) -> Result<()> {
    let used_again = data.present().len();
    if !data.missing().is_empty() {
        let bar = progress_bar(
            data.missing_rows(),
            "writing TPC-H  {wide_bar} {human_pos} of {human_len} rows, {eta}",
        );
        data.write_missing(processors(), &|rows| bar.inc(rows))?;
        bar.finish_and_clear();
    }
    for (index, &table) in data.present().iter().enumerate() {
        let size = data.file(table).metadata().map_or(0, |metadata| metadata.len());
        let how = if index < used_again { "found" } else { "wrote" };
        writeln!(out, "{how} {table}: {}", report::bytes(size))?;
    }
    Ok(())
}

async fn compare_all(data: &TpchData, repeat: usize, partitions: usize) -> Result<Vec<Comparison>> {
    let session = Engine::Stock.open(data, &queries::TABLES, &[], partitions).await?;
    let queries = queries::queries(&Constants::pick(session.context()).await?);
    let runs = queries.len() * (repeat + 1) * Engine::ALL.len();
    let bar = progress_bar(runs as u64, "running queries  {wide_bar} {pos} of {len}  {msg}");
    let mut comparisons = Vec::with_capacity(queries.len());
    for query in queries {
        bar.set_message(query.name);
        comparisons.push(compare(query, data, repeat, partitions, &bar).await);
    }
    bar.finish_and_clear();
    Ok(comparisons)
}

/// Runs one query on all engines in turn: a warm-up round, then the rounds that count.
async fn compare(
    query: Query,
    data: &TpchData,
    repeat: usize,
    partitions: usize,
    bar: &ProgressBar,
) -> Comparison {
    let mut results: Vec<(Engine, Result<Vec<Run>, String>)> =
        Engine::ALL.into_iter().map(|engine| (engine, Ok(Vec::new()))).collect();
    let mut reference: Option<(Engine, Answer)> = None;
    let mut disagreement = None;
    let mut reads = vec![None; results.len()];
    for round in 0..=repeat {
        // Each round begins with the next engine, so that none has always the same one before it.
        for turn in 0..results.len() {
            bar.inc(1);
            let index = (round + turn) % results.len();
            let (engine, result) = &mut results[index];
            let Ok(runs) = result else { continue };
            // What is read is counted in the first round, which warms up the others.
            match engines::run(*engine, &query, data, partitions, round == 0).await {
                Ok(mut run) => {
                    let (other, expected) = reference.get_or_insert_with(|| (*engine, run.answer.clone()));
                    disagreement = disagreement.or_else(|| {
                        let difference = run.answer.difference(expected)?;
                        Some(format!("{engine} against {other}: {difference}"))
                    });
                    match reads[index] {
                        None => reads[index] = Some(run.reads),
                        Some(reads) => {
                            run.reads = reads;
                            runs.push(run);
                        }
                    }
                }
                Err(error) => *result = Err(format!("{error:#}")),
            }
        }
    }
    let medians = |runs: Vec<Run>| Medians::of(&runs).ok_or_else(|| "no run".to_owned());
    let engines = results.into_iter().map(|(engine, runs)| (engine, runs.and_then(medians))).collect();
    Comparison { query, rows: reference.map_or(0, |(_, answer)| answer.len()), engines, disagreement }
}

fn write_hints(args: &DemoArgs, outcome: Outcome, data: &TpchData, out: &mut dyn Write) -> Result<()> {
    writeln!(out)?;
    if cfg!(debug_assertions) {
        writeln!(out, "This is a debug build: compare bytes, not times.")?;
    }
    match outcome {
        Outcome::Agreed => writeln!(out, "All engines gave the same answers.")?,
        Outcome::Failed => writeln!(out, "Not every engine answered; those that did agree.")?,
        Outcome::Disagreed => writeln!(out, "ENGINES DISAGREE: please report this, with the lines above.")?,
    }
    if args.scale < 1.0 {
        writeln!(out, "Next: `trommel demo --scale 1` (in a release build): more row groups, more to skip.")?;
    } else {
        let file = data.file(layout::TpchTable::LineItem);
        writeln!(
            out,
            "Next: try your own files. In any DataFusion session built `.with_trommel()`:\n  \
             CREATE EXTERNAL TABLE lineitem STORED AS TROMMEL LOCATION '{}'",
            file.display()
        )?;
    }
    Ok(())
}

/// A bar on the standard error, if that is a terminal.
fn progress_bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one("1", Some(1.0))]
    #[case::hundredth("0.01", Some(0.01))]
    #[case::nought("0", None)]
    #[case::negative("-1", None)]
    #[case::too_large("1e9", None)]
    #[case::nan("NaN", None)]
    #[case::word("big", None)]
    fn scales(#[case] text: &str, #[case] expected: Option<f64>) {
        assert_eq!(parse_scale(text).ok(), expected);
    }
}
