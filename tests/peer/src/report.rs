// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a run found: for a reader, and as the document `docs/peer-suite.md`.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};

use crate::differences::Differences;
use crate::folder::Skipped;
use crate::run::{Outcome, Outcomes};

/// What a record says of Trommel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It holds with Trommel.
    Same,
    /// Nothing: it fails with DataFusion's own scan too.
    NotJudged,
    /// Another text of a plan, as is to be expected of another scan.
    Plan,
    /// It fails with Trommel alone, with this error.
    Differs(String),
}

/// One record, judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Where it is in its file.
    pub place: String,
    /// What it says.
    pub kind: Kind,
}

/// One file, judged.
#[derive(Debug, Clone, Default)]
pub struct FileReport {
    /// Its records, in order.
    pub records: Vec<Judged>,
    /// How many scans of Parquet tables Trommel planned.
    pub scans: usize,
}

impl FileReport {
    /// Judges the outcomes of one file in both engines.
    pub fn judge(stock: Outcomes, trommel: Outcomes) -> Self {
        let scans = trommel.scans;
        let records = stock.records.into_iter().zip(trommel.records).map(|(stock, trommel)| {
            debug_assert_eq!(stock.place, trommel.place);
            let kind = kind(&stock, &trommel);
            Judged { place: trommel.place, kind }
        });
        Self { records: records.collect(), scans }
    }

    fn count(&self, of: impl Fn(&Kind) -> bool) -> usize {
        self.records.iter().filter(|record| of(&record.kind)).count()
    }
}

fn kind(stock: &Outcome, trommel: &Outcome) -> Kind {
    match (&stock.error, &trommel.error) {
        (_, None) => Kind::Same,
        (Some(_), Some(_)) => Kind::NotJudged,
        // A plan that isn't made at all is no other text of a plan.
        (None, Some(error)) if is_explain(&trommel.sql) && error.starts_with("query result mismatch") => {
            Kind::Plan
        }
        (None, Some(error)) => Kind::Differs(error.clone()),
    }
}

fn is_explain(sql: &str) -> bool {
    sql.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("explain"))
}

/// Every file, by name.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Those that ran.
    pub files: BTreeMap<String, FileReport>,
    /// Those that did not.
    pub skipped: BTreeMap<Skipped, Vec<String>>,
}

impl Report {
    /// Every record with its name, `FILE:PLACE`.
    pub fn records(&self) -> impl Iterator<Item = (String, &Judged)> {
        self.files.iter().flat_map(|(file, report)| {
            report.records.iter().map(move |record| (format!("{file}:{}", record.place), record))
        })
    }

    /// How often Trommel scanned.
    pub fn scans(&self) -> usize {
        self.files.values().map(|file| file.scans).sum()
    }

    fn count(&self, of: impl Fn(&Kind) -> bool + Copy) -> usize {
        self.files.values().map(|file| file.count(of)).sum()
    }

    /// The document, with the cause of each differing record.
    pub fn document(&self, differences: &Differences) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = self.write_document(&mut text, differences);
        text
    }

    fn write_document(&self, text: &mut String, differences: &Differences) -> fmt::Result {
        writeln!(text, "{HEAD}\n{self}\n")?;
        writeln!(text, "| file | records | hold | other plan text | differ | not judged |")?;
        writeln!(text, "|---|--:|--:|--:|--:|--:|")?;
        for (name, file) in &self.files {
            writeln!(
                text,
                "| `{name}` | {} | {} | {} | {} | {} |",
                file.records.len(),
                file.count(|kind| *kind == Kind::Same),
                file.count(|kind| *kind == Kind::Plan),
                file.count(|kind| matches!(kind, Kind::Differs(_))),
                file.count(|kind| *kind == Kind::NotJudged),
            )?;
        }
        writeln!(text, "\n## Differing records\n\n| record | cause |\n|---|---|")?;
        for (record, judged) in self.records() {
            if matches!(judged.kind, Kind::Differs(_)) {
                writeln!(text, "| `{record}` | {} |", differences.cause(&record).unwrap_or("**unknown**"))?;
            }
        }
        writeln!(text, "\n## Skipped files")?;
        for (reason, files) in &self.skipped {
            let files: Vec<_> = files.iter().map(|file| format!("`{file}`")).collect();
            writeln!(text, "\n{} files: {}.\n\n{}", files.len(), reason.reason(), files.join(", "))?;
        }
        Ok(())
    }
}

/// The totals.
impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} files ran, {} were skipped. Of {} records {} hold, {} print another plan, {} differ, and {} are not \
             judged because they fail on DataFusion's own scan too. Trommel planned {} scans.",
            self.files.len(),
            self.skipped.values().map(Vec::len).sum::<usize>(),
            self.count(|_| true),
            self.count(|kind| *kind == Kind::Same),
            self.count(|kind| *kind == Kind::Plan),
            self.count(|kind| matches!(kind, Kind::Differs(_))),
            self.count(|kind| *kind == Kind::NotJudged),
            self.scans(),
        )
    }
}

const HEAD: &str = "\
# DataFusion's own SQL tests on Trommel

The SQL tests of DataFusion 55.2.0, with each `CREATE EXTERNAL TABLE … STORED AS PARQUET` read by Trommel. Written by the
command that CONTRIBUTING.md gives, with `PARQUET_TESTING` set and no checkout of DataFusion: records that need its other
data (CSV files and a few Parquet files) are not judged.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(errors: &[Option<&str>], sql: &str) -> Outcomes {
        let record = |(line, error): (usize, &Option<&str>)| Outcome {
            place: line.to_string(),
            sql: sql.to_owned(),
            error: error.map(str::to_owned),
        };
        Outcomes { records: errors.iter().enumerate().map(record).collect(), scans: 1 }
    }

    fn kinds(sql: &str) -> Vec<Kind> {
        let stock = outcomes(&[None, None, Some("no file"), Some("no file")], sql);
        let trommel = outcomes(&[None, Some("query result mismatch: 1"), Some("no file"), None], sql);
        FileReport::judge(stock, trommel).records.into_iter().map(|record| record.kind).collect()
    }

    #[test]
    fn only_what_fails_on_trommel_alone_differs() {
        let differs = Kind::Differs("query result mismatch: 1".to_owned());
        assert_eq!(kinds("SELECT 1"), [Kind::Same, differs, Kind::NotJudged, Kind::Same]);
        assert_eq!(kinds("EXPLAIN SELECT 1"), [Kind::Same, Kind::Plan, Kind::NotJudged, Kind::Same]);
    }

    #[test]
    fn a_plan_that_fails_differs() {
        let stock = outcomes(&[None], "EXPLAIN SELECT 1");
        let trommel = outcomes(&[Some("query failed: no such column")], "EXPLAIN SELECT 1");
        let judged = FileReport::judge(stock, trommel);
        assert!(matches!(judged.records[0].kind, Kind::Differs(_)));
    }
}
