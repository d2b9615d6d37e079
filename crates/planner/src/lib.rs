// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The pure half of Trommel: expressions, scan plans, expression pushdown and pruning verdicts.
//!
//! Nothing here reads a byte, awaits, or knows DataFusion's `PhysicalExpr` and `ExecutionPlan`. The
//! crate stands on arrow and on DataFusion's vocabulary crates, so that other engines on those crates
//! can use it as it is.
//!
//! | module | what it holds |
//! |---|---|
//! | [`index`] | the index spaces, as types: output, table, fragment column and Parquet leaf |
//! | [`rows`] | row domains, as types: ranges and selections of rows |
//! | [`floats`] | the two orders of floats, and how float bounds are loaded |
//! | [`expr`] | bound expressions: type-checked trees, function vtables with facts, evaluation |
//! | [`optimizer`] | rules that rewrite bound expressions, and the driver they run under |
//! | [`pruning`] | zone statistics, three-valued verdicts over arrays of zones |
//! | [`plan`] | scan plans: the operator container and its operators |
//! | [`codec`] | plans and expressions as bytes |
//! | [`pushdown`] | moving expressions through scan plans: annotate, partition, lower |

pub mod codec;
pub mod expr;
pub mod floats;
pub mod index;
pub mod optimizer;
pub mod plan;
pub mod pruning;
pub mod pushdown;
pub mod rows;
