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

use datafusion::physical_expr::PhysicalExpr;

pub use filters::{Judgement, LiveConjunct, LiveFilters};
pub use gate::Savings;
pub use origin::{Extreme, Origin, SortKey};
pub(crate) use trust::breaks_its_join;

/// What tells copies of one filter apart: its identity, and the columns and fields it was mapped to.
pub type FilterKey = (Option<u64>, Vec<Arc<dyn PhysicalExpr>>);

/// A predicate handed down by a running operator, in terms of the table's columns.
#[derive(Debug, Clone)]
pub struct LiveFilter {
    expr: Arc<dyn PhysicalExpr>,
    key: FilterKey,
    origin: Origin,
}

impl LiveFilter {
    /// A filter over the table's schema, of unknown origin.
    pub fn new(expr: Arc<dyn PhysicalExpr>) -> Self {
        let keys = expr.children().into_iter().cloned().collect();
        Self { key: (expr.expression_id(), keys), expr, origin: Origin::Unknown }
    }

    /// The live expression, its columns indexing the table's schema.
    pub fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Tells copies of one filter apart. One filter may arrive twice along one path (planning runs again), and
    /// along two paths with different columns.
    pub fn key(&self) -> &FilterKey {
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
