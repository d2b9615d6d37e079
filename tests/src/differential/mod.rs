// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random tables and random queries, judged by an in-memory oracle.
//!
//! Iteration `n` of a seed is always the same; a failing one is made smaller and reported with its SQL, its table and
//! its layout. `cargo run -p trommel-tests --bin differential -- --seed S --only N` runs one again.

mod check;
mod coverage;
mod kind;
mod layout;
mod predicate;
mod query;
mod random;
mod scenario;
mod table;

use std::fmt::{self, Display};

use anyhow::{Context, Result};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

pub use coverage::Coverage;
pub use scenario::Scenario;

use crate::session::Format;

/// Failing iterations after which a run stops.
const ENOUGH: usize = 5;
/// Attempts to make a failing scenario smaller.
const SHRINKING: u32 = 80;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The scan under test.
    pub format: Format,
    /// Whether to leave out what DataFusion's own scan is known to get wrong: NaN, ±0.0 and the largest integers in
    /// the tables, joins by floats, several aggregates at once, limits below joins and limits.
    pub tame: bool,
    /// How many iterations.
    pub iterations: u64,
    /// What decides all of them.
    pub seed: u64,
    /// The one iteration to run, instead of all.
    pub only: Option<u64>,
}

/// One failing iteration.
#[derive(Debug)]
pub struct Finding {
    seed: u64,
    iteration: u64,
    reason: String,
    smallest: Scenario,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, iteration, reason, smallest } = self;
        writeln!(f, "--- seed {seed}, iteration {iteration}: {reason}\n{smallest}")
    }
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many iterations ran.
    pub iterations: u64,
    /// Those that failed.
    pub findings: Vec<Finding>,
    /// What all of them met.
    pub coverage: Coverage,
}

/// Runs `plan`, up to a few failures.
///
/// # Errors
/// The harness's own: a runtime that doesn't start.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let strategy = Scenario::strategy(plan.format, plan.tame);
    let mut outcome = Outcome::default();
    let iterations = plan.only.map_or(0..plan.iterations, |only| only..only + 1);
    for iteration in iterations {
        let config = Config { max_shrink_iters: SHRINKING, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, rng(plan.seed, iteration));
        let tree = strategy.new_tree(&mut runner).map_err(anyhow::Error::msg).context("no scenario")?;
        outcome.coverage.note(tree.current().words());
        outcome.iterations += 1;

        let met = std::cell::RefCell::new(Vec::new());
        let result = runner.run_one(tree, |scenario| {
            let words = runtime.block_on(check::check(&scenario));
            met.replace(words.map_err(|error| TestCaseError::fail(format!("{error:#}")))?);
            Ok(())
        });
        match result {
            Ok(_) => outcome.coverage.note(met.into_inner()),
            Err(TestError::Fail(reason, smallest)) => {
                let reason = reason.to_string();
                outcome.findings.push(Finding { seed: plan.seed, iteration, reason, smallest });
            }
            Err(TestError::Abort(reason)) => anyhow::bail!("iteration {iteration}: {reason}"),
        }
        if outcome.findings.len() == ENOUGH {
            break;
        }
    }
    Ok(outcome)
}

fn rng(seed: u64, iteration: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&iteration.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
