// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The two engines a file runs in: DataFusion as its own tests set it up, and the same with Trommel's tables.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_sqllogictest::{DFColumnType, DFOutput, DFSqlLogicTestError, DataFusion, TestContext};
use datafusion_trommel::TrommelSessionExt;
use futures::FutureExt;
use indicatif::ProgressBar;
use sqllogictest::{AsyncDB, DBOutput};

use crate::Tables;
use crate::copied::Copies;
use crate::table::PeerFactory;

/// How long one statement may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// Who reads tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// DataFusion's own scans alone.
    Stock,
    /// Trommel, where it is made to.
    Trommel(Tables),
}

/// How often Trommel was asked to scan a table, as it goes.
#[derive(Debug, Clone, Default)]
pub struct Scans(Arc<AtomicUsize>);

impl Scans {
    /// Counts one.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The session for one file, as the peer's own tests set it up for a file of this name.
pub struct FileSession {
    context: TestContext,
    scans: Scans,
    copies: Option<Arc<Copies>>,
}

impl FileSession {
    /// Opens the session.
    ///
    /// # Errors
    /// A file for which the peer sets up no session.
    pub async fn open(file: &Path, engine: Engine) -> Result<Self> {
        let context = TestContext::try_new_for_test_file(file).await.context("a feature is missing")?;
        let scans = Scans::default();
        let mut copies = None;
        if let Engine::Trommel(tables) = engine {
            install(context.session_ctx(), &scans);
            if tables == Tables::All {
                let all = Copies::new(scans.clone())?;
                all.replace(context.session_ctx()).await;
                copies = Some(Arc::new(all));
            }
        }
        Ok(Self { context, scans, copies })
    }

    /// How often Trommel was asked to scan.
    pub fn scans(&self) -> &Scans {
        &self.scans
    }

    /// A connection to the session, for a file of this name. `root` stands for DataFusion's checkout.
    pub fn connect(&self, file: &Path, root: &str) -> Connection {
        let session = self.context.session_ctx().clone();
        let engine = DataFusion::new(session.clone(), file.to_owned(), ProgressBar::hidden());
        let root = root.trim_start_matches('/').to_owned();
        Connection { engine, session, root, copies: self.copies.clone() }
    }
}

/// Installs Trommel in an open session, with `STORED AS PARQUET` meaning a table that Trommel reads.
fn install(session: &SessionContext, scans: &Scans) {
    let state = session.state_ref();
    let mut state = state.write();
    let makes_catalogs = state.config().options().catalog.create_default_catalog_and_schema;
    *state = SessionStateBuilder::new_from_existing(state.clone())
        .with_trommel()
        .with_table_factory("PARQUET".to_owned(), Arc::new(PeerFactory::new(scans.clone())))
        .build();
    // The builder switches this off for a session that has its catalogs, and some tests show all options.
    state.config_mut().options_mut().catalog.create_default_catalog_and_schema = makes_catalogs;
}

/// The peer's engine, in which panics and hangs are errors, and paths look as in the peer's checkout.
pub struct Connection {
    engine: DataFusion,
    session: SessionContext,
    root: String,
    copies: Option<Arc<Copies>>,
}

#[async_trait]
impl AsyncDB for Connection {
    type Error = DFSqlLogicTestError;
    type ColumnType = DFColumnType;

    async fn run(&mut self, sql: &str) -> Result<DFOutput, DFSqlLogicTestError> {
        let answer = AssertUnwindSafe(tokio::time::timeout(PATIENCE, self.engine.run(sql))).catch_unwind();
        let mut output = match answer.await {
            Ok(Ok(output)) => output?,
            Ok(Err(_elapsed)) => {
                let text = format!("no answer within {} s", PATIENCE.as_secs());
                return Err(DFSqlLogicTestError::Other(text));
            }
            Err(_) => return Err(DFSqlLogicTestError::Other("a panic".to_owned())),
        };
        if let Some(copies) = &self.copies
            && sql.to_ascii_uppercase().contains("TABLE")
        {
            copies.replace(&self.session).await;
        }
        if let DBOutput::Rows { rows, .. } = &mut output {
            for value in rows.iter_mut().flatten().filter(|value| value.contains(&self.root)) {
                *value = value.replace(&self.root, "WORKSPACE_ROOT");
            }
        }
        Ok(output)
    }

    fn engine_name(&self) -> &str {
        self.engine.engine_name()
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn shutdown(&mut self) {}
}
