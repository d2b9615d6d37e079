// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Runs the targets of `trommel-fuzz-targets` under libFuzzer.

pub use libfuzzer_sys;
use trommel_fuzz_targets::Target;

/// A fuzz target, by its name.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::run($name, data));
    };
}

/// Runs a target, and ends the process with what it finds. (libFuzzer's own way would end it at panics that are caught.)
pub fn run(name: &str, data: &[u8]) {
    let target = Target::named(name).unwrap_or_else(|| std::process::abort());
    if let Err(found) = target.run(data) {
        eprintln!("{found}");
        std::process::abort();
    }
}
