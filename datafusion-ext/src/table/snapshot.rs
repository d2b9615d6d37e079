// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What one query sees of a table: its fragments, each at one version, with their metadata.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::physical_expr::PhysicalSortExpr;
use object_store::ObjectStore;
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::pruning::{Bound, Level, PrunePredicate, Verdicts, ZoneColumn, ZoneSource};
use trommel_planner::rows::RowRanges;
use trommel_scan::fragment::OpenFragment;
use trommel_scan::io::Distance;
use trommel_scan::io::IoCounters;

use super::options::TableOptions;

/// What one query sees of a table. Made by [`TrommelTable::snapshot`](crate::TrommelTable::snapshot); nothing
/// in it changes afterwards, and making it read no rows.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// What to call the table in plans: its locations.
    pub name: String,
    /// The table's schema: the columns read from files, then the partition columns.
    pub table: SchemaRef,
    /// How many columns at the end of [`table`](Self::table) have one value for each file: partition columns, and
    /// the path of the file, if that is a column.
    pub partition_columns: usize,
    /// The table's files in the order of their listing, without those whose partition values already
    /// exclude them.
    pub fragments: Vec<ScanFragment>,
    /// The orders each file is declared to be sorted in, over [`table`](Self::table). A declaration, not a
    /// fact: nothing has checked it, and it says nothing across files.
    pub order: Vec<Vec<PhysicalSortExpr>>,
    /// How to read.
    pub options: Arc<TableOptions>,
    /// What reading the metadata took: footers and page indexes that no cache had.
    pub planning_io: Arc<IoCounters>,
}

/// A file of a snapshot, and the store to read it from.
#[derive(Debug, Clone)]
pub struct ScanFragment {
    /// The file, its metadata, and how its columns stand for the table's.
    pub open: Arc<OpenFragment>,
    /// The store it is in.
    pub store: Arc<dyn ObjectStore>,
    /// How far away that is.
    pub distance: Distance,
}

impl Snapshot {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.fragments.iter().map(|fragment| fragment.open.metadata.rows()).sum()
    }

    /// The [`TableRows`](trommel_planner::rows::TableRows) number of each fragment's first row.
    pub fn first_rows(&self) -> Vec<u64> {
        let mut next = 0;
        let first = |fragment: &ScanFragment| {
            let first = next;
            next += fragment.open.metadata.rows();
            first
        };
        self.fragments.iter().map(first).collect()
    }

    /// What zones tell of a predicate over all rows of a fragment.
    pub fn judge(&self, fragment: usize, predicate: &PrunePredicate) -> Verdicts {
        let rows = RowRanges::all(self.fragments[fragment].open.metadata.rows());
        predicate.judge(self.zones(fragment), &rows, &[])
    }

    /// Bounds of a column of integers or dates over all fragments; `None` where they aren't known.
    pub fn integers(&self, column: TableCol) -> Option<RangeInclusive<i64>> {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for fragment in 0..self.fragments.len() {
            let zones = self.zones(fragment).zones(&ColumnPath::from(column), Level::RowGroup)?;
            let integers = |bound: Option<&Bound>| cast(&bound?.values, &DataType::Int64).ok();
            let (lower, upper) = (integers(zones.lower())?, integers(zones.upper())?);
            for zone in 0..zones.len() {
                let rows = zones.rows(zone);
                // A zone of NULLs alone has no bounds and needs none.
                if zones.null_count(zone) == Some(rows.end - rows.start) {
                    continue;
                }
                if lower.is_null(zone) || upper.is_null(zone) {
                    return None;
                }
                first = first.min(lower.as_primitive::<Int64Type>().value(zone));
                last = last.max(upper.as_primitive::<Int64Type>().value(zone));
            }
        }
        Some(first..=last)
    }

    /// The statistics of a fragment's zones; none at all when the table's statistics are distrusted.
    pub fn zones(&self, fragment: usize) -> &dyn ZoneSource {
        if self.options.distrust_statistics {
            &Distrusted
        } else {
            self.fragments[fragment].open.zones.as_ref()
        }
    }
}

/// Zones of which nothing is believed.
struct Distrusted;

impl ZoneSource for Distrusted {
    fn zones(&self, _column: &ColumnPath, _level: Level) -> Option<Arc<ZoneColumn>> {
        None
    }
}
