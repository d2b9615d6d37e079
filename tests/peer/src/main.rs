// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs DataFusion's own SQL tests on Trommel; exits 1 if a record differs that isn't listed, or a listed one doesn't.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use trommel_peer_suite::differences::Differences;
use trommel_peer_suite::folder::{Data, Folder};
use trommel_peer_suite::run_all;

/// Runs DataFusion's own SQL tests with each Parquet table read by Trommel.
#[derive(Debug, Parser)]
struct Arguments {
    /// A checkout of DataFusion 55.2.0 with its submodules, for the tests that need its data. Default: the variable
    /// DATAFUSION_CHECKOUT.
    #[arg(long, value_name = "FOLDER")]
    checkout: Option<PathBuf>,
    /// A checkout of parquet-testing. Default: the variable PARQUET_TESTING.
    #[arg(long, value_name = "FOLDER")]
    parquet_testing: Option<PathBuf>,
    /// Write the document docs/peer-suite.md here.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Only files whose name holds one of these.
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { checkout, parquet_testing, write, names } = Arguments::parse();
    let or_variable =
        |given: Option<PathBuf>, name: &str| given.or_else(|| env::var_os(name).map(PathBuf::from));
    let data = Data {
        checkout: or_variable(checkout, "DATAFUSION_CHECKOUT"),
        parquet_testing: or_variable(parquet_testing, "PARQUET_TESTING"),
    };
    let write = write.map(std::path::absolute).transpose()?;
    let folder = Folder::lay_out(&data)?;
    env::set_current_dir(folder.home())?;

    let report = run_all(&folder, &names).await?;
    let differences = Differences::listed()?;
    if let Some(file) = write {
        std::fs::write(&file, report.document(&differences)).with_context(|| file.display().to_string())?;
    }
    let findings = differences.findings(&report);
    findings.iter().for_each(|finding| println!("{finding}\n"));
    for (skipped, files) in &report.skipped {
        println!("skipped {}: {}", files.len(), skipped.reason());
    }
    println!("{report}\n{} of the records aren't as listed", findings.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
