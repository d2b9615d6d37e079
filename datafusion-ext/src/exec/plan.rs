// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `FilteredReadExec` as an `ExecutionPlan`.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ReplaceChildrenOptions, apply_expression_roots,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};

use super::FilteredReadExec;
use super::metrics::ScanMetrics;
use super::stream::{OnceExecution, stream};

impl ExecutionPlan for FilteredReadExec {
    fn name(&self) -> &str {
        "FilteredReadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    /// Reports every predicate held. Producers look for their filter here: a join builds none, and an
    /// aggregate drops its own, unless some scan reports it.
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let reported = self.live.iter().filter(|_| self.snapshot.options.report_live_filters);
        let live = reported.map(|filter| filter.expr());
        apply_expression_roots(self.filters.conjuncts().iter().chain(live), f)
    }

    /// A scan without live filters and without a memory of earlier runs: the producers of the old filters
    /// are reset too and will make new ones.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.with_live_filters(Vec::new()))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let execution = self.executions.join(partition, &context, OnceExecution::new).ok_or_else(|| {
            exec_datafusion_err!("partition {partition} of a scan with {} partitions", self.partitions)
        })?;
        let metrics = ScanMetrics::new(&self.metrics, partition);
        Ok(stream(self.variant(), partition, execution, metrics, &context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.statistics_of(args.partition())
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        self.take_limit(limit).map(|scan| Arc::new(scan) as _)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        if self.filters.is_empty() && self.live.is_empty() && self.fetch.is_none() {
            CardinalityEffect::Equal
        } else {
            CardinalityEffect::LowerEqual
        }
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        Ok(match self.take_projection(projection) {
            Some(scan) => Some(Arc::new(scan) as _),
            None => self.tell_where_rows_are(projection)?,
        })
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // A leaf has no child to describe; it answers in `handle_child_pushdown_result`.
        Ok(FilterDescription::all_unsupported(&parent_filters, &self.children()))
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = child_pushdown_result.parent_filters.into_iter().map(|f| f.filter).collect();
        self.take_filters(phase, filters)
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        Ok(match self.take_sort(order) {
            Some(scan) => SortOrderPushdownResult::Inexact { inner: Arc::new(scan) },
            None => SortOrderPushdownResult::Unsupported,
        })
    }
}
