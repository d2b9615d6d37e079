// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a scan runs over one of its fragments, for people to read.

use datafusion::common::{Result, plan_datafusion_err};
use trommel_planner::expr::functions::And;
use trommel_scan::explain::{ExplainedPlan, explain_plan};

use super::FilteredReadExec;

impl FilteredReadExec {
    /// The plan of a fragment, by its number in the snapshot, before and after pushdown: the scan's static
    /// filters and its projection. Live filters, which change as the query runs, are no part of it.
    ///
    /// # Errors
    /// When there is no such fragment, or it can't be read as the table.
    pub fn explain_fragment(&self, fragment: usize) -> Result<ExplainedPlan> {
        let fragments = &self.snapshot.fragments;
        let found = fragments.get(fragment);
        let found = found.ok_or_else(|| plan_datafusion_err!("file {fragment} of {}", fragments.len()))?;
        let conjuncts = self.filters.bind(&self.snapshot.table).conjuncts;
        let predicate = (!conjuncts.is_empty()).then(|| And::of(conjuncts)).transpose();
        let predicate = predicate.map_err(|e| plan_datafusion_err!("{e}"))?;
        let projection: Vec<_> = self.projection.paths().cloned().collect();
        Ok(explain_plan(&found.open, &projection, predicate.as_ref())?)
    }
}
