// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The scan: `FilteredReadExec`, and how its partitions share the work.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan` | the `ExecutionPlan` implementation |
//! | `pushdown` | taking over filters, projections, limits and sort keys |
//! | `projection` | what is put out: columns and fields below them |
//! | `extra` | columns of where a row is |
//! | `statistics` | what is known of the output before a row is read |
//! | `order` | whether an order can be promised |
//! | `display`, `metrics`, `explain` | what EXPLAIN, EXPLAIN ANALYZE and `trommel inspect --plan` show |
//! | `filters` | the static predicates |
//! | `executions` | which partitions' streams belong together |
//! | `execution` | what they share; claiming and judging a unit of work |
//! | `units`, `queue`, `priority` | cutting the work, handing it out, which first |
//! | `costs` | what a row costs that a live filter might have dropped |
//! | `blooms` | what Bloom filters tell where zones left it open |
//! | `threshold` | what zones tell a TopK before anything is read |
//! | `stream`, `window` | one partition's loop, and what it reads ahead |

mod blooms;
mod costs;
mod display;
mod execution;
mod executions;
mod explain;
mod extra;
mod filters;
mod judged;
mod metrics;
mod order;
mod plan;
mod priority;
mod projection;
mod pushdown;
mod queue;
mod statistics;
mod stream;
mod threshold;
mod units;
mod window;

use std::sync::Arc;

use arrow::datatypes::{SchemaBuilder, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::PlanProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, EvaluationType, SchedulingType};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use trommel_planner::index::TableCol;
use trommel_planner::optimizer::ExpressionOptimizer;

pub use projection::Projection;
pub use queue::{Queue, Sharing};
pub(crate) use units::file_leaves;

use executions::Executions;
use extra::Extra;
use filters::StaticFilters;
use order::Sequence;
use statistics::ScanStatistics;
use stream::OnceExecution;

use crate::live::{LiveFilter, SortKey};
use crate::table::Snapshot;

/// What a query asks of a table.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The table columns to put out, in order; all when absent.
    pub projection: Option<Vec<usize>>,
    /// Predicates over the table's schema that every row must satisfy.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// How many rows are enough.
    pub limit: Option<usize>,
}

/// How a session runs scans.
#[derive(Debug, Clone)]
pub struct ScanContext {
    /// Whether the session's optimizer holds [`LinkDynamicFilters`](crate::LinkDynamicFilters).
    pub linked: bool,
    /// How many partitions are wanted at most.
    pub target_partitions: usize,
    /// Tables of fewer bytes than this aren't split below fragments.
    pub min_split_bytes: usize,
    /// What rewrites the filters.
    pub optimizer: ExpressionOptimizer,
}

/// The scan of a [`TrommelTable`](crate::TrommelTable).
///
/// It reads the fragments of one snapshot, evaluates static predicates exactly, and leaves out what its
/// live filters say can't matter, asking them anew at each claim of work. It does no I/O before its
/// streams are polled.
#[derive(Debug)]
pub struct FilteredReadExec {
    snapshot: Arc<Snapshot>,
    projection: Projection,
    /// What is put out after these columns.
    extra: Vec<Extra>,
    filters: StaticFilters,
    live: Vec<LiveFilter>,
    linked: bool,
    /// The leading sort key that a sort above asked for.
    asked: Option<SortKey>,
    fetch: Option<usize>,
    sequence: Arc<Sequence>,
    partitions: usize,
    sharing: Sharing,
    properties: Arc<PlanProperties>,
    statistics: Arc<ScanStatistics>,
    executions: Arc<Executions<OnceExecution>>,
    metrics: ExecutionPlanMetricsSet,
}

