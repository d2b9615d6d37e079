// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Filtering the rows of a part, one conjunct after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, UInt32Array, new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::FieldRef;
use arrow::error::ArrowError;
use datafusion_common::{ScalarValue, internal_datafusion_err};
use trommel_planner::expr::{BoundExpression, Input, evaluate_predicate};
use trommel_planner::plan::operators::{Concat, Eval, SegmentScan};
use trommel_planner::plan::{PlanRef, SegmentId};
use trommel_planner::rows::scatter;

use super::Reading;
use super::prepared::{Part, Prepared, of_group};
use crate::ScanError;
use crate::segments::{CodeTable, without_slack};

/// How many rows a filter is evaluated over at a time: few enough for the caches, many enough to make the
/// cost of a step disappear.
pub(super) const STEP: usize = 16 << 10;
/// Of more rows than this nothing is kept of what a filter has decoded: runs of equal values take few bytes in a file,
/// and many in memory.
pub(super) const MOST_REMEMBERED: u64 = 1 << 22;
/// So many rows there must be to a value of a dictionary. With fewer, the values are asked nearly as often as the
/// rows would be.
const ROWS_PER_VALUE: u64 = 2;

/// A conjunct of a filter, over the rows of a fragment.
#[derive(Debug, Clone)]
pub struct FilterStep {
    plan: PlanRef,
    /// Whether it can fail for some row, and so must not see rows that an earlier conjunct removes.
    can_fail: bool,
    live: bool,
    is_trial: bool,
    params: Arc<[ScalarValue]>,
    counts: Arc<StepCounts>,
}

/// How many rows of a morsel a conjunct on trial is asked for.
pub const TRIAL: u64 = 8 << 10;

/// What a conjunct has cost and dropped so far, in all fragments.
#[derive(Debug, Default)]
pub struct StepCounts {
    asked: AtomicU64,
    kept: AtomicU64,
    nanos: AtomicU64,
}

