// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A set of judged rows, in the form that suits its zones.

use std::rc::Rc;

use super::grid::Grid;
use super::words::{self, Words};
use crate::rows::{FragmentRows, RowRanges};

/// A set of judged rows.
///
/// Zones stand for the judged rows among theirs: which rows are judged is said once, where ranges are asked for.
#[derive(Debug, Clone)]
pub(super) enum Extent {
    /// None.
    Nothing,
    /// All.
    Whole,
    /// Those in zones of a grid.
    Zones(Rc<Grid>, Words),
    /// These: where columns with different borders have met.
    Rows(RowRanges<FragmentRows>),
}

impl Extent {
    /// All of the rows, which are judged.
    pub fn whole(judged: &RowRanges<FragmentRows>) -> Self {
        if judged.is_empty() { Self::Nothing } else { Self::Whole }
    }

    /// The rows in these zones.
    pub fn zones(grid: &Rc<Grid>, zones: Words) -> Self {
        if words::is_empty(&zones) { Self::Nothing } else { Self::Zones(Rc::clone(grid), zones) }
    }

    fn of_rows(rows: RowRanges<FragmentRows>) -> Self {
        if rows.is_empty() { Self::Nothing } else { Self::Rows(rows) }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// The rows as ranges, when these are judged.
    pub fn rows(&self, judged: &RowRanges<FragmentRows>) -> RowRanges<FragmentRows> {
        match self {
            Self::Nothing => RowRanges::empty(),
            Self::Whole => judged.clone(),
            Self::Zones(grid, zones) => grid.rows(zones).intersect(judged),
            Self::Rows(rows) => rows.clone(),
        }
    }

    /// The rows of zones of `grid` that `find` finds among those that hold some of these rows.
    pub fn find<E>(
        &self,
        grid: &Rc<Grid>,
        judged: &RowRanges<FragmentRows>,
        find: impl FnOnce(&[u64]) -> Result<Words, E>,
    ) -> Result<Self, E> {
        match self {
            Self::Nothing => Ok(Self::Nothing),
            Self::Whole => Ok(Self::zones(grid, find(grid.live())?)),
            Self::Zones(own, zones) if Rc::ptr_eq(own, grid) => Ok(Self::zones(grid, find(zones)?)),
            _ => {
                let rows = self.rows(judged);
                let found = find(&grid.overlapping(&rows))?;
                Ok(Self::of_rows(grid.rows(&found).intersect(&rows)))
            }
        }
    }

    /// These rows and those.
    pub fn union(self, other: Self, judged: &RowRanges<FragmentRows>) -> Self {
        match (self, other) {
            (Self::Nothing, extent) | (extent, Self::Nothing) => extent,
            (Self::Whole, _) | (_, Self::Whole) => Self::Whole,
            (Self::Zones(grid, mut a), Self::Zones(other, b)) if Rc::ptr_eq(&grid, &other) => {
                words::add(&mut a, &b);
                Self::Zones(grid, a)
            }
            (a, b) => Self::of_rows(a.rows(judged).union(&b.rows(judged))),
        }
    }

    /// These rows without those.
    pub fn minus(&self, other: &Self, judged: &RowRanges<FragmentRows>) -> Self {
        match (self, other) {
            (extent, Self::Nothing) => extent.clone(),
            (Self::Nothing, _) | (_, Self::Whole) => Self::Nothing,
            (Self::Whole, Self::Zones(grid, b)) => Self::zones(grid, words::minus(grid.live(), b)),
            (Self::Zones(grid, a), Self::Zones(other, b)) if Rc::ptr_eq(grid, other) => {
                Self::zones(grid, words::minus(a, b))
            }
            (a, b) => Self::of_rows(a.rows(judged).subtract(&b.rows(judged))),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use proptest::prelude::*;

    use super::*;
    use crate::pruning::ZoneColumn;

    const ROWS: u64 = 40;

    fn rows(bits: u64) -> RowRanges<FragmentRows> {
        (0..ROWS).filter(|row| bits >> row & 1 == 1).map(|row| row..row + 1).collect()
    }

    proptest! {
        #[test]
        fn every_form_does_what_sets_of_rows_do(judged in 1u64..1 << ROWS, a in any::<u64>(), b in any::<u64>()) {
            let judged = rows(judged);
            let grid = |width: u64| {
                let starts: Vec<u64> = (0..ROWS / width).map(|zone| zone * width).chain([ROWS]).collect();
                Rc::new(Grid::over(&ZoneColumn::unknown(DataType::Int32, starts.into()), &judged).unwrap())
            };
            let (grid, other) = (grid(4), grid(7));
            let forms = |bits: u64| {
                let zones = |grid: &Rc<Grid>| Extent::zones(grid, words::and(grid.live(), &[bits]));
                let some = Extent::of_rows(rows(bits).intersect(&judged));
                [Extent::Nothing, Extent::Whole, zones(&grid), zones(&other), some]
            };
            for x in forms(a) {
                let of_x = x.rows(&judged);
                prop_assert_eq!(x.is_empty(), of_x.is_empty());
                let found = x.find(&grid, &judged, |live| Ok::<_, ()>(words::and(live, &[b]))).unwrap();
                let expect = grid.rows(&words::and(grid.live(), &[b])).intersect(&of_x);
                prop_assert_eq!(found.rows(&judged), expect);
                for y in forms(b) {
                    let of_y = y.rows(&judged);
                    prop_assert_eq!(x.minus(&y, &judged).rows(&judged), of_x.subtract(&of_y));
                    prop_assert_eq!(x.clone().union(y, &judged).rows(&judged), of_x.union(&of_y));
                }
            }
        }
    }
}
