// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `FetchRowsExec`: the other columns of rows that are known by number.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow::compute::{concat, interleave};
use arrow::datatypes::{FieldRef, SchemaRef, UInt64Type};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, exec_datafusion_err, internal_datafusion_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use trommel_planner::index::ColumnPath;
use trommel_planner::rows::{FragmentRows, RowRanges};
use trommel_scan::execute::{Morsel, read_morsel};
use trommel_scan::io::{IoCounters, RangeReader};
use trommel_scan::lower::{Output, ReadPlan};

use crate::exec::FilteredReadExec;
use crate::link::replace_columns;
use crate::table::Snapshot;

/// How many reads run at a time.
const READS_AT_A_TIME: usize = 32;

/// Where an output column comes from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The input's column of this number.
    Input(usize),
    /// A table column, or a field below one, that is fetched.
    Fetched(ColumnPath),
}

/// Adds to each row of its input the columns that the input left out, fetched by the row's number.
///
/// The input's last column holds the number of each row in the snapshot. Rows keep their order. Row groups and
/// groups of columns are read side by side, and only the pages that hold one of the rows.
#[derive(Debug)]
pub struct FetchRowsExec {
    input: Arc<dyn ExecutionPlan>,
    fetch: Arc<Fetch>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What is fetched, and from where.
#[derive(Debug)]
struct Fetch {
    snapshot: Arc<Snapshot>,
    sources: Vec<Source>,
    /// The columns that are fetched, in the order of the output.
    columns: Vec<ColumnPath>,
    /// The numbers of the fragments' first rows.
    starts: Vec<u64>,
    schema: SchemaRef,
}

/// The columns fetched by one partition of the operator, and how.
#[derive(Debug)]
struct Fetcher {
    fetch: Arc<Fetch>,
    /// How each fragment is read, for groups of so many columns, worked out when it is first needed.
    plans: Vec<Vec<OnceLock<Result<ReadPlan>>>>,
    group_columns: usize,
    metrics: FetchMetrics,
}

impl FetchRowsExec {
    /// Puts out what `scan` does for the rows of `input`, which are rows of its snapshot; `sources` says where
    /// each column comes from.
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, scan: &FilteredReadExec, sources: Vec<Source>) -> Self {
        let fetched = |source: &Source| match source {
            Source::Input(_) => None,
            Source::Fetched(column) => Some(column.clone()),
        };
        let fetch = Fetch {
            columns: sources.iter().filter_map(fetched).collect(),
            starts: scan.snapshot().first_rows(),
            snapshot: Arc::clone(scan.snapshot()),
            sources,
            schema: Arc::clone(scan.projection().schema()),
        };
        Self::over(input, Arc::new(fetch))
    }

    fn over(input: Arc<dyn ExecutionPlan>, fetch: Arc<Fetch>) -> Self {
        let order = input.output_ordering().and_then(|order| fetch.order(order));
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&fetch.schema), order);
        let properties = PlanProperties::new(
            equivalences,
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, fetch, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for FetchRowsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let columns = self.fetch.schema.fields().iter().zip(&self.fetch.sources);
        let fetched = columns.filter(|(_, source)| matches!(source, Source::Fetched(_)));
        let names: Vec<_> = fetched.map(|(field, _)| field.name().as_str()).collect();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "FetchRowsExec: table={}, columns=[{}]", self.fetch.snapshot.name, names.join(", "))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "table={}\ncolumns={}", self.fetch.snapshot.name, names.join(", "))
            }
        }
    }
}

