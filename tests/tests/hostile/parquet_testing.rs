// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Every file of `parquet-testing`, good and bad.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use datafusion::logical_expr::{Expr, lit};
use datafusion::prelude::ident;
use datafusion::scalar::ScalarValue;
use trommel_tests::session::Format;

use crate::bounded::bounded;
use crate::read::{Difference, Outcome, compare, read};

/// The files over which the scans disagree, and why that is right.
const DIFFERENCES: &[(&str, Difference, &str)] = &[(
    "repeated_no_annotation.parquet",
    Difference::StockFindsNone,
    "its one row group has six rows, all of which Trommel reads; DataFusion's own scan answers none",
)];

/// Two strings of 2^30 bytes: neither scan has the memory here, and running out of it ends the process.
const TOO_LARGE: &str = "large_string_map.brotli.parquet";
/// As many columns of a file are filtered by.
const FILTERED: usize = 4;

#[test]
fn every_file_of_parquet_testing() {
    let Some(folder) = env::var_os("PARQUET_TESTING").map(PathBuf::from) else {
        println!("PARQUET_TESTING isn't set: no file of parquet-testing was read");
        return;
    };
    bounded("parquet_testing::every_file_of_parquet_testing", |runtime| {
        let mut files = Vec::new();
        for part in ["data", "bad_data"] {
            collect(&folder.join(part), &mut files);
        }
        assert!(files.len() > 70, "{} files in {}", files.len(), folder.display());
        let (mut findings, mut answers, mut filtered) = (Vec::new(), 0, 0);
        let mut unmet: BTreeSet<_> = DIFFERENCES.iter().map(|(name, ..)| *name).collect();
        for path in &files {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name == TOO_LARGE {
                continue;
            }
            eprintln!("reading {name}");
            let stock = runtime.block_on(read(Format::Parquet, path, None));
            let trommel = runtime.block_on(read(Format::Trommel, path, None));
            let listed = DIFFERENCES.iter().find(|(listed, ..)| *listed == name);
            let expected = listed.map(|(_, difference, _)| *difference);
            let found = match (&stock, &trommel) {
                (Outcome::Answer(stock, _), Outcome::Answer(trommel, _))
                    if expected == Some(Difference::StockFindsNone)
                        && stock.is_empty()
                        && !trommel.is_empty() =>
                {
                    Ok(expected)
                }
                _ => compare(&name, &stock, &trommel),
            };
            match found {
                Err(error) => findings.push(format!("{error:#}")),
                Ok(difference) if difference == expected => {
                    unmet.remove(&*name);
                }
                Ok(_) => findings.push(format!("{name}: not as listed: {}", text(&stock, &trommel))),
            }
            let Outcome::Answer(_, row) = stock else { continue };
            answers += 1;
            for filter in filters(&row) {
                let stock = runtime.block_on(read(Format::Parquet, path, Some(filter.clone())));
                let trommel = runtime.block_on(read(Format::Trommel, path, Some(filter.clone())));
                if let Err(error) = compare(&name, &stock, &trommel) {
                    findings.push(format!("{filter}: {error:#}"));
                }
                filtered += 1;
            }
        }
        println!("{} files, {answers} with an answer, {filtered} filtered reads", files.len());
        findings.extend(unmet.into_iter().map(|name| format!("{name} is listed, but there is none")));
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    });
}

/// Whatever is at or below `path`, in order of names.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        return files.push(path.to_owned());
    }
    let entries = fs::read_dir(path).unwrap();
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.iter().for_each(|entry| collect(entry, files));
}

/// For each of the first flat columns: that it is the value of the row, and that it is NULL.
fn filters(row: &[(String, ScalarValue)]) -> Vec<Expr> {
    let mut filters = Vec::new();
    let flat = row.iter().filter(|(_, value)| !value.data_type().is_nested());
    for (name, value) in flat.take(FILTERED) {
        filters.push(ident(name).is_null());
        if !value.is_null() {
            filters.push(ident(name).eq(lit(value.clone())));
        }
    }
    filters
}

fn text(stock: &Outcome, trommel: &Outcome) -> String {
    let text = |outcome: &Outcome| match outcome {
        Outcome::Answer(answer, _) => format!("{} rows", answer.len()),
        Outcome::Error(error) => error.chars().take(300).collect(),
        Outcome::Panic(panic) => format!("a panic: {panic}"),
        Outcome::Nothing => "nothing".to_owned(),
    };
    format!("stock: {}; Trommel: {}", text(stock), text(trommel))
}
