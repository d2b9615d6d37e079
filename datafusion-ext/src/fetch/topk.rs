// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Recognising a TopK over a scan, deciding whether two steps read less, and building them.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use trommel_planner::index::ColumnPath;
use trommel_scan::fragment::OpenFragment;

use super::exec::{FetchRowsExec, Source};
use crate::exec::{FilteredReadExec, file_leaves};
use crate::link::replace_columns;
use crate::table::LateFetch;

/// A sort with a limit over a scan, with what is above and between that only picks and computes.
pub(super) struct TopK<'a> {
    limit: Option<&'a GlobalLimitExec>,
    merge: Option<&'a SortPreservingMergeExec>,
    sort: &'a SortExec,
    k: usize,
    /// The columns that are sorted, in terms of the scan's output.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether they are computed, and not just the scan's output.
    projected: bool,
    /// Predicates that the scan couldn't take, in terms of its output.
    predicates: Vec<Arc<dyn PhysicalExpr>>,
    scan: &'a FilteredReadExec,
}

impl<'a> TopK<'a> {
    /// The TopK whose topmost operator is `node`.
    pub fn at(node: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mut node = node;
        let limit = node.downcast_ref::<GlobalLimitExec>();
        if let Some(limit) = limit {
            node = limit.input();
        }
        let merge = node.downcast_ref::<SortPreservingMergeExec>();
        if let Some(merge) = merge {
            node = merge.input();
        }
        let sort = node.downcast_ref::<SortExec>()?;
        let k = sort.fetch()?;
        // Else each partition's sort has winners, most of which the merge drops.
        let merged = sort.properties().output_partitioning().partition_count() == 1
            || merge.is_some_and(|merge| merge.expr() == sort.expr());
        merged.then(|| Self::over(limit, merge, sort, k)).flatten()
    }

