// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Consecutive zones of columns that have the same borders.

use std::ops::Range;
use std::sync::Arc;

use super::ZoneColumn;
use super::words::{self, Words};
use crate::rows::{FragmentRows, RowRanges};

/// The borders of consecutive zones, shared by the columns that have the same ones.
///
/// The first zone's number in its column is a multiple of 64, so that words of a column's zones are words of
/// the grid's.
#[derive(Debug)]
pub(super) struct Grid {
    starts: Arc<[u64]>,
    zones: Range<usize>,
    live: Words,
}

impl Grid {
    /// The zones of a column that overlap `rows`, and some before them; `None` when they don't cover the rows.
    pub fn over(column: &ZoneColumn, rows: &RowRanges<FragmentRows>) -> Option<Self> {
        let span = rows.span()?;
        let (zones, starts) = (column.overlapping(&span), column.starts());
        let covers = !zones.is_empty() && starts[zones.start] <= span.start && starts[zones.end] >= span.end;
        covers.then(|| Self::new(column.shared_starts(), zones.start / 64 * 64..zones.end, rows))
    }

    /// The zones of both grids cut at each other's borders; for each of them the zone it comes from, in either.
    pub fn cut(&self, other: &Self, rows: &RowRanges<FragmentRows>) -> (Self, [Vec<u64>; 2]) {
        let (a, b) = (self.starts(), other.starts());
        let (mut starts, mut from) = (Vec::with_capacity(a.len() + b.len()), [Vec::new(), Vec::new()]);
        let end = a[a.len() - 1].min(b[b.len() - 1]);
        let (mut i, mut j, mut at) = (0, 0, a[0].max(b[0]));
        while at < end {
            // The last zones that start here or before; those without rows are passed over.
            while a[i + 1] <= at {
                i += 1;
            }
            while b[j + 1] <= at {
                j += 1;
            }
            starts.push(at);
            from[0].push(i as u64);
            from[1].push(j as u64);
            at = a[i + 1].min(b[j + 1]);
        }
        starts.push(end);
        let zones = 0..starts.len() - 1;
        (Self::new(starts.into(), zones, rows), from)
    }

    fn new(starts: Arc<[u64]>, zones: Range<usize>, rows: &RowRanges<FragmentRows>) -> Self {
        let mut grid = Self { starts, zones, live: Words::new() };
        grid.live = grid.overlapping(rows);
        grid
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

    /// The zones that hold judged rows.
    pub fn live(&self) -> &[u64] {
        &self.live
    }

    /// Whether both have the same borders and numbers.
    pub fn same(&self, other: &Self) -> bool {
        self.zones == other.zones
            && (Arc::ptr_eq(&self.starts, &other.starts) || self.starts() == other.starts())
    }

    /// The zones that overlap these rows.
    pub fn overlapping(&self, rows: &RowRanges<FragmentRows>) -> Words {
        let (starts, mut from) = (self.starts(), 0);
        let mut found = vec![0; self.len().div_ceil(64)];
        for range in rows.iter() {
            from += starts[from..].partition_point(|start| *start <= range.start).saturating_sub(1);
            let ends = from + starts[from..].partition_point(|start| *start < range.end);
            words::set_range(&mut found, from, ends.min(self.len()));
        }
        found
    }

    /// The rows of these zones.
    pub fn rows(&self, zones: &[u64]) -> RowRanges<FragmentRows> {
        let (starts, mut rows) = (self.starts(), RowRanges::empty());
        words::for_each_run(zones, |from, to| rows.push(starts[from]..starts[to]));
        rows
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    fn grid(starts: &[u64], rows: &RowRanges<FragmentRows>) -> Option<Grid> {
        Grid::over(&ZoneColumn::unknown(DataType::Int32, starts.into()), rows)
    }

    #[test]
    fn a_grid_covers_its_rows_or_is_none() {
        let span = |rows| RowRanges::single(rows);
        assert_eq!(grid(&[0, 10, 10, 20, 30], &span(5..25)).unwrap().starts(), [0, 10, 10, 20, 30]);
        assert_eq!(grid(&[0, 10, 20, 30], &span(10..20)).unwrap().live(), [0b010]);
        assert!(grid(&[0, 10, 20], &span(5..25)).is_none(), "the last rows have no zone");
        assert!(grid(&[10, 20], &span(5..15)).is_none(), "the first rows have no zone");
        assert!(grid(&[0], &span(0..1)).is_none());
        assert!(grid(&[], &span(0..1)).is_none());
    }

    #[test]
    fn grids_start_at_words() {
        let starts: Vec<u64> = (0..=200).map(|zone| zone * 10).collect();
        let rows = [1305..1320, 1335..1340].into_iter().collect();
        let grid = grid(&starts, &rows).unwrap();
        assert_eq!(grid.zones(), 128..134);
        assert_eq!(grid.live(), [0b101100]);
        assert_eq!(grid.rows(grid.live()), [1300..1320, 1330..1340].into_iter().collect());
    }

    #[test]
    fn grids_are_cut_at_each_others_borders() {
        let rows = RowRanges::all(30);
        let (a, b) = (grid(&[0, 10, 10, 30], &rows).unwrap(), grid(&[0, 5, 10, 20, 30], &rows).unwrap());
        let (both, from) = a.cut(&b, &rows);
        assert_eq!(both.starts(), [0, 5, 10, 20, 30]);
        assert_eq!(from, [vec![0, 0, 2, 2], vec![0, 1, 2, 3]]);
    }
}
