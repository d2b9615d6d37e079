// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One execution of a scan: what its partitions share, and claiming morsels.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use datafusion::common::{Result, exec_datafusion_err};
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::{Level, PrunePredicate, ZoneSource};
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::execute::{FilterStep, StepCounts};
use trommel_scan::io::{Distance, Kept, RangeReader};
use trommel_scan::lower::{Output, ReadPlan};

use super::FilteredReadExec;
use super::blooms::Blooms;
use super::costs::RowCosts;
use super::filters::BoundFilters;
use super::judged::StaticVerdicts;
use super::metrics::ScanMetrics;
use super::priority::{self, Promise};
use super::queue::{Queue, Sharing};
use super::threshold::first_threshold;
use super::units::{COMPRESSED_BYTES, PageGrid, Unit, compressed_bytes, cut, split, total_bytes};
use crate::live::{LiveConjunct, LiveFilters, Origin};
use crate::table::ScanFragment;

/// A run of rows to read: the unit of work a partition claims.
#[derive(Debug)]
pub struct Morsel {
    /// The fragment, counted in the snapshot.
    pub fragment: usize,
    /// The rows that may matter.
    pub rows: RowRanges<FragmentRows>,
    /// Those of them that are known to satisfy the static filters.
    pub proven: RowRanges<FragmentRows>,
    /// What the morsels of the row group keep for each other.
    pub kept: Option<Arc<Kept>>,
    /// The generation of the live filters that let them pass.
    generation: u64,
}

/// What claiming a unit gave.
#[derive(Debug)]
pub enum Claim {
    /// Rows to read.
    Morsel(Morsel),
    /// Nothing: no row of the unit can matter. There may be more units.
    Skipped,
    /// There is no unit left.
    Done,
}

impl Unit {
    fn skipped(&self) -> Claim {
        self.kept.iter().for_each(|kept| kept.done());
        Claim::Skipped
    }
}

/// What the partitions of one execution share.
#[derive(Debug)]
pub struct Execution {
    scan: FilteredReadExec,
    /// The columns put out, as they lie in the table.
    projection: Vec<ColumnPath>,
    filters: Result<BoundFilters>,
    live: LiveFilters,
    grids: Vec<PageGrid>,
    /// How each fragment is read, worked out when its first morsel is.
    plans: Vec<OnceLock<Result<ReadPlan>>>,
    queue: Queue<Unit>,
    limit: Limit,
    /// Where the static conjuncts count, one each.
    counts: Vec<Arc<StepCounts>>,
    costs: RowCosts,
    survivors: Survivors,
    /// About how much memory a morsel takes while it is read.
    bytes_a_morsel: u64,
    /// The generation of the live filters at the start.
    first_generation: u64,
    /// The number of each fragment's first row.
    first_rows: Vec<u64>,
    blooms: Blooms,
    /// The columns of which the static filters ask for values.
    sought: Vec<ColumnPath>,
    /// Whether rows that are known to satisfy the static filters are enough for the limit.
    proven_suffice: bool,
    /// What zones tell of the static filters.
    judged: StaticVerdicts,
    /// The leading key of a TopK that each row put out gets to, and how many rows it wants.
    best: Option<(Promise, usize)>,
}

/// How many rows were filtered so far, and how many of them are left.
#[derive(Debug, Default)]
struct Survivors {
    asked: AtomicU64,
    left: AtomicU64,
}

/// What is fetched with a morsel beside its columns.
const GAPS: u64 = 512 << 10;

/// As many rows as there are in a page, about.
const ROWS_OF_A_PAGE: f64 = 20_000.0;

