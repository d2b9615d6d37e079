// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs DataFusion's own SQL tests on Trommel; exits 1 if a record differs that isn't listed, or a listed one doesn't.

use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use trommel_peer_suite::differences::Differences;
use trommel_peer_suite::folder::{Data, Folder};
use trommel_peer_suite::{Plan, Tables, run_all};

/// Runs DataFusion's own SQL tests with each Parquet table read by Trommel.
///
/// The tests are the files of the package datafusion-sqllogictest, which cargo has fetched. Each file runs twice: as it is,
/// and with CREATE EXTERNAL TABLE … STORED AS PARQUET making tables that Trommel reads. A record that fails with Trommel
/// alone differs. Those known to differ are listed with their cause in tests/peer/differences.txt; any other, and any
/// listed one that no longer differs, is printed, and the exit code is 1. Of EXPLAIN only errors count.
///
/// Much data isn't in the package; records that need it fail both times and judge nothing. Name a checkout of
/// parquet-testing, or one of DataFusion 55.2.0 with its submodules, to have them judged.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only files whose name holds PATTERN; may be given several times.
    #[arg(long, value_name = "PATTERN")]
    files: Vec<String>,
    /// Copy tables in memory and of other formats to Parquet files too, and let Trommel read these.
    #[arg(long)]
    all_tables: bool,
    /// A checkout of parquet-testing. Default: the variable PARQUET_TESTING.
    #[arg(long, value_name = "DIR")]
    parquet_testing: Option<PathBuf>,
    /// A checkout of DataFusion 55.2.0 with its submodules. Default: the variable DATAFUSION_CHECKOUT.
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
    /// How many files run side by side. Default: one for each core.
    #[arg(long, value_name = "N")]
    side_by_side: Option<NonZeroUsize>,
    /// Print the names of the files that would run, and of the others why not; run nothing.
    #[arg(long)]
    list: bool,
    /// Write what was found, with the cause of every difference, to FILE as Markdown.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print every record that differs, listed or not.
    #[arg(long)]
    verbose: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let or_variable =
        |given: &Option<PathBuf>, name| given.clone().or_else(|| env::var_os(name).map(PathBuf::from));
    let data = Data {
        checkout: or_variable(&arguments.checkout, "DATAFUSION_CHECKOUT"),
        parquet_testing: or_variable(&arguments.parquet_testing, "PARQUET_TESTING"),
    };
    let write = arguments.write.as_ref().map(std::path::absolute).transpose()?;
    let folder = Folder::lay_out(&data)?;
    env::set_current_dir(folder.home())?;
    // Deep plans, planned and run without optimization, want more than the usual stack.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(64 << 20).build()?;
    let code = runtime.block_on(run(&arguments, &folder, write))?;
    drop(runtime);
    env::set_current_dir("/")?;
    folder.remove()?;
    Ok(code)
}

async fn run(arguments: &Arguments, folder: &Folder, write: Option<PathBuf>) -> Result<ExitCode> {
    let tables = if arguments.all_tables { Tables::All } else { Tables::External };
    let cores = || available_parallelism().map_or(1, NonZeroUsize::get);
    let plan = Plan {
        names: arguments.files.clone(),
        tables,
        side_by_side: arguments.side_by_side.map_or_else(cores, NonZeroUsize::get),
    };
    let (files, skipped) = plan.files(folder)?;
    if arguments.list {
        files.iter().for_each(|file| println!("{}", file.name));
        for (reason, names) in &skipped.skipped {
            names.iter().for_each(|name| println!("{name} is skipped: {}", reason.reason()));
        }
        return Ok(ExitCode::SUCCESS);
    }

    let bar = ProgressBar::new(files.len() as u64);
    bar.set_style(ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {pos}/{len} files")?);
    let report = run_all(folder, &plan, |name, file| {
        bar.suspend(|| println!("{name}: {}", file.counts()));
        bar.inc(1);
    })
    .await?;
    bar.finish_and_clear();

    let differences = Differences::listed(tables)?;
    if let Some(file) = write {
        std::fs::write(&file, report.document(tables, &differences))
            .with_context(|| file.display().to_string())?;
    }
    let shown = if arguments.verbose { Differences::default() } else { differences.clone() };
    shown.findings(&report).iter().for_each(|finding| println!("\n{finding}"));
    println!("\n{report}");
    let findings = differences.findings(&report).len();
    println!("\n{findings} records aren't as tests/peer/differences.txt says");
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
