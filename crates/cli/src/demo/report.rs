// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the runs of the demo come to: one table, then one line per query in plain words.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::modifiers::UTF8_ROUND_CORNERS;
use comfy_table::presets::UTF8_FULL;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::counting_store::Reads;
use super::engines::{Engine, Run, Zones};
use super::queries::Query;

/// Medians over the runs of one query on one engine.
#[derive(Debug, Clone, Copy)]
pub struct Medians {
    /// Time of one run.
    pub elapsed: Duration,
    /// Bytes and requests, each a median of its own.
    pub reads: Reads,
    /// Row groups of the last run.
    pub row_groups: Zones,
    /// Pages of the last run.
    pub pages: Zones,
}

impl Medians {
    /// The medians of `runs`; `None` without runs.
    pub fn of(runs: &[Run]) -> Option<Self> {
        let last = runs.last()?;
        let reads = |field: fn(&Reads) -> u64| median(runs.iter().map(|run| field(&run.reads)));
        Some(Self {
            elapsed: median(runs.iter().map(|run| run.elapsed))?,
            reads: Reads { requests: reads(|reads| reads.requests)?, bytes: reads(|reads| reads.bytes)? },
            row_groups: last.row_groups,
            pages: last.pages,
        })
    }
}

/// The middle value; of an even number of values the upper one in the middle.
fn median<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    let middle = values.len() / 2;
    values.into_iter().nth(middle)
}

/// One query on all engines.
#[derive(Debug)]
pub struct Comparison {
    /// The query.
    pub query: Query,
    /// Rows in the answer.
    pub rows: usize,
    /// Medians of each engine, or why it gave no answer.
    pub engines: Vec<(Engine, Result<Medians, String>)>,
    /// How an engine's answer departed from that of another.
    pub disagreement: Option<String>,
}

impl Comparison {
    fn medians(&self, engine: Engine) -> Option<&Medians> {
        self.engines.iter().find(|(other, _)| *other == engine).and_then(|(_, medians)| medians.as_ref().ok())
    }

    /// Trommel against stock in plain words.
    fn in_words(&self) -> String {
        let (trommel, stock) = match (self.medians(Engine::Trommel), self.medians(Engine::Stock)) {
            (Some(trommel), Some(stock)) => (trommel, stock),
            (None, _) => return "Trommel gave no answer".to_owned(),
            (_, None) => return "the stock scan gave no answer".to_owned(),
        };
        let bytes = match bytes_ratio(trommel, stock) {
            Some(ratio) if ratio <= 1.0 => format!("read {} of stock's bytes", percent(ratio)),
            Some(ratio) => format!("read {ratio:.1}× stock's bytes"),
            None => "read as little as stock".to_owned(),
        };
        let speed = match speed_ratio(trommel, stock) {
            Some(ratio) if ratio > 1.05 => format!("{} faster", times(ratio)),
            Some(ratio) if ratio < 0.95 => format!("{} slower", times(1.0 / ratio)),
            _ => "as fast".to_owned(),
        };
        format!("{bytes}, {speed}")
    }
}

/// Writes the table of medians, one line per query, and whatever went wrong.
///
/// # Errors
/// `out` can't be written.
pub fn write(out: &mut dyn Write, comparisons: &[Comparison]) -> io::Result<()> {
    writeln!(out, "{}", table(comparisons))?;
    writeln!(out)?;
    for comparison in comparisons {
        let name = format!("{}:", comparison.query.name);
        writeln!(out, "  {name:<18} {}. {}", comparison.in_words(), comparison.query.lesson)?;
    }
    for comparison in comparisons {
        let name = comparison.query.name;
        for (engine, result) in &comparison.engines {
            if let Err(error) = result {
                writeln!(out, "\nFAILED: {engine} on \"{name}\": {error}")?;
            }
        }
        if let Some(disagreement) = &comparison.disagreement {
            writeln!(out, "\nWRONG ANSWER on \"{name}\": {disagreement}\n  {}", comparison.query.sql)?;
        }
    }
    Ok(())
}

