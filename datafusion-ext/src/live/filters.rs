// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The live filters of one execution, in the forms that judge zones and rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use parking_lot::Mutex;
use trommel_planner::expr::functions::And;
use trommel_planner::expr::{BoundExpression, ExprKind};
use trommel_planner::pruning::{PrunePredicate, ZoneSource};
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::execute::StepCounts;

use super::gate::Gate;
use super::trust::trusted;
use super::{LiveFilter, SortKey};
use crate::table::LiveRowFilters;
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
    /// Absent for what is known from the start and never moves.
    filter: Option<LiveFilter>,
    compiled: Mutex<Compiled>,
    /// One for each conjunct, by its place: a filter that moves mostly keeps its shape.
    gates: Mutex<Vec<Arc<Gate>>>,
}

/// A filter's form at one generation; nothing at all where it isn't believed.
#[derive(Debug, Clone, Default)]
struct Compiled {
    generation: Option<u64>,
    /// What judges zones; absent where it says nothing of them.
    zones: Option<Arc<PrunePredicate>>,
    /// What rows may be asked, one conjunct after the other.
    rows: Arc<[BoundExpression]>,
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
        let slot = |filter: &LiveFilter| Slot {
            filter: Some(filter.clone()),
            compiled: Mutex::default(),
            gates: Mutex::default(),
        };
        Self { filters: filters.iter().map(slot).collect(), table, asked }
    }

    /// The same filters and what is known to hold for every row that can matter, if anything is.
    #[must_use]
    pub fn with_known(mut self, known: Option<BoundExpression>) -> Self {
        let slot =
            |known| Slot { filter: None, compiled: Mutex::new(Compiled::of(known)), gates: Mutex::default() };
        self.filters.extend(known.map(slot));
        self
    }

    /// Whether there is no live filter.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Whether something is known from the start.
    pub fn has_known(&self) -> bool {
        self.filters.iter().any(|slot| slot.filter.is_none())
    }

    /// A number that moves whenever any filter does.
    pub fn generation(&self) -> u64 {
        let live = self.filters.iter().filter_map(|slot| slot.filter.as_ref());
        live.map(|filter| snapshot_generation(filter.expr())).fold(0, u64::wrapping_add)
    }

    /// Judges rows by the present form of every filter.
    pub fn judge(&self, zones: &dyn ZoneSource, rows: RowRanges<FragmentRows>) -> Judgement {
        let mut judgement = Judgement { may: rows, errors: 0 };
        for slot in &self.filters {
            if judgement.may.is_empty() {
                break;
            }
            if let Some(predicate) = self.present_form(slot).zones {
                let verdicts = predicate.judge(zones, &judgement.may, &[]);
                judgement.may = verdicts.may;
                judgement.errors += verdicts.errors;
            }
        }
        judgement
    }

    /// The conjuncts of every filter's present form that are to be evaluated for the rows of one more
    /// morsel, each with where it counts; `saving` is how many nanoseconds a dropped row saves.
    pub fn conjuncts(&self, when: LiveRowFilters, saving: f64) -> Vec<(BoundExpression, Arc<StepCounts>)> {
        let mut open = Vec::new();
        if when == LiveRowFilters::Never {
            return open;
        }
        for slot in &self.filters {
            for (at, conjunct) in self.present_form(slot).rows.iter().enumerate() {
                let gate = slot.gate(at);
                if when == LiveRowFilters::Always || gate.lets_through(saving) {
                    open.push((conjunct.clone(), Arc::clone(gate.counts())));
                }
            }
        }
        open
    }

    /// The filter compiled at its present generation, compiling it if it moved.
    fn present_form(&self, slot: &Slot) -> Compiled {
        let Some(filter) = &slot.filter else { return slot.compiled.lock().clone() };
        // The generation is read before the expression: a move in between is compiled twice, never missed.
        let generation = Some(snapshot_generation(filter.expr()));
        let compiled = slot.compiled.lock().clone();
        if compiled.generation == generation {
            return compiled;
        }
        // Not under the lock, so that a large filter doesn't hold up the other partitions.
        let present = Compiled { generation, ..self.compile(filter) };
        let mut compiled = slot.compiled.lock();
        if compiled.generation < generation {
            *compiled = present.clone();
        }
        present
    }

    fn compile(&self, filter: &LiveFilter) -> Compiled {
        let current = snapshot_physical_expr(Arc::clone(filter.expr()))
            .inspect_err(|e| log::debug!("a live filter can't be read, so it doesn't prune: {e}"));
        let Ok(current) = current else { return Compiled::default() };
        if !trusted(&current, filter.origin(), self.asked.as_ref(), &self.table) {
            return Compiled::default();
        }
        Compiled::of(translate(&current, &self.table))
    }
}

impl Compiled {
    fn of(filter: BoundExpression) -> Self {
        let predicate = PrunePredicate::compile(&filter);
        let conjuncts = match filter.as_opt::<And>() {
            Some(()) => filter.children().to_vec(),
            None => vec![filter],
        };
        Self {
            generation: None,
            zones: predicate.can_prune().then(|| Arc::new(predicate)),
            rows: conjuncts.into_iter().filter(holds_for_rows).collect(),
        }
    }
}

impl Slot {
    /// The gate of a conjunct.
    fn gate(&self, conjunct: usize) -> Arc<Gate> {
        let mut gates = self.gates.lock();
        if gates.len() <= conjunct {
            gates.resize_with(conjunct + 1, Arc::default);
        }
        Arc::clone(&gates[conjunct])
    }
}

/// Whether rows may be asked a conjunct of a believed filter, and it tells them apart at all.
///
/// A look-up of floats in a join's hash table misses zeros of the other sign, which the join's own
/// comparison may well take for equal (`floats_are_not_looked_up`).
fn holds_for_rows(conjunct: &BoundExpression) -> bool {
    let looks_up_floats = |node: &BoundExpression| match node.kind() {
        ExprKind::Foreign(foreign) => foreign.inputs().iter().any(|input| has_float(input.data_type())),
        _ => false,
    };
    conjunct.as_literal().is_none() && !conjunct.is_volatile() && !conjunct.any(looks_up_floats)
}

fn has_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_float(values),
        DataType::Struct(fields) => fields.iter().any(|field| has_float(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_float(field.data_type()),
        data_type => data_type.is_floating(),
    }
}
