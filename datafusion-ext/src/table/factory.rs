// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `CREATE EXTERNAL TABLE … STORED AS TROMMEL`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::CreateExternalTable;

use super::TrommelTable;
use super::builder::TrommelTableBuilder;
use super::options::TableOptions;

/// Makes tables of `CREATE EXTERNAL TABLE` statements.
///
/// ```sql
/// CREATE EXTERNAL TABLE sales [(day DATE, item BIGINT, price DOUBLE)]
/// STORED AS TROMMEL
/// [PARTITIONED BY (day)]
/// [WITH ORDER (item ASC)]
/// LOCATION 's3://shop/sales/'            -- or a file, a glob, or several: ('…', '…')
/// [OPTIONS ('distrust_statistics' 'true')]
/// ```
///
/// Without columns the table has those of its files. See [`TableOptions`] for the options.
#[derive(Debug, Default)]
pub struct TrommelTableFactory {}

#[async_trait]
impl TableProviderFactory for TrommelTableFactory {
    async fn create(
        &self,
        session: &dyn Session,
        statement: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(create(session, statement).await?))
    }
}

/// The table that the statement declares.
async fn create(session: &dyn Session, statement: &CreateExternalTable) -> Result<TrommelTable> {
    if statement.unbounded {
        return plan_err!("a TROMMEL table can't be UNBOUNDED: its files end");
    }
    let mut builder = TrommelTableBuilder::new(&statement.locations)
        .options(TableOptions::from_sql(&statement.options, session)?)
        .constraints(statement.constraints.clone())
        .column_defaults(statement.column_defaults.clone())
        .definition(statement.definition.clone());
    if !statement.schema.fields().is_empty() {
        builder = builder.schema(Arc::clone(statement.schema.inner()));
    }
    for name in &statement.table_partition_cols {
        builder = builder.partition_column_named(name);
    }
    for keys in &statement.order_exprs {
        builder = builder.order(keys.clone());
    }
    builder.open(session).await
}
