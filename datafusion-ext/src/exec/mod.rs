// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The scan.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, not_impl_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use trommel_planner::index::{ColumnMap, OutputCol, TableCol};

use crate::live::LiveFilter;

/// The scan of a [`TrommelTable`](crate::TrommelTable).
#[derive(Debug, Clone)]
pub struct FilteredReadExec {
    projection: ColumnMap<OutputCol, TableCol>,
    live: Vec<LiveFilter>,
    properties: Arc<PlanProperties>,
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

impl DisplayAs for FilteredReadExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilteredReadExec")
    }
}

impl ExecutionPlan for FilteredReadExec {
    fn name(&self) -> &str {
        "FilteredReadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        not_impl_err!("FilteredReadExec")
    }
}
