// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a run found: for a reader, and as the document `docs/peer-suite.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write};

use crate::Tables;
use crate::differences::Differences;
use crate::file::Skipped;
use crate::run::{FailureKind, Outcome};

/// What a record says of Trommel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It holds with Trommel.
    Same,
    /// Nothing: it fails with DataFusion's own scan too.
    NotJudged,
    /// It prints a plan, which differs as is to be expected of another scan.
    Plan,
    /// It fails as it must, with an error of another text, this.
    ErrorText(String),
    /// It fails with Trommel alone, with this error.
    Differs(String),
}

/// One record, judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Where it is in its file.
    pub place: String,
    /// Whether Trommel was asked to scan for it.
    pub scanned: bool,
    /// What it says.
    pub kind: Kind,
}

/// One file, judged.
#[derive(Debug, Clone, Default)]
pub struct FileReport {
    /// Its records, in order.
    pub records: Vec<Judged>,
    /// Data that it names and that isn't there.
    pub missing: Vec<String>,
}

impl FileReport {
    /// Judges the outcomes of one file in both engines.
    pub fn judge(stock: Vec<Outcome>, trommel: Vec<Outcome>, missing: Vec<String>) -> Self {
        let records = stock.into_iter().zip(trommel).map(|(stock, trommel)| {
            let kind = kind(&stock, &trommel);
            Judged { place: trommel.place, scanned: trommel.scanned, kind }
        });
        Self { records: records.collect(), missing }
    }

    /// How many records are of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.records.iter().for_each(|record| counts.add(record));
        counts
    }
}

fn kind(stock: &Outcome, trommel: &Outcome) -> Kind {
    let Some(failure) = &trommel.failure else { return Kind::Same };
    if stock.failure.is_some() {
        return Kind::NotJudged;
    }
    match failure.kind {
        // A plan that isn't made at all is no other text of a plan.
        FailureKind::Answer if is_explain(&trommel.sql) => Kind::Plan,
        FailureKind::ErrorText => Kind::ErrorText(failure.text.clone()),
        FailureKind::Answer | FailureKind::Other => Kind::Differs(failure.text.clone()),
    }
}

fn is_explain(sql: &str) -> bool {
    sql.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("explain"))
}

/// How many records are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub records: usize,
    /// Those for which Trommel was asked to scan.
    pub scanned: usize,
    /// Those that hold.
    pub same: usize,
    /// Those that print another plan.
    pub plan: usize,
    /// Those that fail as they must, with another text.
    pub error_text: usize,
    /// Those that differ.
    pub differ: usize,
    /// Those that fail in both engines.
    pub not_judged: usize,
}

impl Counts {
    fn add(&mut self, record: &Judged) {
        self.records += 1;
        self.scanned += usize::from(record.scanned);
        *match record.kind {
            Kind::Same => &mut self.same,
            Kind::Plan => &mut self.plan,
            Kind::ErrorText(_) => &mut self.error_text,
            Kind::Differs(_) => &mut self.differ,
            Kind::NotJudged => &mut self.not_judged,
        } += 1;
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, scanned, same, plan, error_text, differ, not_judged } = self;
        write!(
            f,
            "{records} records ({scanned} scan Trommel): {same} hold, {plan} print another plan, {error_text} fail \
             with another text, {differ} differ, {not_judged} not judged"
        )
    }
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

    /// How many records are of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.files.values().flat_map(|file| &file.records).for_each(|record| counts.add(record));
        counts
    }

    /// The document on this run, with the cause of each differing record.
    pub fn document(&self, tables: Tables, differences: &Differences) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = self.write_document(&mut text, tables, differences);
        text
    }

    fn write_document(&self, text: &mut String, tables: Tables, differences: &Differences) -> fmt::Result {
        writeln!(text, "{}\n", head(tables))?;
        writeln!(text, "{self}\n\n## Differing records\n")?;
        let mut causes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (record, _) in self.records().filter(|(_, judged)| matches!(judged.kind, Kind::Differs(_))) {
            let cause = differences.cause(&record).unwrap_or("**unknown**");
            causes.entry(cause).or_default().insert(record);
        }
        writeln!(text, "| cause | records |\n|---|---|")?;
        for (cause, records) in causes {
            writeln!(text, "| {cause} | {} |", code(&records.into_iter().collect::<Vec<_>>()))?;
        }

        writeln!(text, "\n## Errors of another text\n")?;
        let other_text = self.records().filter(|(_, judged)| matches!(judged.kind, Kind::ErrorText(_)));
        writeln!(text, "{}.", code(&other_text.map(|(record, _)| record).collect::<Vec<_>>()))?;

        writeln!(text, "\n## Files that ran\n")?;
        writeln!(
            text,
            "| file | records | scan Trommel | hold | other plan | other error text | differ | not judged |"
        )?;
        writeln!(text, "|---|--:|--:|--:|--:|--:|--:|--:|")?;
        for (name, file) in &self.files {
            let Counts { records, scanned, same, plan, error_text, differ, not_judged } = file.counts();
            writeln!(
                text,
                "| `{name}` | {records} | {scanned} | {same} | {plan} | {error_text} | {differ} | {not_judged} |"
            )?;
        }

        writeln!(
            text,
            "\n## Data that wasn't there\n\nRecords that need it, directly or not, aren't judged.\n"
        )?;
        let mut needed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, file) in &self.files {
            for path in &file.missing {
                needed.entry(path).or_default().push(name.clone());
            }
        }
        writeln!(text, "| data | files |\n|---|---|")?;
        for (path, files) in needed {
            writeln!(text, "| `{path}` | {} |", code(&files))?;
        }

        writeln!(text, "\n## Files that were skipped")?;
        for (reason, files) in &self.skipped {
            let count = files.len();
            let plural = if count == 1 { "" } else { "s" };
            writeln!(text, "\n{count} file{plural}: {}.\n\n{}", reason.reason(), code(files))?;
        }
        Ok(())
    }
}

