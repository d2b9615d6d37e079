// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The live filters of one execution, in the forms that judge zones and rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr};
use parking_lot::Mutex;
use trommel_planner::expr::functions::And;
use trommel_planner::expr::{BoundExpression, Cost, ExprKind, Shape};
use trommel_planner::index::ColumnPath;
use trommel_planner::optimizer::ExpressionOptimizer;
use trommel_planner::pruning::{Candidates, Level, PrunePredicate, Verdicts, ZoneSource};
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::execute::{StepCounts, group_by_columns};

use super::gate::{Admission, Gate, Savings};
use super::members::{bounds, mapped};
use super::trust::trusted;
use super::{LiveFilter, SortKey};
use crate::table::{LiveRowFilters, Snapshot};
use crate::translate::{Translator, optimize_filter};

/// The live filters of one execution, shared by its partitions.
///
/// Each filter is looked at once per generation, by whichever partition sees the new generation first, which
/// then serves all. Mostly just the constants have moved that it compares with: then these are all that changes,
/// and nothing is optimized or compiled.
#[derive(Debug)]
pub struct LiveFilters {
    filters: Vec<Slot>,
    translator: Translator,
    asked: Option<SortKey>,
    optimizer: ExpressionOptimizer,
    /// What values the table's columns have, once that is told.
    snapshot: Option<Arc<Snapshot>>,
    compilations: AtomicUsize,
}

#[derive(Debug)]
struct Slot {
    /// Absent for what is known from the start and never moves.
    filter: Option<LiveFilter>,
    present: Mutex<Present>,
    /// One for each conjunct, by its place: a filter that moves mostly keeps its shape.
    gates: Mutex<Vec<Arc<Gate>>>,
}

/// A filter at one generation; without a form where it isn't believed.
#[derive(Debug, Clone, Default)]
struct Present {
    generation: Option<u64>,
    form: Option<Form>,
}

/// A filter in the forms that judge zones and rows: a compiled shape, and the constants that go into it.
#[derive(Debug, Clone)]
struct Form {
    compiled: Arc<Compiled>,
    values: Arc<[ScalarValue]>,
}

#[derive(Debug)]
struct Compiled {
    /// Absent for a filter with more constants than there are slots.
    shape: Option<Shape>,
    /// What judges zones; absent where the filter says nothing of them.
    zones: Option<PrunePredicate>,
    /// What rows may be asked, one conjunct after the other.
    rows: Vec<BoundExpression>,
}

/// A conjunct that rows are to be asked.
#[derive(Debug)]
pub struct LiveConjunct {
    /// The conjunct, over the table.
    pub expression: BoundExpression,
    /// The values of its slots.
    pub values: Arc<[ScalarValue]>,
    /// Where it counts what it costs and drops.
    pub counts: Arc<StepCounts>,
    /// Whether only some rows are to be asked.
    pub is_trial: bool,
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
    pub fn new(
        filters: &[LiveFilter],
        table: SchemaRef,
        asked: Option<SortKey>,
        optimizer: ExpressionOptimizer,
    ) -> Self {
        let slot = |filter: &LiveFilter| Slot {
            filter: Some(filter.clone()),
            present: Mutex::default(),
            gates: Mutex::default(),
        };
        let (filters, translator) = (filters.iter().map(slot).collect(), Translator::new(table));
        Self { filters, translator, asked, optimizer, snapshot: None, compilations: AtomicUsize::new(0) }
    }

    /// The same filters over the rows of this snapshot, whose statistics tell which values there may be.
    #[must_use]
    pub fn over(mut self, snapshot: Arc<Snapshot>) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    /// The same filters and what is known to hold for every row that can matter, if anything is.
    #[must_use]
    pub fn with_known(mut self, known: Option<BoundExpression>) -> Self {
        if let Some(known) = known {
            let present = Present { generation: None, form: Some(self.compile(&known)) };
            self.filters.push(Slot { filter: None, present: Mutex::new(present), gates: Mutex::default() });
        }
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
        self.judge_by(rows, |predicate, values, rows| predicate.judge(zones, rows, values))
    }

