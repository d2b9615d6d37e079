// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Statistics of zones, in a form in which "unknown" can't be forgotten.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;

use super::known::Known;
use crate::index::ColumnPath;

/// How fine the zones are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One zone per fragment.
    Fragment,
    /// One zone per row group.
    RowGroup,
    /// One zone per page where a page index exists, else one per row group.
    Page,
}

/// One bound (a lower or an upper one) for each of a number of zones.
///
/// A null slot means that the zone's bound is unknown. A bound need not be a value of the zone: every
/// non-null, non-NaN value of the zone is on the right side of it, and that is all.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The bounds, of the column's own type; null where unknown.
    pub values: ArrayRef,
    /// Where the bound is a value that occurs in the zone. Only needed to *return* a min or max.
    pub exact: BooleanBuffer,
}

/// The statistics of one column for a run of consecutive zones.
///
/// Every statistic is optional, as a whole and zone by zone (a null slot); absent means unknown.
/// Float bounds obey the load rules of [`crate::floats`]: never NaN, a zero lower bound is −0.0, a zero
/// upper bound is +0.0.
#[derive(Debug, Clone)]
pub struct ZoneColumn {
    /// The first row of each zone, then the row after the last zone: one more entry than zones.
    starts: Arc<[u64]>,
    data_type: DataType,
    lower: Option<Bound>,
    upper: Option<Bound>,
    nulls: Option<UInt64Array>,
    nans: Option<UInt64Array>,
    /// What all this comes to, once somebody has asked.
    known: OnceLock<Arc<Known>>,
}

impl ZoneColumn {
    /// Zones with these borders of which nothing is known but their rows.
    ///
    /// `starts` is sorted and holds one more entry than there are zones. Unsorted ones are not trusted:
    /// there are no zones then.
    pub fn unknown(data_type: DataType, starts: Arc<[u64]>) -> Self {
        let starts = if starts.is_sorted() { starts } else { Arc::default() };
        Self { starts, data_type, lower: None, upper: None, nulls: None, nans: None, known: OnceLock::new() }
    }

    /// The same zones with these lower bounds; ignored unless there is one of the column's type per zone.
    #[must_use]
    pub fn with_lower(mut self, lower: Bound) -> Self {
        self.lower = self.fitting(lower);
        self.forgotten()
    }

    /// The same zones with these upper bounds; ignored unless there is one of the column's type per zone.
    #[must_use]
    pub fn with_upper(mut self, upper: Bound) -> Self {
        self.upper = self.fitting(upper);
        self.forgotten()
    }

    /// The same zones with these null counts; ignored unless there is one per zone.
    #[must_use]
    pub fn with_nulls(mut self, nulls: UInt64Array) -> Self {
        self.nulls = Some(nulls).filter(|n| n.len() == self.len());
        self.forgotten()
    }

    /// The same zones with these NaN counts; ignored unless there is one per zone.
    #[must_use]
    pub fn with_nans(mut self, nans: UInt64Array) -> Self {
        self.nans = Some(nans).filter(|n| n.len() == self.len());
        self.forgotten()
    }

    /// The same zones, to be looked at anew.
    fn forgotten(mut self) -> Self {
        self.known = OnceLock::new();
        self
    }

    /// What the statistics come to.
    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(self.known.get_or_init(|| Arc::new(Known::of(self))))
    }

    fn fitting(&self, bound: Bound) -> Option<Bound> {
        let fits = bound.values.len() == self.len()
            && bound.exact.len() == self.len()
            && bound.values.data_type() == &self.data_type;
        fits.then_some(bound)
    }

    /// How many zones there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no zone.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first row of each zone, then the row after the last zone.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The borders, to be shared.
    pub(super) fn shared_starts(&self) -> Arc<[u64]> {
        Arc::clone(&self.starts)
    }

    /// The rows of a zone.
    ///
    /// # Panics
    /// When there is no such zone.
    pub fn rows(&self, zone: usize) -> Range<u64> {
        self.starts[zone]..self.starts[zone + 1]
    }

    /// The type of the column and of its bounds.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The lower bounds.
    pub fn lower(&self) -> Option<&Bound> {
        self.lower.as_ref()
    }

    /// The upper bounds.
    pub fn upper(&self) -> Option<&Bound> {
        self.upper.as_ref()
    }

    /// The number of NULLs in each zone, NULLs of enclosing structs included.
    pub fn nulls(&self) -> Option<&UInt64Array> {
        self.nulls.as_ref()
    }

    /// The number of NaNs in each zone.
    pub fn nans(&self) -> Option<&UInt64Array> {
        self.nans.as_ref()
    }

    /// The number of NULLs in a zone, if known.
    pub fn null_count(&self, zone: usize) -> Option<u64> {
        self.nulls.as_ref().filter(|n| n.is_valid(zone)).map(|n| n.value(zone))
    }

    /// The zones that overlap `rows`, as zone numbers.
    pub fn overlapping(&self, rows: &Range<u64>) -> Range<usize> {
        let first = self.starts.partition_point(|s| *s <= rows.start).saturating_sub(1);
        let last = self.starts.partition_point(|s| *s < rows.end).min(self.len());
        first..last.max(first)
    }
}

/// Where a predicate finds the zones of a column.
///
/// Columns are table columns: a source that stands for a fragment has already converted bounds of a
/// narrower file type, and presents partition values and missing columns as constants.
pub trait ZoneSource {
    /// The zones of a column at a level, covering all rows; `None` when nothing is known of it.
    fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>>;
}
