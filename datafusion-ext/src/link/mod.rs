// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rule that tells each scan the origin of its live filters.
//!
//! It runs last, when every filter has arrived, and walks the plan from the root with the filters that the
//! operators above produce. At each scan it
//!
//! * tells each live filter its [`Origin`], which the scan can't see from where it is;
//! * drops those that arrived bound to other columns than their producer means. DataFusion 55.2 moves
//!   filters by name, so a column of the same name on the other side of a join may get them
//!   (apache/datafusion#25244, #25296); `path` says how positions tell;
//! * drops those that are wrong by themselves; `producer` says which.
//!
//! To drop a live filter is always right: it only spares work. For the same reason it removes each
//! `FilterExec` that applies nothing but live filters whose producers look at each row again: a sort
//! without a limit puts one below itself when a scan doesn't promise to apply a filter to every row.
//!
//! The rule may run again, on a plan that is planned anew or on a part of one that was cut off: it leaves
//! alone what it finds in order, and drops a filter whose producer is no longer above the scan. What such a
//! filter says was true of rows for an operator that nobody runs any more.

mod path;
mod producer;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use trommel_planner::index::OutputCol;

pub(crate) use self::path::replace_columns;

use self::path::Step;
use self::producer::{Produced, Refusal};
use crate::exec::FilteredReadExec;
use crate::live::{Extreme, LiveFilter, Origin, SortKey};

/// The rule that tells each scan the origin of its live filters.
#[derive(Debug, Default)]
pub struct LinkDynamicFilters {}

impl PhysicalOptimizerRule for LinkDynamicFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(link::<FilteredReadExec>(&plan, &[])?.plan)
    }

    fn name(&self) -> &str {
        "LinkDynamicFilters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What the rule asks of a scan that listens to live filters.
trait Listener: ExecutionPlan + Sized {
    /// An output column as an expression over the table.
    fn in_table(&self, column: OutputCol) -> Option<Arc<dyn PhysicalExpr>>;
    fn live_filters(&self) -> &[LiveFilter];
    fn with_live_filters(self: &Arc<Self>, live: Vec<LiveFilter>) -> Arc<Self>;
}

impl Listener for FilteredReadExec {
    fn in_table(&self, column: OutputCol) -> Option<Arc<dyn PhysicalExpr>> {
        self.projection().in_table(column)
    }

    fn live_filters(&self) -> &[LiveFilter] {
        self.live_filters()
    }

    fn with_live_filters(self: &Arc<Self>, live: Vec<LiveFilter>) -> Arc<Self> {
        FilteredReadExec::with_live_filters(self, live)
    }
}

/// A plan after linking: itself where nothing had to change.
struct Linked {
    plan: Arc<dyn ExecutionPlan>,
    /// Whether a scan of ours is in it.
    listens: bool,
}

/// Links the scans of type `S` below `plan`, towards which the filters `above` are on their way.
fn link<S: Listener>(plan: &Arc<dyn ExecutionPlan>, above: &[Produced]) -> Result<Linked> {
    let any: Arc<dyn Any + Send + Sync> = Arc::<dyn ExecutionPlan>::clone(plan);
    if let Ok(scan) = any.downcast::<S>() {
        let plan = tell(&scan, above).unwrap_or_else(|| Arc::clone(plan));
        return Ok(Linked { plan, listens: true });
    }

    let mut listens = false;
    let mut inputs = Vec::new();
    for (n, input) in plan.children().into_iter().enumerate() {
        let step = Step::below(plan.as_ref(), n);
        let passing = above.iter().map(|filter| filter.below(step.as_ref()));
        let on_the_way: Vec<_> = passing.chain(Produced::by(plan.as_ref(), n)).collect();
        let input = link::<S>(input, &on_the_way)?;
        listens |= input.listens;
        inputs.push(input.plan);
    }
    if listens
        && let [input] = inputs.as_slice()
        && is_redundant(plan.as_ref(), above)
    {
        return Ok(Linked { plan: Arc::clone(input), listens });
    }
    // With new inputs of the same properties an operator keeps everything else, its filter included.
    let plan =
        if listens { replace_children_if_necessary(Arc::clone(plan), inputs)? } else { Arc::clone(plan) };
    Ok(Linked { plan, listens })
}

/// The scan with its live filters' origins told and the unbelievable ones dropped; `None` if it is in order.
fn tell<S: Listener>(scan: &Arc<S>, above: &[Produced]) -> Option<Arc<dyn ExecutionPlan>> {
    let mut told = Vec::new();
    for filter in scan.live_filters() {
        // Each part of a conjunction is a filter of its own, with its own origin.
        for part in split_conjunction(filter.expr()) {
            let whole = Arc::ptr_eq(part, filter.expr());
            let part = if whole { filter.clone() } else { LiveFilter::new(Arc::clone(part)) };
            match origin(&part, above, |column| scan.in_table(column)) {
                Ok(origin) => told.push(part.with_origin(origin)),
                Err(why) => log::debug!("live filter {} dropped: {why}", part.expr()),
            }
        }
    }
    let in_order = |(old, new): (&LiveFilter, &LiveFilter)| {
        Arc::ptr_eq(old.expr(), new.expr()) && same_origin(old.origin(), new.origin())
    };
    let before = scan.live_filters();
    let unchanged = before.len() == told.len() && before.iter().zip(&told).all(in_order);
    (!unchanged).then(|| scan.with_live_filters(told) as Arc<dyn ExecutionPlan>)
}

/// The origin of a scan's live filter, or why it must not listen to it.
fn origin(
    filter: &LiveFilter,
    above: &[Produced],
    in_table: impl Fn(OutputCol) -> Option<Arc<dyn PhysicalExpr>>,
) -> Result<Origin, Refusal> {
    let id = filter.expr().expression_id().ok_or("it has no identity to follow")?;
    // The nearest producer: one further up hands the same filter to this one, not past it.
    match above.iter().rfind(|produced| produced.id() == id) {
        Some(produced) => produced.origin(filter.expr().as_ref(), in_table),
        None => Err("nothing above the scan produces it"),
    }
}

/// Whether `node` only applies live filters that their producers apply themselves.
fn is_redundant(node: &dyn ExecutionPlan, above: &[Produced]) -> bool {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return false };
    let rechecked = |id| above.iter().any(|produced| produced.id() == id && produced.rechecks_rows());
    filter.projection().is_none()
        && filter.fetch().is_none()
        && split_conjunction(filter.predicate())
            .iter()
            .all(|part| part.expression_id().is_some_and(rechecked))
}

fn same_origin(a: &Origin, b: &Origin) -> bool {
    let same_key = |(a, b): (&SortKey, &SortKey)| a.options == b.options && a.expr.eq(&b.expr);
    let same_extreme = |(a, b): (&Extreme, &Extreme)| a.max == b.max && a.expr.eq(&b.expr);
    match (a, b) {
        (Origin::Join { join_type: a, mode: am }, Origin::Join { join_type: b, mode: bm }) => {
            a == b && am == bm
        }
        (
            Origin::TopK { k: ak, order: a, rows_preserved: ar },
            Origin::TopK { k: bk, order: b, rows_preserved: br },
        ) => ak == bk && ar == br && a.len() == b.len() && a.iter().zip(b).all(same_key),
        (Origin::MinMax { aggregates: an, extremes: a }, Origin::MinMax { aggregates: bn, extremes: b }) => {
            an == bn && a.len() == b.len() && a.iter().zip(b).all(same_extreme)
        }
        (Origin::Other, Origin::Other) | (Origin::Unknown, Origin::Unknown) => true,
        _ => false,
    }
}
