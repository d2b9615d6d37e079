// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The table: a set of fragments with one schema.
//!
//! | module | what it holds |
//! |---|---|
//! | `builder` | opening a table, from code |
//! | `factory` | opening a table, from SQL |
//! | `options` | what a table can be told |
//! | `location` | a file, a folder or a glob |
//! | `listing` | which files a table has at this moment |
//! | `partitions` | columns whose values are in the names of folders |
//! | `schema` | the columns, declared or found |
//! | `caches` | metadata, once for each store |
//! | `snapshot` | what one query sees of a table |
//!
//! A table remembers where its files are, never which they are: each query lists them anew and reads the
//! metadata it has no equal version of. The schema is fixed when the table is opened.

mod builder;
mod caches;
mod factory;
mod listing;
mod location;
mod options;
mod partitions;
mod schema;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraints, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Expr, SortExpr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStore;
use trommel_scan::ScanError;
use trommel_scan::fragment::{Fragment, OpenFragment};
use trommel_scan::io::{Distance, IoCounters};

use self::caches::metadata_cache;
use self::listing::ListedFile;
use crate::exec::{FilteredReadExec, ScanContext, ScanRequest};
use crate::translate::expression_optimizer;

pub use self::builder::TrommelTableBuilder;
pub use self::factory::TrommelTableFactory;
pub use self::location::Location;
pub use self::options::{LateFetch, LiveRowFilters, TableOptions};
pub use self::snapshot::{ScanFragment, Snapshot};

/// The name of the rule that tells scans where their live filters come from.
const LINK_RULE: &str = "LinkDynamicFilters";

/// A table over Parquet files.
///
/// ```
/// # use std::sync::Arc;
/// # use datafusion::error::Result;
/// # use datafusion::prelude::SessionContext;
/// use datafusion_trommel::TrommelTable;
///
/// # async fn example() -> Result<()> {
/// let context = SessionContext::new();
/// let table = TrommelTable::open("data/sales/", &context.state()).await?;
/// context.register_table("sales", Arc::new(table))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TrommelTable {
    locations: Vec<Location>,
    schema: SchemaRef,
    partition_columns: Vec<FieldRef>,
    order: Vec<Vec<SortExpr>>,
    options: Arc<TableOptions>,
    constraints: Constraints,
    column_defaults: HashMap<String, Expr>,
    definition: Option<String>,
}

impl TrommelTable {
    /// The table over the file, the folder or the glob at this path or URL, with everything found in the
    /// files.
    ///
    /// # Errors
    /// As [`TrommelTableBuilder::open`].
    pub async fn open(location: impl Into<String>, session: &dyn Session) -> Result<Self> {
        Self::builder([location]).open(session).await
    }

    /// A table over all files of these locations, more of which can be declared.
    pub fn builder(locations: impl IntoIterator<Item = impl Into<String>>) -> TrommelTableBuilder {
        TrommelTableBuilder::new(locations)
    }

    /// The locations of its files.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// The partition columns: the last of its schema.
    pub fn partition_columns(&self) -> &[FieldRef] {
        &self.partition_columns
    }

    /// How its files are listed and read.
    pub fn options(&self) -> &TableOptions {
        &self.options
    }

