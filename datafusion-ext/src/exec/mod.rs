// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The scan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use trommel_planner::index::{ColumnMap, OutputCol, TableCol};

use crate::live::LiveFilter;
use crate::table::Snapshot;

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

impl FilteredReadExec {
    /// A placeholder.
    pub fn try_new(
        _snapshot: Arc<Snapshot>,
        _projection: Option<&Vec<usize>>,
        _filters: Vec<Arc<dyn PhysicalExpr>>,
        _limit: Option<usize>,
        _linked: bool,
        _target_partitions: usize,
    ) -> Result<Self> {
        datafusion::common::not_impl_err!("the scan")
    }
}

impl DisplayAs for FilteredReadExec {
    fn fmt_as(&self, _t: DisplayFormatType, _f: &mut std::fmt::Formatter) -> std::fmt::Result {
        Ok(())
    }
}

impl ExecutionPlan for FilteredReadExec {
    fn name(&self) -> &str {
        "FilteredReadExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        unreachable!()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }
    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<datafusion::common::tree_node::TreeNodeRecursion>,
    ) -> Result<datafusion::common::tree_node::TreeNodeRecursion> {
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    }
    fn execute(&self, _p: usize, _c: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        datafusion::common::not_impl_err!("the scan {}", EmptyExec::static_name())
    }
}
