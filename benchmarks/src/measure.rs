// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One run of a query.
//!
//! The clock runs from the text to the last row: planning and execution, without opening the session and its
//! tables. Rows are taken as they come; they are kept, so that they can be checked after the clock has stopped,
//! unless they are too many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use trommel::demo::counting_store::Reads;

use crate::digest::Digest;
use crate::engine::Session;
use crate::memory::PeakMemory;
use crate::metrics::ScanCounts;

/// Answers of more values than this aren't kept: as scalars, so many take some 256 MB.
pub const MAX_VALUES: usize = 4_000_000;

/// What one run cost, and its answer.
#[derive(Debug)]
pub struct Run {
    /// From the text to the last row.
    pub elapsed: Duration,
    /// What was read meanwhile, if that was counted.
    pub reads: Reads,
    /// What the scans did.
    pub scans: ScanCounts,
    /// How many rows came.
    pub rows: u64,
    /// The columns of the answer.
    pub schema: SchemaRef,
    /// The rows, unless they were too many.
    pub answer: Option<Vec<RecordBatch>>,
}

/// What only a run that isn't timed can tell.
#[derive(Debug)]
pub struct Inspection {
    /// The run; it took longer than others.
    pub run: Run,
    /// The digest of the answer.
    pub digest: Digest,
    /// The most bytes that were allocated at one time.
    pub peak_bytes: u64,
}

/// Runs `sql` with the clock on, and without counting what is read, which takes longer.
///
/// # Errors
/// Whatever the engine reports.
pub async fn time(session: &Session, sql: &str) -> Result<Run> {
    session.set_counting(false);
    run(session, sql, |_| Ok(())).await
}

/// Runs `sql`, counting memory and what is read, and looks at every row.
///
/// # Errors
/// Whatever the engine reports.
pub async fn inspect(session: &Session, sql: &str) -> Result<Inspection> {
    let mut digest = Digest::default();
    session.set_counting(true);
    let memory = PeakMemory::start().await;
    let run = run(session, sql, |batch| digest.add(batch)).await?;
    Ok(Inspection { run, digest, peak_bytes: memory.bytes() })
}

async fn run(session: &Session, sql: &str, mut look: impl FnMut(&RecordBatch) -> Result<()>) -> Result<Run> {
    let before = session.reads();
    let start = Instant::now();
    let context = session.context();
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let mut stream = execute_stream(Arc::clone(&plan), context.task_ctx())?;
    let (mut rows, mut answer) = (0, Some(Vec::new()));
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        look(&batch)?;
        rows += batch.num_rows();
        if rows * batch.num_columns() > MAX_VALUES {
            answer = None;
        }
        if let Some(answer) = &mut answer {
            answer.push(batch);
        }
    }
    let elapsed = start.elapsed();

    let after = session.reads();
    let reads = Reads { requests: after.requests - before.requests, bytes: after.bytes - before.bytes };
    let scans = ScanCounts::of(plan.as_ref());
    Ok(Run { elapsed, reads, scans, rows: rows as u64, schema: plan.schema(), answer })
}