    fn judge_by(
        &self,
        rows: RowRanges<FragmentRows>,
        judge: impl Fn(&PrunePredicate, &[ScalarValue], &RowRanges<FragmentRows>) -> Verdicts,
    ) -> Judgement {
        let mut judgement = Judgement { may: rows, errors: 0 };
        for slot in &self.filters {
            if judgement.may.is_empty() {
                break;
            }
            let Some(Form { compiled, values }) = self.present_form(slot) else { continue };
            if let Some(predicate) = &compiled.zones {
                let verdicts = judge(predicate, &values, &judgement.may);
                judgement.may = verdicts.may;
                judgement.errors += verdicts.errors;
            }
        }
        judgement
    }

    /// The columns of which the present forms ask for values.
    pub fn sought(&self) -> Vec<ColumnPath> {
        let forms = self.filters.iter().filter_map(|slot| self.present_form(slot));
        let sought = |form: Form| -> Vec<_> {
            form.compiled.zones.iter().flat_map(PrunePredicate::sought).cloned().collect()
        };
        forms.flat_map(sought).collect()
    }

    /// Judges rows by the present form of every filter and by what knows which values row groups hold.
    pub fn judge_candidates(
        &self,
        zones: &dyn ZoneSource,
        candidates: &dyn Candidates,
        rows: RowRanges<FragmentRows>,
    ) -> Judgement {
        self.judge_by(rows, |predicate, values, rows| {
            predicate.judge_candidates(zones, Level::RowGroup, candidates, rows, values)
        })
    }

    /// The conjuncts of every filter's present form that are to be evaluated for the rows of one more
    /// morsel.
    pub fn conjuncts(&self, when: LiveRowFilters, savings: Savings) -> Vec<LiveConjunct> {
        let mut open = Vec::new();
        if when == LiveRowFilters::Never {
            return open;
        }
        for slot in &self.filters {
            let Some(Form { compiled, values }) = self.present_form(slot) else { continue };
            let saving = savings.of(slot.filter.as_ref().map(LiveFilter::origin));
            for (at, conjunct) in compiled.rows.iter().enumerate() {
                let gate = slot.gate(at, conjunct);
                let admission = match when {
                    LiveRowFilters::Always => Admission::Open,
                    _ => gate.admits(saving),
                };
                if admission != Admission::Closed {
                    open.push(LiveConjunct {
                        expression: conjunct.clone(),
                        values: Arc::clone(&values),
                        counts: Arc::clone(gate.counts()),
                        is_trial: admission == Admission::Trial,
                    });
                }
            }
        }
        open
    }

    /// How often a filter had to be optimized and compiled.
    pub fn compilations(&self) -> usize {
        self.compilations.load(Ordering::Relaxed)
    }

    /// The filter as it is at its present generation.
    fn present_form(&self, slot: &Slot) -> Option<Form> {
        let Some(filter) = &slot.filter else { return slot.present.lock().form.clone() };
        // The generation is read before the expression: a move in between is looked at twice, never missed.
        let generation = Some(snapshot_generation(filter.expr()));
        let known = slot.present.lock().clone();
        if known.generation == generation {
            return known.form;
        }
        // Not under the lock, so that a large filter doesn't hold up the other partitions.
        let form = self.form(filter, known.form);
        let mut present = slot.present.lock();
        if present.generation < generation {
            *present = Present { generation, form: form.clone() };
        }
        form
    }

