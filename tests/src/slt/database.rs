// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A DataFusion session as the database an SQL case talks to.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{common::collect, execute_stream};
use datafusion::prelude::SessionContext;
use futures::FutureExt;
use sqllogictest::{AsyncDB, DBOutput};

use super::column::{Column, columns};
use super::value::rows;

/// How long one statement may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// What no case may expect, not even one that expects an error: panics and hangs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Vec<String>>>);

impl Faults {
    fn push(&self, fault: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// The faults since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why a statement failed; prints as DataFusion prints it.
#[derive(Debug)]
pub(crate) struct StatementError(anyhow::Error);

impl std::fmt::Display for StatementError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.downcast_ref::<DataFusionError>() {
            Some(error) => write!(f, "DataFusion error: {}", error.strip_backtrace()),
            None => write!(f, "{:#}", self.0),
        }
    }
}

impl std::error::Error for StatementError {}

/// One session.
pub(crate) struct Database {
    session: SessionContext,
    faults: Faults,
}

impl Database {
    pub(crate) fn new(session: SessionContext, faults: Faults) -> Self {
        Self { session, faults }
    }

    async fn answer(&self, sql: &str) -> anyhow::Result<DBOutput<Column>> {
        let frame = self.session.sql(sql).await?;
        let context = Arc::new(frame.task_ctx());
        let stream = execute_stream(frame.create_physical_plan().await?, context)?;
        let schema = stream.schema();
        let batches: Vec<RecordBatch> = collect(stream).await?;
        for batch in &batches {
            if !schema.contains(&batch.schema()) {
                let fault = format!("a batch of schema {} in a stream of {schema}", batch.schema());
                self.faults.push(fault.clone());
                return Err(anyhow!(fault));
            }
        }
        let types = columns(schema.fields());
        let rows = rows(&batches)?;
        Ok(if types.is_empty() && rows.is_empty() {
            DBOutput::StatementComplete(0)
        } else {
            DBOutput::Rows { types, rows }
        })
    }
}

#[async_trait]
impl AsyncDB for Database {
    type Error = StatementError;
    type ColumnType = Column;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Column>, StatementError> {
        let answer = AssertUnwindSafe(tokio::time::timeout(PATIENCE, self.answer(sql))).catch_unwind().await;
        let fault = match answer {
            Ok(Ok(answer)) => return answer.map_err(StatementError),
            Ok(Err(_elapsed)) => format!("no answer within {} s", PATIENCE.as_secs()),
            Err(panic) => format!("panic: {}", panic_text(panic.as_ref())),
        };
        self.faults.push(format!("{fault}\n[SQL] {sql}"));
        Err(StatementError(anyhow!(fault)))
    }

    fn engine_name(&self) -> &str {
        "DataFusion"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn shutdown(&mut self) {}
}

/// The message of a caught panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("(no message)")
}
