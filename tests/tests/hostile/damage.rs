// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Small files of many types, damaged at random places.
//!
//! The same damage is done at every run; `TROMMEL_HOSTILE_ITERATIONS` sets how much, for each sample.

use std::collections::BTreeMap;
use std::fs;

use datafusion::logical_expr::{Expr, lit};
use datafusion::prelude::col;
use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};
use tempfile::TempDir;
use trommel_tests::session::Format;

use crate::bounded::bounded;
use crate::read::{Outcome, compare, read};
use crate::samples::{Sample, samples};

/// Damaged copies of each sample, beside those that are cut short or of a wrong length.
const ITERATIONS: u64 = 15;

#[test]
fn damaged_files() {
    bounded("damage::damaged_files", |runtime| {
        let given = std::env::var("TROMMEL_HOSTILE_ITERATIONS").ok();
        let iterations = given.map_or(ITERATIONS, |text| text.parse().unwrap());
        let folder = TempDir::new().unwrap();
        let (mut findings, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
        for sample in samples() {
            let mut damaged = cuts(&sample);
            damaged.extend(lengths(&sample));
            damaged.extend((0..iterations).map(|iteration| random(&sample, iteration)));
            for Damaged { what, bytes, in_pages } in damaged {
                let name = format!("{}_{what}.parquet", sample.name);
                let path = folder.path().join(&name);
                fs::write(&path, bytes).unwrap();
                eprintln!("reading {name}");
                // Damaged statistics may rightly change which rows a filter finds, damaged pages may not.
                let filters = if in_pages { vec![None, Some(filter(&sample))] } else { vec![None] };
                for filter in filters {
                    let trommel = runtime.block_on(read(Format::Trommel, &path, filter.clone()));
                    // The parquet crate loops for ever when it skips rows of a leaf that lacks repetition levels.
                    if filter.is_some() && sample.name.starts_with("nested") {
                        continue;
                    }
                    let stock = runtime.block_on(read(Format::Parquet, &path, filter.clone()));
                    let outcome = match (&stock, &trommel) {
                        (Outcome::Answer(..), Outcome::Answer(..)) => "both answer",
                        (Outcome::Answer(..), _) => "only the stock scan answers",
                        (_, Outcome::Answer(..)) => "only Trommel answers",
                        _ => "none answers",
                    };
                    *counts.entry(outcome.to_owned()).or_default() += 1;
                    match compare(&name, &stock, &trommel) {
                        Err(error) => findings.push(format!("{filter:?} {error:#}")),
                        Ok(_) => {
                            if let (Outcome::Answer(..), Outcome::Error(error)) = (&stock, &trommel) {
                                println!("only stock answers: {error}");
                            }
                        }
                    }
                }
                fs::remove_file(&path).unwrap();
            }
        }
        println!("{counts:?}");
        assert!(findings.is_empty(), "{}\n{}", findings.len(), findings.join("\n"));
    });
}

/// A damaged copy of a sample.
struct Damaged {
    /// What was done to it.
    what: String,
    bytes: Vec<u8>,
    /// Whether only pages were damaged.
    in_pages: bool,
}

/// The sample cut short.
fn cuts(sample: &Sample) -> Vec<Damaged> {
    let len = sample.bytes.len();
    let places =
        [1, 4, 7, 8, 12, len / 4, len / 2, sample.pages_end, len - 200, len - 9, len - 8, len - 4, len - 1];
    let cut = |place: usize| Damaged {
        what: format!("cut_at_{place}"),
        bytes: sample.bytes[..place].to_vec(),
        in_pages: false,
    };
    places.into_iter().map(cut).collect()
}

/// The sample with another length of its footer.
fn lengths(sample: &Sample) -> Vec<Damaged> {
    let at = sample.bytes.len() - 8;
    let length = u32::from_le_bytes(sample.bytes[at..at + 4].try_into().unwrap());
    let wrong =
        [0, 1, length - 1, length + 1, at as u32 - 4, at as u32, at as u32 + 1, i32::MAX as u32, u32::MAX];
    let other = |length: u32| {
        let mut bytes = sample.bytes.clone();
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        Damaged { what: format!("footer_of_{length}"), bytes, in_pages: false }
    };
    wrong.into_iter().map(other).collect()
}

/// The sample with random damage: mostly in its pages, else behind them.
fn random(sample: &Sample, iteration: u64) -> Damaged {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&iteration.to_le_bytes());
    seed[8..8 + sample.name.len().min(20)]
        .copy_from_slice(&sample.name.as_bytes()[..sample.name.len().min(20)]);
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut bytes = sample.bytes.clone();
    let in_pages = random.random_range(0..2) == 0;
    let region = if in_pages { 4..sample.pages_end } else { sample.pages_end..bytes.len() };
    let mut what = format!("{iteration}");
    for _ in 0..random.random_range(1..3) {
        let place = random.random_range(region.clone());
        let byte = random.random_range(0..=u8::MAX);
        let mut put = |new: &[u8]| {
            let end = (place + new.len()).min(region.end);
            bytes[place..end].copy_from_slice(&new[..end - place]);
        };
        match random.random_range(0..5) {
            0 => put(&[0xff; 4]),
            1 => put(&[0; 8]),
            2 => put(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
            3 => put(&[byte]),
            _ => bytes[place] ^= 1 << (byte % 8),
        }
        what += &format!("_at_{place}");
    }
    Damaged { what, bytes, in_pages }
}

/// A filter that a dictionary, a page index and a Bloom filter can serve, as far as there are any.
fn filter(sample: &Sample) -> Expr {
    let clustered = col("i").gt(lit(30));
    if sample.name.starts_with("nested") {
        return clustered;
    }
    clustered.and(col("s").not_eq(lit("text 3"))).and(col("l").gt_eq(lit(0i64)))
}
