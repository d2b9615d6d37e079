// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The scan.

use std::sync::Arc;

use trommel_planner::index::{ColumnMap, OutputCol, TableCol};

use crate::live::LiveFilter;

/// The scan of a [`TrommelTable`](crate::TrommelTable).
#[derive(Debug, Clone)]
pub struct FilteredReadExec {
    projection: ColumnMap<OutputCol, TableCol>,
    live: Vec<LiveFilter>,
}

impl FilteredReadExec {
    /// Where each output column lies in the table.
    pub fn projection(&self) -> &ColumnMap<OutputCol, TableCol> {
        &self.projection
    }

    /// The live filters the scan listens to.
    pub fn live_filters(&self) -> &[LiveFilter] {
        &self.live
    }

    /// The same scan, listening to these live filters instead; it shares no execution with this one.
    #[must_use]
    pub fn with_live_filters(self: &Arc<Self>, live: Vec<LiveFilter>) -> Arc<Self> {
        Arc::new(Self { live, ..self.as_ref().clone() })
    }
}