impl Execution {
    /// Starts an execution of `scan`. Does no I/O; the first poll calls it, not `execute`.
    pub fn new(scan: &FilteredReadExec) -> Self {
        let snapshot = &scan.snapshot;
        let projection: Vec<_> = scan.projection.paths().cloned().collect();
        let filters = scan.filters.with_subqueries_resolved().map(|f| f.bind(&snapshot.table));
        let prune = filters.as_ref().ok().and_then(|filters| filters.prune.as_ref());
        let judged = StaticVerdicts::new(snapshot, prune);
        let optimizer = scan.filters.optimizer().clone();
        let live = LiveFilters::new(&scan.live, Arc::clone(&snapshot.table), scan.asked.clone(), optimizer)
            .over(Arc::clone(snapshot))
            .with_known(first_threshold(scan, &judged));
        let mut columns = projection.clone();
        columns.extend(scan.filters.columns().into_iter().map(ColumnPath::from));
        let grids: Vec<_> = snapshot.fragments.iter().map(|f| PageGrid::new(&f.open, &columns)).collect();
        let mut units = cut(snapshot, &scan.sequence.fragments, &columns, &grids);
        let proven = scan.fetch.and_then(|fetch| proven_rows(scan, &judged, fetch as u64));
        if let Some(proven) = &proven {
            units.retain(|unit| proven[unit.fragment].overlaps(&unit.rows));
        }
        let promise = Promise::of(&scan.live, scan.asked.as_ref(), scan.table_schema())
            .filter(|_| scan.sequence.promised.is_none());
        if scan.fetch.is_some() {
            // A few pages may be enough.
            let rest = units.split_off(scan.partitions.min(units.len()));
            units = units.into_iter().flat_map(|unit| split(unit, &grids, 1)).chain(rest).collect();
        } else if let Some(promise) = promise {
            units = priority::arrange(units, snapshot, &grids, &promise, scan.partitions);
        }
        // A unit taken from another's share may come before what was put out already.
        let ordered = scan.sequence.promised.is_some();
        let sharing = if ordered { Sharing::Static } else { scan.sharing };
        let conjuncts = filters.as_ref().map_or(0, |filters| filters.conjuncts.len());
        Self {
            counts: (0..conjuncts).map(|_| Arc::default()).collect(),
            costs: RowCosts::new(snapshot, &projection),
            bytes_a_morsel: (total_bytes(snapshot, &columns, compressed_bytes) / units.len().max(1) as u64)
                .saturating_add(GAPS)
                .min(COMPRESSED_BYTES),
            survivors: Survivors::default(),
            first_generation: live.generation(),
            first_rows: snapshot.first_rows(),
            blooms: Blooms::new(snapshot),
            proven_suffice: proven.is_some(),
            best: best(scan),
            judged,
            sought: prune.into_iter().flat_map(PrunePredicate::sought).cloned().collect(),
            projection,
            filters,
            live,
            grids,
            plans: snapshot.fragments.iter().map(|_| OnceLock::new()).collect(),
            queue: Queue::new(units, sharing, scan.partitions),
            limit: Limit::new(scan.fetch, ordered),
            scan: scan.variant(),
        }
    }

    /// The fragment of a morsel, and its store.
    pub fn fragment(&self, morsel: &Morsel) -> &ScanFragment {
        &self.scan.snapshot.fragments[morsel.fragment]
    }

    /// The rows that partitions may still put out.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// How the morsel's fragment is read; made once per fragment.
    ///
    /// # Errors
    /// When the fragment can't be read as the table, or a filter can't be evaluated at all.
    pub fn read_plan(&self, morsel: &Morsel) -> Result<&ReadPlan> {
        let plan = self.plans[morsel.fragment].get_or_init(|| {
            let filters = self.filters.as_ref().map_err(|e| exec_datafusion_err!("{e}"))?;
            let conjuncts: Vec<_> =
                filters.conjuncts.iter().cloned().zip(self.counts.iter().cloned()).collect();
            let first_row = self.first_rows[morsel.fragment];
            let extra: Vec<_> = self.scan.extra.iter().map(|extra| extra.in_fragment(first_row)).collect();
            let output = Output { columns: &self.projection, extra: &extra };
            let plan = ReadPlan::new(&self.fragment(morsel).open, output, &conjuncts)?;
            match &self.best {
                Some((key, wanted)) => Ok(plan.with_best(&key.column, *wanted, key.order())?),
                None => Ok(plan),
            }
        });
        plan.as_ref().map_err(|e| exec_datafusion_err!("{e}"))
    }

    /// The conjuncts of live filters that are worth asking the rows of one more morsel, to be read by `plan`.
    pub fn live_steps(&self, plan: &ReadPlan) -> Vec<FilterStep> {
        if self.live.is_empty() {
            return Vec::new();
        }
        let conjuncts =
            self.live.conjuncts(self.scan.snapshot.options.live_row_filters, self.costs.savings());
        // What can't be planned isn't asked.
        let step = |live: LiveConjunct| {
            let step = plan.step(&live.expression, &live.counts).ok()?.live(live.values);
            Some(if live.is_trial { step.on_trial() } else { step })
        };
        conjuncts.into_iter().filter_map(step).collect()
    }

    /// What rows cost that live filters might have dropped.
    pub fn costs(&self) -> &RowCosts {
        &self.costs
    }

    /// Adds a morsel's rows, and those of them that are left.
    pub fn add_survivors(&self, asked: u64, left: u64) {
        self.survivors.asked.fetch_add(asked, Relaxed);
        self.survivors.left.fetch_add(left, Relaxed);
    }