impl FilteredReadExec {
    /// The scan that answers `request` from `snapshot`.
    ///
    /// # Errors
    /// When the request names a column that the table doesn't have.
    pub fn try_new(snapshot: Arc<Snapshot>, request: ScanRequest, context: ScanContext) -> Result<Self> {
        let wanted = request.projection.unwrap_or_else(|| (0..snapshot.table.fields().len()).collect());
        let projection = Projection::of_columns(&snapshot.table, wanted.into_iter().map(TableCol))?;
        let sequence = Arc::new(Sequence::of(&snapshot));
        let partitions = partitions(&snapshot, &context);
        let filters = StaticFilters::new(&request.filters, context.optimizer);
        Ok(Self {
            properties: properties(&projection, &[], &sequence, partitions),
            statistics: Arc::new(ScanStatistics::default()),
            executions: Arc::new(Executions::new(partitions)),
            metrics: ExecutionPlanMetricsSet::new(),
            live: Vec::new(),
            linked: context.linked,
            asked: None,
            fetch: request.limit,
            sharing: Sharing::Queue,
            snapshot,
            projection,
            extra: Vec::new(),
            filters,
            sequence,
            partitions,
        })
    }

    /// Where each output column lies in the table.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// What the query sees of the table.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Whether the scan's rows can be read in two steps: it puts out all that pass its filters, and columns of the
    /// table alone.
    pub(crate) fn can_number_rows(&self) -> bool {
        self.extra.is_empty() && self.fetch.is_none()
    }

    /// The same scan putting out these of its columns and, last, the number of each row in the snapshot.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn with_row_numbers(&self, columns: &[usize]) -> Result<Self> {
        let projection = self.projection.select(columns)?;
        let extra = vec![Extra::RowNumber];
        let properties = properties(&projection, &extra, &self.sequence, self.partitions);
        let statistics = Arc::default();
        Ok(Self { projection, extra, properties, statistics, ..self.variant() })
    }

    /// The table's schema, which live filters and static predicates index.
    pub fn table_schema(&self) -> &SchemaRef {
        &self.snapshot.table
    }

    /// The live filters the scan listens to.
    pub fn live_filters(&self) -> &[LiveFilter] {
        &self.live
    }

    /// The same scan, listening to these live filters instead; it shares no execution with this one.
    #[must_use]
    pub fn with_live_filters(&self, live: Vec<LiveFilter>) -> Arc<Self> {
        Arc::new(Self { live, ..self.variant() })
    }

    /// The same scan with its units shared among partitions in another way. A node that was decoded from
    /// another process's plan must be [`Sharing::Static`]: it may run only some of its partitions.
    #[must_use]
    pub fn with_sharing(&self, sharing: Sharing) -> Self {
        Self { sharing, ..self.variant() }
    }

    /// The same scan with executions and metrics of its own: what every change starts from.
    fn variant(&self) -> Self {
        Self {
            snapshot: Arc::clone(&self.snapshot),
            projection: self.projection.clone(),
            extra: self.extra.clone(),
            filters: self.filters.clone(),
            live: self.live.clone(),
            linked: self.linked,
            asked: self.asked.clone(),
            fetch: self.fetch,
            sequence: Arc::clone(&self.sequence),
            partitions: self.partitions,
            sharing: self.sharing,
            properties: Arc::clone(&self.properties),
            statistics: Arc::clone(&self.statistics),
            executions: Arc::new(Executions::new(self.partitions)),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

/// How many partitions a scan of the snapshot has: at most as many as there are row groups, and as many
/// as there are fragments if the table is too small to be worth splitting further.
fn partitions(snapshot: &Snapshot, context: &ScanContext) -> usize {
    let fragments = snapshot.fragments.iter().map(|f| &f.open);
    let bytes: u64 = fragments.clone().map(|open| open.fragment.version.size).sum();
    let pieces = if bytes < context.min_split_bytes as u64 {
        snapshot.fragments.len()
    } else {
        fragments.map(|open| open.metadata.row_groups().len()).sum()
    };
    context.target_partitions.min(pieces).max(1)
}

fn properties(
    projection: &Projection,
    extra: &[Extra],
    sequence: &Sequence,
    partitions: usize,
) -> Arc<PlanProperties> {
    let mut schema = SchemaBuilder::from(projection.schema().as_ref());
    extra.iter().for_each(|extra| schema.push(extra.field()));
    let schema = Arc::new(schema.finish());
    let order = sequence.promised.as_ref().and_then(|order| projection.order(order));
    let equivalences = EquivalenceProperties::new_with_orderings(schema, order);
    let properties = PlanProperties::new(
        equivalences,
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(
        properties
            .with_scheduling_type(SchedulingType::Cooperative)
            .with_evaluation_type(EvaluationType::Lazy),
    )
}
