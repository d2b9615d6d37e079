// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A predicate compiled for judging zones, and what it finds.

use datafusion_common::ScalarValue;

use super::{Level, TruthRuns, ZoneSource};
use crate::expr::BoundExpression;
use crate::rows::{FragmentRows, RowRanges};

/// What a predicate says of the rows of a fragment.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// Rows of zones in which some row may match. All other rows of the judged ones don't match.
    pub may: RowRanges<FragmentRows>,
    /// Rows of zones in which every row matches; a part of `may`.
    pub all: RowRanges<FragmentRows>,
    /// errors
    pub errors: usize,
}

/// A predicate in the form that judges zones.
#[derive(Debug, Clone)]
pub struct PrunePredicate {}

impl PrunePredicate {
    /// Compiles a boolean expression over the table's columns (its root is the struct of them).
    ///
    /// Never fails: a part that statistics can't judge may be anything.
    pub fn compile(_predicate: &BoundExpression) -> Self {
        Self {}
    }

    /// Whether the predicate can ever exclude a zone; if not, judging is a waste.
    pub fn can_prune(&self) -> bool {
        false
    }

    /// The truth values the predicate may take over each run of `within`, at one level of zones.
    pub fn truths(
        &self,
        _zones: &dyn ZoneSource,
        _level: Level,
        _within: &RowRanges<FragmentRows>,
        _params: &[ScalarValue],
    ) -> TruthRuns {
        TruthRuns::default()
    }

    /// Judges the rows `within` by all levels of zones, coarse before fine; a finer level is looked at
    /// only where the coarser one couldn't decide.
    pub fn judge(
        &self,
        _zones: &dyn ZoneSource,
        within: &RowRanges<FragmentRows>,
        _params: &[ScalarValue],
    ) -> Verdicts {
        Verdicts { may: within.clone(), all: RowRanges::empty(), errors: 0 }
    }
}
