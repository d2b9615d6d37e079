// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which segments a morsel needs, and for which of its rows.

use std::collections::BTreeMap;
use std::ops::Range;

use datafusion_common::{DataFusionError, internal_err};
use trommel_planner::plan::operators::{Concat, ConcatData, SegmentScan};
use trommel_planner::plan::{PlanError, PlanRef, SegmentId};
use trommel_planner::rows::{FragmentRows, RowGroupRows, RowRanges};

use super::{InMorsel, Morsel};
use crate::lower::ReadPlan;
use crate::segments::SegmentReader;

/// What a segment is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Need {
    /// For the filter only, so that rows that are proven aren't read.
    Filter,
    /// For the output, so that all rows of the morsel are read.
    Output,
}

/// The segments that a morsel needs.
#[derive(Debug)]
pub(super) struct Needs {
    rows: RowRanges<FragmentRows>,
    unproven: RowRanges<FragmentRows>,
    unproven_in_morsel: InMorsel,
    segments: BTreeMap<SegmentId, (Need, Range<u64>)>,
}

impl Needs {
    /// The segments that `plan` reads for the rows of `morsel`.
    pub fn of(plan: &ReadPlan, morsel: &Morsel<'_>) -> Result<Self, DataFusionError> {
        if morsel.rows.span().is_some_and(|s| s.end > plan.projection().rows()) {
            return internal_err!("{:?} of {} rows", morsel.rows, plan.projection().rows());
        }
        let unproven = morsel.rows.subtract(morsel.proven);
        let unproven_in_morsel = in_morsel(morsel.rows, &unproven);
        let mut needs =
            Self { rows: morsel.rows.clone(), unproven, unproven_in_morsel, segments: BTreeMap::new() };
        for conjunct in plan.conjuncts() {
            needs.add(conjunct, 0, Need::Filter)?;
        }
        needs.add(plan.projection(), 0, Need::Output)?;
        Ok(needs)
    }

    /// Adds the segments of a plan whose rows start at fragment row `start`.
    fn add(&mut self, plan: &PlanRef, start: u64, need: Need) -> Result<(), PlanError> {
        let rows = start..start + plan.rows();
        if !self.rows(need).overlaps(&rows) {
            return Ok(());
        }
        if let Some(segment) = plan.as_opt::<SegmentScan>() {
            let (known, _) = self.segments.entry(*segment).or_insert((need, rows));
            *known = need.max(*known);
            return Ok(());
        }
        if let Some(data) = plan.as_opt::<Concat>() {
            for (child, start) in children_of(plan, data, start, self.rows(need)) {
                // Looked at before it is made: a row group that isn't read isn't lowered.
                if self.rows(need).overlaps(&(start..start + plan.children().shapes()[child].rows)) {
                    self.add(plan.child(child)?, start, need)?;
                }
            }
            return Ok(());
        }
        (0..plan.children().len()).try_for_each(|child| self.add(plan.child(child)?, start, need))
    }

    /// The byte ranges of all segments.
    pub fn reach(&self, reader: &SegmentReader) -> Vec<Range<u64>> {
        let reach = |(segment, (need, group)): (&SegmentId, &(Need, Range<u64>))| {
            reader.reach(segment, &self.rows_in_group(*need, group))
        };
        self.segments.iter().flat_map(reach).collect()
    }

    /// The byte ranges of the dictionary pages of all segments.
    pub fn dictionaries(&self, reader: &SegmentReader) -> Vec<Range<u64>> {
        self.segments.keys().flat_map(|segment| reader.dictionaries(segment)).collect()
    }

    /// What a segment is read for.
    pub fn need(&self, segment: &SegmentId) -> Need {
        self.segments.get(segment).map_or(Need::Output, |(need, _)| *need)
    }

    /// The rows of the morsel that are read for a need.
    pub fn rows(&self, need: Need) -> &RowRanges<FragmentRows> {
        match need {
            Need::Filter => &self.unproven,
            Need::Output => &self.rows,
        }
    }

    /// The same, as rows of the row group that holds these fragment rows.
    pub fn rows_in_group(&self, need: Need, group: &Range<u64>) -> RowRanges<RowGroupRows> {
        self.rows(need).in_row_group(group)
    }

    /// The rows that aren't proven, counted over the morsel.
    pub fn unproven_in_morsel(&self) -> &InMorsel {
        &self.unproven_in_morsel
    }
}

/// The children of a concat that may hold some of these rows, each with the fragment row at which it
/// starts; the concat itself starts at fragment row `start`.
pub(super) fn children_of<'d>(
    plan: &PlanRef,
    data: &'d ConcatData,
    start: u64,
    rows: &RowRanges<FragmentRows>,
) -> impl Iterator<Item = (usize, u64)> + use<'d> {
    let span = rows.clip(&(start..start + plan.rows())).span();
    let children = span.map_or(0..0, |span| data.children_of(&(span.start - start..span.end - start)));
    children.filter_map(move |child| Some((child, start + data.child_rows(child)?.start)))
}

/// Some of a morsel's rows, counted over the morsel.
fn in_morsel(morsel: &RowRanges<FragmentRows>, some: &RowRanges<FragmentRows>) -> InMorsel {
    let (mut out, mut before) = (RowRanges::empty(), 0);
    for range in morsel.iter() {
        for r in some.clip(&range).iter() {
            out.push(before + r.start - range.start..before + r.end - range.start);
        }
        before += range.end - range.start;
    }
    out
}