impl StepCounts {
    /// The rows it was evaluated for.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Those of them that passed.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// The time that reading its columns, from bytes at hand, and evaluating it took.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    /// Adds an evaluation for `asked` rows.
    pub fn add(&self, asked: u64, kept: u64, elapsed: Duration) {
        self.asked.fetch_add(asked, Ordering::Relaxed);
        self.kept.fetch_add(kept, Ordering::Relaxed);
        self.nanos.fetch_add(elapsed.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Nanoseconds for each row dropped; `None` before there is any experience.
    fn cost_of_a_drop(&self) -> Option<f64> {
        let (asked, kept) = (self.asked(), self.kept());
        (asked > 0).then(|| self.elapsed().as_nanos() as f64 / (asked.saturating_sub(kept)).max(1) as f64)
    }
}

impl FilterStep {
    /// A conjunct's plan, pushed down; `can_fail` as the conjunct.
    pub(crate) fn new(plan: PlanRef, can_fail: bool, counts: Arc<StepCounts>) -> Self {
        Self { plan, can_fail, live: false, is_trial: false, params: Arc::from([]), counts }
    }

    /// The same conjunct as one of a live filter: what proves the static ones says nothing of it, and since
    /// nothing depends on it but time, it keeps all rows where it fails.
    #[must_use]
    pub fn live(self, params: Arc<[ScalarValue]>) -> Self {
        Self { live: true, params, ..self }
    }

    /// The same conjunct, asked for the first [`TRIAL`] rows of a morsel only; the others are kept.
    #[must_use]
    pub fn on_trial(self) -> Self {
        Self { is_trial: true, ..self }
    }

    /// A boolean for each row of the fragment.
    pub fn plan(&self) -> &PlanRef {
        &self.plan
    }

    /// The column and the expression over it that this is, if it is one over one column alone.
    fn over_one_segment(
        &self,
        part: &Part,
        reading: &Reading<'_>,
    ) -> Result<Option<(BoundExpression, SegmentId, FieldRef)>, ScanError> {
        let context = reading.context();
        let resolve = |plan: &PlanRef| match plan.as_opt::<Concat>() {
            Some(_) => of_group(plan, 0, part, context).map(|(child, _)| child),
            None => Ok(plan.clone()),
        };
        let plan = resolve(&self.plan)?;
        let Some(eval) = plan.as_opt::<Eval>() else { return Ok(None) };
        let input = resolve(plan.child(0).map_err(|e| context.error(e))?)?;
        let segment = input.as_opt::<SegmentScan>();
        Ok(segment.map(|segment| (eval.expression.clone(), *segment, Arc::clone(input.field()))))
    }

    /// The rows of the part that pass, among those asked for; `of` are those that would be asked if this weren't a trial.
    async fn run(
        &self,
        part: &Part,
        asked: Asked<'_>,
        of: Asked<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<BooleanBuffer, ScanError> {
        if let Some(passed) = self.by_dictionary(part, asked, of, reading).await? {
            return Ok(passed);
        }
        let prepared = Prepared::new(&self.plan, 0, part, asked.rows, reading.context())?;
        reading.fetch(&prepared).await?;
        let started = Instant::now();
        let mut stream = prepared.start(&reading.held, STEP, reading.context())?;
        let remembers = asked.are_worth_remembering(of);
        stream.remember(&|segment| remembers && reading.is_put_out(segment));
        let (mut kept, mut left) = (BooleanBufferBuilder::new(asked.count as usize), asked.count as usize);
        let step = if asked.count < of.count { left.div_ceil(4) } else { STEP };
        let mut opened = None;
        while left > 0 {
            let rows = left.min(step);
            let values = stream.next(rows, &self.params, reading.path())?;
            append_truth(&mut kept, values.as_ref()).ok_or_else(|| {
                reading.context().error(internal_datafusion_err!("a filter of type {}", values.data_type()))
            })?;
            left -= rows;
            opened.get_or_insert_with(|| (rows, started.elapsed()));
        }
        let kept = kept.finish();
        let mut elapsed = started.elapsed();
        if let Some((first, opened)) = opened
            && asked.count < of.count
        {
            // Of the first rows' time, what they took more than the others went into opening pages.
            let others = elapsed.saturating_sub(opened) / (asked.count as u32 - first as u32).max(1);
            let opening = opened.saturating_sub(others * first as u32);
            let whole = Prepared::new(&self.plan, 0, part, of.rows, reading.context())?;
            let pages = reading.bytes(&whole) as f64 / reading.bytes(&prepared).max(1) as f64;
            let share = asked.count as f64 / of.count as f64;
            elapsed = others * asked.count as u32 + opening.mul_f64(pages * share);
        }
        self.counts.add(asked.count, kept.count_set_bits() as u64, elapsed);
        reading.remember(asked.rows, stream.remembered());
        Ok(match asked.rows {
            Some(asked) => scatter(asked, &kept),
            None => kept,
        })
    }

    /// The same by asking for each value of a dictionary; `None` where there is no dictionary, or where
    /// that may cost more or fail.
    async fn by_dictionary(
        &self,
        part: &Part,
        asked: Asked<'_>,
        of: Asked<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<BooleanBuffer>, ScanError> {
        let Some((expression, segment, field)) = self.over_one_segment(part, reading)? else {
            return Ok(None);
        };
        let segments = reading.segments();
        if expression.is_volatile() || !segments.has_dictionary(&segment) {
            return Ok(None);
        }
        let pages = segments.dictionaries(&segment);
        // A value takes some eight bytes; a page that can't have few isn't read for this.
        if pages.iter().map(|page| page.end - page.start).sum::<u64>() / 4 > of.count {
            return Ok(None);
        }
        reading.fetch_ranges(pages.clone(), &pages).await?;
        let len = segments.dictionary_len(&segment, &reading.held);
        if len.is_none_or(|len| len * ROWS_PER_VALUE > of.count) {
            return Ok(None);
        }
        let started = Instant::now();
        let values = segments.dictionary(&segment, &reading.held)?;
        let null = new_null_array(values.data_type(), 1);
        let values = concat(&[values.as_ref(), null.as_ref()]).map_err(|e| reading.context().error(e))?;
        // What fails for a value that no row may have isn't an error yet; rows will tell.
        let input = Input { root: &values, params: &self.params };
        let table = evaluate_predicate(&expression, input).ok().and_then(|kept| CodeTable::new(&kept));
        let Some(table) = table else { return Ok(None) };
        // A trial bears its share of what is done for all rows.
        let share = asked.count as f64 / of.count as f64;
        let dictionary = started.elapsed().mul_f64(share);
        let (len, count) = (part.rows.len() as usize, asked.count);
        let nullable = field.is_nullable();
        if table.keeps_none(nullable) {
            self.counts.add(count, 0, dictionary);
            return Ok(Some(BooleanBuffer::new_unset(len)));
        }
        if table.keeps_all(nullable) {
            self.counts.add(count, count, dictionary);
            return Ok(Some(asked.rows.cloned().unwrap_or_else(|| BooleanBuffer::new_set(len))));
        }
        let read = segments.touched(&segment, &part.rows, asked.rows);
        reading.note_decoded(read.rows.len());
        reading.fetch_ranges(segments.reach(&segment, &read.rows), &pages).await?;
        let started = Instant::now();
        let remembers = asked.are_worth_remembering(of) && reading.is_put_out(&segment);
        let mut codes = remembers.then(Vec::new);
        let kept = segments.look_up(&read, &part.rows, &table, &reading.held, codes.as_mut())?;
        if let Some(codes) = codes {
            let column = values_of(&values, &codes).map_err(|e| reading.context().error(e))?;
            reading.remember(Some(&kept), vec![(segment, column)]);
        }
        let passed = match asked.rows {
            Some(asked) => &kept & asked,
            None => kept,
        };
        let mut codes = started.elapsed();
        if count < of.count {
            let whole = segments.touched(&segment, &part.rows, of.rows).rows.len();
            codes = codes.mul_f64(share * whole as f64 / read.rows.len().max(1) as f64);
        }
        self.counts.add(count, passed.count_set_bits() as u64, dictionary + codes);
        Ok(Some(passed))
    }
}

/// Rows of a part that a conjunct is asked for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// Their bits; all are asked for when absent.
    rows: Option<&'a BooleanBuffer>,
    count: u64,
}

impl Asked<'_> {
    /// Whether what is decoded for these rows may be put out: of rows that a trial spares nothing is decoded.
    fn are_worth_remembering(&self, of: Asked<'_>) -> bool {
        self.count == of.count && self.count <= MOST_REMEMBERED
    }
}

/// The values of some codes, a step at a time.
fn values_of(values: &ArrayRef, codes: &[u32]) -> Result<Vec<ArrayRef>, ArrowError> {
    let of_step = |codes: &[u32]| {
        let column = take(values, &UInt32Array::from(codes.to_vec()), None)?;
        Ok(if codes.len() * 4 < values.len() { without_slack(column) } else { column })
    };
    codes.chunks(STEP).map(of_step).collect()
}

/// Appends whether each value is true; `None` when the values aren't booleans.
fn append_truth(kept: &mut BooleanBufferBuilder, values: &dyn Array) -> Option<()> {
    let values: &BooleanArray = values.as_boolean_opt()?;
    match values.nulls() {
        Some(nulls) => kept.append_buffer(&(values.values() & nulls.inner())),
        None => kept.append_buffer(values.values()),
    }
    Some(())
}

/// The rows of a part that satisfy all steps; `None` when all do.
///
/// `unproven` has the bits of the rows that aren't known to satisfy the static steps.
pub(super) async fn filter(
    steps: &[&FilterStep],
    part: &Part,
    unproven: Option<&BooleanBuffer>,
    reading: &mut Reading<'_>,
) -> Result<Option<BooleanBuffer>, ScanError> {
    let mut selected: Option<BooleanBuffer> = None;
    for step in in_order(steps) {
        let unproven = unproven.filter(|_| !step.live);
        let asked = match (&selected, unproven) {
            (Some(selected), Some(unproven)) => Some(selected & unproven),
            (None, Some(unproven)) => Some(unproven.clone()),
            (selected, None) => selected.clone(),
        };
        let count = asked.as_ref().map_or(part.rows.len(), |asked| asked.count_set_bits() as u64);
        if count == 0 {
            continue;
        }
        let of = Asked { rows: asked.as_ref(), count };
        let (some, spared) = match step.is_trial && count > TRIAL {
            true => split_at(of.rows, TRIAL as usize, part.rows.len() as usize),
            false => (None, None),
        };
        let asked = if spared.is_some() { Asked { rows: some.as_ref(), count: TRIAL } } else { of };
        let count = asked.count;
        let passed = match step.run(part, asked, of, reading).await {
            Err(ScanError::Plan { .. }) if step.live => {
                reading.dropped.failures += 1;
                continue;
            }
            passed => passed?,
        };
        let dropped = count - passed.count_set_bits() as u64;
        let dropped_so_far = if step.live { &mut reading.dropped.live } else { &mut reading.dropped.fixed };
        *dropped_so_far += dropped;
        let passed = match &spared {
            Some(spared) => &passed | spared,
            None => passed,
        };
        let passed = match (unproven, &selected) {
            (None, _) => passed,
            (Some(unproven), None) => &passed | &!unproven,
            (Some(unproven), Some(selected)) => &passed | &(selected & &!unproven),
        };
        let left = passed.count_set_bits();
        if left == 0 {
            return Ok(Some(passed));
        }
        selected = (left < passed.len()).then_some(passed);
    }
    Ok(selected)
}

/// The first so many of the set bits (of all of `len` bits, when absent), and the others.
pub(super) fn split_at(
    bits: Option<&BooleanBuffer>,
    count: usize,
    len: usize,
) -> (Option<BooleanBuffer>, Option<BooleanBuffer>) {
    let end = match bits {
        Some(bits) => bits.set_indices().nth(count).unwrap_or(len),
        None => count.min(len),
    };
    let mut before = BooleanBufferBuilder::new(len);
    before.append_n(end, true);
    before.append_n(len - end, false);
    let before = before.finish();
    match bits {
        Some(bits) => (Some(bits & &before), Some(bits & &!&before)),
        None => (Some(before.clone()), Some(!&before)),
    }
}

/// The steps, those first that drop a row most cheaply; none is moved across one that can fail.
fn in_order<'s>(steps: &[&'s FilterStep]) -> Vec<&'s FilterStep> {
    let mut ordered = steps.to_vec();
    for run in ordered.chunk_by_mut(|a, b| !a.can_fail && !b.can_fail) {
        // What there is no experience with comes first, or there never would be any.
        run.sort_by(|a, b| {
            let cost = |step: &FilterStep| step.counts.cost_of_a_drop().unwrap_or(0.0);
            cost(a).total_cmp(&cost(b))
        });
    }
    ordered
}
