// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The command line.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::data::BenchmarkData;
use crate::engine::Engine;
use crate::latency_store::Distance;
use crate::record::Record;
use crate::run::{Plan, WRONG};
use crate::suites::{Query, select, suites};
use crate::{compare, record, report, run};

/// Trommel beside DataFusion's own Parquet scan: time, bytes, memory, and the bytes no reader could avoid
#[derive(Debug, Parser)]
#[command(name = "trommel-benchmarks", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(RunArgs),
    List(ListArgs),
    Compare(CompareArgs),
}

/// Run queries on each engine, compare the answers, and report what they cost
///
/// Engines take turns in one process. Each answer is compared with that of DataFusion's own scan before its time
/// counts. Exit codes: 0, every engine answered; 1, one failed; 3, one gave a wrong answer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p trommel-benchmarks -- run --suite dynamic\n  \
    cargo run --release -p trommel-benchmarks -- run --query q06 --query point --repeat 20 --json now.json")]
struct RunArgs {
    /// A suite, which can be given again for more [default: all]
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    /// A query, as `query` or `suite/query`, which can be given again [default: all of the suites]
    #[arg(long = "query", value_name = "NAME")]
    queries: Vec<String>,
    /// An engine, which can be given again [default: all]
    #[arg(long = "engine", value_name = "NAME")]
    engines: Vec<Engine>,
    /// TPC-H scale factor
    #[arg(long, value_name = "F", default_value = "1", value_parser = parse_scale)]
    scale: f64,
    /// Partitions of a plan, and threads of the process [default: one for each processor]
    #[arg(long, value_name = "N")]
    partitions: Option<NonZeroUsize>,
    /// Timed runs of each query on each engine
    #[arg(long, value_name = "N", default_value = "5")]
    repeat: NonZeroUsize,
    /// A new session for each run, with nothing cached but footers and page indexes
    #[arg(long)]
    cold: bool,
    /// Where the files seem to be
    #[arg(long, default_value = "local")]
    store: Store,
    /// With `--store latency`: from a request to its first byte, in milliseconds
    #[arg(long, value_name = "MS", default_value = "30", value_parser = parse_positive)]
    first_byte: f64,
    /// With `--store latency`: bandwidth of each request, in MB/s
    #[arg(long, value_name = "MB/S", default_value = "100", value_parser = parse_positive)]
    bandwidth: f64,
    /// Write the results to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a flamegraph of each query on each engine to a folder [default: flamegraphs]. These runs aren't timed
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "flamegraphs")]
    profile: Option<PathBuf>,
    /// Folder for the data, which is written where it isn't there [default: target/benchmarks/scale-F]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Show the suites and their queries
#[derive(Debug, Args)]
struct ListArgs {
    /// With their texts, as JSON
    #[arg(long)]
    json: bool,
    /// TPC-H scale factor, on which the text of one query depends
    #[arg(long, value_name = "F", default_value = "1", value_parser = parse_scale)]
    scale: f64,
}

/// Show how many times faster the results of one file are than those of another
#[derive(Debug, Args)]
struct CompareArgs {
    /// Results of `run --json`, or of peers/duckdb.py
    #[arg(value_name = "A.json")]
    a: PathBuf,
    /// Others
    #[arg(value_name = "B.json")]
    b: PathBuf,
}

/// Where the files seem to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    /// On this machine
    Local,
    /// In an object store: each request waits, none for another
    Latency,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "a number above 0 is wanted".to_owned())
}

fn parse_scale(text: &str) -> Result<f64, String> {
    parse_positive(text)
        .ok()
        .filter(|scale| (0.001..=100.0).contains(scale))
        .ok_or_else(|| "a scale is a number from 0.001 to 100".to_owned())
}

impl Cli {
    /// Does what was asked, writing results to `out` and progress to the standard error; the exit code.
    ///
    /// # Errors
    /// Nothing can be run: unknown names, files that can't be read or written.
    pub fn run(&self, out: &mut dyn Write) -> Result<u8> {
        match &self.command {
            Command::Run(args) => args.run(out),
            Command::List(args) => args.run(out).map(|()| 0),
            Command::Compare(args) => {
                compare::write(out, &record::read(&args.a)?, &record::read(&args.b)?)?;
                Ok(0)
            }
        }
    }
}

impl RunArgs {
    fn run(&self, out: &mut dyn Write) -> Result<u8> {
        let plan = self.plan()?;
        let tables: Vec<_> =
            plan.suites.iter().flat_map(|suite| &suite.queries).flat_map(Query::tables).collect();
        let folder = self.dir.clone();
        let folder =
            folder.unwrap_or_else(|| PathBuf::from(format!("target/benchmarks/scale-{}", self.scale)));
        let mut data = BenchmarkData::find(&folder, self.scale, &tables)?;
        let bar =
            progress_bar(data.missing_rows(), "writing TPC-H  {wide_bar} {human_pos} of {human_len} rows");
        data.write_missing(processors(), &|rows| bar.inc(rows))?;
        bar.finish_and_clear();
        if let Some(folder) = &plan.profile {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
        }

        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(plan.partitions).enable_all().build()?;
        let bar = progress_bar(plan.runs(), "running  {wide_bar} {pos} of {len}, {eta}  {msg}");
        let records = runtime.block_on(run::run(&plan, &data, &bar))?;
        bar.finish_and_clear();

        writeln!(out, "{}", self.conditions(&plan, &data))?;
        report::write(out, &records)?;
        if let Some(file) = &self.json {
            record::write(file, &records)?;
        }
        Ok(exit_code(&records))
    }

