// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs random queries on random tables against an in-memory oracle; exits 1 on any wrong answer.

use std::process::ExitCode;

use clap::Parser;
use trommel_tests::differential::{self, Plan};
use trommel_tests::session::Format;

/// Runs random queries on random tables against an in-memory oracle.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scan: TROMMEL or PARQUET.
    #[arg(long, default_value = "TROMMEL")]
    format: Format,
    /// Leave out what DataFusion's own scan is known to get wrong.
    #[arg(long)]
    tame: bool,
    /// How many tables.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    iterations: u64,
    /// What decides all of them.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run this iteration alone.
    #[arg(long, value_name = "N")]
    only: Option<u64>,
    /// Print how often each axis, shape and form came up.
    #[arg(long)]
    coverage: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let Arguments { format, tame, iterations, seed, only, coverage } = Arguments::parse();
    let outcome = differential::run(&Plan { format, tame, iterations, seed, only })?;
    if coverage {
        print!("{}", outcome.coverage);
        let least = usize::try_from(outcome.iterations / 100)?;
        outcome.coverage.missing(tame, least).iter().for_each(|word| println!("too seldom: {word}"));
    }
    for finding in &outcome.findings {
        println!("{finding}");
    }
    println!("{} iterations, {} failed", outcome.iterations, outcome.findings.len());
    Ok(if outcome.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
