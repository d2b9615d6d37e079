// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Fuzz targets: what each does with any bytes, and sound ones to start from.
//!
//! | target | its bytes are |
//! |---|---|
//! | `footer` | the footer of a file |
//! | `page_index` | the page indexes of a file |
//! | `pages` | all pages of a column chunk |
//! | `values` | what is in a data page: levels and values |
//! | `levels` | the levels and the codes of a page that has a dictionary |
//! | `dictionary` | the values of a dictionary |
//! | `bloom` | a Bloom filter |
//! | `expression`, `plan` | what the planner's codecs read |
//! | `pattern` | a LIKE pattern, and the strings of a zone |
//!
//! Nothing may panic, but for panics of other crates' decoders that the scan catches; and nothing may take memory that
//! the bytes don't account for. What else must hold says each target.
//!
//! The fuzzer is a workspace of its own, in the folder `fuzz`. The test `replay` runs its corpora, and damaged copies of
//! them, through the same functions.

// A target tells what it has found by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bloom;
mod chunk;
mod dictionary;
mod expression;
mod file;
mod footer;
mod levels;
mod page_index;
mod pages;
mod pattern;
mod plan;
mod samples;
mod values;

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is its corpus's folder's too.
    pub name: &'static str,
    /// What it does with any bytes.
    body: fn(&[u8]),
    /// Bytes to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($name:ident),*) => {
        [$(Target { name: stringify!($name), body: $name::run, seeds: $name::seeds }),*]
    };
}

/// All targets.
pub const TARGETS: [Target; 10] =
    targets![footer, page_index, pages, values, levels, dictionary, bloom, expression, plan, pattern];

/// The crates in which no panic is caught rightly: the scan catches those of other crates only.
const OURS: [&str; 3] = ["crates/scan/src/", "crates/planner/src/", "tests/targets/src/"];

/// What panicked on a thread.
#[derive(Default)]
struct Panics {
    /// The last of all.
    last: Option<String>,
    /// The first in our own code.
    ours: Option<String>,
}

thread_local! {
    static PANICS: RefCell<Panics> = RefCell::default();
}

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Does with these bytes what the target does.
    ///
    /// # Errors
    /// What was found: a panic that isn't caught, or one of our own code's that is.
    pub fn run(&self, data: &[u8]) -> Result<(), String> {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            panic::set_hook(Box::new(|info| {
                let ours = info.location().is_some_and(|at| OURS.iter().any(|ours| at.file().contains(ours)));
                let text = format!("{info}\n{}", Backtrace::capture());
                PANICS.with_borrow_mut(|panics| {
                    if ours && panics.ours.is_none() {
                        panics.ours = Some(text.clone());
                    }
                    panics.last = Some(text);
                });
            }))
        });
        PANICS.take();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.body)(data)));
        let Panics { last, ours } = PANICS.take();
        match (outcome, ours) {
            (_, Some(ours)) => Err(ours),
            (Err(_), None) => Err(last.unwrap_or_default()),
            (Ok(()), None) => Ok(()),
        }
    }
}
