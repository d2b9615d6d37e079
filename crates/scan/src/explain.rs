// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A query over one fragment as a plan, before and after pushdown, for people to read.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Field, Fields};
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{GetItem, Pack};
use trommel_planner::index::ColumnPath;
use trommel_planner::optimizer::PlanOptimizer;
use trommel_planner::plan::operators::Concat;
use trommel_planner::plan::{ExpressionScanPlan, FilterPlan, PlanError, PlanRef};

use crate::ScanError;
use crate::fragment::OpenFragment;
use crate::lower::{lower, plan_error};

/// A query over one fragment as a plan. Printed, it is two trees, in which one row group stands for all.
#[derive(Debug, Clone)]
pub struct ExplainedPlan {
    /// As it is lowered: the projection over the filter over all of the fragment.
    pub before: PlanRef,
    /// After pushdown.
    pub after: PlanRef,
}

/// The plan of the `projection` (table columns and fields below them) of the rows that satisfy a predicate, if there is one, which
/// is bound over [`table_field`](crate::lower::table_field). Reads nothing.
///
/// # Errors
/// When a projected column doesn't exist, the predicate is bound over something else, or the fragment's columns
/// don't make the table's.
pub fn explain_plan(
    fragment: &OpenFragment,
    projection: &[ColumnPath],
    predicate: Option<&BoundExpression>,
) -> Result<ExplainedPlan, ScanError> {
    let before = query(lower(fragment)?, projection, predicate).map_err(|e| plan_error(fragment, e))?;
    let after = PlanOptimizer::default().optimize(&before);
    let after = after.map_err(|e| plan_error(fragment, PlanError::Source(Box::new(e))))?;
    for plan in [&before, &after] {
        make_one_of_each(plan).map_err(|e| plan_error(fragment, e))?;
    }
    Ok(ExplainedPlan { before, after })
}

fn query(
    table: PlanRef,
    projection: &[ColumnPath],
    predicate: Option<&BoundExpression>,
) -> Result<PlanRef, PlanError> {
    let root = BoundExpression::root(Arc::clone(table.field()));
    let columns = projection.iter().map(|path| GetItem::at(root.clone(), path));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let fields: Fields = columns.iter().map(|column| Field::clone(column.field())).collect();
    let rows = match predicate {
        Some(predicate) => FilterPlan::try_new(predicate, table)?.into(),
        None => table,
    };
    Ok(ExpressionScanPlan::try_new(Pack::of(fields, columns)?, rows)?.into())
}

/// Makes the first child of each concat, and all children of other nodes.
fn make_one_of_each(plan: &PlanRef) -> Result<(), PlanError> {
    let mut stack = vec![plan];
    while let Some(plan) = stack.pop() {
        let children = if plan.as_opt::<Concat>().is_some() { 1 } else { usize::MAX };
        for child in 0..children.min(plan.children().len()) {
            stack.push(plan.child(child)?);
        }
    }
    Ok(())
}

impl fmt::Display for ExplainedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before pushdown:\n{}\n\nafter pushdown:\n{}", self.before.tree(), self.after.tree())
    }
}
