// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel inspect`: what files hold, and what pruning knows of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | the files of a location, opened as a query opens them; damaged ones with what is wrong |
//! | [`leaves`] | the columns of a file, structs taken apart |
//! | [`plan`] | what a query runs over a file |
//! | [`zones`] | the zones of a column, with what is unknown |
//! | [`reasons`] | why it is unknown |
//! | [`storage`] | how a column is stored: sizes, encodings, dictionaries |
//! | [`report`] | all of it, for people and for programs |
//! | [`text`] | the tables for people |
//!
//! Bounds and counts are those a query's pruning sees, of the table's types, not what the files' metadata says.

pub mod files;
pub mod leaves;
pub mod plan;
pub mod reasons;
pub mod report;
pub mod storage;
pub mod text;
pub mod zones;

use std::io::{self, Write, stderr};

use anyhow::{Result, bail};
use clap::Args;
use datafusion_trommel::table::Location;

use crate::session::{Limits, Session};
use report::{Detail, Report};

/// Show what Parquet files hold, and what a query can skip in them
///
/// A table of the files, then a table of their columns: how they are stored, and what pruning knows of their zones
/// (row groups, and pages where the files have a page index): bounds, NULLs, and what is missing or not to be
/// trusted. Reads footers and page indexes only.
///
/// A location is a file, a folder or a glob, as a path or as a URL of s3, gs, az, http or https, as for `trommel sql`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    trommel inspect flights.parquet\n  \
    trommel inspect flights/ --column delay            the bounds of each row group\n  \
    trommel inspect flights/ --column delay --pages    and of each page\n  \
    trommel inspect flights/ --plan \"SELECT origin FROM t WHERE delay > 5\"\n  \
    trommel inspect s3://bucket/flights/ --json | jq '.files[] | select(.error)'\n\n\
    Reading the tables:\n  \
    lower, upper   no value lies outside; a ~ marks a bound that need not occur itself\n  \
    dictionary     row groups where every page is dictionary-coded, and the dictionaries' part of the size\n  \
    unknown        zones that no predicate on the column can skip, and why\n\n\
    The exit code is 1 if a file can't be read; the others are shown all the same.")]
pub struct InspectArgs {
    /// The file, folder or glob to look at
    pub location: String,

    /// Show the zones of this column. May be given several times
    #[arg(long = "column", value_name = "NAME")]
    pub columns: Vec<String>,

    /// Show pages instead of row groups, where there is a page index
    #[arg(long, requires = "columns")]
    pub pages: bool,

    /// Show instead what a query over the table `t` of all files runs over the first of them: a plan, before and
    /// after its expressions are pushed down
    #[arg(long, value_name = "SQL", conflicts_with_all = ["columns", "json"])]
    pub plan: Option<String>,

    /// Print JSON: everything, file by file
    #[arg(long)]
    pub json: bool,
}

/// Writes what there is at the location to `out` and errors to the standard error, and returns the exit code: 1 if a file can't be read.
///
/// # Errors
/// No file is there, or the location can't be listed; no column of the name; `out` can't be written.
pub async fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<u8> {
    let session = Session::new(&Limits::default())?;
    if let Some(sql) = &args.plan {
        writeln!(out, "{}", plan::explain(&session, &args.location, sql).await?)?;
        return Ok(0);
    }
    let found = files::open(&session.context.state(), &args.location).await?;
    let detail = Detail { columns: args.columns.clone(), pages: args.pages };
    let location = Location::parse(&args.location)?.to_string();
    let report = Report::new(&location, &found, &detail);
    for name in &args.columns {
        if report.is_readable() && !report.columns().any(|column| column.is_named(name)) {
            let names: Vec<_> = report.merged().into_iter().map(|column| column.name).collect();
            bail!("no column \"{name}\" in {location}; there are: {}", names.join(", "));
        }
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        text::write(&report, out)?;
    }
    out.flush()?;
    for error in text::errors(&report) {
        writeln!(stderr(), "error: {error}")?;
    }
    Ok(u8::from(report.has_errors()))
}
