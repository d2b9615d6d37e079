// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel sql`: queries from the command line, from files, or typed in.
//!
//! | module | what it holds |
//! |---|---|
//! | [`script`] | a text as statements and shell commands |
//! | [`shell`] | running one of them, printing what it gives |
//! | [`repl`] | typing them in |
//!
//! Statements are run and printed by the `datafusion-cli` library. What is Trommel's own: its tables and locations,
//! and that the first statement that fails ends a script, with the exit code 1.

pub mod repl;
pub mod script;
pub mod shell;

use std::fs;
use std::io::{IsTerminal, Read, stdin};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use datafusion::prelude::SessionContext;
use datafusion_cli::print_format::PrintFormat;
use datafusion_cli::print_options::MaxRows;

use crate::session::{Limits, Session};
use shell::{Shell, Style};

/// The name of the standard input among files.
const STDIN: &str = "-";

/// Run SQL on Parquet files, or type it in
///
/// Without -c and -f, statements are read from the standard input: typed in, with history, completion and timing,
/// or piped. A query may name a location in quotes where a table's name would be; Parquet is then read by Trommel.
/// Locations are files, folders and globs, as paths or URLs of s3, gs, az, http and https, whose stores are told
/// by the usual environment variables (AWS_*, GOOGLE_*, AZURE_*).
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trommel sql -c \"SELECT count(*) FROM 'flights.parquet'\"\n  \
    trommel sql --table f=flights/ -c 'SELECT * FROM f ORDER BY delay DESC LIMIT 10'\n  \
    trommel sql --table f=s3://bucket/flights/ --format csv -f report.sql > report.csv\n  \
    trommel sql --table f='flights/year=2024/*.parquet'      then type; \\? lists the shell's commands\n\n\
    In SQL, a table with options, and what a query skips of it:\n  \
    CREATE EXTERNAL TABLE f STORED AS TROMMEL LOCATION 'flights/' OPTIONS (distrust_statistics true);\n  \
    EXPLAIN ANALYZE SELECT * FROM f ORDER BY delay DESC LIMIT 10;\n\n\
    Any option of DataFusion is set by SET datafusion.… = … or by an environment variable DATAFUSION_….")]
pub struct SqlArgs {
    /// Statements to run. May be given several times
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    pub commands: Vec<String>,

    /// A file of statements to run, before those of -c; `-` is the standard input. May be given several times
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// A table to start with, by its name in SQL and its location. May be given several times
    #[arg(long = "table", value_name = "NAME=LOCATION", value_parser = parse_table)]
    pub tables: Vec<(String, String)>,

    /// How to print rows: table, csv, tsv, json or nd-json; all but table print rows alone [default: table]
    #[arg(long, value_enum, default_value_t = PrintFormat::Automatic)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub format: PrintFormat,

    /// Rows of a table to print, or `inf`
    #[arg(long, value_name = "N", default_value = "40")]
    pub maxrows: MaxRows,

    /// Print rows alone: no greeting, no counts, no times
    #[arg(short, long)]
    pub quiet: bool,

    /// Partitions of a plan, that is, threads it can keep busy [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub partitions: Option<NonZeroUsize>,

    /// Memory that queries may use before they spill or fail, as 512M or 4G [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory_limit: Option<usize>,
}

fn parse_table(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, location)) if !name.trim().is_empty() && !location.is_empty() => {
            Ok((name.trim().to_owned(), location.to_owned()))
        }
        _ => Err("a table is given as NAME=LOCATION, as in sales=data/sales/".to_owned()),
    }
}

fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix("IB").or(text.strip_suffix('B')).unwrap_or(&text);
    match text.parse().or_else(|_| SessionContext::parse_capacity_limit("memory limit", text)) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("a size is a number of bytes, or of K, M or G, as in 512M".to_owned()),
    }
}

/// Runs the statements, or reads them from the standard input.
///
/// # Errors
/// A table that can't be opened, a file that can't be read, the first statement that fails.
pub async fn run(args: &SqlArgs) -> Result<()> {
    let no_scripts = args.commands.is_empty() && args.files.is_empty();
    let typed = no_scripts && stdin().is_terminal();
    let piped = no_scripts && !typed || args.files.iter().any(|file| file == Path::new(STDIN));
    let session = Session::new(&Limits {
        partitions: args.partitions,
        memory: args.memory_limit,
        sql_from_stdin: typed || piped,
    })?;
    let style = Style { format: args.format, max_rows: args.maxrows, quiet: args.quiet, typed };
    let mut shell = Shell::new(session, style);
    for (name, location) in &args.tables {
        shell.register(name, location).await?;
    }
    if typed {
        return repl::run(&mut shell).await;
    }
    if no_scripts {
        return run_file(&mut shell, Path::new(STDIN)).await;
    }
    for file in &args.files {
        run_file(&mut shell, file).await?;
    }
    for command in &args.commands {
        shell.run_script(command, None).await?;
    }
    Ok(())
}

async fn run_file(shell: &mut Shell, file: &Path) -> Result<()> {
    if file == Path::new(STDIN) {
        let mut text = String::new();
        stdin().read_to_string(&mut text).context("reading the standard input")?;
        return shell.run_script(&text, Some("standard input")).await;
    }
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    shell.run_script(&text, Some(&file.display().to_string())).await
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("1000", Some(1000))]
    #[case::mega("512M", Some(512 << 20))]
    #[case::lower_case("1.5g", Some(3 << 29))]
    #[case::spelt_out("4GiB", Some(4 << 30))]
    #[case::none("0", None)]
    #[case::negative("-1G", None)]
    #[case::words("much", None)]
    fn sizes(#[case] text: &str, #[case] expected: Option<usize>) {
        assert_eq!(parse_bytes(text).ok(), expected);
    }

    #[rstest]
    #[case::path("t=a/b.parquet", Some(("t", "a/b.parquet")))]
    #[case::partitioned("t=a/k=1/*.parquet", Some(("t", "a/k=1/*.parquet")))]
    #[case::no_name("=a", None)]
    #[case::no_location("t=", None)]
    #[case::path_alone("a.parquet", None)]
    fn tables(#[case] text: &str, #[case] expected: Option<(&str, &str)>) {
        let expected = expected.map(|(name, location)| (name.to_owned(), location.to_owned()));
        assert_eq!(parse_table(text).ok(), expected);
    }
}