fn table(comparisons: &[Comparison]) -> Table {
    let mut table = Table::new();
    // Cells hold one line per engine, which stay side by side only if no line is wrapped.
    table.load_preset(UTF8_FULL).apply_modifier(UTF8_ROUND_CORNERS);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "query",
        "engine",
        "median",
        "speed vs\nstock",
        "bytes\nread",
        "of stock's\nbytes",
        "requests",
        "row groups\nskipped",
        "pages\nskipped",
    ]);
    for comparison in comparisons {
        let stock = comparison.medians(Engine::Stock);
        let lines: Vec<_> = comparison
            .engines
            .iter()
            .map(|(engine, result)| line(*engine, result.as_ref().ok(), stock))
            .collect();
        let column =
            |index: usize| lines.iter().map(|line| line[index].as_str()).collect::<Vec<_>>().join("\n");
        let query = format!("{}\n{} rows", comparison.query.name, comparison.rows);
        table.add_row(std::iter::once(query).chain((0..8).map(column)));
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// The cells of one engine, from its name on.
fn line(engine: Engine, medians: Option<&Medians>, stock: Option<&Medians>) -> [String; 8] {
    let blank = || "–".to_owned();
    let Some(medians) = medians else {
        return [
            engine.to_string(),
            "failed".to_owned(),
            blank(),
            blank(),
            blank(),
            blank(),
            blank(),
            blank(),
        ];
    };
    let zones = |zones: Zones| match zones.considered.max(zones.skipped) {
        0 => blank(),
        considered => format!("{} of {considered}", zones.skipped),
    };
    [
        engine.to_string(),
        format!("{:.1} ms", medians.elapsed.as_secs_f64() * 1e3),
        stock.and_then(|stock| speed_ratio(medians, stock)).map_or_else(blank, times),
        bytes(medians.reads.bytes),
        stock.and_then(|stock| bytes_ratio(medians, stock)).map_or_else(blank, percent),
        medians.reads.requests.to_string(),
        zones(medians.row_groups),
        zones(medians.pages),
    ]
}

fn speed_ratio(medians: &Medians, stock: &Medians) -> Option<f64> {
    let elapsed = medians.elapsed.as_secs_f64();
    (elapsed > 0.0).then(|| stock.elapsed.as_secs_f64() / elapsed)
}

fn bytes_ratio(medians: &Medians, stock: &Medians) -> Option<f64> {
    (stock.reads.bytes > 0).then(|| medians.reads.bytes as f64 / stock.reads.bytes as f64)
}

fn times(ratio: f64) -> String {
    format!("{ratio:.*}×", decimals(ratio))
}

fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    format!("{percent:.*} %", decimals(percent))
}

/// Decimals that leave two or three digits to read.
fn decimals(value: f64) -> usize {
    match value {
        value if value >= 9.95 => 0,
        value if value >= 0.1 => 1,
        _ => 2,
    }
}

/// A number of bytes in the largest unit that leaves a whole number in front.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        count if count >= 1_000_000_000 => format!("{:.1} GB", count as f64 / 1e9),
        count if count >= 1_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        count => format!("{:.1} kB", count as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn medians(ms: u64, bytes: u64) -> Medians {
        let row_groups = Zones { considered: 53, skipped: 52 };
        let reads = Reads { requests: 3, bytes };
        Medians { elapsed: Duration::from_millis(ms), reads, row_groups, pages: Zones::default() }
    }

    fn comparison(trommel: Result<Medians, String>) -> Comparison {
        let query = Query {
            name: "q",
            lesson: "L.",
            sql: "SELECT".to_owned(),
            tables: &[],
            settings: &[],
            sort_key: None,
        };
        let engines = vec![(Engine::Trommel, trommel), (Engine::Stock, Ok(medians(630, 1_000_000)))];
        Comparison { query, rows: 10, engines, disagreement: None }
    }

    #[rstest]
    #[case::less_and_faster(10, 12_000, "read 1.2 % of stock's bytes, 63× faster")]
    #[case::more_and_slower(1260, 1_500_000, "read 1.5× stock's bytes, 2.0× slower")]
    #[case::the_same(630, 1_000_000, "read 100 % of stock's bytes, as fast")]
    #[case::next_to_nothing(5, 0, "read 0.00 % of stock's bytes, 126× faster")]
    fn words(#[case] ms: u64, #[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(comparison(Ok(medians(ms, bytes))).in_words(), expected);
    }

    #[test]
    fn a_failing_engine_takes_a_line_and_the_reason_follows() {
        let mut out = Vec::new();
        write(&mut out, &[comparison(Err("not implemented".to_owned()))]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("failed") && text.contains("FAILED: Trommel on \"q\": not implemented"),
            "{text}"
        );
        assert!(text.contains("630.0 ms") && text.contains("52 of 53"), "{text}");
    }

    #[test]
    fn a_wrong_answer_is_shown_with_its_query() {
        let mut comparison = comparison(Ok(medians(1, 1)));
        comparison.disagreement = Some("9 rows instead of 10".to_owned());
        let mut out = Vec::new();
        write(&mut out, &[comparison]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("WRONG ANSWER on \"q\": 9 rows instead of 10\n  SELECT"), "{text}");
    }

    #[rstest]
    #[case::odd(&[3, 1, 2], Some(2))]
    #[case::even(&[4, 1, 2, 3], Some(3))]
    #[case::one(&[7], Some(7))]
    #[case::none(&[], None)]
    fn medians_are_the_middle(#[case] values: &[u64], #[case] expected: Option<u64>) {
        assert_eq!(median(values.iter().copied()), expected);
    }
}
