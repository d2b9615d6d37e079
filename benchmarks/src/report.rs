// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Results for people: a table of each suite, means, and what went wrong.

use std::io::{self, Write};

use comfy_table::modifiers::UTF8_ROUND_CORNERS;
use comfy_table::presets::UTF8_FULL;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::record::Record;
use crate::statistics::geometric_mean;

const BLANK: &str = "–";

/// The columns after the query's; a cell has one line for each engine.
const HEADER: [&str; 13] = [
    "engine",
    "median\nms",
    "min\nms",
    "time vs\ndatafusion",
    "95 %\ninterval",
    "bytes\nread",
    "over\noracle",
    "requests",
    "rows\ndecoded",
    "zones skipped\nof considered",
    "judging\nzones",
    "peak\nmemory",
    "rows\nout",
];

/// Writes a table for each suite, the geometric means of the ratios, and all errors.
///
/// # Errors
/// `out` can't be written.
pub fn write(out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
    for suite in records.chunk_by(|a, b| a.suite == b.suite) {
        let Some(first) = suite.first() else { continue };
        let name = &first.suite;
        writeln!(out, "\n{name}\n{}", table(suite))?;
        let mut engines: Vec<&str> = suite.iter().map(|record| record.engine.as_str()).collect();
        engines.sort_unstable();
        engines.dedup();
        for engine in engines {
            let of_engine = suite.iter().filter(|record| record.engine == engine);
            let ratios: Vec<f64> = of_engine.filter_map(|record| record.ratio).collect();
            if let Some(mean) = geometric_mean(&ratios) {
                writeln!(out, "{name}: {engine} takes {mean:.3} of datafusion's time (geometric mean)")?;
            }
        }
    }
    for record in records {
        if let Some(error) = &record.error {
            writeln!(out, "\nFAILED: {}/{} on {}: {error}", record.suite, record.query, record.engine)?;
        }
    }
    Ok(())
}

fn table(suite: &[Record]) -> Table {
    let mut table = Table::new();
    // Cells hold one line per engine, which stay side by side only if no line is wrapped.
    table.load_preset(UTF8_FULL).apply_modifier(UTF8_ROUND_CORNERS);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["query"].into_iter().chain(HEADER));
    for of_query in suite.chunk_by(|a, b| a.query == b.query) {
        let lines: Vec<_> = of_query.iter().map(line).collect();
        let cell =
            |column: usize| lines.iter().map(|line| line[column].as_str()).collect::<Vec<_>>().join("\n");
        let query = of_query.first().map_or_else(String::new, |record| record.query.clone());
        table.add_row(std::iter::once(query).chain((0..HEADER.len()).map(cell)));
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn line(record: &Record) -> [String; HEADER.len()] {
    let or_blank = |text: Option<String>| text.unwrap_or_else(|| BLANK.to_owned());
    let milliseconds = |time: Option<f64>| or_blank(time.map(|time| format!("{time:.1}")));
    let median = if record.error.is_some() { "failed".to_owned() } else { milliseconds(record.median_ms) };
    let interval = record.ratio_low.zip(record.ratio_high).map(|(low, high)| format!("{low:.2}–{high:.2}"));
    let zones = record.zones_skipped.zip(record.zones_considered);
    let zones = zones.filter(|(_, considered)| *considered > 0);
    [
        record.engine.clone(),
        median,
        milliseconds(record.min_ms),
        or_blank(record.ratio.map(|ratio| format!("{ratio:.2}"))),
        or_blank(interval),
        or_blank(record.bytes_read.map(bytes)),
        or_blank(record.over_oracle.map(|ratio| format!("{ratio:.2}×"))),
        or_blank(record.requests.map(|requests| requests.to_string())),
        or_blank(record.rows_decoded.map(thousands)),
        or_blank(
            zones.map(|(skipped, considered)| format!("{} of {}", thousands(skipped), thousands(considered))),
        ),
        or_blank(judging(record).map(|share| format!("{:.1} %", 100.0 * share))),
        or_blank(record.peak_bytes.map(bytes)),
        or_blank(record.rows_out.map(thousands)),
    ]
}

/// The share of its threads' time that judging zones took.
fn judging(record: &Record) -> Option<f64> {
    let threads = record.median_ms? * record.partitions as f64;
    record.judging_ms.filter(|_| threads > 0.0).map(|ms| ms / threads)
}

/// A number of bytes in the largest unit that leaves a whole number in front.
fn bytes(count: u64) -> String {
    match count {
        count if count >= 1_000_000_000 => format!("{:.2} GB", count as f64 / 1e9),
        count if count >= 1_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        count => format!("{:.1} kB", count as f64 / 1e3),
    }
}

/// A number with its digits in groups of three.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "0")]
    #[case(999, "999")]
    #[case(1000, "1\u{202f}000")]
    #[case(6_001_215, "6\u{202f}001\u{202f}215")]
    fn digits_in_threes(#[case] number: u64, #[case] expected: &str) {
        assert_eq!(thousands(number), expected);
    }

    #[test]
    fn a_failing_engine_takes_a_line_and_the_reason_follows() {
        let record = |engine: &str| Record {
            suite: "scan".to_owned(),
            query: "wide".to_owned(),
            engine: engine.to_owned(),
            ..Record::default()
        };
        let records = [
            Record { error: Some("out of memory".to_owned()), ..record("trommel") },
            Record { median_ms: Some(12.34), ratio: Some(0.5), ..record("datafusion-tuned") },
        ];
        let mut out = Vec::new();
        write(&mut out, &records).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("failed") && text.contains("12.3"), "{text}");
        assert!(text.contains("datafusion-tuned takes 0.500 of datafusion's time"), "{text}");
        assert!(text.contains("FAILED: scan/wide on trommel: out of memory"), "{text}");
    }
}
