// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What judging a part of a predicate found, in the form that suits its zones.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::buffer::{BooleanBuffer, Buffer};

use super::lanes::{Lanes, word_count};
use super::{Truth, TruthRuns, ZoneColumn};
use crate::rows::{FragmentRows, RowRanges};

/// The borders of consecutive zones, shared by the columns that have the same ones.
#[derive(Debug)]
pub(super) struct Grid {
    starts: Arc<[u64]>,
    zones: Range<usize>,
}

impl Grid {
    /// The zones of a column that overlap `span`; `None` when they don't cover it.
    pub fn over(column: &ZoneColumn, span: &Range<u64>) -> Option<Self> {
        let zones = column.overlapping(span);
        let starts = column.starts();
        let covers = !zones.is_empty() && starts[zones.start] <= span.start && starts[zones.end] >= span.end;
        covers.then(|| Self { starts: column.shared_starts(), zones })
    }

    /// The numbers of the zones within their column.
    pub fn zones(&self) -> Range<usize> {
        self.zones.clone()
    }

    /// How many zones there are.
    pub fn len(&self) -> usize {
        self.zones.len()
    }

    /// The first row of each zone, then the row after the last zone.
    pub fn starts(&self) -> &[u64] {
        &self.starts[self.zones.start..=self.zones.end]
    }

    /// Whether both have the same borders and numbers.
    pub fn same(&self, other: &Self) -> bool {
        self.zones == other.zones
            && (Arc::ptr_eq(&self.starts, &other.starts) || self.starts() == other.starts())
    }
}

/// The truth sets of a part of a predicate over some rows.
#[derive(Debug, Clone)]
pub(super) enum Judged {
    /// The same set for every row.
    Constant(Truth),
    /// A set for each zone of a grid, 64 at a time.
    Zoned(Rc<Grid>, Vec<Lanes>),
    /// Runs over exactly the judged rows: where columns with different borders have met.
    Runs(TruthRuns),
}

impl Judged {
    /// Each set replaced.
    pub fn map(self, f: impl Fn(Lanes) -> Lanes) -> Self {
        match self {
            Self::Constant(truth) => Self::Constant(f(Lanes::splat(truth)).get(0)),
            Self::Zoned(grid, mut lanes) => {
                lanes.iter_mut().for_each(|lane| *lane = f(*lane));
                Self::Zoned(grid, lanes)
            }
            Self::Runs(runs) => Self::Runs(runs.map(|truth| f(Lanes::splat(truth)).get(0))),
        }
    }