    /// Whether most pages of the output are expected to hold a row that is left, as far as experience tells.
    pub fn most_pages_survive(&self) -> bool {
        let (asked, left) = (self.survivors.asked.load(Relaxed), self.survivors.left.load(Relaxed));
        if asked == 0 {
            return !self.is_urgent();
        }
        let none_of_a_page = (1.0 - left as f64 / asked as f64).powf(ROWS_OF_A_PAGE);
        none_of_a_page < 0.5
    }

    /// About how much memory a morsel takes while it is read.
    pub fn bytes_a_morsel(&self) -> u64 {
        self.bytes_a_morsel
    }

    /// Whether more morsels than the next one are worth reading already: where the files are far away, and
    /// the next ones aren't likely to be excluded by what the first one tells.
    pub fn reads_ahead(&self) -> bool {
        let far = self.scan.snapshot.fragments.iter().any(|f| f.distance == Distance::Remote);
        far && (!self.is_urgent() || self.live.generation() > self.first_generation || self.live.has_known())
    }

    /// Whether whoever wants the rows learns from each of them what else it wants: they mustn't be held back.
    pub fn is_urgent(&self) -> bool {
        self.scan.live.iter().any(|live| !matches!(live.origin(), Origin::Join { .. }))
    }

    /// Claims the next unit for a partition and judges it; `together` tells which partitions have joined the
    /// execution.
    pub fn claim(&self, partition: usize, together: impl Fn(usize) -> bool, metrics: &ScanMetrics) -> Claim {
        let Some(unit) = self.queue.claim(partition, together) else { return Claim::Done };
        let _judging = metrics.judging.timer();
        let grid = &self.grids[unit.fragment];
        let all = RowRanges::single(unit.rows.clone());
        let pages = grid.cells(&all);

        let verdicts = self.judged.of(unit.fragment);
        metrics.errors.add(self.judged.take_errors());
        let (rows, proven) = match verdicts {
            Some(verdicts) if self.proven_suffice => {
                let proven = verdicts.all.clip(&unit.rows);
                (proven.clone(), proven)
            }
            Some(verdicts) => (verdicts.may.clip(&unit.rows), verdicts.all.clip(&unit.rows)),
            None if self.scan.filters.is_empty() => (all.clone(), all),
            None => (all, RowRanges::empty()),
        };
        let left = grid.cells(&rows);
        metrics.pages_static.add_pruned(pages - left);
        metrics.pages_static.add_matched(left);
        if let Some(group) = &unit.opens {
            match verdicts.is_none_or(|verdicts| verdicts.may.overlaps(group)) {
                true => metrics.row_groups_static.add_matched(1),
                false => metrics.row_groups_static.add_pruned(1),
            }
        }
        if rows.is_empty() {
            return unit.skipped();
        }
        match self.judge_live(unit.fragment, rows, proven, metrics) {
            Some(morsel) => {
                metrics.pages_proven.add(grid.cells(&morsel.proven).min(grid.cells(&morsel.rows)));
                Claim::Morsel(Morsel { kept: unit.kept.clone(), ..morsel })
            }
            None => {
                if unit.opens.as_ref() == Some(&unit.rows) {
                    metrics.row_groups_live.add(1);
                }
                unit.skipped()
            }
        }
    }

    /// Whether a morsel that is being read still matters: the live filters may have moved since it was claimed.
    pub fn still_matters(&self, morsel: &Morsel, metrics: &ScanMetrics) -> bool {
        if morsel.generation == self.live.generation() {
            return true;
        }
        let _judging = metrics.judging.timer();
        let judgement = self.live.judge(self.zones(morsel.fragment), morsel.rows.clone());
        let matters = !judgement.may.is_empty();
        if !matters {
            metrics.pages_live.add(self.grids[morsel.fragment].cells(&morsel.rows));
            morsel.kept.iter().for_each(|kept| kept.done());
        }
        matters
    }

    /// Leaves out the rows of a morsel that Bloom filters exclude; they are fetched where statistics left
    /// a row group open. What can't be fetched excludes nothing.
    pub async fn ask_blooms(&self, morsel: &Morsel, file: &RangeReader) -> RowRanges<FragmentRows> {
        let (fragment, mut rows) = (morsel.fragment, morsel.rows.clone());
        if !self.fragment(morsel).open.metadata.has_blooms() {
            return rows;
        }
        let mut columns =
            if rows.subtract(&morsel.proven).is_empty() { Vec::new() } else { self.sought.clone() };
        columns.extend(self.live.sought());
        if columns.is_empty() {
            return rows;
        }
        match self.blooms.fetch(fragment, &columns, &rows, file).await {
            Ok(true) => {}
            Ok(false) => return rows,
            Err(error) => {
                log::debug!("Bloom filters can't be read, so they don't prune: {error}");
                return rows;
            }
        }
        let zones = self.zones(fragment);
        self.blooms.ask(fragment, |blooms| {
            if let Some(prune) = self.judged.prune() {
                rows = prune.judge_candidates(zones, Level::RowGroup, blooms, &rows, &[]).may;
            }
            self.live.judge_candidates(zones, blooms, rows).may
        })
    }

