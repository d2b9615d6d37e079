// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a query runs over a file.

use std::sync::Arc;

use anyhow::{Result, bail};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_trommel::FilteredReadExec;

use crate::session::Session;

/// The table's name in the query.
const TABLE: &str = "t";

/// The plan of a query over the table at a location, for the first of its files: two trees, before and after pushdown.
///
/// # Errors
/// No file is there, the SQL doesn't fit the table, or the query doesn't read it.
pub async fn explain(session: &Session, location: &str, sql: &str) -> Result<String> {
    session.context.register_table(TABLE, session.tables.open(location).await?)?;
    let plan = session.context.sql(sql).await?.create_physical_plan().await?;
    let mut stack: Vec<&Arc<dyn ExecutionPlan>> = vec![&plan];
    while let Some(node) = stack.pop() {
        if let Some(scan) = node.downcast_ref::<FilteredReadExec>() {
            return Ok(scan.explain_fragment(0)?.to_string());
        }
        stack.extend(node.children().into_iter().rev());
    }
    bail!("the query doesn't read the table {TABLE}")
}
