// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The differential test: the first iterations of a fuzzing run (`cargo run -p trommel-tests --bin fuzz`).

use rstest::rstest;
use trommel_tests::differential::{self, Plan, Until};
use trommel_tests::session::Format;

/// `tame` data and queries are those on which DataFusion's own scan is known to be right: the harness raises no false
/// alarm there.
#[rstest]
#[case::trommel(Format::Trommel, false, 60)]
#[case::stock_on_tame_data(Format::Parquet, true, 30)]
fn agrees_with_the_oracle(#[case] format: Format, #[case] tame: bool, #[case] iterations: u64) {
    let plan = Plan { format, tame, seed: 1, only: None, until: Until::iterations(iterations) };
    let outcome = differential::run(&plan, &mut |_| Ok(())).unwrap();
    let findings: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    if format == Format::Trommel {
        let missing = outcome.coverage.missing_done(1);
        assert!(missing.is_empty(), "{}\nof\n{}", missing.join("\n"), outcome.coverage);
    }
}

/// A generator that never reaches a shape proves nothing of it.
#[rstest]
fn everything_is_drawn(#[values(false, true)] tame: bool) {
    let coverage = differential::draw(Format::Trommel, tame, 1, 1000).unwrap();
    let missing = coverage.missing_drawn(tame, 5);
    assert!(missing.is_empty(), "{}\nof\n{coverage}", missing.join("\n"));
}
