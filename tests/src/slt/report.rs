// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a run of SQL cases found.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

/// A case by name: its file's name and the NAME of its `# case NAME: …` line, empty above the first such line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseId {
    /// The name of the file, without its folder.
    pub file: String,
    /// The name of the case.
    pub case: String,
}

impl Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.file, self.case)
    }
}

/// One failing record.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The case it belongs to.
    pub case: CaseId,
    /// What went wrong, with the statement and its place.
    pub message: String,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--- {}\n{}", self.case, self.message.trim_end())
    }
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// How many records held.
    pub passed: usize,
    /// Every record that did not.
    pub failures: Vec<Failure>,
    /// Every case that ran, failing or not.
    pub cases: BTreeSet<CaseId>,
}

impl Report {
    /// The cases with a failing record.
    pub fn failing_cases(&self) -> BTreeSet<&CaseId> {
        self.failures.iter().map(|failure| &failure.case).collect()
    }

    /// Adds the outcome of more files.
    pub fn extend(&mut self, more: Self) {
        self.passed += more.passed;
        self.failures.extend(more.failures);
        self.cases.extend(more.cases);
    }
}

/// Every failing record, then `N passed, N failed`.
impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}\n")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failures.len())
    }
}
