// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A plan over some rows of one row group: first what it reads, then its value, a step at a time.

use std::iter::from_fn;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StructArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion_common::{DataFusionError, ScalarValue, internal_datafusion_err};
use object_store::path::Path;
use trommel_planner::expr::{BoundExpression, Input, evaluate};
use trommel_planner::plan::operators::{Concat, Eval, Pack, RowIdx, RowIdxData, SegmentScan};
use trommel_planner::plan::{PlanRef, SegmentId};
use trommel_planner::rows::{FragmentRows, RowGroupRows, RowRanges, TableRows};

use super::plan_error;
use crate::ScanError;
use crate::io::HeldBytes;
use crate::segments::{SegmentRead, SegmentReader, SegmentStream};

/// The largest part, in rows: there is a bit for each of them, and a file may say that a few bytes hold any number.
pub(super) const MOST_ROWS: u64 = 1 << 27;

/// The rows of a morsel in one row group, or some of them.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The row group's rows in the fragment.
    pub group: Range<u64>,
    /// The morsel's rows in it.
    pub rows: RowRanges<RowGroupRows>,
}

impl Part {
    /// The parts of some rows of a fragment.
    pub fn of(rows: &RowRanges<FragmentRows>, groups: &[Range<u64>]) -> impl Iterator<Item = Self> {
        let touched = groups.iter().filter(|group| rows.overlaps(group));
        touched.flat_map(|group| {
            let mut left = rows.in_row_group(group);
            from_fn(move || {
                let (rows, rest) = left.split_at(MOST_ROWS);
                left = rest;
                (!rows.is_empty()).then(|| Self { group: group.clone(), rows })
            })
        })
    }
}

/// What evaluates plans: the file, for errors and bytes, and the values of parameter slots.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub path: &'a Path,
    pub segments: &'a SegmentReader,
}

impl Context<'_> {
    pub fn error(&self, error: impl Into<DataFusionError>) -> ScanError {
        plan_error(self.path, error)
    }
}

/// A plan for the selected rows of a part.
#[derive(Debug)]
pub(super) enum Prepared {
    /// Decodes a segment.
    Segment { read: SegmentRead, field: FieldRef },
    /// Puts columns side by side.
    Pack { fields: Fields, columns: Vec<Prepared> },
    /// Evaluates an expression.
    Eval { expression: BoundExpression, input: Box<Prepared> },
    /// Numbers the rows.
    Numbers(RowRanges<TableRows>),
}

impl Prepared {
    /// Prepares a plan whose rows start at fragment row `start`; `selected` has one bit for each row of
    /// the part, and all are selected when it is absent. Reads nothing.
    pub fn new(
        plan: &PlanRef,
        start: u64,
        part: &Part,
        selected: Option<&BooleanBuffer>,
        context: Context<'_>,
    ) -> Result<Self, ScanError> {
        if let Some(segment) = plan.as_opt::<SegmentScan>() {
            if start != part.group.start || plan.rows() != part.group.end - part.group.start {
                return Err(context.error(internal_datafusion_err!("{plan} at {start} isn't {part:?}")));
            }
            let read = context.segments.read(segment, &part.rows, selected);
            return Ok(Self::Segment { read, field: Arc::clone(plan.field()) });
        }
        if plan.as_opt::<Concat>().is_some() {
            let (child, start) = of_group(plan, start, part, context)?;
            return Self::new(&child, start, part, selected, context);
        }
        let child = |number: usize| -> Result<Self, ScanError> {
            let child = plan.child(number).map_err(|e| context.error(e))?;
            Self::new(child, start, part, selected, context)
        };
        if plan.as_opt::<Pack>().is_some() && !plan.field().is_nullable() {
            let DataType::Struct(fields) = plan.field().data_type() else {
                return Err(context.error(internal_datafusion_err!("a pack that isn't a struct: {plan}")));
            };
            let columns = (0..plan.children().len()).map(child).collect::<Result<_, _>>()?;
            return Ok(Self::Pack { fields: fields.clone(), columns });
        }
        if let Some(eval) = plan.as_opt::<Eval>() {
            return Ok(Self::Eval { expression: eval.expression.clone(), input: Box::new(child(0)?) });
        }
        if let Some(RowIdxData { start: first }) = plan.as_opt::<RowIdx>() {
            let rows = selected.map_or_else(|| part.rows.clone(), |selected| part.rows.select(selected));
            let group = part.group.start.checked_sub(start).and_then(|group| first.checked_add(group));
            let lost =
                || context.error(internal_datafusion_err!("{plan} at {start} doesn't number {part:?}"));
            let group = group.ok_or_else(lost)?;
            return Ok(Self::Numbers(rows.iter().map(|r| group + r.start..group + r.end).collect()));
        }
        Err(context.error(internal_datafusion_err!("can't run {plan}")))
    }

    /// What is read of each segment.
    pub fn reads(&self) -> Vec<&SegmentRead> {
        let (mut reads, mut stack) = (Vec::new(), vec![self]);
        while let Some(node) = stack.pop() {
            match node {
                Self::Segment { read, .. } => reads.push(read),
                Self::Pack { columns, .. } => stack.extend(columns.iter().rev()),
                Self::Eval { input, .. } => stack.push(input),
                Self::Numbers(_) => {}
            }
        }
        reads
    }

    /// Starts evaluation, which costs least in steps of `batch` rows.
    pub fn start(
        &self,
        bytes: &dyn HeldBytes,
        batch: usize,
        context: Context<'_>,
    ) -> Result<Stream, ScanError> {
        self.start_with(bytes, batch, context, &mut |_| None)
    }

