// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet tables that Trommel reads, and DataFusion writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Constraints, Result};
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion_trommel::{TrommelSessionExt, TrommelTableFactory};

/// Installs Trommel in an open session, with `STORED AS PARQUET` meaning a table that Trommel reads.
///
/// Returns how often such tables were scanned, as it goes.
pub fn read_parquet_by_trommel(session: &SessionContext) -> Arc<AtomicUsize> {
    let scans = Arc::new(AtomicUsize::new(0));
    let factory = PeerFactory { scans: Arc::clone(&scans), ..PeerFactory::default() };
    let state = session.state_ref();
    let mut state = state.write();
    *state = SessionStateBuilder::new_from_existing(state.clone())
        .with_trommel()
        .with_table_factory("PARQUET".to_owned(), Arc::new(factory))
        .build();
    scans
}

/// Makes the tables of `CREATE EXTERNAL TABLE … STORED AS PARQUET`.
#[derive(Debug, Default)]
struct PeerFactory {
    trommel: TrommelTableFactory,
    stock: ListingTableFactory,
    scans: Arc<AtomicUsize>,
}

#[async_trait]
impl TableProviderFactory for PeerFactory {
    async fn create(
        &self,
        session: &dyn Session,
        statement: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let stock = self.stock.create(session, statement).await?;
        // Options of the Parquet format say how to write, or tune a scan that isn't used.
        let mut statement = statement.clone();
        statement.options.retain(|key, _| !key.starts_with("format."));
        let trommel = self.trommel.create(session, &statement).await?;
        Ok(Arc::new(PeerTable { trommel, stock, scans: Arc::clone(&self.scans) }))
    }
}

/// A table that Trommel reads; what it doesn't do, writing, is left to DataFusion's.
#[derive(Debug)]
struct PeerTable {
    trommel: Arc<dyn TableProvider>,
    stock: Arc<dyn TableProvider>,
    scans: Arc<AtomicUsize>,
}

#[async_trait]
impl TableProvider for PeerTable {
    fn schema(&self) -> SchemaRef {
        self.trommel.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.trommel.constraints()
    }

    fn table_type(&self) -> TableType {
        self.trommel.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.trommel.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.trommel.get_column_default(column)
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
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.trommel.scan(session, projection, filters, limit).await
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.stock.insert_into(session, input, operation).await
    }
}
