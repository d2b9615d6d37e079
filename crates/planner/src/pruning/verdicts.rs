// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A predicate compiled for judging zones, and what it finds.

use datafusion_common::ScalarValue;

use super::compile::compile;
use super::extent::Extent;
use super::judge::Judge;
use super::node::Node;
use super::operand::Operand;
use super::{Candidates, Level, Truth, TruthRuns, ZoneSource};
use crate::expr::BoundExpression;
use crate::index::ColumnPath;
use crate::rows::{FragmentRows, RowRanges};

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
        let judge = Judge::new(zones, level, within, params, &self.operands);
        let whole = Extent::whole(within);
        let each = Truth::ANY.values().map(|value| {
            let mut runs = TruthRuns::default();
            let may = self.root.may(&judge, value, &whole).rows(within);
            for range in within.iter() {
                let mut from = range.start;
                for may in may.clip(&range).iter() {
                    runs.push(from..may.start, Truth::NONE);
                    from = may.end;
                    runs.push(may, value);
                }
                runs.push(from..range.end, Truth::NONE);
            }
            runs
        });
        each.reduce(|all, value| all.zip(&value, Truth::or_else)).unwrap_or_default()
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

    /// The columns of which it matters whether a zone holds one of some values.
    pub fn sought(&self) -> impl Iterator<Item = &ColumnPath> {
        let mut operands = Vec::new();
        self.root.visit(&mut |node| match node {
            Node::Leaf(operand, leaf) if leaf.seeks() => operands.push(*operand),
            _ => {}
        });
        operands.sort_unstable();
        operands.dedup();
        operands.into_iter().filter_map(|operand| match self.operands.get(operand)? {
            Operand::Column(column) => Some(&column.path),
            _ => None,
        })
    }

    /// Judges the rows `within` once more, by the zones of one level and by what knows which values they hold.
    pub fn judge_candidates(
        &self,
        zones: &dyn ZoneSource,
        level: Level,
        candidates: &dyn Candidates,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
    ) -> Verdicts {
        self.verdicts(&Judge::new(zones, level, within, params, &self.operands).with_candidates(candidates))
    }

    fn judge_at(
        &self,
        zones: &dyn ZoneSource,
        level: Level,
        within: &RowRanges<FragmentRows>,
        params: &[ScalarValue],
    ) -> Verdicts {
        self.verdicts(&Judge::new(zones, level, within, params, &self.operands))
    }

    fn verdicts(&self, judge: &Judge<'_>) -> Verdicts {
        let rows = judge.rows();
        let may = self.root.may(judge, Truth::TRUE, &Extent::whole(rows));
        let other = self.root.may(judge, Truth::FALSE.or_else(Truth::NULL), &may);
        let all = may.minus(&other, rows).rows(rows);
        Verdicts { may: may.rows(rows), all, errors: judge.errors() }
    }
}
