// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Two files of results side by side.
//!
//! Engines that are in both files are compared each with itself: before and after. If none is in both, each of
//! the first file is compared with each of the second. A ratio says how many times faster the first is. In the
//! geometric mean of a suite each counts as 20 at most, lest one query that is skipped as a whole hide what
//! happens to the others.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::modifiers::UTF8_ROUND_CORNERS;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::record::Record;
use crate::statistics::geometric_mean;

/// A ratio counts no more than this in a mean.
pub const CAP: f64 = 20.0;

/// One query on one engine of each file.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    a: &'a Record,
    b: &'a Record,
}

impl Pair<'_> {
    /// How many times faster the first is; `None` where one of them has no time.
    fn ratio(&self) -> Option<f64> {
        let ratio = self.b.median_ms? / self.a.median_ms?;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    fn remark(&self) -> &'static str {
        let errors = (self.a.error.is_some(), self.b.error.is_some());
        let rows = self.a.rows_out.zip(self.b.rows_out);
        let hashes = self.a.answer_hash.as_ref().zip(self.b.answer_hash.as_ref());
        match errors {
            (true, true) => "both failed",
            (true, false) => "A failed",
            (false, true) => "B failed",
            _ if rows.is_some_and(|(a, b)| a != b) => "other numbers of rows",
            _ if hashes.is_some_and(|(a, b)| a != b) => "other digests: ties, or rounding?",
            _ => "",
        }
    }
}

fn pairs<'a>(a: &'a [Record], b: &'a [Record]) -> Vec<Pair<'a>> {
    let engines = |records: &'a [Record]| records.iter().map(|r| r.engine.as_str()).collect::<BTreeSet<_>>();
    let alike = !engines(a).is_disjoint(&engines(b));
    let of_one_query = |a: &Record, b: &Record| a.suite == b.suite && a.query == b.query;
    let fits = |a: &Record, b: &Record| of_one_query(a, b) && (!alike || a.engine == b.engine);
    let pairs_of = |a| b.iter().filter(move |b| fits(a, b)).map(move |b| Pair { a, b });
    a.iter().flat_map(pairs_of).collect()
}

/// Writes the ratios of each query, and the geometric means of each suite.
///
/// # Errors
/// `out` can't be written.
pub fn write(out: &mut dyn Write, a: &[Record], b: &[Record]) -> io::Result<()> {
    let pairs = pairs(a, b);
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).apply_modifier(UTF8_ROUND_CORNERS);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["query", "A", "B", "A, ms", "B, ms", "A is faster by", "A, MB", "B, MB", ""]);
    let number = |value: Option<f64>, digits| value.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
    let megabytes = |record: &Record| number(record.bytes_read.map(|bytes| bytes as f64 / 1e6), 2);
    for pair in &pairs {
        let Pair { a, b } = pair;
        table.add_row([
            format!("{}/{}", a.suite, a.query),
            a.engine.clone(),
            b.engine.clone(),
            number(a.median_ms, 1),
            number(b.median_ms, 1),
            pair.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.2}×")),
            megabytes(a),
            megabytes(b),
            pair.remark().to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(3).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")?;
    for (suite, a, b, mean, count) in means(&pairs) {
        writeln!(
            out,
            "{suite}: {a} is {mean:.2}× as fast as {b} (geometric mean of {count}, each at most {CAP})"
        )?;
    }
    if pairs.is_empty() {
        writeln!(out, "The files have no query in common.")?;
    }
    Ok(())
}

/// For each suite and pair of engines, in the order they come: the geometric mean, and of how many.
fn means<'a>(pairs: &[Pair<'a>]) -> Vec<(&'a str, &'a str, &'a str, f64, usize)> {
    let key = |pair: &Pair<'a>| (pair.a.suite.as_str(), pair.a.engine.as_str(), pair.b.engine.as_str());
    let mut keys = Vec::new();
    for pair in pairs {
        if !keys.contains(&key(pair)) {
            keys.push(key(pair));
        }
    }
    let mean = |(suite, a, b)| {
        let of_key = pairs.iter().filter(|pair| key(pair) == (suite, a, b));
        let ratios: Vec<f64> = of_key.filter_map(Pair::ratio).map(|ratio| ratio.min(CAP)).collect();
        geometric_mean(&ratios).map(|mean| (suite, a, b, mean, ratios.len()))
    };
    keys.into_iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(query: &str, engine: &str, median_ms: Option<f64>) -> Record {
        Record {
            suite: "s".to_owned(),
            query: query.to_owned(),
            engine: engine.to_owned(),
            median_ms,
            ..Record::default()
        }
    }

    #[test]
    fn ratios_are_capped_in_the_mean_only() {
        let a = [record("x", "trommel", Some(1.0)), record("y", "trommel", Some(10.0))];
        let b = [record("x", "duckdb", Some(500.0)), record("y", "duckdb", Some(2.0))];
        let mut out = Vec::new();
        write(&mut out, &a, &b).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("500.00×") && text.contains("0.20×"), "{text}");
        // √(20 · 0.2)
        assert!(
            text.contains("s: trommel is 2.00× as fast as duckdb (geometric mean of 2, each at most 20)"),
            "{text}"
        );
    }

    #[test]
    fn engines_in_both_files_meet_themselves() {
        let a = [record("x", "trommel", Some(1.0)), record("x", "datafusion", Some(2.0))];
        let found: Vec<_> = pairs(&a, &a).iter().map(|p| (p.a.engine.clone(), p.b.engine.clone())).collect();
        assert_eq!(found, ["trommel", "datafusion"].map(|e| (e.to_owned(), e.to_owned())));
        let b = [record("x", "duckdb", Some(1.0)), record("z", "duckdb", Some(1.0))];
        assert_eq!(pairs(&a, &b).len(), 2, "each with each, of the same query");
    }

    #[test]
    fn what_has_no_time_counts_in_no_mean() {
        let a = [record("x", "trommel", None)];
        let b = [Record { error: Some("out of memory".to_owned()), ..record("x", "duckdb", None) }];
        let mut out = Vec::new();
        write(&mut out, &a, &b).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("B failed") && !text.contains("geometric"), "{text}");
    }
}