    /// The filter as it is now, given an earlier form of it.
    fn form(&self, filter: &LiveFilter, earlier: Option<Form>) -> Option<Form> {
        let current = snapshot_physical_expr(Arc::clone(filter.expr()))
            .inspect_err(|e| log::debug!("a live filter can't be read, so it doesn't prune: {e}"))
            .ok()?;
        if !trusted(&current, filter.origin(), self.asked.as_ref(), self.translator.table()) {
            return None;
        }
        let bound = self.translator.translate(&current);
        if let Some(Form { compiled, .. }) = earlier
            && let Some(values) = compiled.shape.as_ref().and_then(|shape| shape.values_of(&bound))
        {
            return Some(Form { compiled, values: values.into() });
        }
        Some(self.compile(&bound))
    }

    fn compile(&self, filter: &BoundExpression) -> Form {
        self.compilations.fetch_add(1, Ordering::Relaxed);
        // What hides its constants never comes again with other ones.
        let is_opaque = filter.any(|node| matches!(node.kind(), ExprKind::Foreign(_)));
        let (shape, values) = Shape::of(filter).filter(|_| !is_opaque).unzip();
        let filter = shape.as_ref().map_or(filter, Shape::expression);
        let filter = optimize_filter(&self.optimizer, filter);
        let predicate = PrunePredicate::compile(&filter);
        let conjuncts = match filter.as_opt::<And>() {
            Some(()) => filter.children().to_vec(),
            None => vec![filter],
        };
        let asked = conjuncts.iter().filter(|conjunct| holds_for_rows(conjunct));
        let rows: Vec<_> =
            asked.map(|asked| self.mapped(asked, &conjuncts).unwrap_or_else(|| asked.clone())).collect();
        let rows = group_by_columns(&rows).unwrap_or(rows);
        let compiled = Compiled { shape, zones: predicate.can_prune().then_some(predicate), rows };
        Form { compiled: Arc::new(compiled), values: values.unwrap_or_default().into() }
    }
}

impl LiveFilters {
    /// An opaque conjunct as a map of values, where that pays; the other conjuncts may bound them.
    fn mapped(&self, conjunct: &BoundExpression, others: &[BoundExpression]) -> Option<BoundExpression> {
        let snapshot = self.snapshot.as_ref()?;
        mapped(conjunct, snapshot.rows(), |column| {
            let of_table = snapshot.integers(column)?;
            let of_filter = bounds(others, column);
            Some(*of_table.start().max(of_filter.start())..=*of_table.end().min(of_filter.end()))
        })
    }
}

impl Slot {
    /// The gate of a conjunct, by its place.
    fn gate(&self, at: usize, conjunct: &BoundExpression) -> Arc<Gate> {
        let mut gates = self.gates.lock();
        // What is evaluated elsewhere may take a hundred times as long as a comparison.
        let is_cheap = conjunct.facts().cost == Cost::Cheap
            && !conjunct.any(|node| matches!(node.kind(), ExprKind::Foreign(_)) && node.can_fail());
        if gates.len() <= at {
            gates.resize_with(at + 1, || Arc::new(Gate::new(is_cheap)));
        }
        Arc::clone(&gates[at])
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

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::buffer::BooleanBuffer;
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::Operator::{self, And, Eq, Gt, GtEq, Lt, LtEq, Or};
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{
        DynamicFilterPhysicalExpr, binary, cast, col, in_list, lit,
    };
    use trommel_planner::pruning::{Bound, ZoneColumn};

    use super::*;
    use crate::live::Origin;
    use crate::translate::expression_rules;

    type Expr = Arc<dyn PhysicalExpr>;

    fn table() -> SchemaRef {
        let column = |name: &str, data_type| Field::new(name, data_type, true);
        Arc::new(Schema::new(vec![column("a", DataType::Int64), column("n", DataType::Int32)]))
    }

    fn compare(left: Expr, op: Operator, right: Expr) -> Expr {
        binary(left, op, right, &table()).unwrap()
    }

    fn a(op: Operator, value: i64) -> Expr {
        compare(col("a", &table()).unwrap(), op, lit(value))
    }

    /// Ten zones of ten rows, of which zone z holds the values from 10 z on.
    struct Tens;

    impl ZoneSource for Tens {
        fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
            let of = |plus: i64| Bound {
                values: Arc::new(Int64Array::from_iter_values((0..10).map(|z| 10 * z + plus))) as ArrayRef,
                exact: BooleanBuffer::new_set(10),
            };
            let starts = (0..=10).map(|z| z * 10).collect();
            let zones = ZoneColumn::unknown(DataType::Int64, starts).with_lower(of(0)).with_upper(of(9));
            (level == Level::RowGroup && column.column.0 == 0).then(|| Arc::new(zones))
        }
    }

