// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Records known to differ, with their causes.
//!
//! One cause a line: `FILE:PLACE… # CAUSE`, several places separated by commas. A place that starts with `~` differs now
//! and then.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::Tables;
use crate::report::{Kind, Report};

/// Why one record differs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cause {
    text: String,
    now_and_then: bool,
}

/// The causes by `FILE:PLACE`.
#[derive(Debug, Clone, Default)]
pub struct Differences(BTreeMap<String, Cause>);

impl Differences {
    /// The records of this package that differ when Trommel reads these tables.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn listed(tables: Tables) -> Result<Self> {
        let mut listed = Self::parse(include_str!("../differences.txt"))?;
        if tables == Tables::All {
            listed.0.extend(Self::parse(include_str!("../differences_all_tables.txt"))?.0);
        }
        Ok(listed)
    }

    /// Reads a list; lines that are empty or start with `#` are comments.
    ///
    /// # Errors
    /// A line of another shape, with its number.
    pub fn parse(text: &str) -> Result<Self> {
        let mut causes = BTreeMap::new();
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let shape = || format!("line {}: not FILE:PLACE # CAUSE: {line}", index + 1);
            let (record, cause) = line.split_once('#').with_context(shape)?;
            let (file, places) = record.trim().split_once(':').with_context(shape)?;
            for place in places.split(',').map(str::trim) {
                let (place, now_and_then) = place.strip_prefix('~').map_or((place, false), |p| (p, true));
                let cause = Cause { text: cause.trim().to_owned(), now_and_then };
                causes.insert(format!("{file}:{place}"), cause);
            }
        }
        Ok(Self(causes))
    }

    /// Why this record differs.
    pub fn cause(&self, record: &str) -> Option<&str> {
        self.0.get(record).map(|cause| cause.text.as_str())
    }

    /// What of the report the list doesn't say, or says wrongly: one text each.
    pub fn findings(&self, report: &Report) -> Vec<String> {
        let mut findings = Vec::new();
        for (record, judged) in report.records() {
            match (&judged.kind, self.0.get(&record)) {
                (Kind::Differs(error), None) => findings.push(format!("--- {record}\n{}", error.trim_end())),
                (Kind::Same | Kind::Plan | Kind::ErrorText(_), Some(cause)) if !cause.now_and_then => {
                    findings.push(format!("--- {record} no longer differs, listed as: {}", cause.text));
                }
                _ => {}
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FileReport, Judged};

    fn report(kinds: &[(&str, Kind)]) -> Report {
        let judged = |(place, kind): &(&str, Kind)| Judged {
            place: (*place).to_owned(),
            scanned: true,
            kind: kind.clone(),
        };
        let file = FileReport { records: kinds.iter().map(judged).collect(), ..FileReport::default() };
        Report { files: [("a.slt".to_owned(), file)].into(), ..Report::default() }
    }

    #[test]
    fn several_places_share_a_cause() {
        let list = Differences::parse("# comment\n\na.slt:3,b.part:4 # both\n").unwrap();
        assert_eq!(list.cause("a.slt:3"), Some("both"));
        assert_eq!(list.cause("a.slt:b.part:4"), Some("both"));
        assert_eq!(list.cause("a.slt:5"), None);
    }

    #[test]
    fn a_line_without_a_cause_is_named() {
        let error = Differences::parse("\na.slt:3").unwrap_err().to_string();
        assert_eq!(error, "line 2: not FILE:PLACE # CAUSE: a.slt:3");
    }

    #[test]
    fn unlisted_and_outdated_records_are_told() {
        let list = Differences::parse("a.slt:1,2,~3 # why").unwrap();
        let differs = Kind::Differs("wrong".to_owned());
        let kinds = [("1", differs.clone()), ("2", Kind::Same), ("3", Kind::Same), ("4", differs)];
        assert_eq!(
            list.findings(&report(&kinds)),
            ["--- a.slt:2 no longer differs, listed as: why", "--- a.slt:4\nwrong"]
        );
    }

    #[test]
    fn the_lists_of_this_package_are_well_formed() {
        Differences::listed(Tables::External).unwrap();
        Differences::listed(Tables::All).unwrap();
    }
}
