// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Taking over filters, projections, limits and sort keys from the operators above.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::{is_volatile, snapshot_generation};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter_pushdown::{
    FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::projection::ProjectionExec;
use trommel_planner::index::OutputCol;

use super::{FilteredReadExec, properties};
use crate::link::replace_columns;
use crate::live::{LiveFilter, SortKey, breaks_its_join};

impl FilteredReadExec {
    /// Takes filters over the output, answering for each in order.
    ///
    /// Static filters (in the Pre phase) are taken over whole: `Yes`. Live filters (in the Post phase)
    /// are kept and answered `No`: they prune, but the operator above still checks every row. With a
    /// limit set neither is taken, for the limit comes first.
    pub(super) fn take_filters(
        &self,
        phase: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let mut answers = vec![PushedDown::No; filters.len()];
        let (mut taken, mut live) = (Vec::new(), self.live.clone());
        if self.fetch.is_none() {
            for (filter, answer) in filters.into_iter().zip(&mut answers) {
                // Also true of dynamic expressions that this version of DataFusion doesn't know.
                let dynamic = snapshot_generation(&filter) != 0;
                let Some(filter) = self.in_table(&filter) else { continue };
                match phase {
                    FilterPushdownPhase::Pre if !dynamic && !is_volatile(&filter) => {
                        taken.push(filter);
                        *answer = PushedDown::Yes;
                    }
                    FilterPushdownPhase::Post
                        if dynamic && !breaks_its_join(&filter, &self.snapshot.table) =>
                    {
                        let filter = LiveFilter::new(filter);
                        if !live.iter().any(|held| held.key() == filter.key()) {
                            live.push(filter);
                        }
                    }
                    _ => {}
                }
            }
        }
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        if taken.is_empty() && live.len() == self.live.len() {
            return Ok(propagation);
        }
        let filters = self.filters.and(&taken);
        let statistics = if taken.is_empty() { Arc::clone(&self.statistics) } else { Arc::default() };
        Ok(propagation.with_updated_node(Arc::new(Self { filters, live, statistics, ..self.variant() })))
    }

    /// The scan that puts out what the projection does, if that only picks and names columns of
    /// the table and fields of them.
    pub(super) fn take_projection(&self, projection: &ProjectionExec) -> Option<Self> {
        let (items, schema) = (projection.expr(), projection.schema());
        let projection = self.projection.pick(items, &schema, &self.snapshot.table)?;
        let properties = properties(&projection, &[], &self.sequence, self.partitions);
        let statistics = Arc::default();
        Some(Self { projection, extra: Vec::new(), properties, statistics, ..self.variant() })
    }

    /// The scan that stops after so many rows. `None` when it listens to live filters: which rows pass
    /// those is decided above, after the limit would have been spent.
    pub(super) fn take_limit(&self, fetch: Option<usize>) -> Option<Self> {
        (self.live.is_empty() || fetch.is_none()).then(|| Self {
            fetch,
            statistics: Arc::default(),
            ..self.variant()
        })
    }

    /// The scan that reads first what may come first by `order`. `None` when it can't help: with a limit
    /// set (it decides which rows there are, so it must not be swayed), with an order promised, and for
    /// keys that aren't columns.
    pub(super) fn take_sort(&self, order: &[PhysicalSortExpr]) -> Option<Self> {
        if self.fetch.is_some() || self.sequence.promised.is_some() {
            return None;
        }
        let leading = order.first().filter(|key| key.expr.is::<Column>())?;
        let key = SortKey { expr: self.in_table(&leading.expr)?, options: leading.options };
        Some(Self { asked: Some(key), ..self.variant() })
    }

    /// An expression over the output, over the table instead; `None` when it names a column that the output
    /// doesn't have. A live expression stays linked to its producer.
    fn in_table(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        replace_columns(expr, |at| self.projection.in_table(OutputCol(at)))
    }
}