    /// One filter through its generations: the rows left by each, and how often it was compiled by then.
    fn generations(origin: Origin, filters: &[Expr]) -> Vec<(u64, usize)> {
        let columns = vec![col("a", &table()).unwrap(), col("n", &table()).unwrap()];
        let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(columns, lit(true)));
        let live = LiveFilter::new(Arc::clone(&dynamic) as Expr).with_origin(origin);
        let live = LiveFilters::new(&[live], table(), None, expression_rules().snapshot());
        let judge = |filter: &Expr| {
            dynamic.update(Arc::clone(filter)).unwrap();
            let rows = || live.judge(&Tens, RowRanges::all(100)).may.len();
            assert_eq!(rows(), rows());
            (rows(), live.compilations())
        };
        filters.iter().map(judge).collect()
    }

    #[test]
    fn constants_that_move_are_patched() {
        let top_k = [90, 70, 50, 20].map(|bound| a(Lt, bound));
        assert_eq!(generations(Origin::Other, &top_k), [(90, 1), (70, 1), (50, 1), (20, 1)]);

        let n = |value: i32| compare(col("n", &table()).unwrap(), Gt, lit(value));
        let two_keys = [90, 70, 50].map(|bound| {
            let tie = compare(a(Eq, bound), And, n(i32::try_from(bound).unwrap()));
            compare(a(Lt, bound), Or, tie)
        });
        assert_eq!(generations(Origin::Unknown, &two_keys), [(100, 1), (80, 1), (60, 1)]);

        let bounds =
            [(0, 95), (15, 60), (20, 25)].map(|(low, high)| compare(a(GtEq, low), And, a(LtEq, high)));
        assert_eq!(generations(Origin::Other, &bounds), [(100, 1), (60, 1), (10, 1)]);
    }

    #[test]
    fn another_shape_is_compiled() {
        let set = |values: &[i64]| {
            let list = values.iter().map(|v| lit(*v)).collect();
            in_list(col("a", &table()).unwrap(), list, &false, &table()).unwrap()
        };
        let null = compare(col("a", &table()).unwrap(), Lt, lit(ScalarValue::Int64(None)));
        let shapes =
            [a(Lt, 90), a(LtEq, 80), set(&[5, 15]), set(&[5, 25]), set(&[5, 25]), null, a(Lt, 20), a(Lt, 5)];
        let expect = [(90, 1), (90, 2), (20, 3), (20, 4), (20, 4), (0, 5), (20, 6), (10, 6)];
        assert_eq!(generations(Origin::Other, &shapes), expect);
    }

    /// Beside a cast rules need the constant: there every constant is a shape of its own, and still prunes.
    #[test]
    fn beside_a_cast_constants_belong_to_the_shape() {
        let wide = |value: i64| {
            let n = cast(col("n", &table()).unwrap(), &table(), DataType::Int64).unwrap();
            compare(a(Lt, value), And, compare(n, Lt, lit(value)))
        };
        assert_eq!(generations(Origin::Other, &[wide(90), wide(70)]), [(90, 1), (70, 2)]);
    }

    #[test]
    fn what_is_not_believed_is_not_compiled() {
        assert_eq!(generations(Origin::Unknown, &[a(Lt, 90), a(Lt, 70)]), [(100, 0), (100, 0)]);
    }
}
