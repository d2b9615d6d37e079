// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The `trommel` command.
//!
//! Exit codes: 0 all went well; 1 something failed, and the message says what to do; 2 the command line was
//! wrong; 3 two engines gave different answers.

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use trommel::failure::{describe, is_broken_pipe};
use trommel::{demo, inspect, sql};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Parquet tables for DataFusion whose scan keeps listening while it reads.
///
/// Hash joins, TopK sorts and min/max aggregates learn at run time which rows can still matter. A Trommel scan
/// re-reads that knowledge while it reads, and skips row groups and pages before it pays for them.
#[derive(Debug, Parser)]
#[command(name = "trommel", version, arg_required_else_help = true, max_term_width = 110)]
#[command(after_help = "New here? Run `trommel demo`: it needs no data and no settings.\n\
    Have Parquet files? `trommel inspect FILE` shows what a query can skip in them,\n\
    and `trommel sql -c \"SELECT count(*) FROM 'FILE'\"` asks them.\n\n\
    Exit codes: 0 all went well, 1 something failed, 2 wrong command line, 3 engines disagree.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sql(sql::SqlArgs),
    Inspect(inspect::InspectArgs),
    Demo(demo::DemoArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Sql(args) => wait(sql::run(&args)).map(|()| 0),
        Command::Inspect(args) => wait(inspect::run(&args, &mut stdout().lock())),
        Command::Demo(args) => demo::run(&args, &mut stdout().lock()).map(demo::Outcome::exit_code),
    };
    let code = match outcome {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            // Nothing is left to tell when even standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {}", describe(&error));
            1
        }
    };
    ExitCode::from(code)
}

/// Runs a command on all processors.
fn wait<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn demo_needs_no_arguments() {
        assert!(matches!(Cli::parse_from(["trommel", "demo"]).command, Command::Demo(_)));
    }

    #[test]
    fn a_scale_out_of_bounds_is_refused_with_the_bounds() {
        let error = Cli::try_parse_from(["trommel", "demo", "--scale", "0"]).unwrap_err();
        assert!(error.to_string().contains("0.001"), "{error}");
    }
}
