// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Live filters: predicates that change while the scan runs.

mod origin;

use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;

pub use origin::{Extreme, Origin, SortKey};

/// A predicate handed down by a running operator, in terms of the table's columns.
#[derive(Debug, Clone)]
pub struct LiveFilter {
    expr: Arc<dyn PhysicalExpr>,
    origin: Origin,
}

impl LiveFilter {
    /// A filter over the table's schema, of unknown origin.
    pub fn new(expr: Arc<dyn PhysicalExpr>) -> Self {
        Self { expr, origin: Origin::Unknown }
    }

    /// The live expression, its columns indexing the table's schema.
    pub fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
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
