// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The command `trommel-benchmarks`.

use std::io::stdout;
use std::process::ExitCode;

use clap::Parser;
use trommel_benchmarks::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run(&mut stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
