// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Records known to differ, with their causes.
//!
//! One a line: `FILE:PLACE… # CAUSE`, several places separated by commas.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::report::{Kind, Report};

/// The causes by `FILE:PLACE`.
#[derive(Debug, Clone, Default)]
pub struct Differences(BTreeMap<String, String>);

impl Differences {
    /// The list of this package.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn listed() -> Result<Self> {
        Self::parse(include_str!("../differences.txt"))
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
            for place in places.split(',') {
                causes.insert(format!("{file}:{place}"), cause.trim().to_owned());
            }
        }
        Ok(Self(causes))
    }

    /// Why this record differs.
    pub fn cause(&self, record: &str) -> Option<&str> {
        self.0.get(record).map(String::as_str)
    }

    /// What of the report the list doesn't say, or says wrongly: one text each.
    pub fn findings(&self, report: &Report) -> Vec<String> {
        let mut findings = Vec::new();
        for (record, outcome) in report.records() {
            match (&outcome.kind, self.cause(&record)) {
                (Kind::Differs(error), None) => findings.push(format!("--- {record}\n{}", error.trim_end())),
                (Kind::Same | Kind::Plan, Some(cause)) => {
                    findings.push(format!("--- {record} no longer differs, listed as: {cause}"));
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
}
