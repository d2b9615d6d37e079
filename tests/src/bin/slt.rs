// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs SQL cases: prints each failing record and a closing count; exits 1 on any failure.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use trommel_tests::session::{DynamicFilters, Format, Mode};
use trommel_tests::slt;

/// Runs SQL cases (sqllogictest files) on Trommel or on DataFusion's own Parquet scan.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scan: TROMMEL or PARQUET.
    #[arg(long, default_value = "TROMMEL")]
    format: Format,
    /// The session's target partitions.
    #[arg(long, value_name = "N", default_value_t = 4)]
    partitions: usize,
    /// Only register the table format: a session without the rule that links dynamic filters.
    #[arg(long)]
    plain_register: bool,
    /// Rows in a batch.
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// Switch all dynamic filters off.
    #[arg(long)]
    no_dynamic_filters: bool,
    /// Files or folders of cases.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mode = Mode {
        linked: !arguments.plain_register,
        batch_size: arguments.batch_size,
        dynamic_filters: if arguments.no_dynamic_filters { DynamicFilters::OFF } else { DynamicFilters::ON },
        ..Mode::new(arguments.format, arguments.partitions)
    };
    let report = slt::run(&arguments.paths, &mode).await?;
    println!("{report}");
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
