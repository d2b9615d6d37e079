// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Cutting a snapshot into units of work: runs of rows of one row group, cut at page borders.

use std::ops::Range;
use std::sync::Arc;

use parquet::file::metadata::ColumnChunkMetaData;
use trommel_planner::index::ColumnPath;
use trommel_planner::plan::FieldPath;
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::adapt::ColumnSource;
use trommel_scan::fragment::OpenFragment;
use trommel_scan::io::Kept;

use crate::table::Snapshot;

/// The largest unit, in bytes of the columns read as they are in the file.
pub const COMPRESSED_BYTES: u64 = 8 << 20;
/// The largest unit, in bytes of the columns read when decompressed.
const UNCOMPRESSED_BYTES: u64 = 64 << 20;
/// The largest unit in rows: runs of equal values take few bytes however many they are.
const ROWS: u64 = 1 << 20;

/// A run of rows that is claimed in one piece.
#[derive(Debug, Clone)]
pub struct Unit {
    /// The fragment, counted in the snapshot.
    pub fragment: usize,
    /// The rows.
    pub rows: Range<u64>,
    /// The row group's rows, for the first of its units: what is counted by row group is counted there.
    pub opens: Option<Range<u64>>,
    /// What the units of one row group keep for each other, if there are several.
    pub kept: Option<Arc<Kept>>,
}

/// The borders of the finest pages among the columns a scan reads, over one fragment.
#[derive(Debug)]
pub struct PageGrid {
    starts: Vec<u64>,
}

impl PageGrid {
    /// The finest grid of a fragment among what these columns are read from; one cell per row group where the
    /// file has no page index.
    pub fn new(open: &OpenFragment, columns: &[ColumnPath]) -> Self {
        let metadata = &open.metadata;
        let schema = metadata.parquet().file_metadata().schema_descr();
        let mut read = file_leaves(open, columns);
        read.retain(|leaf| schema.column(*leaf).max_rep_level() == 0);
        let mut starts = Vec::new();
        for (group, rows) in metadata.row_groups().iter().enumerate() {
            let pages = read.iter().filter_map(|leaf| metadata.page_locations(group, *leaf));
            let finest = pages.max_by_key(|pages| pages.len()).unwrap_or_default();
            starts.push(rows.start);
            for page in finest {
                let start = rows.start.saturating_add_signed(page.first_row_index);
                if start > *starts.last().unwrap_or(&0) && start < rows.end {
                    starts.push(start);
                }
            }
        }
        Self { starts }
    }

    /// How many cells hold any of these rows.
    pub fn cells(&self, rows: &RowRanges<FragmentRows>) -> usize {
        let (mut cells, mut next) = (0, 0);
        for range in rows.iter() {
            // A cell that ended the last range may start this one too; it counts once.
            let first = self.starts.partition_point(|s| *s <= range.start).saturating_sub(1).max(next);
            let last = self.starts.partition_point(|s| *s < range.end);
            cells += last.saturating_sub(first);
            next = last.max(next);
        }
        cells
    }

    /// Cuts `rows` at the borders that are at least `step` rows apart.
    fn cut(&self, rows: Range<u64>, step: u64) -> Vec<Range<u64>> {
        let (mut pieces, mut start) = (Vec::new(), rows.start);
        while start < rows.end {
            let at = self.starts.partition_point(|s| *s < start.saturating_add(step));
            let end = self.starts.get(at).map_or(rows.end, |s| (*s).min(rows.end));
            pieces.push(start..end);
            start = end;
        }
        pieces
    }
}

/// All units of a snapshot in file order, its fragments in the order `sequence`.
pub fn cut(snapshot: &Snapshot, sequence: &[usize], columns: &[ColumnPath], grids: &[PageGrid]) -> Vec<Unit> {
    let mut units = Vec::new();
    for fragment in sequence.iter().copied() {
        let open = &snapshot.fragments[fragment].open;
        let wanted = file_leaves(open, columns);
        for (row_group, rows) in open.metadata.row_groups().iter().enumerate() {
            let len = rows.end - rows.start;
            let pieces = compressed_bytes(open, row_group, &wanted)
                .div_ceil(COMPRESSED_BYTES)
                .max(uncompressed_bytes(open, row_group, &wanted).div_ceil(UNCOMPRESSED_BYTES))
                .max(len.div_ceil(ROWS));
            let step = len.div_ceil(pieces.max(1)).max(1);
            let whole = Unit { fragment, rows: rows.clone(), opens: Some(rows.clone()), kept: None };
            units.extend(split(whole, grids, step));
        }
    }
    units
}

