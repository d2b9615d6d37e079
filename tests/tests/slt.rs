// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The SQL cases on Trommel, in every mode.
//!
//! Each failing record is reported, save those of `cases/exceptions.txt`; so is a listed case that passes.

use std::path::PathBuf;

use rstest::rstest;
use trommel_tests::session::{DynamicFilters, Format, Mode};
use trommel_tests::slt::{self, Exceptions};

#[rstest]
#[case::one_partition(Mode::new(Format::Trommel, 1))]
#[case::four_partitions(Mode::new(Format::Trommel, 4))]
#[case::one_row_a_batch(Mode { batch_size: Some(1), ..Mode::new(Format::Trommel, 4) })]
#[case::no_dynamic_filters(Mode { dynamic_filters: DynamicFilters::OFF, ..Mode::new(Format::Trommel, 4) })]
#[case::partitioned_joins(Mode { partitioned_joins: true, ..Mode::new(Format::Trommel, 4) })]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds(#[case] mode: Mode, #[values(true, false)] linked: bool) {
    let mode = Mode { linked, ..mode };
    let exceptions = Exceptions::parse(include_str!("../cases/exceptions.txt")).unwrap().of(&mode);
    let cases = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    let report = slt::run(&[cases], &mode).await.unwrap();
    assert_eq!(report.cases.len(), 143, "cases in {mode}");
    let mut findings = exceptions.unexpected(&report);
    findings.extend(exceptions.unmet(&report.failing_cases()));
    assert!(findings.is_empty(), "{mode}: {} passed\n{}", report.passed, findings.join("\n\n"));
}