    fn over(
        limit: Option<&'a GlobalLimitExec>,
        merge: Option<&'a SortPreservingMergeExec>,
        sort: &'a SortExec,
        k: usize,
    ) -> Option<Self> {
        let mut between = Vec::new();
        let mut node = sort.input();
        let scan = loop {
            if let Some(scan) = node.downcast_ref::<FilteredReadExec>() {
                break scan;
            }
            between.push(node);
            node = match (node.downcast_ref::<ProjectionExec>(), node.downcast_ref::<FilterExec>()) {
                (Some(projection), _) => projection.input(),
                (_, Some(filter)) if filter.fetch().is_none() => filter.input(),
                _ => return None,
            };
        };
        let schema = scan.schema();
        let output = schema.fields().iter().enumerate();
        let mut columns: Vec<Arc<dyn PhysicalExpr>> =
            output.map(|(at, field)| Arc::new(Column::new(field.name(), at)) as _).collect();
        let mut predicates = Vec::new();
        for node in between.iter().rev() {
            let in_scan = |expr| replace_columns(expr, |at| columns.get(at).cloned());
            if let Some(filter) = node.downcast_ref::<FilterExec>() {
                predicates.push(in_scan(filter.predicate())?);
                if let Some(kept) = filter.projection() {
                    columns = kept.iter().map(|at| columns.get(*at).cloned()).collect::<Option<_>>()?;
                }
            } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
                columns = projection.expr().iter().map(|e| in_scan(&e.expr)).collect::<Option<_>>()?;
            }
        }
        let projected = !between.is_empty();
        Some(Self { limit, merge, sort, k, columns, projected, predicates, scan })
    }

    /// The same rows by two steps; `None` where that isn't known to read less.
    pub fn in_two_steps(&self) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(keys) = self.keys() else { return Ok(None) };
        // A volatile key would be computed twice, and come out different.
        if !self.scan.can_number_rows() || keys.iter().any(|key| is_volatile(&key.expr)) {
            return Ok(None);
        }
        let deciding = keys.iter().map(|key| &key.expr).chain(&self.predicates);
        let mut decides: Vec<usize> =
            deciding.flat_map(collect_columns).map(|column| column.index()).collect();
        decides.sort_unstable();
        decides.dedup();
        let output: Vec<_> = self.scan.projection().paths().cloned().collect();
        let rest = (0..output.len()).filter(|at| !decides.contains(at));
        if !self.pays(&rest.map(|at| output[at].clone()).collect::<Vec<_>>()) {
            return Ok(None);
        }

        let narrow = |at| {
            let place = decides.binary_search(&at).ok()?;
            Some(Arc::new(Column::new(self.scan.schema().field(at).name(), place)) as _)
        };
        let in_narrow = |expr: &Arc<dyn PhysicalExpr>| replace_columns(expr, narrow);
        let narrow_keys =
            keys.iter().map(|key| Some(PhysicalSortExpr::new(in_narrow(&key.expr)?, key.options)));
        let predicates: Option<Vec<_>> = self.predicates.iter().map(in_narrow).collect();
        let narrow_keys = narrow_keys.collect::<Option<Vec<_>>>().and_then(LexOrdering::new);
        let Some((narrow_keys, predicates)) = narrow_keys.zip(predicates) else { return Ok(None) };

        let mut plan: Arc<dyn ExecutionPlan> = Arc::new(self.scan.with_row_numbers(&decides)?);
        for predicate in predicates {
            plan = Arc::new(FilterExecBuilder::new(predicate, plan).build()?);
        }
        plan = self.winners(narrow_keys, plan);

        let source = |at: usize| match decides.binary_search(&at) {
            Ok(place) => Source::Input(place),
            Err(_) => Source::Fetched(output[at].clone()),
        };
        let sources = (0..output.len()).map(source).collect();
        let fetched = FetchRowsExec::new(plan, self.scan, sources);
        if !self.projected {
            return Ok(Some(Arc::new(fetched)));
        }
        let names = self.sort.schema();
        let columns = self
            .columns
            .iter()
            .zip(names.fields())
            .map(|(expr, field)| ProjectionExpr { expr: Arc::clone(expr), alias: field.name().clone() });
        Ok(Some(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), Arc::new(fetched))?)))
    }

    /// The sort keys, in terms of the scan's output.
    fn keys(&self) -> Option<Vec<PhysicalSortExpr>> {
        let key = |key: &PhysicalSortExpr| {
            let expr = replace_columns(&key.expr, |at| self.columns.get(at).cloned())?;
            Some(PhysicalSortExpr::new(expr, key.options))
        };
        self.sort.expr().iter().map(key).collect()
    }

    /// The sort with its merge and its offset, over another input.
    fn winners(&self, keys: LexOrdering, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let sort = SortExec::new(keys.clone(), input)
            .with_preserve_partitioning(self.sort.preserve_partitioning())
            .with_fetch(Some(self.k));
        let mut plan: Arc<dyn ExecutionPlan> = Arc::new(sort);
        if let Some(merge) = self.merge {
            plan = Arc::new(SortPreservingMergeExec::new(keys, plan).with_fetch(merge.fetch()));
        }
        if let Some(limit) = self.limit {
            plan = Arc::new(GlobalLimitExec::new(plan, limit.skip(), limit.fetch()));
        }
        plan
    }

    /// Whether fetching these columns for K rows, wherever they lie, reads less than half of them.
    ///
    /// A page is read for each row at worst, and a dictionary for each row group, so this is what chance
    /// would pick. A TopK that needs few pages anyway reads the same ones in both ways.
    fn pays(&self, columns: &[ColumnPath]) -> bool {
        let snapshot = self.scan.snapshot();
        match snapshot.options.late_fetch {
            LateFetch::Never => return false,
            LateFetch::Always => return !columns.is_empty(),
            LateFetch::WhenItPays => {}
        }
        let sizes = snapshot.fragments.iter().flat_map(|f| chunk_sizes(&f.open, columns));
        let all = sizes.fold(ChunkSizes::default(), ChunkSizes::plus);
        let share_of = |things: u64| {
            let things = things.max(1) as f64;
            1.0 - (1.0 - 1.0 / things).powf(self.k as f64)
        };
        // Pages of different columns don't align; on average a column has so many.
        let columns = columns.len().max(1) as u64;
        let pages = all.page_bytes as f64 * share_of(all.pages / columns);
        let dictionaries = all.dictionary_bytes as f64 * share_of(all.chunks / columns);
        2.0 * (pages + dictionaries) < (all.page_bytes + all.dictionary_bytes) as f64
    }
}

/// What some column chunks consist of.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkSizes {
    chunks: u64,
    pages: u64,
    page_bytes: u64,
    dictionary_bytes: u64,
}

impl ChunkSizes {
    fn plus(self, other: Self) -> Self {
        Self {
            chunks: self.chunks + other.chunks,
            pages: self.pages + other.pages,
            page_bytes: self.page_bytes.saturating_add(other.page_bytes),
            dictionary_bytes: self.dictionary_bytes.saturating_add(other.dictionary_bytes),
        }
    }
}

/// The chunks of some columns of a fragment.
fn chunk_sizes(open: &OpenFragment, columns: &[ColumnPath]) -> Vec<ChunkSizes> {
    let metadata = &open.metadata;
    let leaves = file_leaves(open, columns);
    let groups = metadata.parquet().row_groups().iter().enumerate();
    let sizes = groups.flat_map(|(group, chunks)| {
        leaves.iter().map(move |leaf| {
            let chunk = chunks.column(*leaf);
            let all = chunk.compressed_size().max(0) as u64;
            let dictionary = chunk.dictionary_page_offset().map_or(0, |at| chunk.data_page_offset() - at);
            let dictionary_bytes = (dictionary.max(0) as u64).min(all);
            let pages = metadata.page_locations(group, *leaf).map_or(1, <[_]>::len) as u64;
            ChunkSizes { chunks: 1, pages, page_bytes: all - dictionary_bytes, dictionary_bytes }
        })
    });
    sizes.collect()
}
