// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running a fragment's plans over the rows of a morsel.
//!
//! Conjunct after conjunct is evaluated over the rows that the ones before have left, each reading its own
//! columns for these rows alone; then the output columns are read for the survivors. What is read is pages:
//! a page in which no row matters any more is neither fetched nor decoded. A conjunct over one
//! dictionary-encoded column is asked once for each value of the dictionary.
//!
//! A conjunct that can fail never sees a row that an earlier one has removed. NULL counts as false.
//!
//! Where a TopK is above, only the best of the survivors are put out ([`BestRows`]).

mod best;
mod filter;
mod group;
mod prepared;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter as filter_array;
use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, internal_datafusion_err};
use object_store::path::Path;
use trommel_planner::plan::{PlanRef, SegmentId};
use trommel_planner::rows::{FragmentRows, RowRanges};

pub use self::best::BestRows;
pub use self::filter::{FilterStep, StepCounts, TRIAL};
pub use self::group::group_by_columns;

use self::prepared::{Context, Part, Prepared, Stream};
use crate::ScanError;
use crate::fragment::OpenFragment;
use crate::io::{Distance, FetchedRanges, RangeReader};
use crate::lower::ReadPlan;
use crate::segments::{SegmentRead, SegmentReader, without_slack};

/// The rows of a morsel, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Morsel<'a> {
    /// The rows to read.
    pub rows: &'a RowRanges<FragmentRows>,
    /// Rows that are known to satisfy every static conjunct, so that none is evaluated for them.
    pub proven: &'a RowRanges<FragmentRows>,
    /// The conjuncts of live filters that are worth asking, besides the plan's own.
    pub live: &'a [FilterStep],
    /// Whether all that may be needed is fetched at once, and not only what survives, conjunct by conjunct:
    /// where a request takes long and most pages will be needed.
    pub at_once: bool,
}

/// Some output rows of a morsel.
#[derive(Debug, Clone)]
pub struct Batch {
    /// One array for each projected column, in output order.
    pub columns: Vec<ArrayRef>,
    /// How many rows there are; the only result when no column is projected.
    pub rows: usize,
}

/// The rows of a morsel that satisfy the conjuncts, in the file's order, decoded as they are asked for. All
/// bytes are at hand.
#[derive(Debug)]
pub struct MorselBatches {
    path: Path,
    parts: VecDeque<(Stream, usize)>,
    rows: u64,
    rows_decoded: u64,
    rows_to_decode: u64,
    dropped: Dropped,
}

/// The rows that conjuncts dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dropped {
    /// Those that the plan's own conjuncts dropped.
    pub fixed: u64,
    /// Those that live filters dropped.
    pub live: u64,
    /// How often a live filter failed, and dropped nothing.
    pub failures: u64,
}

impl MorselBatches {
    /// How many rows of the morsel satisfy the conjuncts, whether they have been asked for or not.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// For how many rows of the morsel something is decoded, in the column of which most are.
    pub fn rows_decoded(&self) -> u64 {
        self.rows_decoded
    }

    /// For how many rows of the morsel something is decoded as rows are asked for: for all of the pages that hold
    /// them, or those rows alone.
    pub fn rows_to_decode(&self) -> u64 {
        self.rows_to_decode
    }

    /// The rows that were dropped.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The next rows, up to `rows` of them; `None` when there are no more.
    ///
    /// # Errors
    /// When bytes don't decode, or a column declared NOT NULL has a NULL.
    pub fn next(&mut self, rows: usize) -> Result<Option<Batch>, ScanError> {
        let Some((stream, left)) = self.parts.front_mut() else { return Ok(None) };
        let rows = rows.clamp(1, *left);
        let output = stream.next(rows, &[], &self.path)?;
        let output = output.as_struct_opt().ok_or_else(|| {
            plan_error(&self.path, internal_datafusion_err!("an output of type {}", output.data_type()))
        })?;
        *left -= rows;
        if *left == 0 {
            self.parts.pop_front();
        }
        Ok(Some(Batch { columns: output.columns().to_vec(), rows }))
    }
}

