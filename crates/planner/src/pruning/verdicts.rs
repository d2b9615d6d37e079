// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A predicate compiled for judging zones, and what it finds.

use datafusion_common::ScalarValue;

use super::compile::compile;
use super::judge::Judge;
use super::judged::Judged;
use super::lanes::Lanes;
use super::node::Node;
use super::operand::Operand;
use super::{Level, TruthRuns, ZoneSource};
use crate::expr::BoundExpression;
use crate::rows::{FragmentRows, RowRanges};

/// A gap between judged rows up to this long is judged along with them: a call of a kernel costs as
/// much as some pages' worth of zones.
const SMALL_GAP: u64 = 1 << 20;

/// What a predicate says of the rows of a fragment.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// Rows of zones in which some row may match. All other rows of the judged ones don't match.
    pub may: RowRanges<FragmentRows>,
    /// Rows of zones in which every row matches; a part of `may`.
    pub all: RowRanges<FragmentRows>,
    /// How often a part of the predicate couldn't be judged because of an error: zones that leave out
    /// rows or are of another type, a parameter without a value, types that can't be compared. Such a
    /// part may be anything.
    pub errors: usize,
}

/// A predicate in the form that judges zones.
#[derive(Debug, Clone)]
pub struct PrunePredicate {
    root: Node,
    operands: Vec<Operand>,
}

impl PrunePredicate {
    /// Compiles a boolean expression over the table's columns (its root is the struct of them).
    ///
    /// Never fails: a part that statistics can't judge may be anything.
    pub fn compile(predicate: &BoundExpression) -> Self {
        let (root, operands) = compile(predicate);
        Self { root, operands }
    }

    /// Whether the predicate can ever exclude a zone or match it wholly; if not, judging is a waste.
    pub fn can_prune(&self) -> bool {
        !matches!(self.root, Node::Constant(truth) if truth.may_be_true() && !truth.is_all_true())
    }

    /// The truth values the predicate may take over each run of `within`, at one level of zones.
    pub fn truths(
        &self,
        zones: &dyn ZoneSource,
        level: Level,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
    ) -> TruthRuns {
        let mut runs = TruthRuns::default();
        self.each_cluster(zones, level, within, params, |rows, judged| {
            judged.into_runs(rows).iter().for_each(|(range, truth)| runs.push(range, truth));
        });
        runs
    }

    /// Judges the rows `within` by all levels of zones, coarse before fine; a finer level is looked at
    /// only where the coarser one couldn't decide.
    pub fn judge(
        &self,
        zones: &dyn ZoneSource,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
    ) -> Verdicts {
        let coarse = self.judge_at(zones, Level::RowGroup, within, params);
        let open = coarse.may.subtract(&coarse.all);
        if open.is_empty() || matches!(self.root, Node::Constant(_)) {
            return coarse;
        }
        let fine = self.judge_at(zones, Level::Page, &open, params);
        Verdicts {
            may: coarse.all.union(&fine.may),
            all: coarse.all.union(&fine.all),
            errors: coarse.errors + fine.errors,
        }
    }

    fn judge_at(
        &self,
        zones: &dyn ZoneSource,
        level: Level,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
    ) -> Verdicts {
        let (mut may, mut all) = (RowRanges::empty(), RowRanges::empty());
        let errors = self.each_cluster(zones, level, within, params, |rows, judged| {
            judged.select(rows, |lanes| lanes.t).iter().for_each(|range| may.push(range));
            judged.select(rows, Lanes::all_true).iter().for_each(|range| all.push(range));
        });
        Verdicts { may, all, errors }
    }

    /// Judges the clusters of `within` one by one; the number of errors.
    fn each_cluster(
        &self,
        zones: &dyn ZoneSource,
        level: Level,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
        mut found: impl FnMut(&RowRanges<FragmentRows>, Judged),
    ) -> usize {
        let mut errors = 0;
        for rows in clusters(within) {
            let judge = Judge::new(zones, level, &rows, params, &self.operands);
            found(&rows, self.root.judge(&judge));
            errors += judge.errors();
        }
        errors
    }
}

/// The rows in groups that are judged at once, everything between their first and last row included.
///
/// A group ends at a gap that is both large and larger than the rows before it.
fn clusters(rows: &RowRanges<FragmentRows>) -> Vec<RowRanges<FragmentRows>> {
    let mut clusters: Vec<RowRanges<FragmentRows>> = Vec::new();
    for range in rows.iter() {
        let near = clusters.last_mut().filter(|cluster| {
            cluster.span().is_some_and(|span| {
                let gap = range.start - span.end;
                gap <= SMALL_GAP || gap <= span.end - span.start
            })
        });
        match near {
            Some(cluster) => cluster.push(range),
            None => clusters.push(RowRanges::single(range)),
        }
    }
    clusters
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(&[], &[])]
    #[case::near(&[0..10, 20..30], &[2])]
    #[case::far(&[0..10, SMALL_GAP + 11..SMALL_GAP + 12], &[1, 1])]
    #[case::far_but_less_than_before(&[0..9 * SMALL_GAP, 12 * SMALL_GAP..13 * SMALL_GAP], &[2])]
    fn rows_are_judged_in_clusters(#[case] ranges: &[std::ops::Range<u64>], #[case] expect: &[usize]) {
        let rows: RowRanges<FragmentRows> = ranges.iter().cloned().collect();
        let sizes: Vec<_> = clusters(&rows).iter().map(RowRanges::range_count).collect();
        assert_eq!(sizes, expect);
    }
}
