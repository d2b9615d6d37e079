// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A table that holds nothing and a scan that only listens: it keeps every filter it is handed after
//! planning, over the table's columns, and answers that the row filter stays above.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, not_impl_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, apply_expression_roots,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use trommel_planner::index::OutputCol;

use crate::link::Listener;
use crate::link::path::replace_columns;
use crate::live::LiveFilter;

/// A table of which nothing but its shape is known.
#[derive(Debug, Clone)]
pub(super) struct EarTable {
    pub name: &'static str,
    pub schema: SchemaRef,
    /// How many rows it claims.
    pub rows: usize,
    pub partitions: usize,
}

#[async_trait]
impl TableProvider for EarTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        Ok(Arc::new(Ear::new(self.clone(), projection.unwrap_or(&all))?))
    }
}

/// A scan that only listens.
#[derive(Debug, Clone)]
pub(super) struct Ear {
    pub table: EarTable,
    projection: Vec<usize>,
    live: Vec<LiveFilter>,
    properties: Arc<PlanProperties>,
}

impl Ear {
    pub(super) fn new(table: EarTable, projection: &[usize]) -> Result<Self> {
        let schema: Schema = table.schema.project(projection)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(schema)),
            Partitioning::UnknownPartitioning(table.partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { table, projection: projection.to_vec(), live: vec![], properties: Arc::new(properties) })
    }

    fn filter_in_table(&self, filter: &Arc<dyn PhysicalExpr>) -> Option<LiveFilter> {
        replace_columns(filter, |at| self.in_table(OutputCol(at))).map(LiveFilter::new)
    }
}

impl Listener for Ear {
    fn in_table(&self, OutputCol(column): OutputCol) -> Option<Arc<dyn PhysicalExpr>> {
        let at = *self.projection.get(column)?;
        Some(Arc::new(Column::new(self.table.schema.field(at).name(), at)))
    }

    fn live_filters(&self) -> &[LiveFilter] {
        &self.live
    }

    fn with_live_filters(self: &Arc<Self>, live: Vec<LiveFilter>) -> Arc<Self> {
        Arc::new(Self { live, ..self.as_ref().clone() })
    }
}

impl DisplayAs for Ear {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ear: {}", self.table.name)
    }
}

impl ExecutionPlan for Ear {
    fn name(&self) -> &str {
        "Ear"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.live.iter().map(LiveFilter::expr), f)
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

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let arrived: Vec<_> =
            result.parent_filters.iter().filter_map(|f| self.filter_in_table(&f.filter)).collect();
        let refused = FilterPushdownPropagation::all_unsupported(result);
        if phase == FilterPushdownPhase::Pre || arrived.is_empty() {
            return Ok(refused);
        }
        let live = self.live.iter().cloned().chain(arrived).collect();
        Ok(refused.with_updated_node(Arc::new(Self { live, ..self.clone() })))
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        statistics.num_rows = Precision::Inexact(self.table.rows);
        statistics.total_byte_size = Precision::Inexact(self.table.rows * 8);
        Ok(Arc::new(statistics))
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        not_impl_err!("a scan that only listens")
    }
}

/// An operator that this crate doesn't know, with a filter of its own.
#[derive(Debug)]
pub(super) struct Speaker {
    pub filter: Arc<dyn PhysicalExpr>,
    pub input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Speaker {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Speaker")
    }
}

impl ExecutionPlan for Speaker {
    fn name(&self) -> &str {
        "Speaker"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots([&self.filter], f)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        vec![Arc::clone(&self.filter)]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { filter: Arc::clone(&self.filter), input: children.remove(0) }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        not_impl_err!("an operator that only speaks")
    }
}