/// Filters the rows of a morsel and fetches what the survivors need; plans that read no segment do no I/O.
///
/// Decoding costs least when [`MorselBatches::next`] is asked for `batch` rows.
///
/// # Errors
/// When bytes can't be fetched or decoded, an expression fails for a row, a column declared NOT NULL has
/// a NULL, or the morsel has rows that the fragment lacks.
pub async fn read_morsel(
    fragment: &OpenFragment,
    plan: &ReadPlan,
    morsel: Morsel<'_>,
    io: &RangeReader,
    batch: usize,
) -> Result<MorselBatches, ScanError> {
    let path = &fragment.fragment.location;
    let rows = fragment.metadata.rows();
    if morsel.rows.span().is_some_and(|span| span.end > rows) {
        return Err(plan_error(path, internal_datafusion_err!("{:?} of {rows} rows", morsel.rows)));
    }
    let steps: Vec<&FilterStep> = plan.steps().iter().chain(morsel.live).collect();
    let mut batches = MorselBatches {
        path: path.clone(),
        parts: VecDeque::new(),
        rows: 0,
        rows_decoded: 0,
        rows_to_decode: 0,
        dropped: Dropped::default(),
    };
    for part in Part::of(morsel.rows, fragment.metadata.row_groups()) {
        let unproven = unproven(&part, morsel.proven);
        // Proven rows aren't decoded for filters.
        let asks = !steps.is_empty() || plan.best().is_some();
        let shared = asks && unproven.is_none();
        let put_out = if shared { put_out(plan, &part, fragment)? } else { BTreeSet::new() };
        let mut reading = Reading::new(fragment, io, put_out, batches.dropped);
        if morsel.at_once {
            reading.fetch_all(steps.iter().map(|step| step.plan()).chain([plan.projection()]), &part).await?;
        }
        let mut selected = filter::filter(&steps, &part, unproven.as_ref(), &mut reading).await?;
        if let Some(best) = plan.best() {
            selected = best.of(&part, selected, &mut reading).await?;
        }
        let survivors = selected.as_ref().map_or(part.rows.len() as usize, BooleanBuffer::count_set_bits);
        if survivors > 0 {
            let context = reading.context();
            let output = Prepared::new(plan.projection(), 0, &part, selected.as_ref(), context)?;
            reading.fetch(&output).await?;
            batches.parts.push_back((reading.start(&output, selected.as_ref(), batch)?, survivors));
            batches.rows += survivors as u64;
            let to_decode = output.reads().iter().map(|read| read.rows.len()).max();
            batches.rows_to_decode += to_decode.unwrap_or(0);
        }
        batches.rows_decoded += reading.rows_decoded;
        batches.dropped = reading.dropped;
    }
    Ok(batches)
}

/// The bits of the part's rows that aren't proven; `None` when none is proven.
fn unproven(part: &Part, proven: &RowRanges<FragmentRows>) -> Option<BooleanBuffer> {
    let proven = proven.in_row_group(&part.group).intersect(&part.rows);
    if proven.is_empty() {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(part.rows.len() as usize);
    for range in part.rows.iter() {
        let mut at = range.start;
        for known in proven.clip(&range).iter() {
            bits.append_n((known.start - at) as usize, true);
            bits.append_n((known.end - known.start) as usize, false);
            at = known.end;
        }
        bits.append_n((range.end - at) as usize, true);
    }
    Some(bits.finish())
}

/// The segments that the output of a part is made of.
fn put_out(plan: &ReadPlan, part: &Part, fragment: &OpenFragment) -> Result<BTreeSet<SegmentId>, ScanError> {
    let context = Context { path: &fragment.fragment.location, segments: &fragment.segments };
    let output = Prepared::new(plan.projection(), 0, part, None, context)?;
    Ok(output.reads().iter().map(|read| read.segment).collect())
}

/// What is at hand of one part, bytes and columns, and getting more.
struct Reading<'a> {
    fragment: &'a OpenFragment,
    io: &'a RangeReader,
    held: FetchedRanges,
    /// The segments that will be put out.
    put_out: BTreeSet<SegmentId>,
    /// Those of them that a filter has decoded, for which rows of the part.
    decoded: BTreeMap<SegmentId, Decoded>,
    rows_decoded: u64,
    dropped: Dropped,
}

/// A column that was decoded for some rows of a part (all, when absent).
struct Decoded {
    rows: Option<BooleanBuffer>,
    arrays: Vec<ArrayRef>,
}

impl Decoded {
    /// The values of the selected rows, which are among those that were decoded.
    fn select(&self, selected: Option<&BooleanBuffer>) -> Result<Vec<ArrayRef>, ArrowError> {
        let Some(selected) = selected else { return Ok(self.arrays.clone()) };
        let selected = match &self.rows {
            None => selected.clone(),
            Some(rows) => {
                let rows = BooleanArray::new(rows.clone(), None);
                filter_array(&BooleanArray::new(selected.clone(), None), &rows)?.as_boolean().values().clone()
            }
        };
        let mut at = 0;
        let select = |array: &ArrayRef| {
            let bits = selected.slice(at, array.len());
            at += array.len();
            match bits.count_set_bits() {
                all if all == array.len() => Ok(Arc::clone(array)),
                few => {
                    let kept = filter_array(array, &BooleanArray::new(bits, None))?;
                    Ok(if few * 4 < array.len() { without_slack(kept) } else { kept })
                }
            }
        };
        self.arrays.iter().map(select).collect()
    }
}

