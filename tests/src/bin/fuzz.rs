// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs random queries on random tables against independent oracles; exits 1 on any wrong answer.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use trommel_tests::differential::{self, Plan, Until};
use trommel_tests::session::Format;

/// Runs random queries on random tables against a table in memory and DataFusion's own scan.
#[derive(Debug, Parser)]
struct Arguments {
    /// For how long.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,
    /// How many tables at most.
    #[arg(long, value_name = "N")]
    iterations: Option<u64>,
    /// What decides all of them.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run this iteration alone.
    #[arg(long, value_name = "N")]
    only: Option<u64>,
    /// Where SQL cases of mismatches go.
    #[arg(long, value_name = "DIR", default_value = "target/mismatches")]
    out: PathBuf,
    /// The scan: TROMMEL or PARQUET.
    #[arg(long, default_value = "TROMMEL")]
    format: Format,
    /// Leave out what DataFusion's own scan is known to get wrong.
    #[arg(long)]
    tame: bool,
    /// Stop after so many mismatches.
    #[arg(long, value_name = "N", default_value_t = 20)]
    enough: usize,
    /// Print every axis, shape and form too, not only how often each shape came up.
    #[arg(long)]
    coverage: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let Arguments { format, tame, seed, only, enough, .. } = arguments;
    let time = Duration::try_from_secs_f64(60.0 * arguments.minutes).context("no number of minutes")?;
    let until = Until { iterations: arguments.iterations, time: Some(time), findings: enough };
    let bar = ProgressBar::new(time.as_secs());
    let style = "{elapsed_precise} [{bar:30}] {msg}";
    bar.set_style(ProgressStyle::with_template(style)?.progress_chars("=> "));

    fs::create_dir_all(&arguments.out)?;
    let mut written = 0;
    let outcome = differential::run(&Plan { format, tame, seed, only, until }, &mut |so_far| {
        bar.set_position(bar.elapsed().as_secs());
        bar.set_message(format!("{} queries, {} mismatches", so_far.queries, so_far.findings.len()));
        for finding in so_far.findings.iter().skip(written) {
            bar.suspend(|| println!("{finding}"));
            if let Some(case) = &finding.case {
                fs::write(arguments.out.join(format!("{}.slt", finding.name())), case)?;
            }
        }
        written = so_far.findings.len();
        Ok(())
    })?;
    bar.finish();

    let words = outcome.coverage.to_string();
    let shown = words
        .lines()
        .filter(|line| arguments.coverage || line.contains(" shape=") || line.contains(" stock="));
    shown.for_each(|line| println!("{line}"));
    if arguments.coverage {
        let least = usize::try_from(outcome.iterations / 100)?;
        let missing =
            [outcome.coverage.missing_drawn(tame, least), outcome.coverage.missing_met(tame, least)];
        missing.concat().iter().for_each(|word| println!("too seldom: {word}"));
    }
    let (tables, queries, wrong) = (outcome.iterations, outcome.queries, outcome.findings.len());
    println!("seed {seed}: {tables} tables, {queries} queries, {wrong} mismatches in {:?}", bar.elapsed());
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
