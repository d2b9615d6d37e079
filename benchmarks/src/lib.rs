// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Side-by-side benchmarks: the same queries over the same files on Trommel's scan and on DataFusion's own.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`suites`] | the queries |
//! | [`data`] | the files they read |
//! | [`engine`] | the scans under comparison, their sessions and caches |
//! | [`latency_store`] | a store as far away as an object store |
//! | [`run`] | taking turns |
//! | [`measure`], [`memory`], [`metrics`] | what one run costs: time and bytes, memory, what its scans counted |
//! | [`check`], [`digest`] | whether its answer is right |
//! | [`oracle`] | the bytes no reader could avoid |
//! | [`statistics`] | medians, ratios, intervals |
//! | [`record`], [`report`], [`compare`] | results as JSON, as tables, side by side |
//! | [`profile`] | flamegraphs |

pub mod check;
pub mod cli;
pub mod compare;
pub mod data;
pub mod digest;
pub mod engine;
pub mod latency_store;
pub mod measure;
pub mod memory;
pub mod metrics;
pub mod oracle;
pub mod profile;
pub mod record;
pub mod report;
pub mod run;
pub mod statistics;
pub mod suites;