impl<'a> Reading<'a> {
    fn new(
        fragment: &'a OpenFragment,
        io: &'a RangeReader,
        put_out: BTreeSet<SegmentId>,
        dropped: Dropped,
    ) -> Self {
        let (held, decoded) = (FetchedRanges::default(), BTreeMap::new());
        Self { fragment, io, held, put_out, decoded, rows_decoded: 0, dropped }
    }

    /// Whether a segment will be put out, and isn't decoded yet.
    fn is_put_out(&self, segment: &SegmentId) -> bool {
        self.put_out.contains(segment) && !self.decoded.contains_key(segment)
    }

    /// Keeps columns that a filter has decoded for the rows that it was asked.
    fn remember(&mut self, rows: Option<&BooleanBuffer>, columns: Vec<(SegmentId, Vec<ArrayRef>)>) {
        for (segment, arrays) in columns {
            self.decoded.entry(segment).or_insert_with(|| Decoded { rows: rows.cloned(), arrays });
        }
    }

    /// Starts the output, which takes what filters have decoded.
    fn start(
        &self,
        output: &Prepared,
        selected: Option<&BooleanBuffer>,
        batch: usize,
    ) -> Result<Stream, ScanError> {
        let (mut decoded, mut failed) = (BTreeMap::new(), None);
        for (segment, column) in &self.decoded {
            match column.select(selected) {
                Ok(arrays) => _ = decoded.insert(*segment, arrays),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(self.context().error(error)),
            None => output
                .start_with(&self.held, batch, self.context(), &mut |segment| decoded.get(segment).cloned()),
        }
    }

    fn path(&self) -> &'a Path {
        &self.fragment.fragment.location
    }

    fn segments(&self) -> &'a SegmentReader {
        &self.fragment.segments
    }

    fn context(&self) -> Context<'a> {
        Context { path: self.path(), segments: self.segments() }
    }

    fn note_decoded(&mut self, rows: u64) {
        self.rows_decoded = self.rows_decoded.max(rows);
    }

    /// Fetches all that a prepared plan reads, which is about to be decoded.
    async fn fetch(&mut self, prepared: &Prepared) -> Result<(), ScanError> {
        prepared.reads().iter().for_each(|read| self.note_decoded(read.rows.len()));
        self.fetch_reads(prepared.reads()).await
    }

    /// Fetches all that plans read for all rows of a part.
    async fn fetch_all<'p>(
        &mut self,
        plans: impl Iterator<Item = &'p PlanRef>,
        part: &Part,
    ) -> Result<(), ScanError> {
        let prepared = plans.map(|plan| Prepared::new(plan, 0, part, None, self.context()));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        self.fetch_reads(prepared.iter().flat_map(Prepared::reads).collect()).await
    }

    /// Fetches what is read, as far as no filter has decoded it.
    ///
    /// Where a request costs little, pages come first and then the dictionaries that they turn out to need;
    /// else both come at once.
    async fn fetch_reads(&mut self, mut reads: Vec<&SegmentRead>) -> Result<(), ScanError> {
        let segments = self.segments();
        reads.retain(|read| !self.decoded.contains_key(&read.segment));
        let pages_first = self.io.distance() == Distance::Local;
        let reach = |read: &&SegmentRead| match pages_first {
            true => segments.reach_pages(&read.segment, &read.rows),
            false => segments.reach(&read.segment, &read.rows),
        };
        let dictionaries: Vec<_> =
            reads.iter().flat_map(|read| segments.dictionaries(&read.segment)).collect();
        self.io.fetch(&mut self.held, reads.iter().flat_map(reach).collect(), &dictionaries).await?;
        let missing =
            |read: &&SegmentRead| segments.missing_dictionaries(&read.segment, &read.rows, &self.held);
        let missing: Vec<_> = reads.iter().filter(|_| pages_first).flat_map(missing).collect();
        self.io.fetch(&mut self.held, missing, &dictionaries).await
    }

    /// How many bytes a prepared plan reads.
    fn bytes(&self, prepared: &Prepared) -> u64 {
        let reach = |read: &SegmentRead| self.segments().reach(&read.segment, &read.rows);
        prepared.reads().into_iter().flat_map(reach).map(|range| range.end - range.start).sum()
    }

    /// Fetches ranges, among them these dictionary pages.
    async fn fetch_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
        dictionaries: &[Range<u64>],
    ) -> Result<(), ScanError> {
        self.io.fetch(&mut self.held, ranges, dictionaries).await
    }
}

fn plan_error(path: &Path, error: impl Into<DataFusionError>) -> ScanError {
    ScanError::Plan { path: path.clone(), source: Box::new(error.into()) }
}