    /// The same, with what is decoded already of segments.
    pub fn start_with(
        &self,
        bytes: &dyn HeldBytes,
        batch: usize,
        context: Context<'_>,
        decoded: &mut dyn FnMut(&SegmentId) -> Option<Vec<ArrayRef>>,
    ) -> Result<Stream, ScanError> {
        Ok(match self {
            Self::Segment { read, field } => {
                let stream = match decoded(&read.segment) {
                    Some(arrays) => context.segments.reopen(&read.segment, arrays)?,
                    None => context.segments.open(read, bytes, batch)?,
                };
                Stream::Segment(SegmentColumn {
                    stream: Box::new(stream),
                    field: Arc::clone(field),
                    segment: read.segment,
                    seen: None,
                })
            }
            Self::Pack { fields, columns } => {
                let columns = columns.iter().map(|column| column.start_with(bytes, batch, context, decoded));
                Stream::Pack(fields.clone(), columns.collect::<Result<_, _>>()?)
            }
            Self::Eval { expression, input } => {
                Stream::Eval(expression.clone(), Box::new(input.start_with(bytes, batch, context, decoded)?))
            }
            Self::Numbers(rows) => Stream::Numbers(rows.clone()),
        })
    }
}

/// The child of a concat that holds a part's row group, and where it starts.
pub(super) fn of_group(
    plan: &PlanRef,
    start: u64,
    part: &Part,
    context: Context<'_>,
) -> Result<(PlanRef, u64), ScanError> {
    let lost = || context.error(internal_datafusion_err!("{plan} at {start} has no child for {part:?}"));
    let data = plan.as_opt::<Concat>().ok_or_else(lost)?;
    let group = part.group.start.saturating_sub(start)..part.group.end.saturating_sub(start);
    let child = data.children_of(&group).find(|child| data.child_rows(*child) == Some(group.clone()));
    let child = plan.child(child.ok_or_else(lost)?).map_err(|e| context.error(e))?;
    Ok((child.clone(), part.group.start))
}

/// The value of a plan for the selected rows of a part, in order.
#[derive(Debug)]
pub(super) enum Stream {
    Segment(SegmentColumn),
    Pack(Fields, Vec<Stream>),
    Eval(BoundExpression, Box<Stream>),
    Numbers(RowRanges<TableRows>),
}

/// A segment that is being decoded.
#[derive(Debug)]
pub(super) struct SegmentColumn {
    stream: Box<SegmentStream>,
    field: FieldRef,
    segment: SegmentId,
    /// All that was decoded so far, where that is remembered.
    seen: Option<Vec<ArrayRef>>,
}

impl Stream {
    /// Remembers what is decoded of some segments.
    pub fn remember(&mut self, which: &dyn Fn(&SegmentId) -> bool) {
        match self {
            Self::Segment(column) => column.seen = which(&column.segment).then(Vec::new),
            Self::Pack(_, columns) => columns.iter_mut().for_each(|column| column.remember(which)),
            Self::Eval(_, input) => input.remember(which),
            Self::Numbers(_) => {}
        }
    }

    /// What was remembered.
    pub fn remembered(self) -> Vec<(SegmentId, Vec<ArrayRef>)> {
        match self {
            Self::Segment(column) => column.seen.map(|seen| (column.segment, seen)).into_iter().collect(),
            Self::Pack(_, columns) => columns.into_iter().flat_map(Self::remembered).collect(),
            Self::Eval(_, input) => input.remembered(),
            Self::Numbers(_) => Vec::new(),
        }
    }

    /// The values of the next `rows` rows.
    pub fn next(&mut self, rows: usize, params: &[ScalarValue], path: &Path) -> Result<ArrayRef, ScanError> {
        match self {
            Self::Segment(SegmentColumn { stream, field, segment, seen }) => {
                let array = stream.next(rows)?;
                check(&array, field, segment, path)?;
                seen.iter_mut().for_each(|seen| seen.push(Arc::clone(&array)));
                Ok(array)
            }
            Self::Pack(fields, columns) => {
                let columns = columns.iter_mut().map(|column| column.next(rows, params, path));
                let columns = columns.collect::<Result<_, _>>()?;
                let packed = StructArray::try_new_with_length(fields.clone(), columns, None, rows);
                Ok(Arc::new(packed.map_err(|e| plan_error(path, e))?))
            }
            Self::Eval(expression, input) => {
                let root = input.next(rows, params, path)?;
                let value = evaluate(expression, Input { root: &root, params });
                value.and_then(|value| value.into_array_of_size(rows)).map_err(|e| plan_error(path, e))
            }
            Self::Numbers(left) => {
                let (next, rest) = left.split_at(rows as u64);
                *left = rest;
                Ok(Arc::new(UInt64Array::from_iter_values(next.iter().flatten())))
            }
        }
    }
}

/// Checks decoded values against what the plan says of them.
fn check(array: &ArrayRef, field: &FieldRef, segment: &SegmentId, path: &Path) -> Result<(), ScanError> {
    let malformed = |detail| Err(ScanError::Malformed { path: path.clone(), detail });
    let (name, row_group) = (field.name(), segment.row_group);
    if array.data_type() != field.data_type() {
        let (found, wanted) = (array.data_type(), field.data_type());
        return malformed(format!("column \"{name}\" gave values of type {found}, not {wanted}"));
    }
    if !field.is_nullable() && array.null_count() > 0 {
        return malformed(format!(
            "column \"{name}\" is declared NOT NULL, but has NULLs in row group {row_group}"
        ));
    }
    Ok(())
}
