// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running suites: engines take turns, query by query, in one process.
//!
//! Each query runs first once on each engine, untimed: its answer is checked, its memory and its reads counted, its
//! footers get cached. Then come the timed rounds. In each of these every engine has one run, one right after the other, and
//! another engine begins each round; the times of a round make the pairs of a ratio. A time counts once its answer
//! has been checked, and an engine that is wrong once has no result for that query.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use crate::check::{self, Reference};
use crate::data::BenchmarkData;
use crate::digest::Digest;
use crate::engine::{Caches, Engine, Host, Session};
use crate::latency_store::{Distance, Latency};
use crate::measure::{self, Inspection, Run};
use crate::oracle::Unavoidable;
use crate::profile::Profiler;
use crate::record::Record;
use crate::statistics::{median, paired_ratio};
use crate::suites::{Query, Suite};

/// What `error` begins with when an engine gave a wrong answer.
pub const WRONG: &str = "wrong answer: ";

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The queries.
    pub suites: Vec<Suite>,
    /// The engines, each once.
    pub engines: Vec<Engine>,
    /// TPC-H scale of the data.
    pub scale: f64,
    /// Partitions of each query plan.
    pub partitions: usize,
    /// Timed runs of each query on each engine.
    pub repeat: usize,
    /// Whether each run gets a session of its own with nothing cached but footers.
    pub cold: bool,
    /// How far away the files are; `None` for local ones.
    pub distance: Option<Distance>,
    /// The folder for flamegraphs; `None` for none.
    pub profile: Option<PathBuf>,
}

impl Plan {
    /// How many runs of queries there are.
    pub fn runs(&self) -> u64 {
        let queries: usize = self.suites.iter().map(|suite| suite.queries.len()).sum();
        (queries * self.engines.len() * (self.repeat + 1)) as u64
    }

    fn caches(&self) -> Caches {
        if self.cold { Caches::Footers } else { Caches::All }
    }
}

/// Runs everything; one record for each query and engine. What fails is part of the records.
///
/// # Errors
/// No engine can be set up, or no flamegraph written.
pub async fn run(plan: &Plan, data: &BenchmarkData, progress: &ProgressBar) -> Result<Vec<Record>> {
    let local: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
    let files = match plan.distance {
        Some(distance) => Arc::new(Latency::of(Arc::clone(&local), distance)),
        None => Arc::clone(&local),
    };
    let trusted = Host::new(Engine::BASELINE, local, false, plan.partitions)?;
    let distant = plan.distance.is_some();
    let hosts =
        plan.engines.iter().map(|engine| Host::new(*engine, Arc::clone(&files), distant, plan.partitions));
    let hosts = hosts.collect::<Result<Vec<_>>>()?;
    let mut records = Vec::new();
    for suite in &plan.suites {
        for query in &suite.queries {
            progress.set_message(format!("{}/{}", suite.name, query.name));
            let mut lanes: Vec<_> = plan.engines.iter().zip(&hosts).map(Lane::new).collect();
            let bench = Bench { plan, data, query, progress };
            match bench.reference(&trusted).await {
                Ok(reference) => bench.run(&mut lanes, &reference).await,
                Err(error) => {
                    let error = format!("no right answer to compare with: {error:#}");
                    lanes.iter_mut().for_each(|lane| lane.error = Some(error.clone()));
                    progress.inc((lanes.len() * (plan.repeat + 1)) as u64);
                }
            }
            bench.profile(&lanes, suite.name).await?;
            records.extend(bench.records(&lanes, suite.name).await);
        }
    }
    Ok(records)
}

/// One engine on one query.
struct Lane<'a> {
    engine: Engine,
    host: &'a Host,
    session: Option<Session>,
    inspection: Option<Inspection>,
    /// Timed runs, without their answers.
    runs: Vec<Run>,
    error: Option<String>,
}

impl<'a> Lane<'a> {
    fn new((engine, host): (&Engine, &'a Host)) -> Self {
        Self { engine: *engine, host, session: None, inspection: None, runs: Vec::new(), error: None }
    }

    fn digest(&self) -> Option<Digest> {
        self.inspection.as_ref().map(|inspection| inspection.digest)
    }

    /// Milliseconds of the timed runs.
    fn times(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.elapsed.as_secs_f64() * 1e3).collect()
    }

