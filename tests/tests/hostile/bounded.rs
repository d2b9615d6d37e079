// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A test in a process of its own with bounded memory, so that neither a loop nor an allocation takes the others along.

use std::env;
use std::process::Command;

use tokio::runtime::{Builder, Runtime};

/// Set in the process that is bounded.
const BOUNDED: &str = "TROMMEL_BOUNDED";
/// The most address space it may take, in KiB. The files are small; a length believed unchecked isn't.
const KIBIBYTES: u32 = 4 << 20;

/// Runs `test`, of this name in this program, in a bounded process.
///
/// Tasks that never end stay behind when `test` returns, and end with the process.
pub fn bounded(name: &str, test: impl FnOnce(&Runtime)) {
    if env::var_os(BOUNDED).is_some() {
        let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        test(&runtime);
        return runtime.shutdown_background();
    }
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {KIBIBYTES} && exec \"$0\" \"$@\"")])
        .arg(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        // Panics are expected, of the stock scan.
        .env("RUST_BACKTRACE", "0")
        .env(BOUNDED, "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    let last: Vec<_> = err.lines().rev().take(60).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    assert!(output.status.success(), "{}\n{}", output.status, last.join("\n"));
    // A name that fits no test would succeed too.
    assert!(out.contains("1 passed"), "no test is called {name}");
}
