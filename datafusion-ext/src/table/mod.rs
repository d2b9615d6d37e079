// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The table: a set of fragments with one schema.

pub mod options;
pub mod snapshot;
pub use options::TableOptions;
pub use snapshot::{ScanFragment, Snapshot};

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::CreateExternalTable;
use std::sync::Arc;

/// A table over Parquet files.
#[derive(Debug)]
pub struct TrommelTable {}

/// Makes tables for `CREATE EXTERNAL TABLE … STORED AS TROMMEL`.
#[derive(Debug, Default)]
pub struct TrommelTableFactory {}

#[async_trait]
impl TableProviderFactory for TrommelTableFactory {
    async fn create(
        &self,
        _state: &dyn Session,
        _cmd: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        not_impl_err!("TROMMEL tables")
    }
}
