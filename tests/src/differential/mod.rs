// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random tables and random queries, judged by independent oracles.
//!
//! The judge is the table in memory, with every dynamic filter off; DataFusion's own Parquet scan is asked now and
//! then, and has a vote where there is a mismatch. Iteration `n` of a seed is always the same; a failing one is made
//! smaller and becomes an SQL case. `cargo run -p trommel-tests --bin fuzz -- --seed S --only N` runs one again.
//!
//! | file | what it holds |
//! |---|---|
//! | `kind`, `kinds` | types of columns, and which of them a table has |
//! | `table`, `order`, `evolve` | rows; how they are dealt to files; files of an older schema |
//! | `layout` | how files are written |
//! | `query` | queries, and the freedom their answers have |
//! | `scenario`, `instance` | what one iteration runs: as drawn, and as rows and files |
//! | `check` | judging |
//! | `shrink`, `case`, `literal` | making a failing instance smaller, and writing it as SQL |
//! | `coverage` | counting what came up |

mod case;
mod check;
mod coverage;
mod evolve;
mod instance;
mod kind;
mod kinds;
mod layout;
mod literal;
mod order;
mod query;
mod random;
mod scenario;
mod shrink;
mod table;

use std::fmt::{self, Display};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Runtime;

pub use coverage::Coverage;

use check::{Class, Failure, PATIENCE};
use instance::Instance;
use scenario::Scenario;

use crate::session::Format;

/// Attempts to make a failing scenario smaller as it is drawn.
const SHRINKING: u32 = 80;
/// How long it may take to make a failing instance smaller.
const SHRINKING_TIME: Duration = Duration::from_secs(90);

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The scan under test.
    pub format: Format,
    /// Whether to leave out what DataFusion's own scan is known to get wrong: NaN, ±0.0 and the largest integers in
    /// the tables, joins by floats, several aggregates at once, limits below joins and limits, types beyond the core,
    /// partition columns and files of other schemas.
    pub tame: bool,
    /// What decides everything.
    pub seed: u64,
    /// The one iteration to run, instead of all.
    pub only: Option<u64>,
    /// When to stop.
    pub until: Until,
}

/// When to stop: as soon as any of these is reached.
#[derive(Debug, Clone, Copy)]
pub struct Until {
    /// So many iterations.
    pub iterations: Option<u64>,
    /// So much time.
    pub time: Option<Duration>,
    /// So many mismatches.
    pub findings: usize,
}

impl Until {
    /// After so many iterations, or a few mismatches.
    pub fn iterations(iterations: u64) -> Self {
        Self { iterations: Some(iterations), time: None, findings: 5 }
    }
}

/// One failing iteration.
#[derive(Debug)]
pub struct Finding {
    seed: u64,
    iteration: u64,
    failure: String,
    /// It as an SQL case; absent if it couldn't be written.
    pub case: Option<String>,
}

impl Finding {
    /// What it is called.
    pub fn name(&self) -> String {
        format!("fuzz_{}_{}", self.seed, self.iteration)
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, iteration, failure, case } = self;
        writeln!(
            f,
            "--- seed {seed}, iteration {iteration}: {failure}\n{}",
            case.as_deref().unwrap_or_default()
        )
    }
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many iterations ran.
    pub iterations: u64,
    /// How many queries they had.
    pub queries: u64,
    /// Those that failed.
    pub findings: Vec<Finding>,
    /// What all of them met.
    pub coverage: Coverage,
}

