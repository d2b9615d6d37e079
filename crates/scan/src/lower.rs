// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A fragment as a scan plan, and the plans of one scan of it.
//!
//! [`lower`] gives the plan of a whole fragment: a [`Pack`] over the *table's* columns, over the rows of
//! the file. [`ReadPlan`] is what one scan runs: a plan for each conjunct of its filter and one for its
//! output, each pushed down. Nothing here reads a byte, and columns and row groups that nothing asks for
//! are never lowered.
//!
//! [`Pack`]: trommel_planner::plan::operators::Pack

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{Field, FieldRef, Fields, Schema};
use datafusion_common::ScalarValue;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{Cast, GetItem};
use trommel_planner::index::{ColumnPath, FragmentCol, TableCol};
use trommel_planner::plan::{
    Children, ConcatPlan, ExpressionScanPlan, PackPlan, PlanError, PlanRef, RowIdxPlan, SegmentId,
    SegmentScanPlan, Shape,
};
use trommel_planner::pushdown::PushdownSession;

use crate::ScanError;
use crate::adapt::{Adaptation, ColumnSource};
use crate::execute::{BestRows, FilterStep, StepCounts};
use crate::fragment::OpenFragment;
use crate::metadata::FragmentMetadata;

/// The field of a table's rows: a struct of its columns, never NULL. Expressions that a [`ReadPlan`] is
/// made of are bound over a root with this field.
pub fn table_field(table: &Schema) -> FieldRef {
    Arc::new(Field::new_struct("table", table.fields().clone(), false))
}

/// The plan of all of a fragment: for each row of the file, a row of the table.
///
/// # Errors
/// When the fragment's columns don't make the table's.
pub fn lower(fragment: &OpenFragment) -> Result<PlanRef, ScanError> {
    let (metadata, adaptation) = (Arc::clone(&fragment.metadata), Arc::clone(&fragment.adaptation));
    let (fields, rows) = (adaptation.table().fields().clone(), metadata.rows());
    let shapes: Vec<_> = fields.iter().map(|f| Shape::new(Arc::clone(f), rows)).collect();
    let columns =
        Children::lazy(shapes, move |column| lower_column(&metadata, &adaptation, TableCol(column)));
    let plan = PackPlan::try_new(fields, rows, columns).map_err(|e| plan_error(fragment, e))?;
    Ok(plan.into())
}

/// The plan of a table column.
fn lower_column(
    metadata: &Arc<FragmentMetadata>,
    adaptation: &Adaptation,
    table_column: TableCol,
) -> Result<PlanRef, PlanError> {
    let table = adaptation.table();
    let no_such_column = || PlanError::NoSuchChild { child: table_column.0, children: table.fields().len() };
    let wanted = table.fields().get(table_column.0).ok_or_else(no_such_column)?;
    match adaptation.source(table_column).ok_or_else(no_such_column)? {
        ColumnSource::Constant(value) => constant(value.clone(), metadata.rows()),
        ColumnSource::RowNumbers => {
            let numbers = PlanRef::from(RowIdxPlan::try_new(0, metadata.rows())?);
            let number = BoundExpression::root(Arc::clone(numbers.field()));
            let number = Cast::of(number, wanted.data_type().clone())?;
            Ok(ExpressionScanPlan::try_new(number, numbers)?.into())
        }
        ColumnSource::File { column, cast } => {
            let field = metadata.schema().fields().get(column.0).ok_or_else(no_such_column)?;
            // A column declared NOT NULL may be optional in the file; reading a NULL of it is an error.
            let nullable = field.is_nullable() && wanted.is_nullable();
            let field = Arc::new(field.as_ref().clone().with_nullable(nullable));
            let values = row_groups(metadata, *column, &field)?;
            if !cast {
                return Ok(values);
            }
            let cast = Cast::of(BoundExpression::root(field), wanted.data_type().clone())?;
            Ok(ExpressionScanPlan::try_new(cast, values)?.into())
        }
    }
}

/// The plan of the same value in every row.
fn constant(value: ScalarValue, rows: u64) -> Result<PlanRef, PlanError> {
    let value = BoundExpression::literal(value);
    Ok(ExpressionScanPlan::try_new(value, PackPlan::empty(rows).into())?.into())
}

/// The plan of a file column: one segment for each row group.
fn row_groups(
    metadata: &Arc<FragmentMetadata>,
    column: FragmentCol,
    field: &FieldRef,
) -> Result<PlanRef, PlanError> {
    let lengths: Vec<_> = metadata.row_groups().iter().map(|r| r.end - r.start).collect();
    let shapes: Vec<_> = lengths.iter().map(|rows| Shape::new(Arc::clone(field), *rows)).collect();
    let segment_field = Arc::clone(field);
    let segments = Children::lazy(shapes, move |row_group| {
        let segment = SegmentId::new(row_group, column);
        let rows = lengths.get(row_group).copied().unwrap_or_default();
        Ok(SegmentScanPlan::new(segment, Arc::clone(&segment_field), rows).into())
    });
    Ok(ConcatPlan::try_new(Arc::clone(field), segments)?.into())
}

/// What a scan puts out for each row.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// Columns of the table and fields below them, in output order, repeated ones included.
    pub columns: &'a [ColumnPath],
    /// What comes after them.
    pub extra: &'a [Extra],
}

/// A column of where each row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// The number of each row, where the fragment's first row gets this. With the rows of the fragments before
    /// it, the numbers are [`TableRows`](trommel_planner::rows::TableRows).
    RowNumber(u64),
    /// The path of the file, the same for each row.
    FileName,
}

