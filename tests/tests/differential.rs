// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The differential test on Trommel: the first iterations of a fuzzing run.
//!
//! `TROMMEL_DIFFERENTIAL_ITERATIONS=2000` runs more than CI does. Whatever the number, every axis of the matrix, every
//! shape of query (with rows in its answer), every type and every form of predicate must come up.

use trommel_tests::differential::{self, Plan, Until};
use trommel_tests::session::Format;

const ITERATIONS: u64 = 200;

#[test]
fn trommel_agrees_with_the_oracle() {
    let iterations = match std::env::var("TROMMEL_DIFFERENTIAL_ITERATIONS") {
        Ok(number) => number.parse().expect("TROMMEL_DIFFERENTIAL_ITERATIONS is a number"),
        Err(_) => ITERATIONS,
    };
    let until = Until::iterations(iterations);
    let plan = Plan { format: Format::Trommel, tame: false, seed: 1, only: None, until };
    let outcome = differential::run(&plan, &mut |_| ()).unwrap();
    let findings: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));

    let least = usize::try_from(iterations / 200).unwrap();
    let missing = outcome.coverage.missing(plan.tame, least);
    assert!(missing.is_empty(), "{}\nof\n{}", missing.join("\n"), outcome.coverage);
}
