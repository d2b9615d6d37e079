// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Flamegraphs of what the process does, where it was built with the feature `profile`.

use std::path::Path;

use anyhow::Result;

/// Samples a second: no multiple of anything that ticks.
#[cfg(feature = "profile")]
const FREQUENCY: i32 = 997;

/// Samples all threads as long as it lives.
pub struct Profiler {
    #[cfg(feature = "profile")]
    guard: pprof::ProfilerGuard<'static>,
}

impl Profiler {
    /// Starts sampling.
    ///
    /// # Errors
    /// The process can't be sampled, or was built without the feature.
    #[cfg(feature = "profile")]
    pub fn start() -> Result<Self> {
        // Unwinding from within these can hang on their locks.
        let blocked = ["libc", "libgcc", "pthread", "vdso"];
        let guard =
            pprof::ProfilerGuardBuilder::default().frequency(FREQUENCY).blocklist(&blocked).build()?;
        Ok(Self { guard })
    }

    /// Starts sampling.
    ///
    /// # Errors
    /// The process can't be sampled, or was built without the feature.
    #[cfg(not(feature = "profile"))]
    pub fn start() -> Result<Self> {
        anyhow::bail!(
            "built without profiler: cargo run --release -p trommel-benchmarks --features profile -- …"
        )
    }

    /// Writes what was sampled so far as a flamegraph (SVG).
    ///
    /// # Errors
    /// The file can't be written.
    #[cfg(feature = "profile")]
    pub fn write(&self, path: &Path) -> Result<()> {
        self.guard.report().build()?.flamegraph(std::fs::File::create(path)?)?;
        Ok(())
    }

    /// Writes what was sampled so far as a flamegraph (SVG).
    ///
    /// # Errors
    /// The file can't be written.
    #[cfg(not(feature = "profile"))]
    pub fn write(&self, path: &Path) -> Result<()> {
        anyhow::bail!("no profile for {}", path.display())
    }
}
