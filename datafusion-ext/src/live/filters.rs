// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The live filters of one execution, in the form that judges zones.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use parking_lot::Mutex;
use trommel_planner::pruning::{PrunePredicate, ZoneSource};
use trommel_planner::rows::{FragmentRows, RowRanges};

use super::trust::trusted;
use super::{LiveFilter, SortKey};
use crate::translate::translate;

/// The live filters of one execution, shared by its partitions.
///
/// Each filter's present form is compiled once per generation, by whichever partition sees the new
/// generation first, and then serves all.
#[derive(Debug)]
pub struct LiveFilters {
    filters: Vec<Slot>,
    table: SchemaRef,
    asked: Option<SortKey>,
}

#[derive(Debug)]
struct Slot {
    filter: LiveFilter,
    compiled: Mutex<Compiled>,
}

/// A filter's form at one generation; no predicate where it says nothing of zones or isn't believed.
#[derive(Debug, Clone, Default)]
struct Compiled {
    generation: Option<u64>,
    predicate: Option<Arc<PrunePredicate>>,
}

/// What the live filters say of some rows.
#[derive(Debug)]
pub struct Judgement {
    /// The rows that may still matter.
    pub may: RowRanges<FragmentRows>,
    /// How many parts of filters couldn't be evaluated over the zones; they count as "may matter".
    pub errors: usize,
}

impl LiveFilters {
    /// The filters of a scan of a table with this schema; `asked` is the leading sort key that a sort above
    /// the scan asked for.
    pub fn new(filters: &[LiveFilter], table: SchemaRef, asked: Option<SortKey>) -> Self {
        let slot = |filter: &LiveFilter| Slot { filter: filter.clone(), compiled: Mutex::default() };
        Self { filters: filters.iter().map(slot).collect(), table, asked }
    }

    /// Whether there is no live filter.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// A number that moves whenever any filter does.
    pub fn generation(&self) -> u64 {
        let each = self.filters.iter().map(|slot| snapshot_generation(slot.filter.expr()));
        each.fold(0, u64::wrapping_add)
    }

    /// Judges rows by the present form of every filter.
    pub fn judge(&self, zones: &dyn ZoneSource, rows: RowRanges<FragmentRows>) -> Judgement {
        let mut judgement = Judgement { may: rows, errors: 0 };
        for slot in &self.filters {
            if judgement.may.is_empty() {
                break;
            }
            if let Some(predicate) = self.present_form(slot) {
                let verdicts = predicate.judge(zones, &judgement.may, &[]);
                judgement.may = verdicts.may;
                judgement.errors += verdicts.errors;
            }
        }
        judgement
    }

    /// The filter compiled at its present generation, compiling it if it moved.
    fn present_form(&self, slot: &Slot) -> Option<Arc<PrunePredicate>> {
        // The generation is read before the expression: a move in between is compiled twice, never missed.
        let generation = Some(snapshot_generation(slot.filter.expr()));
        let compiled = slot.compiled.lock().clone();
        if compiled.generation == generation {
            return compiled.predicate;
        }
        // Not under the lock, so that a large filter doesn't hold up the other partitions.
        let predicate = self.compile(&slot.filter);
        let mut compiled = slot.compiled.lock();
        if compiled.generation < generation {
            *compiled = Compiled { generation, predicate: predicate.clone() };
        }
        predicate
    }

    fn compile(&self, filter: &LiveFilter) -> Option<Arc<PrunePredicate>> {
        let current: Arc<dyn PhysicalExpr> = snapshot_physical_expr(Arc::clone(filter.expr()))
            .inspect_err(|e| log::debug!("a live filter can't be read, so it doesn't prune: {e}"))
            .ok()?;
        if !trusted(&current, filter.origin(), self.asked.as_ref(), &self.table) {
            return None;
        }
        let predicate = PrunePredicate::compile(&translate(&current, &self.table));
        predicate.can_prune().then(|| Arc::new(predicate))
    }
}
