// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a scan puts out: columns of its table and fields below them, each under a name.
//!
//! A field is an output column of its own, so that a query that picks `s['x']` reads the leaves of `x` alone.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::projection::ProjectionExpr;
use trommel_planner::expr::functions::GetItem;
use trommel_planner::index::{ColumnPath, OutputCol, TableCol};

use crate::link::replace_columns;
use crate::translate::translate;

/// The columns that a scan puts out, in order.
#[derive(Debug, Clone)]
pub struct Projection {
    schema: SchemaRef,
    columns: Vec<Projected>,
}

/// One of them.
#[derive(Debug, Clone)]
struct Projected {
    path: ColumnPath,
    /// The same as an expression over the table.
    expr: Arc<dyn PhysicalExpr>,
}

impl Projection {
    /// Columns of a table under their own names.
    ///
    /// # Errors
    /// When the table lacks one of them.
    pub fn of_columns(table: &Schema, columns: impl IntoIterator<Item = TableCol>) -> Result<Self> {
        let columns: Vec<_> = columns.into_iter().collect();
        let width = table.fields().len();
        if let Some(TableCol(beyond)) = columns.iter().find(|c| c.0 >= width) {
            return plan_err!("column {beyond} of a table with {width} columns");
        }
        let schema = Arc::new(table.project(&columns.iter().map(|c| c.0).collect::<Vec<_>>())?);
        let column = |column: &TableCol| {
            let expr = Arc::new(Column::new(table.field(column.0).name(), column.0));
            Projected { path: ColumnPath::from(*column), expr }
        };
        Ok(Self { schema, columns: columns.iter().map(column).collect() })
    }

    /// What `items`, which put out rows of this schema, pick of these columns of a table; `None` when they do
    /// more than picking and naming, and when a column would be read both whole and by its field.
    pub fn pick(&self, items: &[ProjectionExpr], schema: &SchemaRef, table: &SchemaRef) -> Option<Self> {
        let pick = |(item, field): (&ProjectionExpr, _)| {
            let expr = replace_columns(&item.expr, |at| self.in_table(OutputCol(at)))?;
            let bound = translate(&expr, table);
            let fits = |own: &Field| {
                own.data_type() == bound.field().data_type()
                    && (own.is_nullable() || !bound.field().is_nullable())
            };
            Some(Projected { path: GetItem::path(&bound)?, expr }).filter(|_| fits(field))
        };
        let fields = schema.fields().iter().map(AsRef::as_ref);
        let columns: Vec<_> = items.iter().zip(fields).map(pick).collect::<Option<_>>()?;
        let twice = columns.iter().any(|inner| columns.iter().any(|outer| lies_within(inner, outer)));
        (!twice).then(|| Self { schema: Arc::clone(schema), columns })
    }

    /// Some of these columns.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn select(&self, columns: &[usize]) -> Result<Self> {
        let schema = Arc::new(self.schema.project(columns)?);
        Ok(Self { schema, columns: columns.iter().map(|at| self.columns[*at].clone()).collect() })
    }

    /// The schema of what is put out.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where each column lies in the table.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &ColumnPath> {
        self.columns.iter().map(|column| &column.path)
    }

    /// A column as an expression over the table; `None` for a number beyond the columns.
    pub fn in_table(&self, column: OutputCol) -> Option<Arc<dyn PhysicalExpr>> {
        self.columns.get(column.0).map(|column| Arc::clone(&column.expr))
    }

    /// An order over the table, as far as the columns are put out.
    pub(super) fn order(&self, order: &LexOrdering) -> Option<LexOrdering> {
        let keys = order.iter().map_while(|key| {
            let column = ColumnPath::from(TableCol(key.expr.downcast_ref::<Column>()?.index()));
            let at = self.paths().position(|path| *path == column)?;
            let expr = Arc::new(Column::new(self.schema.field(at).name(), at));
            Some(PhysicalSortExpr::new(expr, key.options))
        });
        LexOrdering::new(keys)
    }
}

/// Whether a column is a field of another one, at any depth.
fn lies_within(inner: &Projected, outer: &Projected) -> bool {
    let (inner, outer) = (&inner.path, &outer.path);
    inner.column == outer.column
        && inner.fields.len() > outer.fields.len()
        && inner.fields.starts_with(&outer.fields)
}
