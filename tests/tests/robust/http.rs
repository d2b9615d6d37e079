// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Across a network object_store tries again, so often and no longer; the scan adds no retries of its own.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::SessionContext;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use rstest::rstest;
use tokio::time::timeout;
use trommel_tests::files::{create, integers, parquet};
use trommel_tests::session::{Format, Mode};

use super::server::{Server, Trouble};
use super::support::ask;

const PATIENCE: Duration = Duration::from_secs(60);
/// How often object_store tries again.
const RETRIES: usize = 3;

async fn session() -> Result<(SessionContext, Server)> {
    let rows = integers(&[("k", (0..2000).map(Some).collect()), ("v", vec![Some(1); 2000])])?;
    let server = Server::of(parquet(&rows, 100, 50)?).await?;
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(10),
        ..BackoffConfig::default()
    };
    let store = HttpBuilder::new()
        .with_url(&server.url)
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_retry(RetryConfig { backoff, max_retries: RETRIES, retry_timeout: Duration::from_secs(30) })
        .build()?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 4) }.session();
    session.register_object_store(ObjectStoreUrl::parse(&server.url)?.as_ref(), Arc::new(store));
    create(&session, "t", Format::Trommel, "", &format!("{}/t.parquet", server.url)).await?;
    Ok((session, server))
}

const QUERY: &str = "SELECT count(*), sum(k) FROM t WHERE v = 1 AND k % 2 = 0";
const RIGHT: &str = "1000,999000";

#[rstest]
#[case::unavailable(Trouble::Unavailable)]
#[case::too_many(Trouble::TooMany)]
#[case::broken(Trouble::Broken)]
#[case::closed(Trouble::Closed)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_is_tried_again(#[case] trouble: Trouble) -> Result<()> {
    let (session, server) = session().await?;
    assert_eq!(ask(&session, QUERY).await?, [RIGHT]);
    let healthy = server.requests();
    server.fail(2, trouble);
    assert_eq!(timeout(PATIENCE, ask(&session, QUERY)).await??, [RIGHT]);
    assert!(server.requests() > healthy);
    Ok(())
}

#[rstest]
#[case::unavailable(Trouble::Unavailable)]
#[case::too_many(Trouble::TooMany)]
#[case::broken(Trouble::Broken)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lasts_is_one_error(#[case] trouble: Trouble) -> Result<()> {
    let (session, server) = session().await?;
    let before = server.requests();
    server.fail(usize::MAX, trouble);
    let error = timeout(PATIENCE, ask(&session, QUERY)).await?.unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("t.parquet") && error.contains(".."), "no file and range: {error}");
    // Each partition's requests, each tried so often.
    let tried = server.requests() - before;
    assert!(tried > RETRIES && tried <= 4 * 8 * (RETRIES + 2), "{tried} requests");
    server.fail(0, trouble);
    assert_eq!(ask(&session, QUERY).await?, [RIGHT]);
    Ok(())
}