fn head(tables: Tables) -> String {
    let (title, made) = match tables {
        Tables::External => {
            ("", "each `CREATE EXTERNAL TABLE … STORED AS PARQUET` making a table that Trommel reads")
        }
        Tables::All => (
            ", all tables",
            "Trommel reading every table: external Parquet tables themselves, tables in memory and of other formats as \
             Parquet files that they are copied to",
        ),
    };
    format!(
        "# DataFusion's own SQL tests on Trommel{title}\n\nThe SQL tests of DataFusion 55.2.0, with {made}. Each file \
         also ran as it is: records that fail then too, mostly for want of data, are not judged. Of `EXPLAIN` only errors \
         count. Queries without `ORDER BY` {}. INSERT is left to DataFusion's own table, so that what it wrote is read. \
         Written by the program of `tests/peer` (CONTRIBUTING.md), with `parquet-testing` and without a checkout of \
         DataFusion.",
        match tables {
            Tables::External => "are compared as the file says",
            Tables::All => "are compared as sets of rows",
        }
    )
}

fn code(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The totals.
impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { records, scanned, same, plan, error_text, differ, not_judged } = self.counts();
        let skipped: usize = self.skipped.values().map(Vec::len).sum();
        let lines = [
            ("files run", self.files.len()),
            ("files skipped", skipped),
            ("records", records),
            ("… for which Trommel scanned", scanned),
            ("hold with Trommel", same),
            ("print another plan", plan),
            ("fail as they must, with another text", error_text),
            ("differ", differ),
            ("not judged: they fail without Trommel too", not_judged),
        ];
        writeln!(f, "| | |\n|---|--:|")?;
        let lines = lines.map(|(what, count)| format!("| {what} | {count} |"));
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Failure;

    fn outcomes(failures: &[Option<FailureKind>], sql: &str) -> Vec<Outcome> {
        let outcome = |(line, kind): (usize, &Option<FailureKind>)| Outcome {
            place: line.to_string(),
            sql: sql.to_owned(),
            scanned: false,
            failure: kind.map(|kind| Failure { kind, text: "wrong".to_owned() }),
        };
        failures.iter().enumerate().map(outcome).collect()
    }

    fn kinds(sql: &str) -> Vec<Kind> {
        use FailureKind::{Answer, ErrorText, Other};
        let stock = outcomes(&[None, None, Some(Other), Some(Other), None, None], sql);
        let trommel = outcomes(&[None, Some(Answer), Some(Other), None, Some(ErrorText), Some(Other)], sql);
        FileReport::judge(stock, trommel, Vec::new()).records.into_iter().map(|record| record.kind).collect()
    }

    #[test]
    fn only_what_fails_with_trommel_alone_differs() {
        let wrong = || "wrong".to_owned();
        let mut expected = [
            Kind::Same,
            Kind::Differs(wrong()),
            Kind::NotJudged,
            Kind::Same,
            Kind::ErrorText(wrong()),
            Kind::Differs(wrong()),
        ];
        assert_eq!(kinds("SELECT 1"), expected);
        // Another plan is none of Trommel's faults; no plan is.
        expected[1] = Kind::Plan;
        assert_eq!(kinds(" explain SELECT 1"), expected);
    }
}
