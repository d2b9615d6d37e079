// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What an operator says about the dynamic filters it produces, and how that fares on the way to a scan.
//!
//! A produced filter is followed by its *keys*: the expressions it may ever name, in terms of the
//! producer's input. At run time the producer builds the filter from its keys, and each copy swaps them for
//! keys of its own. So a copy means what it should if its keys are what the way down makes of the
//! producer's.
//!
//! # Which producers are believed
//!
//! * **Hash joins** (towards their probe side): their filter names the probe keys.
//! * **Sorts with a limit**: their filter names the sort keys.
//! * **Min/max aggregates**: only if every aggregate is the built-in `min` or `max` of a plain column.
//!   DataFusion 55.2 leaves an aggregate of anything else out of the filter, which then removes rows that
//!   this aggregate needs (apache/datafusion#24816). A FILTER clause does no harm: the aggregate's bound
//!   comes from the rows that pass the clause, a row that doesn't beat the bound can't change the aggregate
//!   whether or not it passes, and an aggregate that has seen no row yet leaves its comparison out, which
//!   the scan notices by counting them ([`Origin::MinMax`]; apache/datafusion#25147).
//! * **Operators unknown here**: as joins, with [`Origin::Other`].
//!
//! A filter with a key of a nested type is never believed: the engine's comparisons, its heaps and its
//! min/max accumulators order NULLs inside of nested values differently.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::Schema;
use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::sorts::sort::SortExec;
use trommel_planner::index::OutputCol;

use super::path::{Step, column, replace_columns};
use crate::live::{Extreme, Origin, SortKey};

type Keys = Vec<Arc<dyn PhysicalExpr>>;

/// Why a scan must not listen to a filter: the end of a sentence for the log.
pub(super) type Refusal = &'static str;

/// A dynamic filter on its way from its producer to a scan.
#[derive(Debug, Clone)]
pub(super) struct Produced {
    id: u64,
    producer: Producer,
    /// The keys over the producer's input, as the engine looks for them in the filter's present form.
    keys: Keys,
    /// The keys in terms of the output of the operator that the way has come to.
    here: Result<Keys, Refusal>,
    rows_preserved: bool,
}

/// The operator that produces a filter.
#[derive(Debug, Clone)]
enum Producer {
    Join {
        join_type: JoinType,
        mode: PartitionMode,
    },
    TopK {
        k: usize,
        options: Vec<SortOptions>,
    },
    /// For each aggregate, whether it is a max.
    MinMax {
        max: Vec<bool>,
    },
    Other,
}

impl Produced {
    /// The filters that `node` produces, at the start of their way into its input number `child`.
    pub(super) fn by(node: &dyn ExecutionPlan, child: usize) -> Vec<Self> {
        let Some(input) = node.children().get(child).map(|input| input.schema()) else { return vec![] };
        let start = |filter: Arc<dyn PhysicalExpr>| {
            let keys: Keys = filter.children().into_iter().cloned().collect();
            let (producer, own) = Producer::of(node, child, &keys);
            let here = own.and_then(|own| believable(&keys, &own, &input)).map(|()| keys.clone());
            Some(Self { id: filter.expression_id()?, producer, keys, here, rows_preserved: true })
        };
        node.dynamic_expressions_produced().into_iter().filter_map(start).collect()
    }

    /// The filter's identity, which all copies share.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Whether the producer is known to do without the filter: it looks at each row again.
    pub(super) fn rechecks_rows(&self) -> bool {
        !matches!(self.producer, Producer::Other)
    }

    /// The filter one operator further down; `step` is `None` where no filter passes.
    pub(super) fn below(&self, step: Option<&Step>) -> Self {
        let moved = |keys: &Keys| {
            let keys: Option<Keys> = keys.iter().map(|key| step?.map(key)).collect();
            keys.ok_or("no filter on these keys passes an operator on the way")
        };
        Self {
            here: self.here.as_ref().map_err(|why| *why).and_then(moved),
            rows_preserved: self.rows_preserved && step.is_some_and(Step::rows_preserved),
            ..self.clone()
        }
    }

    /// The origin to tell a scan about its copy of the filter, or why it must not listen to it.
    ///
    /// `copy` is over the table; `in_table` says what the columns of the scan's output are there.
    pub(super) fn origin(
        &self,
        copy: &dyn PhysicalExpr,
        in_table: impl Fn(OutputCol) -> Option<Arc<dyn PhysicalExpr>>,
    ) -> Result<Origin, Refusal> {
        let expected = self.here.as_ref().map_err(|why| *why)?;
        let bound: Keys = copy.children().into_iter().cloned().collect();

        // Names don't count.
        let in_table = |index| in_table(OutputCol(index)).and_then(|expr| replace_columns(&expr, column));
        let same_place = |(expected, bound): (&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>)| {
            let pair = replace_columns(expected, in_table).zip(replace_columns(bound, column));
            pair.is_some_and(|(expected, bound)| expected == bound)
        };
        if bound.len() != expected.len() || !expected.iter().zip(&bound).all(same_place) {
            return Err("it is bound to other columns than its producer means");
        }
        if bound.iter().any(is_volatile) {
            return Err("it has a volatile key");
        }
        let swapped = |(key, bound)| swap(key, &self.keys, copy).as_ref() == Some(bound);
        if !self.keys.iter().zip(&bound).all(swapped) {
            return Err("swapping its keys one by one mixes them up");
        }
        Ok(self.producer.origin(bound, self.rows_preserved))
    }
}