    fn plan(&self) -> Result<Plan> {
        let asked = |engine: &Engine| self.engines.is_empty() || self.engines.contains(engine);
        let distance = Distance {
            first_byte: Duration::from_secs_f64(self.first_byte / 1e3),
            bandwidth: self.bandwidth * 1e6,
        };
        Ok(Plan {
            suites: select(self.scale, &self.suites, &self.queries)?,
            engines: Engine::ALL.into_iter().filter(asked).collect(),
            scale: self.scale,
            partitions: self.partitions.map_or_else(processors, NonZeroUsize::get),
            repeat: self.repeat.get(),
            cold: self.cold,
            distance: (self.store == Store::Latency).then_some(distance),
            profile: self.profile.clone(),
        })
    }

    fn conditions(&self, plan: &Plan, data: &BenchmarkData) -> String {
        let sessions =
            if plan.cold { "a new session for each run, footers cached" } else { "one session for all runs" };
        let store = match plan.distance {
            Some(_) => format!("{} ms to the first byte, {} MB/s", self.first_byte, self.bandwidth),
            None => "local files".to_owned(),
        };
        let build = if cfg!(debug_assertions) { ". A debug build: times mean little" } else { "" };
        format!(
            "TPC-H at scale {} in {}; {} partitions; {} timed runs; {sessions}; {store}{build}",
            plan.scale,
            data.folder().display(),
            plan.partitions,
            plan.repeat,
        )
    }
}

impl ListArgs {
    fn run(&self, out: &mut dyn Write) -> Result<()> {
        if self.json {
            let suites = suites(self.scale);
            let listed = suites.iter().flat_map(|s| s.queries.iter().map(|query| Listed::new(s.name, query)));
            writeln!(out, "{}", serde_json::to_string_pretty(&listed.collect::<Vec<_>>())?)?;
            return Ok(());
        }
        for suite in suites(self.scale) {
            writeln!(out, "{}: {}", suite.name, suite.about)?;
            for query in &suite.queries {
                writeln!(out, "  {:<22} {}", query.name, query.about)?;
            }
        }
        Ok(())
    }
}

/// A query, for other programs.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    suite: &'a str,
    query: &'a str,
    sql: &'a str,
    tables: Vec<&'a str>,
}

impl<'a> Listed<'a> {
    fn new(suite: &'a str, query: &'a Query) -> Self {
        Self { suite, query: query.name, sql: &query.sql, tables: query.tables() }
    }
}

fn exit_code(records: &[Record]) -> u8 {
    let errors = || records.iter().filter_map(|record| record.error.as_ref());
    match errors().any(|error| error.starts_with(WRONG)) {
        true => 3,
        false => u8::from(errors().next().is_some()),
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// A bar on the standard error, drawn only on a terminal.
fn progress_bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn main(arguments: &[&str]) -> Result<(String, u8)> {
        let cli =
            Cli::try_parse_from(std::iter::once("trommel-benchmarks").chain(arguments.iter().copied()))?;
        let mut out = Vec::new();
        let code = cli.run(&mut out)?;
        Ok((String::from_utf8(out)?, code))
    }

    #[test]
    fn a_run_writes_a_table_and_json_that_compares() {
        let folder = tempfile::tempdir().unwrap();
        let (data, json) = (folder.path().join("data"), folder.path().join("r.json"));
        let (data, json) = (data.to_str().unwrap(), json.to_str().unwrap());
        let arguments = ["run", "--suite", "scan", "--query", "narrow", "--scale", "0.001", "--repeat", "2"];
        let more = ["--store", "latency", "--first-byte", "1", "--dir", data, "--json", json];
        let (table, code) = main(&[&arguments[..], &more].concat()).unwrap();
        assert_eq!(code, 0, "{table}");
        for expected in ["narrow", "trommel", "datafusion-tuned", "1 ms to the first byte"] {
            assert!(table.contains(expected), "{table}");
        }
        let (comparison, _) = main(&["compare", json, json]).unwrap();
        assert!(comparison.contains("trommel is 1.00× as fast as trommel"), "{comparison}");
    }

    #[test]
    fn lists_are_for_people_and_programs() {
        let (text, _) = main(&["list"]).unwrap();
        assert!(text.contains("dynamic: ") && text.contains("backfill_partitioned"), "{text}");
        let (json, _) = main(&["list", "--json", "--scale", "10"]).unwrap();
        let queries: serde_json::Value = serde_json::from_str(&json).unwrap();
        let queries = queries.as_array().unwrap();
        assert_eq!(queries.len(), 47);
        let q11 = queries.iter().find(|query| query["query"] == "q11").unwrap();
        assert!(q11["sql"].as_str().unwrap().contains("* 0.00001"), "{q11}");
        assert_eq!(q11["tables"], serde_json::json!(["nation", "supplier", "partsupp"]));
    }

    #[rstest]
    #[case::none(&[None, None], 0)]
    #[case::failed(&[None, Some("out of memory")], 1)]
    #[case::wrong(&[Some("out of memory"), Some("wrong answer: 1 rows where 2 are right")], 3)]
    fn exit_codes(#[case] errors: &[Option<&str>], #[case] expected: u8) {
        let record = |error: &Option<&str>| Record { error: error.map(str::to_owned), ..Record::default() };
        assert_eq!(exit_code(&errors.iter().map(record).collect::<Vec<_>>()), expected);
    }

    #[rstest]
    #[case::scale(&["run", "--scale", "0"], "from 0.001 to 100")]
    #[case::engine(&["run", "--engine", "duckdb"], "datafusion-tuned")]
    #[case::suite(&["run", "--suite", "nope"], "the suites are")]
    fn bad_arguments_say_what_is_possible(#[case] arguments: &[&str], #[case] message: &str) {
        let error = main(arguments).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