    /// What a query with these conjuncts over the table's schema sees: the files there are now, without
    /// those whose partition values already exclude them, and their metadata.
    ///
    /// # Errors
    /// A file that can't be listed, isn't readable Parquet, or can't be read as the table's schema.
    pub async fn snapshot(
        &self,
        session: &dyn Session,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Snapshot> {
        let planning_io = Arc::new(IoCounters::default());
        let files = self.files(session, filters).await?;
        let open = |(file, fragment)| self.open_fragment(session, file, fragment, &planning_io);
        let fragments = side_by_side(session, files.into_iter().map(open).collect()).await?;
        let names: Vec<_> = self.locations.iter().map(ToString::to_string).collect();
        Ok(Snapshot {
            name: names.join(", "),
            table: Arc::clone(&self.schema),
            partition_columns: self.constant_columns(),
            fragments,
            order: self.physical_order(session)?,
            options: Arc::clone(&self.options),
            planning_io,
        })
    }

    /// The files there are now and the stores they are in, each with its partition values; opens none.
    ///
    /// # Errors
    /// A location that can't be listed, or a file whose folders don't have the partition columns.
    pub async fn list(&self, session: &dyn Session) -> Result<Vec<(Fragment, Arc<dyn ObjectStore>)>> {
        let files = self.files(session, &[]).await?;
        Ok(files.into_iter().map(|(file, fragment)| (fragment, file.store)).collect())
    }

    /// The files there are, with their partition values, save those that the filters exclude by these.
    async fn files(
        &self,
        session: &dyn Session,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Vec<(ListedFile, Fragment)>> {
        let files = listing::list(&self.locations, session, &self.options).await?;
        let values_of = |file: &ListedFile| {
            let path = ScalarValue::Utf8View(Some(file.meta.location.to_string()));
            let path = self.options.row_addresses.then_some(path);
            let partitions = partitions::values(file, &self.partition_columns)?;
            Ok(path.into_iter().chain(partitions).collect())
        };
        let values = files.iter().map(values_of).collect::<Result<Vec<Vec<_>>>>()?;
        let rows: Vec<_> = values.iter().map(Vec::as_slice).collect();
        let may_match = partitions::may_match(filters, &self.schema, self.constant_columns(), &rows);
        let files = files.into_iter().zip(values).zip(may_match).filter(|(_, may_match)| *may_match);
        Ok(files
            .map(|((file, values), _)| {
                let fragment = Fragment::new(file.meta.clone()).with_partition_values(values);
                (file, fragment)
            })
            .collect())
    }

    async fn open_fragment(
        &self,
        session: &dyn Session,
        ListedFile { store, store_url, .. }: ListedFile,
        fragment: Fragment,
        counters: &Arc<IoCounters>,
    ) -> Result<ScanFragment, ScanError> {
        let cache = metadata_cache(&store, session);
        let metadata = cache.get_or_load(&store, &fragment, counters).await?;
        let constant = self.constant_columns();
        let open = OpenFragment::open(Arc::new(fragment), metadata, &self.schema, constant)?;
        let local = store_url.as_str().starts_with("file:");
        let distance = if local { Distance::Local } else { Distance::Remote };
        Ok(ScanFragment { open: Arc::new(open), store, distance })
    }

    /// How many columns, the last of the schema, have one value for each file: partition columns, and the path.
    fn constant_columns(&self) -> usize {
        self.partition_columns.len() + usize::from(self.options.row_addresses)
    }

    /// The declared orders over the table's schema.
    fn physical_order(&self, session: &dyn Session) -> Result<Vec<Vec<PhysicalSortExpr>>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let key = |key: &SortExpr| {
            let expr = session.create_physical_expr(key.expr.clone(), &schema)?;
            Ok(PhysicalSortExpr::new(expr, arrow::compute::SortOptions::new(!key.asc, key.nulls_first)))
        };
        let keys = |keys: &Vec<SortExpr>| keys.iter().map(key).collect::<Result<Vec<_>>>();
        self.order.iter().map(keys).collect::<Result<_>>().map_err(|e| e.context("WITH ORDER"))
    }

    /// Conjuncts over the table's schema.
    fn physical_filters(
        &self,
        session: &dyn Session,
        filters: &[Expr],
    ) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let mut conjuncts = Vec::with_capacity(filters.len());
        for filter in filters {
            let filter = session.create_physical_expr(filter.clone(), &schema)?;
            conjuncts.extend(split_conjunction(&filter).into_iter().map(Arc::clone));
        }
        Ok(conjuncts)
    }
}

#[async_trait]
impl TableProvider for TrommelTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.column_defaults.get(column)
    }

    /// Every filter whose answer depends on the row alone is applied to each row.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| match depends_on_the_row_alone(filter) {
                true => TableProviderFilterPushDown::Exact,
                false => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filters = self.physical_filters(session, filters)?;
        let snapshot = Arc::new(self.snapshot(session, &filters).await?);
        let request = ScanRequest { projection: projection.cloned(), filters, limit };
        let context = ScanContext {
            linked: session.physical_optimizers().iter().any(|rule| rule.name() == LINK_RULE),
            target_partitions: session.config().target_partitions(),
            min_split_bytes: session.config_options().optimizer.repartition_file_min_size,
            optimizer: expression_optimizer(session.config()),
        };
        Ok(Arc::new(FilteredReadExec::try_new(snapshot, request, context)?))
    }
}

/// The results of I/O done side by side, in order: as many at a time as the session allows
/// (`datafusion.execution.meta_fetch_concurrency`).
async fn side_by_side<T, E>(
    session: &dyn Session,
    tasks: Vec<impl Future<Output = Result<T, E>> + Send>,
) -> Result<Vec<T>, E> {
    let concurrency = session.config_options().execution.meta_fetch_concurrency.get();
    stream::iter(tasks).buffered(concurrency).try_collect().await
}

/// Whether the expression gives the same answer for the same row, whatever else is going on.
fn depends_on_the_row_alone(filter: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    let depends_on_more = filter.exists(|expr| {
        Ok(expr.is_volatile_node()
            || matches!(
                expr,
                Expr::OuterReferenceColumn(..)
                    | Expr::ScalarSubquery(_)
                    | Expr::InSubquery(_)
                    | Expr::Exists(_)
                    | Expr::SetComparison(_)
                    | Expr::AggregateFunction(_)
                    | Expr::WindowFunction(_)
                    | Expr::Placeholder(_)
            ))
    });
    matches!(depends_on_more, Ok(false))
}
