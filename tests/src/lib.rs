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

pub mod differential;
pub mod mutants;
pub mod relation;
pub mod session;
pub mod slt;
