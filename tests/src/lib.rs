// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Tests of Trommel across crates.
//!
//! | module | what it holds |
//! |---|---|
//! | [`differential`] | random tables and queries against an in-memory oracle |
//! | [`mutants`] | faults put into the code to see the tests notice them |
//! | [`relation`] | when two answers to one query are the same answer |
//! | [`session`] | sessions for every way the tests run a table |
//! | [`slt`] | SQL cases: a runner, its reports, the cases known to fail |
//!
//! | command | what it does |
//! |---|---|
//! | `cargo run -p trommel-tests --bin slt -- [--format PARQUET] PATH…` | runs SQL cases |
//! | `cargo run -p trommel-tests --bin differential -- --iterations N` | random queries against the oracle |
//! | `cargo run -p trommel-tests --bin mutants` | shows that the tests notice the faults of `mutants.txt` |

pub mod differential;
pub mod mutants;
pub mod relation;
pub mod session;
pub mod slt;