impl Producer {
    /// The producer that `node` is, and the keys it would give a filter for its input number `child` now.
    fn of(
        node: &dyn ExecutionPlan,
        child: usize,
        keys: &[Arc<dyn PhysicalExpr>],
    ) -> (Self, Result<Keys, Refusal>) {
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            let probe = join.on().iter().map(|(_, probe)| Arc::clone(probe)).collect();
            let own = if child == 1 { Ok(probe) } else { Err("a join filters its probe side only") };
            (Self::Join { join_type: *join.join_type(), mode: *join.partition_mode() }, own)
        } else if let Some(sort) = node.downcast_ref::<SortExec>() {
            let options = sort.expr().iter().map(|key| key.options).collect();
            let own = sort.expr().iter().map(|key| Arc::clone(&key.expr)).collect();
            let k = sort.fetch().ok_or("its sort has no limit");
            (Self::TopK { k: k.unwrap_or(usize::MAX), options }, k.map(|_| own))
        } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
            let extremes: Option<Vec<_>> = aggregate.aggr_expr().iter().map(|e| extreme(e)).collect();
            let (max, own) = extremes.clone().unwrap_or_default().into_iter().unzip();
            let own =
                extremes.map(|_| own).ok_or("an aggregate beside it is no min or max of a plain column");
            (Self::MinMax { max }, own)
        } else {
            (Self::Other, Ok(keys.to_vec()))
        }
    }

    /// What to tell a scan whose copy has these keys, over the table.
    fn origin(&self, keys: Keys, rows_preserved: bool) -> Origin {
        match self {
            Self::Join { join_type, mode } => Origin::Join { join_type: *join_type, mode: *mode },
            Self::TopK { k, options } => {
                let keys = keys.into_iter().zip(options);
                let order = keys.map(|(expr, options)| SortKey { expr, options: *options }).collect();
                Origin::TopK { k: *k, order, rows_preserved }
            }
            Self::MinMax { max } => {
                let extremes =
                    keys.into_iter().zip(max).map(|(expr, max)| Extreme { expr, max: *max }).collect();
                Origin::MinMax { aggregates: max.len(), extremes }
            }
            Self::Other => Origin::Other,
        }
    }
}

/// Whether an aggregate is a max, and its argument, if it is the built-in min or max of a plain column.
fn extreme(aggregate: &AggregateFunctionExpr) -> Option<(bool, Arc<dyn PhysicalExpr>)> {
    let function = aggregate.fun().inner();
    let max = function.is::<Max>();
    match aggregate.expressions().as_slice() {
        [argument] if (max || function.is::<Min>()) && argument.is::<Column>() => {
            Some((max, Arc::clone(argument)))
        }
        _ => None,
    }
}

/// Refuses keys that aren't the producer's own any more (it was rewritten after it made its filter), and
/// nested ones.
fn believable(
    keys: &[Arc<dyn PhysicalExpr>],
    own: &[Arc<dyn PhysicalExpr>],
    input: &Schema,
) -> Result<(), Refusal> {
    if keys != own {
        return Err("its producer has other keys by now");
    }
    let nested = |key: &Arc<dyn PhysicalExpr>| key.data_type(input).map_or(true, |t| t.is_nested());
    if keys.iter().any(nested) {
        return Err("it has a key of a nested type");
    }
    Ok(())
}

/// What the engine makes of `expr` when it swaps a filter's `keys` for those of a copy: bottom-up, so that a
/// key inside of another is swapped first, and the outcome may be mistaken for a third.
fn swap(
    expr: &Arc<dyn PhysicalExpr>,
    keys: &[Arc<dyn PhysicalExpr>],
    copy: &dyn PhysicalExpr,
) -> Option<Arc<dyn PhysicalExpr>> {
    let bound = copy.children();
    let swapped = Arc::clone(expr).transform_up(|node| {
        let found = keys.iter().position(|key| key.eq(&node)).and_then(|at| bound.get(at));
        Ok(match found {
            Some(bound) => Transformed::yes(Arc::clone(bound)),
            None => Transformed::no(node),
        })
    });
    swapped.data().ok()
}