    /// Both, row by row, over `rows`, which both judged.
    pub fn zip(self, other: Self, rows: &RowRanges<FragmentRows>, f: impl Fn(Lanes, Lanes) -> Lanes) -> Self {
        match (self, other) {
            (Self::Constant(a), b) => b.map(|b| f(Lanes::splat(a), b)),
            (a, Self::Constant(b)) => a.map(|a| f(a, Lanes::splat(b))),
            (Self::Zoned(grid, mut a), Self::Zoned(other, b)) if Rc::ptr_eq(&grid, &other) => {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, b));
                Self::Zoned(grid, a)
            }
            (a, b) => {
                let f = |a, b| f(Lanes::splat(a), Lanes::splat(b)).get(0);
                Self::Runs(a.into_runs(rows).zip(&b.into_runs(rows), f))
            }
        }
    }

    /// Whether this is `truth` and nothing else for every row.
    pub fn is_always(&self, truth: Truth) -> bool {
        match self {
            Self::Constant(t) => *t == truth,
            Self::Zoned(grid, lanes) => {
                let expect = Lanes::splat(truth);
                lanes.iter().enumerate().all(|(i, lane)| {
                    let mask = u64::MAX >> (64 - (grid.len() - i * 64).min(64));
                    lane.only(mask) == expect.only(mask)
                })
            }
            Self::Runs(runs) => runs.iter().all(|(_, t)| t == truth),
        }
    }

    /// The sets as runs over exactly `rows`.
    pub fn into_runs(self, rows: &RowRanges<FragmentRows>) -> TruthRuns {
        let mut runs = TruthRuns::default();
        match self {
            Self::Constant(truth) => rows.iter().for_each(|range| runs.push(range, truth)),
            Self::Zoned(grid, lanes) => {
                let starts = grid.starts();
                for range in rows.iter() {
                    let first = starts.partition_point(|s| *s <= range.start).saturating_sub(1);
                    for zone in (first..grid.len()).take_while(|zone| starts[*zone] < range.end) {
                        let rows = starts[zone].max(range.start)..starts[zone + 1].min(range.end);
                        runs.push(rows, lanes[zone / 64].get(zone % 64));
                    }
                }
            }
            Self::Runs(judged) => runs = judged,
        }
        runs
    }

    /// Those of `rows` whose lane `test` sets.
    pub fn select(
        &self,
        rows: &RowRanges<FragmentRows>,
        test: impl Fn(Lanes) -> u64,
    ) -> RowRanges<FragmentRows> {
        let selects = |truth| test(Lanes::splat(truth)) & 1 == 1;
        let mut out = RowRanges::empty();
        match self {
            Self::Constant(truth) if selects(*truth) => return rows.clone(),
            Self::Constant(_) => {}
            Self::Zoned(grid, lanes) => {
                debug_assert_eq!(lanes.len(), word_count(grid.len()));
                let words: Vec<u64> = lanes.iter().map(|lane| test(*lane)).collect();
                let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, grid.len());
                let starts = grid.starts();
                bits.set_slices().for_each(|(from, to)| out.push(starts[from]..starts[to]));
                return out.intersect(rows);
            }
            Self::Runs(runs) => {
                runs.iter().filter(|(_, truth)| selects(*truth)).for_each(|(range, _)| out.push(range));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    fn grid(starts: &[u64], span: Range<u64>) -> Option<Rc<Grid>> {
        Grid::over(&ZoneColumn::unknown(DataType::Int32, starts.into()), &span).map(Rc::new)
    }

    /// TRUE in odd zones, ANY in even ones.
    fn odd(grid: &Rc<Grid>) -> Judged {
        let word = 0x5555_5555_5555_5555;
        let lane = Lanes { t: u64::MAX, f: word, n: word };
        Judged::Zoned(Rc::clone(grid), vec![lane; word_count(grid.len())])
    }

    #[test]
    fn a_grid_covers_its_span_or_is_none() {
        assert_eq!(grid(&[0, 10, 10, 20, 30], 5..25).unwrap().starts(), [0, 10, 10, 20, 30]);
        assert_eq!(grid(&[0, 10, 20, 30], 10..20).unwrap().zones(), 1..2);
        assert!(grid(&[0, 10, 20], 5..25).is_none(), "the last rows have no zone");
        assert!(grid(&[10, 20], 5..15).is_none(), "the first rows have no zone");
        assert!(grid(&[0], 0..1).is_none());
        assert!(grid(&[], 0..1).is_none());
    }

    #[test]
    fn every_form_selects_and_runs_alike() {
        let starts: Vec<u64> = (0..=100).map(|i| i * 10).collect();
        let grid = grid(&starts, 0..1000).unwrap();
        let rows: RowRanges<FragmentRows> = [5..25, 40..42, 635..660].into_iter().collect();
        let zoned = odd(&grid);
        let runs = Judged::Runs(zoned.clone().into_runs(&rows));
        let proven = zoned.select(&rows, Lanes::all_true);
        assert_eq!(proven, [10..20, 635..640, 650..660].into_iter().collect());
        assert_eq!(runs.select(&rows, Lanes::all_true), proven);
        assert_eq!(zoned.select(&rows, |l| l.t), rows);

        let both = zoned.clone().zip(runs.clone(), &rows, Lanes::and).into_runs(&rows);
        assert_eq!(both, zoned.clone().zip(zoned.clone(), &rows, Lanes::and).into_runs(&rows));
        assert!(
            zoned
                .clone()
                .map(Lanes::negate)
                .zip(zoned, &rows, |_, _| Lanes::splat(Truth::FALSE))
                .is_always(Truth::FALSE)
        );
    }
}