/// Runs `plan`, telling `progress` the outcome so far after each iteration.
///
/// # Errors
/// The harness's own, a runtime that doesn't start; and `progress`'s.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&Outcome) -> Result<()>) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let strategy = Scenario::strategy(plan.format, plan.tame);
    let mut outcome = Outcome::default();
    let start = Instant::now();
    let iterations = plan.only.map_or(0..plan.until.iterations.unwrap_or(u64::MAX), |only| only..only + 1);
    for iteration in iterations {
        if plan.until.time.is_some_and(|time| start.elapsed() > time) {
            break;
        }
        let config = Config { max_shrink_iters: SHRINKING, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, rng(plan.seed, iteration));
        let tree = strategy.new_tree(&mut runner).map_err(anyhow::Error::msg).context("no scenario")?;
        let drawn = tree.current();
        outcome.coverage.note(drawn.words());
        outcome.iterations += 1;
        outcome.queries += drawn.queries.len() as u64;

        let met = std::cell::RefCell::new(Vec::new());
        let class = std::cell::Cell::new(None);
        let result = runner.run_one(tree, |scenario| {
            let checked = Instance::of(&scenario)
                .map_err(|error| Failure { query: 0, class: Class::Harness, reason: error.to_string() })
                .and_then(|instance| check(&runtime, instance, PATIENCE));
            match checked {
                Ok(words) => {
                    met.replace(words);
                    Ok(())
                }
                // Made smaller, it must fail in the same way.
                Err(failure)
                    if class.get().is_none_or(|class| class == failure.class && class != Class::Harness) =>
                {
                    class.set(Some(failure.class));
                    Err(TestCaseError::fail(failure.to_string()))
                }
                Err(_) => Ok(()),
            }
        });
        match result {
            Ok(_) => outcome.coverage.note(met.into_inner()),
            Err(TestError::Fail(reason, smallest)) => {
                let name = (plan.seed, iteration);
                outcome.findings.push(finding(&runtime, name, reason.to_string(), &smallest));
            }
            Err(TestError::Abort(reason)) => anyhow::bail!("iteration {iteration}: {reason}"),
        }
        progress(&outcome)?;
        if outcome.findings.len() >= plan.until.findings {
            break;
        }
    }
    // What hangs must not keep the run from its end.
    runtime.shutdown_background();
    Ok(outcome)
}

/// What so many iterations of a seed would have, without running them.
///
/// # Errors
/// The harness's own: nothing can be drawn.
pub fn draw(format: Format, tame: bool, seed: u64, iterations: u64) -> Result<Coverage> {
    let strategy = Scenario::strategy(format, tame);
    let mut coverage = Coverage::default();
    for iteration in 0..iterations {
        let mut runner = TestRunner::new_with_rng(Config::default(), rng(seed, iteration));
        let tree = strategy.new_tree(&mut runner).map_err(anyhow::Error::msg).context("no scenario")?;
        coverage.note(tree.current().words());
    }
    Ok(coverage)
}

/// Judges an instance on the runtime's threads, so that one that blocks its thread is noticed too.
fn check(runtime: &Runtime, instance: Instance, patience: Duration) -> Result<Vec<String>, Failure> {
    // Several queries, each run up to twice by each of up to three engines.
    let all = patience * 4 * u32::try_from(instance.queries.len()).unwrap_or(1);
    let checked = runtime.spawn(async move { check::check(&instance, patience).await });
    let fault = |class, reason: String| Err(Failure { query: 0, class, reason });
    match runtime.block_on(async { tokio::time::timeout(all, checked).await }) {
        Ok(Ok(checked)) => checked,
        Ok(Err(panic)) => fault(Class::Panic, panic.to_string()),
        Err(_elapsed) => fault(Class::Hang, format!("a thread was blocked for {} s", all.as_secs())),
    }
}

/// Makes the smallest scenario smaller still, as an instance, and an SQL case of it.
fn finding(
    runtime: &Runtime,
    (seed, iteration): (u64, u64),
    failure: String,
    smallest: &Scenario,
) -> Finding {
    let mut finding = Finding { seed, iteration, failure, case: None };
    let smaller = Instance::of(smallest).and_then(|instance| {
        let Err(failure) = check(runtime, instance.clone(), PATIENCE) else {
            return Err(anyhow!("it doesn't fail each time"));
        };
        let mut alone = instance;
        alone.queries = vec![alone.queries.swap_remove(failure.query)];
        let deadline = Instant::now() + SHRINKING_TIME;
        let fails = |instance: &Instance| {
            check(runtime, instance.clone(), PATIENCE / 6).is_err_and(|other| other.class == failure.class)
        };
        let smallest = shrink::shrink(alone, deadline, fails);
        let failure = check(runtime, smallest.clone(), PATIENCE).err().unwrap_or(failure);
        runtime.block_on(case::write(&finding.name(), &failure, &smallest))
    });
    match smaller {
        Ok(case) => finding.case = Some(case),
        Err(error) => {
            let queries: Vec<_> = smallest.queries.iter().map(|query| query.sql.as_str()).collect();
            finding.failure = format!("{} ({error:#})\n  {}", finding.failure, queries.join("\n  "));
        }
    }
    finding
}

fn rng(seed: u64, iteration: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&iteration.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
