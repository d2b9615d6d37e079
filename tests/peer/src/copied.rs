// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Tables in memory and of other formats, copied to Parquet files that Trommel reads.
//!
//! The original stays the table that statements write to; after they do, it is copied again. Files have small row groups
//! and pages, so that there is something to leave out.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, SchemaProvider, Session, TableProvider};
use datafusion::common::{Constraints, DFSchemaRef, DataFusionError, Result, not_impl_err};
use datafusion::datasource::listing::ListingTable;
use datafusion::logical_expr::dml::{InsertOp, MergeIntoClause};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlan, collect_partitioned};
use datafusion::prelude::SessionContext;
use datafusion_trommel::TrommelTable;
use tempfile::TempDir;

use crate::engine::Scans;

/// The copies of one session's tables.
#[derive(Debug)]
pub struct Copies {
    folder: TempDir,
    made: AtomicUsize,
    scans: Scans,
}

impl Copies {
    /// None yet.
    ///
    /// # Errors
    /// A temporary folder that can't be made.
    pub fn new(scans: Scans) -> std::io::Result<Self> {
        Ok(Self { folder: TempDir::with_prefix("trommel-peer-copies-")?, made: AtomicUsize::new(0), scans })
    }

    /// Puts a copy in the place of each of the session's tables that can be copied and isn't yet.
    pub async fn replace(&self, session: &SessionContext) {
        for catalog in session.catalog_names().into_iter().filter_map(|name| session.catalog(&name)) {
            for schema in catalog.schema_names().into_iter().filter_map(|name| catalog.schema(&name)) {
                for table in schema.table_names() {
                    // What can't be copied, by its type or because its files aren't there, stays as it is.
                    let _ = self.replace_one(session, schema.as_ref(), table).await;
                }
            }
        }
    }

    async fn replace_one(
        &self,
        session: &SessionContext,
        schema: &dyn SchemaProvider,
        name: String,
    ) -> Result<()> {
        let Some(original) = schema.table(&name).await? else { return Ok(()) };
        if !original.is::<MemTable>() && !original.is::<ListingTable>() {
            return Ok(());
        }
        let folder = self.folder.path().join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        let state = session.state();
        write(&original, &state, &folder).await?;
        let location = format!("{}/", folder.display());
        let trommel = TrommelTable::builder([location]).schema(original.schema()).open(&state).await?;
        let copy =
            Copied { original, trommel, folder, stale: AtomicBool::new(false), scans: self.scans.clone() };
        if schema.deregister_table(&name)?.is_some() {
            schema.register_table(name, Arc::new(copy))?;
        }
        Ok(())
    }
}

/// Writes each partition of a table to a file of its own below `folder`.
async fn write(table: &Arc<dyn TableProvider>, session: &dyn Session, folder: &Path) -> Result<()> {
    let plan = table.scan(session, None, &[], None).await?;
    let partitions = collect_partitioned(plan, session.task_ctx()).await?;
    let external = |error: std::io::Error| DataFusionError::IoError(error);
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(external)?;
    }
    fs::create_dir_all(folder).map_err(external)?;
    for (index, batches) in partitions.iter().enumerate() {
        let file = File::create(folder.join(format!("{index}.parquet"))).map_err(external)?;
        // The writer panics at types that Parquet has no counterpart of.
        let written = catch_unwind(AssertUnwindSafe(|| write_file(file, table.schema(), batches)));
        written.unwrap_or_else(|_| not_impl_err!("Parquet has no such type"))?;
    }
    Ok(())
}

fn write_file(file: File, schema: SchemaRef, batches: &[RecordBatch]) -> Result<()> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let of_group = (rows / 3).clamp(4, 8192);
    let of_page = (of_group / 3).max(2);
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(of_group))
        .set_data_page_row_count_limit(of_page)
        .set_write_batch_size(of_page)
        .build();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?;
    for batch in batches {
        // Batches may claim less of NULLs than the table.
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?)?;
    }
    writer.close()?;
    Ok(())
}

/// A table and its copy.
#[derive(Debug)]
struct Copied {
    original: Arc<dyn TableProvider>,
    trommel: TrommelTable,
    folder: PathBuf,
    /// Whether the original may have been written to since.
    stale: AtomicBool,
    scans: Scans,
}

impl Copied {
    fn written(&self) -> &Arc<dyn TableProvider> {
        self.stale.store(true, Ordering::Relaxed);
        &self.original
    }
}

#[async_trait]
impl TableProvider for Copied {
    fn schema(&self) -> SchemaRef {
        self.original.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.original.constraints()
    }

    fn table_type(&self) -> TableType {
        self.original.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.original.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.original.get_column_default(column)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.trommel.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.stale.swap(false, Ordering::Relaxed) {
            write(&self.original, session, &self.folder).await?;
        }
        self.scans.add();
        self.trommel.scan(session, projection, filters, limit).await
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.written().insert_into(session, input, operation).await
    }

    async fn delete_from(&self, session: &dyn Session, filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        self.written().delete_from(session, filters).await
    }

    async fn update(
        &self,
        session: &dyn Session,
        assignments: Vec<(String, Expr)>,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.written().update(session, assignments, filters).await
    }

    async fn truncate(&self, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.written().truncate(session).await
    }

    async fn merge_into(
        &self,
        session: &dyn Session,
        source: Arc<dyn ExecutionPlan>,
        merge_schema: DFSchemaRef,
        on: Expr,
        clauses: Vec<MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.written().merge_into(session, source, merge_schema, on, clauses).await
    }
}
