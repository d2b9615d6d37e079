// Licensed under the Apache License, Version 2.0. See LICENSE.

//! External Parquet tables that Trommel reads, and DataFusion writes.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Constraints, Result, exec_err};
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_trommel::TrommelTableFactory;

use crate::engine::Scans;

/// Makes the tables of `CREATE EXTERNAL TABLE … STORED AS PARQUET`.
#[derive(Debug)]
pub(crate) struct PeerFactory {
    trommel: TrommelTableFactory,
    scans: Scans,
}

impl PeerFactory {
    pub(crate) fn new(scans: Scans) -> Self {
        Self { trommel: TrommelTableFactory::default(), scans }
    }
}

#[async_trait]
impl TableProviderFactory for PeerFactory {
    async fn create(
        &self,
        session: &dyn Session,
        statement: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        let mut read = statement.clone();
        // The others say how DataFusion's Parquet format writes or scans; Trommel has options of its own.
        read.options.retain(|key, _| !key.starts_with("format.") || key == "format.binary_as_string");
        let trommel = self.trommel.create(session, &read).await?;
        // Made now, as a test expects: DataFusion checks some things of the files that there are at this moment.
        let stock = ListingTableFactory::new().create(session, statement).await;
        Ok(Arc::new(PeerTable { trommel, stock, scans: self.scans.clone() }))
    }
}

/// A table that Trommel reads. What it doesn't do, writing, is left to DataFusion's own table: tests that fill a table
/// and read it again then test the reading.
#[derive(Debug)]
struct PeerTable {
    trommel: Arc<dyn TableProvider>,
    /// What is written to; an error for tables that DataFusion doesn't make.
    stock: Result<Arc<dyn TableProvider>>,
    scans: Scans,
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
        self.scans.add();
        self.trommel.scan(session, projection, filters, limit).await
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.stock {
            Ok(stock) => stock.insert_into(session, input, operation).await,
            Err(error) => exec_err!("DataFusion has no such table: {error}"),
        }
    }
}
