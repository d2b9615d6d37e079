// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The differential test on DataFusion's own scan, where that is known to be right: the harness raises no false alarm.

use trommel_tests::differential::{self, Plan, Until};
use trommel_tests::session::Format;

#[test]
fn stock_agrees_with_the_oracle_on_tame_data() {
    let until = Until::iterations(60);
    let plan = Plan { format: Format::Parquet, tame: true, seed: 1, only: None, until };
    let outcome = differential::run(&plan, &mut |_| ()).unwrap();
    let findings: Vec<String> = outcome.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
