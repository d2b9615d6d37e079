// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The SQL cases on DataFusion's own Parquet scan: the runner tells right from wrong.
//!
//! Exactly the cases of `cases/stock_failures.txt` fail, among them the faults of the engine that Trommel must not
//! inherit. A fault that DataFusion mends shows here.

use std::collections::BTreeSet;
use std::path::PathBuf;

use trommel_tests::session::{DynamicFilters, Format, Mode};
use trommel_tests::slt::{self, CaseId, Exceptions, Report};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stock_fails_the_listed_cases_and_no_other() {
    let listed = Exceptions::parse(include_str!("../cases/stock_failures.txt")).unwrap();
    let cases = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    let one = Mode::new(Format::Parquet, 1);
    let modes = [
        one,
        Mode::new(Format::Parquet, 4),
        Mode { batch_size: Some(1), ..Mode::new(Format::Parquet, 4) },
        Mode { dynamic_filters: DynamicFilters::OFF, ..one },
    ];
    // The list names no modes: no mode fails another case, and each listed case fails in one mode at least.
    let mut all = Report::default();
    for mode in modes {
        let report = slt::run(std::slice::from_ref(&cases), &mode).await.unwrap();
        assert_eq!(report.cases.len(), 143, "cases in {mode}");
        let unexpected = listed.unexpected(&report);
        assert!(unexpected.is_empty(), "{mode}:\n{}", unexpected.join("\n\n"));
        all.extend(report);
    }
    let failing: BTreeSet<&CaseId> = all.failing_cases();
    let unmet = listed.unmet(&failing);
    assert!(unmet.is_empty(), "{}", unmet.join("\n"));
}