impl ExecutionPlan for FetchRowsExec {
    fn name(&self) -> &str {
        "FetchRowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([input]) => Ok(Arc::new(Self::over(input, Arc::clone(&self.fetch)))),
            Err(children) => internal_err!("FetchRowsExec has one input, not {}", children.len()),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let threads = context.session_config().target_partitions();
        let input = self.input.execute(partition, context)?;
        let metrics = FetchMetrics::new(&self.metrics, partition);
        let fetcher = Arc::new(Fetcher::new(Arc::clone(&self.fetch), threads, metrics));
        let rows = input.and_then(move |batch| {
            let fetcher = Arc::clone(&fetcher);
            async move { fetcher.complete(&batch).await }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.fetch.schema), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.fetch.schema);
        if let [input] = inputs {
            statistics.num_rows = input.num_rows;
        }
        Ok(Arc::new(statistics))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}

/// Some rows of one row group.
#[derive(Debug)]
struct Piece {
    fragment: usize,
    rows: Vec<u64>,
}

impl Fetch {
    /// An order of the input, as an order of the output.
    fn order(&self, order: &LexOrdering) -> Option<LexOrdering> {
        let place = |column: usize| {
            let at =
                self.sources.iter().position(|s| matches!(s, Source::Input(input) if *input == column))?;
            Some(Arc::new(Column::new(self.schema.field(at).name(), at)) as _)
        };
        let keys = order
            .iter()
            .map_while(|key| Some(PhysicalSortExpr::new(replace_columns(&key.expr, place)?, key.options)));
        LexOrdering::new(keys)
    }

    /// Rows by number, as sorted rows of row groups.
    fn pieces(&self, numbers: &[u64]) -> Result<Vec<Piece>> {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut pieces: Vec<Piece> = Vec::new();
        // The end of the row group that the last piece is of, in row numbers.
        let mut end = 0;
        for number in sorted {
            if number >= end || pieces.is_empty() {
                let fragment = self.starts.partition_point(|start| *start <= number).saturating_sub(1);
                end = self.row_group_end(fragment, number)?;
                pieces.push(Piece { fragment, rows: Vec::new() });
            }
            if let Some(piece) = pieces.last_mut() {
                piece.rows.push(number - self.starts[piece.fragment]);
            }
        }
        Ok(pieces)
    }

    /// Where the row group of a fragment's row ends, in row numbers.
    fn row_group_end(&self, fragment: usize, number: u64) -> Result<u64> {
        let start = self.starts.get(fragment).copied().unwrap_or_default();
        let groups = self.snapshot.fragments.get(fragment).map(|f| f.open.metadata.row_groups());
        let of_row = |group: &&Range<u64>| group.contains(&(number - start));
        let group = groups.and_then(|groups| groups.iter().find(of_row));
        group
            .map(|group| start + group.end)
            .ok_or_else(|| internal_datafusion_err!("there is no row {number}"))
    }
}

impl Fetcher {
    fn new(fetch: Arc<Fetch>, threads: usize, metrics: FetchMetrics) -> Self {
        let group_columns = fetch.columns.len().div_ceil(threads.max(1)).max(1);
        let groups = fetch.columns.len().div_ceil(group_columns);
        let plans = fetch.snapshot.fragments.iter().map(|_| (0..groups).map(|_| OnceLock::new()).collect());
        Self { plans: plans.collect(), group_columns, fetch, metrics }
    }

