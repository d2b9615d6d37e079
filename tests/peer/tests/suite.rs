// Licensed under the Apache License, Version 2.0. See LICENSE.

//! DataFusion's own SQL tests on Trommel: no record differs but those listed.

use std::env;

use trommel_peer_suite::differences::Differences;
use trommel_peer_suite::folder::{Data, Folder};
use trommel_peer_suite::run_all;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn records_differ_only_as_listed() {
    let variable = |name| env::var_os(name).map(Into::into);
    let data =
        Data { checkout: variable("DATAFUSION_CHECKOUT"), parquet_testing: variable("PARQUET_TESTING") };
    let folder = Folder::lay_out(&data).unwrap();
    env::set_current_dir(folder.home()).unwrap();
    let report = run_all(&folder, &[]).await.unwrap();
    println!("{report}");
    assert!(report.files.len() > 50 && report.scans() > 500, "Trommel was hardly asked: {report}");
    let findings = Differences::listed().unwrap().findings(&report);
    assert!(findings.is_empty(), "{}\n{report}", findings.join("\n\n"));
}