    /// Notes an error, if it is one.
    fn note(&mut self, result: Result<()>) {
        self.error = result.err().map(|error| format!("{error:#}"));
    }
}

/// One query on all engines.
struct Bench<'a> {
    plan: &'a Plan,
    data: &'a BenchmarkData,
    query: &'a Query,
    progress: &'a ProgressBar,
}

impl Bench<'_> {
    async fn reference(&self, trusted: &Host) -> Result<Reference> {
        let session = trusted.open(self.data, self.query, Caches::All).await?;
        let query = self.query.clone();
        spawned(async move { Reference::obtain(&session, &query).await }).await
    }

    async fn run(&self, lanes: &mut [Lane<'_>], reference: &Reference) {
        for lane in lanes.iter_mut() {
            let inspected = self.inspect(lane, reference).await;
            lane.note(inspected);
            self.progress.inc(1);
        }
        for round in 0..self.plan.repeat {
            for turn in 0..lanes.len() {
                let lane = &mut lanes[(round + turn) % self.plan.engines.len()];
                if lane.error.is_none() {
                    let timed = self.time(lane, reference).await;
                    lane.note(timed);
                }
                self.progress.inc(1);
            }
        }
    }

    async fn inspect(&self, lane: &mut Lane<'_>, reference: &Reference) -> Result<()> {
        let session = lane.host.open(self.data, self.query, self.plan.caches()).await?;
        let sql = self.query.sql.clone();
        let own = session.clone();
        let mut inspection = spawned(async move { measure::inspect(&own, &sql).await }).await?;
        reference.check(&inspection.run, Some(inspection.digest), None).map_err(|error| wrong(&error))?;
        inspection.run.answer = None;
        lane.inspection = Some(inspection);
        lane.session = Some(session);
        Ok(())
    }

    async fn time(&self, lane: &mut Lane<'_>, reference: &Reference) -> Result<()> {
        let session = match &lane.session {
            Some(session) if !self.plan.cold => session.clone(),
            _ => lane.host.open(self.data, self.query, self.plan.caches()).await?,
        };
        let sql = self.query.sql.clone();
        let mut run = spawned(async move { measure::time(&session, &sql).await }).await?;
        reference.check(&run, check::digest(&run)?, lane.digest()).map_err(|error| wrong(&error))?;
        run.answer = None;
        lane.runs.push(run);
        Ok(())
    }

    /// Runs that count for nothing but their flamegraph.
    async fn profile(&self, lanes: &[Lane<'_>], suite: &str) -> Result<()> {
        let Some(folder) = &self.plan.profile else { return Ok(()) };
        for lane in lanes.iter().filter(|lane| lane.error.is_none()) {
            let session = lane.host.open(self.data, self.query, self.plan.caches()).await?;
            let profiler = Profiler::start()?;
            for _ in 0..self.plan.repeat {
                let (session, sql) = (session.clone(), self.query.sql.clone());
                spawned(async move { measure::time(&session, &sql).await }).await?;
            }
            let file = folder.join(format!("{suite}-{}-{}.svg", self.query.name, lane.engine));
            profiler.write(&file).with_context(|| format!("can't write {}", file.display()))?;
        }
        Ok(())
    }

    async fn records(&self, lanes: &[Lane<'_>], suite: &str) -> Vec<Record> {
        let oracle = Unavoidable::of(self.data, self.query).await;
        let baseline = lanes.iter().find(|lane| lane.engine == Engine::BASELINE && lane.error.is_none());
        let record = |lane: &Lane<'_>| {
            let mut record = self.blank(lane.engine, suite);
            if let Some(error) = &lane.error {
                record.error = Some(error.clone());
                return record;
            }
            let times = lane.times();
            record.median_ms = median(&times);
            record.min_ms = times.iter().copied().min_by(f64::total_cmp);
            let other = baseline.filter(|baseline| baseline.engine != lane.engine);
            if let Some(ratio) = other.and_then(|base| paired_ratio(&times, &base.times())) {
                record.ratio = Some(ratio.ratio);
                record.ratio_low = ratio.interval.map(|(low, _)| low);
                record.ratio_high = ratio.interval.map(|(_, high)| high);
            }
            let middle = |of: fn(&Run) -> u64| {
                let values: Vec<f64> = lane.runs.iter().map(|run| of(run) as f64).collect();
                median(&values).map(|value| value as u64)
            };
            record.rows_decoded = middle(|run| run.scans.rows_decoded);
            record.zones_considered = middle(|run| run.scans.zones_considered);
            record.zones_skipped = middle(|run| run.scans.zones_skipped);
            record.judging_ms = middle(|run| run.scans.judging_ns).map(|ns| ns as f64 / 1e6);
            if let Some(inspection) = &lane.inspection {
                record.bytes_read = Some(inspection.run.reads.bytes);
                record.requests = Some(inspection.run.reads.requests);
                record.rows_out = Some(inspection.digest.rows);
                record.answer_hash = Some(inspection.digest.to_string());
                record.peak_bytes = Some(inspection.peak_bytes);
            }
            match &oracle {
                Ok(Some(oracle)) => {
                    record.oracle_bytes = Some(oracle.bytes());
                    // Footers are cached: each reader has read them, once.
                    let all = record.bytes_read.map(|bytes| bytes + oracle.metadata);
                    record.over_oracle = all.map(|all| all as f64 / oracle.bytes() as f64);
                }
                Ok(None) => {}
                Err(error) => record.error = Some(format!("no page oracle: {error:#}")),
            }
            record
        };
        lanes.iter().map(record).collect()
    }

    fn blank(&self, engine: Engine, suite: &str) -> Record {
        let store = if self.plan.distance.is_some() { "latency" } else { "local" };
        Record {
            suite: suite.to_owned(),
            query: self.query.name.to_owned(),
            engine: engine.name().to_owned(),
            scale: self.plan.scale,
            partitions: self.plan.partitions as u64,
            store: store.to_owned(),
            cold: self.plan.cold,
            repeats: self.plan.repeat as u64,
            ..Record::default()
        }
    }
}

fn wrong(error: &anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("{WRONG}{error:#}")
}

/// Runs on the runtime's threads, so that these are all a query has; a panic is an error.
async fn spawned<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(anyhow::anyhow!("{error}")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::data::tests::tiny;
    use crate::suites::select;

    fn plan(suite: &str, queries: &[&str], cold: bool) -> Plan {
        let queries: Vec<_> = queries.iter().map(|query| (*query).to_owned()).collect();
        Plan {
            suites: select(0.001, &[suite.to_owned()], &queries).unwrap(),
            engines: Engine::ALL.to_vec(),
            scale: 0.001,
            partitions: 2,
            repeat: 2,
            cold,
            distance: None,
            profile: None,
        }
    }

    async fn records(plan: &Plan) -> Vec<Record> {
        let tables: Vec<_> =
            plan.suites.iter().flat_map(|suite| &suite.queries).flat_map(Query::tables).collect();
        let (data, _folder) = tiny(&tables);
        run(plan, &data, &ProgressBar::hidden()).await.unwrap()
    }

    #[rstest]
    #[case::warm(false)]
    #[case::cold(true)]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn suite_scan(#[case] cold: bool) {
        let records = records(&plan("scan", &[], cold)).await;
        assert_eq!(records.len(), 4 * 3);
        for record in &records {
            assert_eq!(record.error, None, "{}", record.query);
            assert!(record.median_ms >= record.min_ms && record.min_ms > Some(0.0));
            assert_eq!(record.rows_out, Some(if record.query == "count" { 1 } else { 6005 }));
            assert_eq!(record.ratio.is_some(), record.engine != "datafusion");
            assert!(record.ratio_low <= record.ratio && record.ratio <= record.ratio_high);
            assert!(record.query == "count" || record.bytes_read > Some(0), "{record:?}");
            assert_eq!(record.oracle_bytes, None);
        }
        for of_query in records.chunks(3) {
            assert!(of_query.iter().all(|record| record.answer_hash == of_query[0].answer_hash));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_oracle_reads_no_more_than_anyone() {
        let queries = ["topk_unclustered_wide", "backfill", "join_part"];
        let records = records(&plan("dynamic", &queries, true)).await;
        for record in &records {
            assert_eq!(record.error, None, "{}", record.query);
            assert!(record.over_oracle >= Some(1.0), "{record:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_error_is_part_of_the_results() {
        let mut plan = plan("scan", &["count"], false);
        plan.suites[0].queries[0].sql = "SELECT nothing FROM lineitem".to_owned();
        let records = records(&plan).await;
        assert_eq!(records.len(), 3);
        for record in records {
            assert!(record.error.unwrap().contains("nothing"));
            assert_eq!(record.median_ms, None);
        }
    }
}