/// A unit as several, cut at page borders that are at least `step` rows apart.
pub fn split(unit: Unit, grids: &[PageGrid], step: u64) -> Vec<Unit> {
    let pieces = grids[unit.fragment].cut(unit.rows.clone(), step);
    if pieces.len() <= 1 || unit.kept.is_some() {
        return vec![unit];
    }
    let kept = Arc::new(Kept::new(pieces.len()));
    let unit = |rows: Range<u64>| Unit {
        fragment: unit.fragment,
        opens: unit.opens.clone().filter(|group| group.start == rows.start),
        rows,
        kept: Some(Arc::clone(&kept)),
    };
    pieces.into_iter().map(unit).collect()
}

/// The size of some columns of a snapshot: the sum of what `size` gives for the leaves of each row group.
pub fn total_bytes(
    snapshot: &Snapshot,
    columns: &[ColumnPath],
    size: fn(&OpenFragment, usize, &[usize]) -> u64,
) -> u64 {
    let bytes = |open: &OpenFragment| {
        let leaves = file_leaves(open, columns);
        let groups = 0..open.metadata.row_groups().len();
        groups.map(|group| size(open, group, &leaves)).fold(0, u64::saturating_add)
    };
    snapshot.fragments.iter().map(|f| bytes(&f.open)).fold(0, u64::saturating_add)
}

/// The size of some leaves of a row group in the file.
pub fn compressed_bytes(open: &OpenFragment, row_group: usize, leaves: &[usize]) -> u64 {
    let sizes = chunks(open, row_group, leaves).map(|chunk| chunk.compressed_size().max(0) as u64);
    sizes.fold(0, u64::saturating_add)
}

/// The size of some leaves of a row group when decompressed. Dictionary-coded values count once per
/// row where the file says how long they are.
pub fn uncompressed_bytes(open: &OpenFragment, row_group: usize, leaves: &[usize]) -> u64 {
    let sizes = chunks(open, row_group, leaves).map(|chunk| {
        let encoded = chunk.uncompressed_size().max(0) as u64;
        chunk.unencoded_byte_array_data_bytes().map_or(encoded, |bytes| encoded.max(bytes.max(0) as u64))
    });
    sizes.fold(0, u64::saturating_add)
}

/// The chunks of some leaves of a row group.
fn chunks<'a>(
    open: &'a OpenFragment,
    row_group: usize,
    leaves: &'a [usize],
) -> impl Iterator<Item = &'a ColumnChunkMetaData> {
    let chunks = open.metadata.parquet().row_group(row_group).columns();
    leaves.iter().filter_map(|leaf| chunks.get(*leaf))
}

/// The fragment's leaves that columns are read from, each once.
pub fn file_leaves<'a>(open: &OpenFragment, columns: impl IntoIterator<Item = &'a ColumnPath>) -> Vec<usize> {
    let leaves_of = |path: &ColumnPath| match open.adaptation.source(path.column) {
        Some(ColumnSource::File { column, cast: false }) => {
            let fields = FieldPath::of(path.fields.iter().map(|field| *field as usize));
            open.metadata.leaves_of(*column, &fields.unwrap_or(FieldPath::EMPTY))
        }
        Some(ColumnSource::File { column, .. }) => open.metadata.leaves(*column),
        Some(ColumnSource::Constant(_) | ColumnSource::RowNumbers) | None => 0..0,
    };
    let mut leaves: Vec<_> = columns.into_iter().flat_map(leaves_of).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_touched_by_two_ranges_counts_once() {
        let grid = PageGrid { starts: vec![0, 10, 20, 30] };
        let cells = |ranges: Vec<Range<u64>>| grid.cells(&ranges.into_iter().collect());
        assert_eq!(cells(vec![1..3, 5..7, 9..12]), 2);
        assert_eq!(cells(Vec::from([0..40, 50..60])), 4);
        assert_eq!(cells(Vec::new()), 0);
    }

    #[test]
    fn pieces_end_at_borders() {
        let grid = PageGrid { starts: vec![0, 10, 20, 30] };
        assert_eq!(grid.cut(0..40, 1), [0..10, 10..20, 20..30, 30..40]);
        assert_eq!(grid.cut(0..40, 11), [0..20, 20..40]);
        assert_eq!(grid.cut(10..40, 100).len(), 1);
    }

    #[test]
    fn the_pieces_of_a_row_group_keep_things_for_each_other() {
        let grid = [PageGrid { starts: vec![0, 10, 20] }];
        let whole = Unit { fragment: 0, rows: 0..30, opens: Some(0..30), kept: None };
        assert!(split(whole.clone(), &grid, 30)[0].kept.is_none(), "alone there is nobody to keep for");
        let pieces = split(whole, &grid, 1);
        assert_eq!(pieces.iter().map(|p| p.opens.clone()).collect::<Vec<_>>(), [Some(0..30), None, None]);
        assert!(pieces.iter().all(|p| p.kept.is_some()));
    }
}
