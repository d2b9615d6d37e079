// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Cases known to fail, by name and with the reason.
//!
//! One a line: `FILE CASE [MODE] # REASON`. A CASE that starts with `~` fails now and then. MODE is a list of words
//! joined by commas that a run's mode must all have (see [`Mode::words`]); without it, or as `*`, every run is meant.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::report::{CaseId, Report};
use crate::session::Mode;

/// One case that is known to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The case.
    pub case: CaseId,
    /// Whether it passes in some runs.
    pub now_and_then: bool,
    /// The words a mode must have for the case to fail in it.
    pub modes: Vec<String>,
    /// Why it fails.
    pub reason: String,
}

impl Exception {
    fn parse(line: &str) -> Result<Self> {
        let (names, reason) = line.split_once('#').context("no `# REASON`")?;
        let mut words = names.split_whitespace();
        let file = words.next().context("no FILE")?.to_owned();
        let case = words.next().context("no CASE")?;
        let modes = words.next().unwrap_or("*");
        ensure!(words.next().is_none(), "more than FILE, CASE and MODE");
        let (case, now_and_then) = case.strip_prefix('~').map_or((case, false), |case| (case, true));
        Ok(Self {
            case: CaseId { file, case: case.to_owned() },
            now_and_then,
            modes: modes.split(',').filter(|word| *word != "*").map(str::to_owned).collect(),
            reason: reason.trim().to_owned(),
        })
    }

    fn applies_to(&self, mode: &Mode) -> bool {
        let words = mode.words();
        self.modes.iter().all(|word| words.contains(word))
    }
}

/// A list of cases known to fail.
#[derive(Debug, Clone, Default)]
pub struct Exceptions(Vec<Exception>);

impl Exceptions {
    /// Reads a list; lines that are empty or start with `#` are comments.
    ///
    /// # Errors
    /// A line of another shape, with its number.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().map(str::trim).enumerate();
        lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(index, line)| {
                Exception::parse(line).with_context(|| format!("line {}: {line}", index + 1))
            })
            .collect::<Result<_>>()
            .map(Self)
    }

    /// The exceptions that hold in `mode`.
    #[must_use]
    pub fn of(&self, mode: &Mode) -> Self {
        Self(self.0.iter().filter(|exception| exception.applies_to(mode)).cloned().collect())
    }

    /// The failing records of `report` whose case isn't listed, one text each.
    pub fn unexpected(&self, report: &Report) -> Vec<String> {
        let listed: BTreeSet<&CaseId> = self.0.iter().map(|exception| &exception.case).collect();
        let unlisted = report.failures.iter().filter(|failure| !listed.contains(&failure.case));
        unlisted.map(ToString::to_string).collect()
    }

    /// The listed cases that held although they always should fail, or that didn't run at all, one text each.
    pub fn unmet(&self, failing: &BTreeSet<&CaseId>) -> Vec<String> {
        let expected = self.0.iter().filter(|exception| !exception.now_and_then);
        expected
            .filter(|exception| !failing.contains(&exception.case))
            .map(|exception| format!("{} no longer fails, listed as: {}", exception.case, exception.reason))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Format;
    use crate::slt::Failure;

    fn list() -> Exceptions {
        let text =
            "# a comment\na.slt one # always\n\na.slt ~two # a race\nb.slt three plain,partitions=4 # later";
        Exceptions::parse(text).unwrap()
    }

    fn failing(file: &str, case: &str) -> Report {
        let case = CaseId { file: file.to_owned(), case: case.to_owned() };
        let failures = vec![Failure { case, message: "wrong".to_owned() }];
        Report { failures, ..Report::default() }
    }

    #[test]
    fn modes_choose_exceptions() {
        let linked = Mode::new(Format::Trommel, 4);
        assert_eq!(list().of(&linked).0.len(), 2);
        assert_eq!(list().of(&Mode { linked: false, ..linked }).0.len(), 3);
        assert_eq!(list().of(&Mode { linked: false, partitions: 1, ..linked }).0.len(), 2);
    }

    #[test]
    fn unlisted_failures_and_unmet_exceptions_are_told() {
        let report = failing("a.slt", "one");
        assert_eq!(list().unexpected(&report), Vec::<String>::new());
        assert_eq!(list().unmet(&report.failing_cases()), ["b.slt three no longer fails, listed as: later"]);
        assert_eq!(list().unexpected(&failing("a.slt", "four")).len(), 1);
    }

    #[test]
    fn a_line_without_reason_is_named() {
        let error = Exceptions::parse("\na.slt one").unwrap_err();
        assert_eq!(format!("{error:#}"), "line 2: a.slt one: no `# REASON`");
    }
}
