// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Tests of Trommel across crates.
//!
//! | module | what it holds |
//! |---|---|
//! | [`differential`] | random tables and queries against independent oracles |
//! | [`files`] | Parquet files made for one test |
//! | [`mutants`] | faults put into the code to see the tests notice them |
//! | [`plan`] | looking into a plan: its scans and what they counted |
//! | [`relation`] | when two answers to one query are the same answer |
//! | [`session`] | sessions for every way the tests run a table |
//! | [`slt`] | SQL cases: a runner, its reports, the cases known to fail |
//! | [`store`] | an object store that counts requests, answers late and fails |
//!
//! | command | what it does |
//! |---|---|
//! | `cargo run -p trommel-tests --bin slt -- [--format PARQUET] PATH…` | runs SQL cases |
//! | `cargo run -p trommel-tests --bin fuzz -- --minutes N --seed S` | random queries against the oracles; SQL cases of mismatches |
//! | `cargo run -p trommel-tests --bin mutants` | shows that the tests notice the faults of `mutants.txt` |

pub mod differential;
pub mod files;
pub mod mutants;
pub mod plan;
pub mod relation;
pub mod session;
pub mod slt;
pub mod store;
