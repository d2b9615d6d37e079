// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A join and a TopK whose scan skips most of a table while it runs.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_trommel::{TrommelSessionExt, TrommelTable};

#[tokio::main]
async fn main() -> Result<()> {
    // One call installs everything.
    let ctx: SessionContext =
        SessionStateBuilder::new().with_default_features().with_trommel().build().into();

    // A Parquet file of a million events in row groups of 50 000, pages of 5 000.
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("events.parquet").display().to_string();
    ctx.sql(&format!(
        "COPY (SELECT value AS id, value * 7919 % 1000003 AS score, 'event ' || value AS note \
               FROM generate_series(1, 1000000)) \
         TO '{file}' STORED AS PARQUET \
         OPTIONS (max_row_group_size 50000, data_page_row_count_limit 5000)"
    ))
    .await?
    .collect()
    .await?;

    let events = TrommelTable::open(&file, &ctx.state()).await?;
    ctx.register_table("events", Arc::new(events))?;
    ctx.sql("CREATE TABLE wanted AS VALUES (17), (500000), (999999)").await?;

    // Look for `page_index_pages_pruned_dynamic_filter` in the line of FilteredReadExec.
    for query in [
        "SELECT id, note FROM events JOIN wanted ON id = column1",
        "SELECT id, note FROM events ORDER BY id DESC LIMIT 3",
    ] {
        ctx.sql(query).await?.show().await?;
        ctx.sql(&format!("EXPLAIN ANALYZE {query}")).await?.show().await?;
    }
    Ok(())
}
