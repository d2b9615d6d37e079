// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Secrets in locations and options show in no error, plan or log.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use datafusion::prelude::SessionContext;
use log::{LevelFilter, Log, Metadata, Record};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use trommel_tests::files::{integers, parquet};
use trommel_tests::session::{Format, Mode};
use url::Url;

const SECRET: &str = "hush4711";

/// What Trommel's crates log.
struct Logged(Mutex<Vec<String>>);

static LOGGED: Logged = Logged(Mutex::new(Vec::new()));

impl Log for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().contains("trommel")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

async fn session() -> Result<SessionContext> {
    let store = InMemory::new();
    let rows = integers(&[("k", (0..100).map(Some).collect())])?;
    let file = parquet(&rows, 50, 10)?;
    store.put(&Path::from("sound.parquet"), file.clone().into()).await?;
    // The pages are gone, the footer is sound.
    let mut damaged = file.clone();
    damaged[4..600].fill(0xff);
    store.put(&Path::from("damaged.parquet"), damaged.into()).await?;
    store.put(&Path::from("cut.parquet"), file[..file.len() - 5].to_vec().into()).await?;
    let session = Mode::new(Format::Trommel, 2).session();
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    session.register_object_store(&Url::parse("https://host")?, store);
    Ok(session)
}

/// All that a statement says: its rows as text, or its error, for a user and for a developer; and whether it failed.
async fn said(session: &SessionContext, sql: &str) -> (String, bool) {
    let answer = async { session.sql(sql).await?.to_string().await };
    match answer.await {
        Ok(text) => (text, false),
        Err(error) => (format!("{error}\n{error:?}"), true),
    }
}

fn location(file: &str) -> String {
    format!("https://me:{SECRET}@host/{file}?X-Amz-Signature={SECRET}")
}

#[tokio::test]
async fn secrets_are_never_shown() -> Result<()> {
    log::set_logger(&LOGGED).map_err(|e| anyhow::anyhow!("{e}"))?;
    log::set_max_level(LevelFilter::Trace);
    let session = session().await?;
    let create = |name: &str, location: &str, options: &str| {
        format!("CREATE EXTERNAL TABLE {name} STORED AS TROMMEL LOCATION '{location}' {options}")
    };
    let query = "SELECT k FROM sound WHERE k > 42 ORDER BY k LIMIT 3";
    let plans =
        ["EXPLAIN", "EXPLAIN VERBOSE", "EXPLAIN ANALYZE", "EXPLAIN ANALYZE VERBOSE", "EXPLAIN FORMAT TREE"];
    let secret_option = format!("OPTIONS ('aws.secret_access_key' '{SECRET}')");

    let mut statements = vec![
        create("sound", &location("sound.parquet"), ""),
        create("damaged", &location("damaged.parquet"), ""),
    ];
    statements.extend(plans.map(|plan| format!("{plan} {query}")));
    let fine = statements.len();
    statements.extend([
        "SELECT sum(k) FROM damaged".to_owned(),
        create("cut", &location("cut.parquet"), ""),
        create("missing", &location("missing.parquet"), ""),
        create("malformed", &location("[x.parquet"), ""),
        create("elsewhere", &location("x.parquet").replace("@host", "@elsewhere"), ""),
        create("nowhere", &location("x.parquet").replace("@host", "@host:port"), ""),
        create("unknown_option", &location("sound.parquet"), &secret_option),
    ]);
    for (number, sql) in statements.iter().enumerate() {
        let (said, failed) = said(&session, sql).await;
        // A tree breaks long words over several lines.
        let unbroken: String = said.chars().filter(|c| c.is_ascii_graphic() && *c != '|').collect();
        assert!(!said.contains(SECRET) && !unbroken.contains(SECRET), "{sql}\n{said}");
        assert_eq!(failed, number >= fine, "{sql}\n{said}");
        assert_eq!(
            sql.starts_with("EXPLAIN"),
            unbroken.contains("https://me:***@host/sound.parquet?***"),
            "{said}"
        );
    }
    let logged = LOGGED.0.lock().unwrap();
    assert!(logged.iter().all(|line| !line.contains(SECRET)), "{logged:?}");
    Ok(())
}