impl Extra {
    fn name(self) -> &'static str {
        match self {
            Self::RowNumber(_) => ROW_NUMBER,
            Self::FileName => FILE_NAME,
        }
    }

    /// The plan of the column, for a fragment.
    fn plan(self, fragment: &OpenFragment) -> Result<PlanRef, PlanError> {
        let rows = fragment.metadata.rows();
        match self {
            Self::RowNumber(first) => Ok(RowIdxPlan::try_new(first, rows)?.into()),
            Self::FileName => {
                let path = fragment.fragment.location.to_string();
                constant(ScalarValue::Utf8(Some(path)), rows)
            }
        }
    }
}

/// The name of the column that numbers the rows.
pub const ROW_NUMBER: &str = "_row";

/// The name of the column of the file's path.
pub const FILE_NAME: &str = "_file";

/// What one scan runs over a fragment; made once for each fragment.
#[derive(Debug)]
pub struct ReadPlan {
    table: PlanRef,
    steps: Vec<FilterStep>,
    best: Option<BestRows>,
    projection: PlanRef,
}

impl ReadPlan {
    /// The plans for the `output` of rows that satisfy all `conjuncts`, which are bound over
    /// [`table_field`]. Those of them that can fail are asked in this order.
    ///
    /// # Errors
    /// When a projected column doesn't exist, a conjunct is bound over something else, or the fragment's
    /// columns don't make the table's.
    pub fn new(
        fragment: &OpenFragment,
        output: Output<'_>,
        conjuncts: &[(BoundExpression, Arc<StepCounts>)],
    ) -> Result<Self, ScanError> {
        let table = lower(fragment)?;
        let projection = projection(&table, output, fragment).map_err(|e| plan_error(fragment, e))?;
        let mut plan = Self { table, steps: Vec::new(), best: None, projection };
        let steps = conjuncts.iter().map(|(conjunct, counts)| plan.step(conjunct, counts));
        plan.steps = steps.collect::<Result<_, _>>().map_err(|e| plan_error(fragment, e))?;
        Ok(plan)
    }

    /// One more conjunct over the same fragment.
    ///
    /// # Errors
    /// When it isn't bound over [`table_field`].
    pub fn step(
        &self,
        conjunct: &BoundExpression,
        counts: &Arc<StepCounts>,
    ) -> Result<FilterStep, PlanError> {
        let eval = ExpressionScanPlan::try_new(conjunct.clone(), self.table.clone())?;
        let plan = PushdownSession::default().optimize(&eval)?;
        Ok(FilterStep::new(plan, conjunct.can_fail(), Arc::clone(counts)))
    }

    /// The same where of the rows that satisfy the conjuncts no more than the `wanted` best ones matter, by a column
    /// of the table or a field below one. Rows that tie with the last of these may be put out too, and others.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn with_best(
        mut self,
        key: &ColumnPath,
        wanted: usize,
        order: SortOptions,
    ) -> Result<Self, PlanError> {
        let item = GetItem::at(BoundExpression::root(Arc::clone(self.table.field())), key)?;
        let eval = ExpressionScanPlan::try_new(item, self.table.clone())?;
        let key = PushdownSession::default().optimize(&eval)?;
        self.best = Some(BestRows::new(key, wanted, order));
        Ok(self)
    }

    /// Which of the rows that satisfy the conjuncts matter, if not all.
    pub fn best(&self) -> Option<&BestRows> {
        self.best.as_ref()
    }

    /// The conjuncts.
    pub fn steps(&self) -> &[FilterStep] {
        &self.steps
    }

    /// The plan of the output: a struct of the projected columns for each row of the file.
    pub fn projection(&self) -> &PlanRef {
        &self.projection
    }
}

/// The plan of the output: some of a table's columns and their fields, pushed down, and extra ones.
fn projection(table: &PlanRef, output: Output<'_>, fragment: &OpenFragment) -> Result<PlanRef, PlanError> {
    let session = PushdownSession::default();
    let pushed =
        |plan: &PlanRef| plan.downcast().map_or_else(|| Ok(plan.clone()), |eval| session.optimize(&eval));
    let plan = |path: &ColumnPath| {
        if path.fields.is_empty() {
            return pushed(table.child(path.column.0)?);
        }
        let field = GetItem::at(BoundExpression::root(Arc::clone(table.field())), path)?;
        session.optimize(&ExpressionScanPlan::try_new(field, table.clone())?)
    };
    let mut plans = output.columns.iter().map(plan).collect::<Result<Vec<_>, PlanError>>()?;
    let shapes = table.children().shapes();
    let field = |(path, plan): (&ColumnPath, &PlanRef)| match path.fields.is_empty() {
        true => Arc::clone(&shapes[path.column.0].field),
        false => Arc::clone(plan.field()),
    };
    let mut fields: Vec<_> = output.columns.iter().zip(&plans).map(field).collect();
    for &extra in output.extra {
        let plan = pushed(&extra.plan(fragment)?)?;
        fields.push(Arc::new(plan.field().as_ref().clone().with_name(extra.name())));
        plans.push(plan);
    }
    Ok(PackPlan::try_new(Fields::from(fields), table.rows(), plans.into())?.into())
}

pub(crate) fn plan_error(fragment: &OpenFragment, error: PlanError) -> ScanError {
    ScanError::Plan { path: fragment.fragment.location.clone(), source: Box::new(error.into()) }
}