    /// The output for some rows of the input.
    async fn complete(self: &Arc<Self>, batch: &RecordBatch) -> Result<RecordBatch> {
        let fetch = &self.fetch;
        let numbers = batch.columns().last().and_then(|numbers| numbers.as_primitive_opt::<UInt64Type>());
        let Some(numbers) = numbers else { return internal_err!("rows without numbers") };
        let pieces = fetch.pieces(numbers.values())?;
        let places = places(&pieces, &fetch.starts, numbers.values())?;
        let mut columns = self.read_all(pieces).await?.into_iter();

        let column = |(source, field): (&Source, &FieldRef)| match source {
            Source::Input(at) => Ok(Arc::clone(batch.column(*at))),
            Source::Fetched(_) if places.is_empty() => Ok(new_empty_array(field.data_type())),
            Source::Fetched(_) => {
                let parts = columns.next().ok_or_else(|| internal_datafusion_err!("a column is lost"))?;
                let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
                Ok(interleave(&parts, &places)?)
            }
        };
        let columns = fetch.sources.iter().zip(fetch.schema.fields()).map(column).collect::<Result<_>>()?;
        self.metrics.baseline.record_output(batch.num_rows());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&fetch.schema), columns, &options)?)
    }

    /// For each fetched column, its values in each piece.
    async fn read_all(self: &Arc<Self>, pieces: Vec<Piece>) -> Result<Vec<Vec<ArrayRef>>> {
        let groups = self.fetch.columns.len().div_ceil(self.group_columns);
        let pieces = pieces.into_iter().map(Arc::new);
        let reads = pieces.flat_map(|piece| (0..groups).map(move |group| (Arc::clone(&piece), group)));
        let reads = reads.map(|(piece, group)| {
            let fetcher = Arc::clone(self);
            SpawnedTask::spawn(async move { fetcher.read(&piece, group).await }).join()
        });
        let mut reads = stream::iter(reads).buffered(READS_AT_A_TIME).enumerate();
        let mut columns = vec![Vec::new(); self.fetch.columns.len()];
        while let Some((at, read)) = reads.next().await {
            let read = read.map_err(|e| exec_datafusion_err!("fetching rows: {e}"))??;
            let first = at % groups * self.group_columns;
            columns[first..].iter_mut().zip(read).for_each(|(column, part)| column.push(part));
        }
        Ok(columns)
    }

    /// A group of the fetched columns of a piece.
    async fn read(&self, piece: &Piece, group: usize) -> Result<Vec<ArrayRef>> {
        let (start, io): (_, Arc<IoCounters>) = (Instant::now(), Arc::default());
        let fragment = &self.fetch.snapshot.fragments[piece.fragment];
        let columns = self.fetch.columns.chunks(self.group_columns).nth(group).unwrap_or_default();
        let plan = self.plans[piece.fragment][group].get_or_init(|| {
            let output = Output { columns, extra: &[] };
            Ok(ReadPlan::new(&fragment.open, output, &[])?)
        });
        let plan = plan.as_ref().map_err(|e| exec_datafusion_err!("{e}"))?;
        let rows: RowRanges<FragmentRows> = piece.rows.iter().map(|row| *row..row + 1).collect();
        let (store, none) = (Arc::clone(&fragment.store), RowRanges::empty());
        let file = RangeReader::new(store, &fragment.open.fragment, fragment.distance, Arc::clone(&io));
        let morsel = Morsel { rows: &rows, proven: &none, live: &[], at_once: false };
        let mut batches = read_morsel(&fragment.open, plan, morsel, &file, piece.rows.len()).await?;
        let mut parts = Vec::new();
        while let Some(batch) = batches.next(piece.rows.len())? {
            parts.push(batch.columns);
        }
        self.metrics.add(&io, start);
        let column = |column: usize| {
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part[column].as_ref()).collect();
            Ok(concat(&parts)?)
        };
        (0..columns.len()).map(column).collect()
    }
}

/// For each row of the input, in which piece it is and where there.
fn places(pieces: &[Piece], starts: &[u64], numbers: &[u64]) -> Result<Vec<(usize, usize)>> {
    let mut known = BTreeMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        for (row, fragment_row) in piece.rows.iter().enumerate() {
            known.insert(starts[piece.fragment] + fragment_row, (at, row));
        }
    }
    let place = |number| known.get(number).copied().ok_or_else(|| internal_datafusion_err!("a row is lost"));
    numbers.iter().map(place).collect()
}

/// What fetching counts, by the names that the scan uses.
#[derive(Debug)]
struct FetchMetrics {
    baseline: BaselineMetrics,
    bytes_scanned: Count,
    requests: Count,
}

impl FetchMetrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        Self {
            baseline: BaselineMetrics::new(set, partition),
            bytes_scanned: MetricBuilder::new(set).counter("bytes_scanned", partition),
            requests: MetricBuilder::new(set).counter("requests", partition),
        }
    }

    fn add(&self, io: &IoCounters, start: Instant) {
        self.bytes_scanned.add(io.bytes() as usize);
        self.requests.add(io.requests() as usize);
        self.baseline.elapsed_compute().add_duration(start.elapsed().saturating_sub(io.waited()));
    }
}