    fn judge_live(
        &self,
        fragment: usize,
        rows: RowRanges<FragmentRows>,
        proven: RowRanges<FragmentRows>,
        metrics: &ScanMetrics,
    ) -> Option<Morsel> {
        if self.live.is_empty() {
            return Some(Morsel { fragment, rows, proven, kept: None, generation: 0 });
        }
        let grid = &self.grids[fragment];
        let before = grid.cells(&rows);
        let generation = self.live.generation();
        let judgement = self.live.judge(self.zones(fragment), rows);
        metrics.errors.add(judgement.errors);
        metrics.pages_live.add(before - grid.cells(&judgement.may));
        let proven = proven.intersect(&judgement.may);
        (!judgement.may.is_empty()).then_some(Morsel {
            fragment,
            rows: judgement.may,
            proven,
            kept: None,
            generation,
        })
    }

    fn zones(&self, fragment: usize) -> &dyn ZoneSource {
        self.scan.snapshot.zones(fragment)
    }
}

/// What a TopK wants that sees each row that the scan puts out: of some rows, no more than so many with the best
/// leading keys.
fn best(scan: &FilteredReadExec) -> Option<(Promise, usize)> {
    let [only] = scan.live.as_slice() else { return None };
    let Origin::TopK { k, order, rows_preserved: true } = only.origin() else { return None };
    let promise = Promise::of_key(order.first()?, &scan.snapshot.table)?;
    scan.fetch.is_none().then_some((promise, *k))
}

/// The rows of each fragment that are known to satisfy the static filters, if they are enough for a limit of
/// `fetch` rows whichever they are.
fn proven_rows(
    scan: &FilteredReadExec,
    judged: &StaticVerdicts,
    fetch: u64,
) -> Option<Vec<RowRanges<FragmentRows>>> {
    if scan.sequence.promised.is_some() || !scan.live.is_empty() {
        return None;
    }
    let fragments = 0..scan.snapshot.fragments.len();
    let proven = fragments.map(|at| Some(judged.of(at)?.all.clone())).collect::<Option<Vec<_>>>()?;
    (proven.iter().map(RowRanges::len).sum::<u64>() >= fetch).then_some(proven)
}

/// How many rows a scan may still put out. A row is charged when it has passed every filter.
#[derive(Debug)]
pub enum Limit {
    /// Any number.
    None,
    /// So many in all partitions together; which ones doesn't matter.
    Shared(AtomicU64),
    /// So many in each partition: with an order promised, one partition's later rows must not take the
    /// place of another's earlier ones.
    PerPartition(u64),
}

impl Limit {
    fn new(fetch: Option<usize>, ordered: bool) -> Self {
        match fetch {
            None => Self::None,
            Some(rows) if ordered => Self::PerPartition(rows as u64),
            Some(rows) => Self::Shared(AtomicU64::new(rows as u64)),
        }
    }

    /// Charges up to `rows` rows and says how many were granted; `spent` is what this partition was
    /// granted before.
    pub fn charge(&self, rows: u64, spent: u64) -> u64 {
        match self {
            Self::None => rows,
            Self::PerPartition(limit) => rows.min(limit - spent.min(*limit)),
            Self::Shared(left) => {
                let granted = |left: u64| Some(left - rows.min(left));
                let before = left.fetch_update(Relaxed, Relaxed, granted);
                rows.min(before.unwrap_or(0))
            }
        }
    }

    /// Whether a partition that was granted `spent` rows can be granted no more.
    pub fn exhausted(&self, spent: u64) -> bool {
        match self {
            Self::None => false,
            Self::PerPartition(limit) => spent >= *limit,
            Self::Shared(left) => left.load(Relaxed) == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_limit_is_granted_once() {
        let limit = Limit::new(Some(10), false);
        assert_eq!([limit.charge(7, 0), limit.charge(7, 0), limit.charge(7, 3)], [7, 3, 0]);
        assert!(limit.exhausted(0));
    }

    #[test]
    fn an_ordered_limit_is_granted_to_each_partition() {
        let limit = Limit::new(Some(10), true);
        assert_eq!([limit.charge(7, 0), limit.charge(7, 7), limit.charge(7, 0)], [7, 3, 7]);
        assert!(limit.exhausted(10) && !limit.exhausted(7));
    }
}
