// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running a fragment's plans over the rows of a morsel.
//!
//! The bytes of all segments that a morsel needs are fetched in one go; then conjunct after conjunct is
//! evaluated over the rows that the ones before have left, and the output columns are filtered down to
//! the survivors. Each segment is decoded at most once. A conjunct never sees a row that an earlier one
//! has removed, so a conjunct that can fail doesn't fail for such a row. NULL counts as false.

mod evaluate;
mod needs;
#[cfg(test)]
mod tests;

use std::ops::Range;

use arrow::array::{ArrayRef, AsArray};
use datafusion_common::{ScalarValue, internal_datafusion_err};
use object_store::path::Path;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::{FragmentRows, MorselRows, RowGroupRows, RowRanges, Selection};

use self::evaluate::Evaluator;
use self::needs::Needs;
use crate::ScanError;
use crate::fragment::OpenFragment;
use crate::io::{HeldBytes, RangeReader};
use crate::lower::ReadPlan;
use crate::segments::SegmentReader;

/// The rows of a morsel, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Morsel<'a> {
    /// The rows to read.
    pub rows: &'a RowRanges<FragmentRows>,
    /// Rows that are known to satisfy every conjunct, so that none is evaluated for them.
    pub proven: &'a RowRanges<FragmentRows>,
    /// The values of the conjuncts' parameter slots.
    pub params: &'a [ScalarValue],
}

/// The rows of a morsel that satisfy the conjuncts.
#[derive(Debug, Clone)]
pub struct MorselOutput {
    /// One array for each projected column, in output order, with the surviving rows in the file's order.
    pub columns: Vec<ArrayRef>,
    /// How many rows survived; the only result when no column is projected.
    pub rows: u64,
    /// For how many rows something was decoded.
    pub rows_decoded: u64,
}

/// Reads the rows of a morsel that satisfy `plan`'s conjuncts. Plans that read no segment do no I/O.
///
/// # Errors
/// When bytes can't be fetched or decoded, an expression fails for a row, a column declared NOT NULL has
/// a NULL, or the morsel has rows that the fragment lacks.
pub async fn read_morsel(
    fragment: &OpenFragment,
    plan: &ReadPlan,
    morsel: Morsel<'_>,
    io: &RangeReader,
) -> Result<MorselOutput, ScanError> {
    let path = &fragment.fragment.location;
    let needs = Needs::of(plan, &morsel).map_err(|e| plan_error(path, e))?;
    let ranges = needs.reach(&fragment.segments);
    if ranges.is_empty() {
        return run(path, plan, morsel, &needs, &Fetched { reader: &fragment.segments, bytes: &NoBytes });
    }
    let bytes = io.fetch(ranges, &needs.dictionaries(&fragment.segments)).await?;
    run(path, plan, morsel, &needs, &Fetched { reader: &fragment.segments, bytes: &bytes })
}

/// Where decoded segments come from.
trait Segments {
    /// Exactly these rows of a segment.
    fn decode(&self, segment: &SegmentId, rows: &RowRanges<RowGroupRows>) -> Result<ArrayRef, ScanError>;
}

/// Decodes from bytes in memory.
struct Fetched<'a> {
    reader: &'a SegmentReader,
    bytes: &'a dyn HeldBytes,
}

impl Segments for Fetched<'_> {
    fn decode(&self, segment: &SegmentId, rows: &RowRanges<RowGroupRows>) -> Result<ArrayRef, ScanError> {
        self.reader.decode(segment, rows, self.bytes)
    }
}

struct NoBytes;

impl HeldBytes for NoBytes {
    fn get(&self, _: &Range<u64>) -> Option<bytes::Bytes> {
        None
    }
}

/// Runs a plan over segments that are at hand.
fn run(
    path: &Path,
    plan: &ReadPlan,
    morsel: Morsel<'_>,
    needs: &Needs,
    segments: &dyn Segments,
) -> Result<MorselOutput, ScanError> {
    let mut evaluator = Evaluator::new(path, morsel, needs, segments);
    let unproven = Selection::Ranges(needs.unproven_in_morsel().clone(), morsel.rows.len());
    let mut selected = Selection::All(morsel.rows.len());
    for conjunct in plan.conjuncts() {
        let asked = if morsel.proven.is_empty() { selected.clone() } else { selected.and(&unproven) };
        if asked.count() == 0 {
            continue;
        }
        let keep = evaluator.evaluate(conjunct, &asked)?;
        let keep = keep.as_boolean_opt().ok_or_else(|| {
            plan_error(path, internal_datafusion_err!("a filter of type {}", keep.data_type()))
        })?;
        let kept = asked.refine(keep);
        selected = if morsel.proven.is_empty() { kept } else { kept.or(&selected.and(&unproven.not())) };
    }
    let rows = selected.count();
    let output = evaluator.evaluate(plan.projection(), &selected)?;
    let output = output.as_struct_opt().ok_or_else(|| {
        plan_error(path, internal_datafusion_err!("an output of type {}", output.data_type()))
    })?;
    Ok(MorselOutput { columns: output.columns().to_vec(), rows, rows_decoded: evaluator.rows_decoded() })
}

fn plan_error(path: &Path, error: impl Into<datafusion_common::DataFusionError>) -> ScanError {
    ScanError::Plan { path: path.clone(), source: Box::new(error.into()) }
}

/// Ranges of a morsel's rows, counted over the morsel.
type InMorsel = RowRanges<MorselRows>;
