// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Live filters: predicates that change while the scan runs.
//!
//! Hash joins, TopK sorts and min/max aggregates hand down a predicate whose current form they publish as
//! they learn more. A scan keeps such a predicate whole ([`LiveFilter`]), never a copy of its value at
//! planning, asks at each claim whether it moved ([`LiveFilters`]), and believes it only where its origin
//! makes it believable (`trust`).

mod filters;
mod gate;
mod members;
mod origin;
mod trust;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use trommel_planner::index::{ColumnMap, OutputCol, TableCol};

use arrow::datatypes::Schema;

pub use filters::{Judgement, LiveConjunct, LiveFilters};
pub use gate::Savings;
pub use origin::{Extreme, Origin, SortKey};
pub(crate) use trust::breaks_its_join;

/// A predicate handed down by a running operator, in terms of the table's columns.
#[derive(Debug, Clone)]
pub struct LiveFilter {
    expr: Arc<dyn PhysicalExpr>,
    key: (Option<u64>, Vec<TableCol>),
    origin: Origin,
}

impl LiveFilter {
    /// A filter over the table's schema, of unknown origin.
    pub fn new(expr: Arc<dyn PhysicalExpr>) -> Self {
        let mut columns: Vec<_> = collect_columns(&expr).iter().map(|c| TableCol(c.index())).collect();
        columns.sort_unstable();
        Self { key: (expr.expression_id(), columns), expr, origin: Origin::Unknown }
    }

    /// The live expression, its columns indexing the table's schema.
    pub fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Tells copies of one filter apart: its expression id, and the columns it was mapped to. One filter
    /// may arrive twice along one path (planning runs again), and along two paths with different columns.
    pub fn key(&self) -> &(Option<u64>, Vec<TableCol>) {
        &self.key
    }

    /// Where the filter comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The same filter with its origin told.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

/// An expression over a scan's output, over the table instead; `None` when it names a column that the
/// output doesn't have. A live expression stays linked to its producer.
///
/// # Errors
/// When a node of the expression can't be rebuilt.
pub fn to_table(
    expr: Arc<dyn PhysicalExpr>,
    projection: &ColumnMap<OutputCol, TableCol>,
    table: &Schema,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut known = true;
    let expr = expr
        .transform_up(|node| match node.downcast_ref::<Column>() {
            None => Ok(Transformed::no(node)),
            Some(column) => match projection.to(OutputCol(column.index())) {
                None => {
                    known = false;
                    Ok(Transformed::no(node))
                }
                Some(TableCol(at)) => {
                    Ok(Transformed::yes(Arc::new(Column::new(table.field(at).name(), at)) as _))
                }
            },
        })
        .data()?;
    Ok(known.then_some(expr))
}
