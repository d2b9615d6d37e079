// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Guards against what DataFusion 55.2 hands down wrongly, and against what a scan must never do.
//!
//! | file | guards |
//! |---|---|
//! | [`aggregates`] | G1, G2: min/max filters that forget an aggregate |
//! | [`limits`] | G3, G4, G14: a limit below filters and sorts |
//! | [`reset`] | G5: a plan run again after `reset_plan_states` |
//! | [`waiting`] | G6, G13: filters that never come, partitions that are never polled |
//! | [`requests`] | G7: no request before the first poll, none after the stream is dropped |
//! | [`copies`] | G8: one copy of each live filter |
//! | [`errors`] | G9: a filter that fails over zones keeps them |
//! | [`floats`] | G10, G11: NaN beyond the bounds, ±0.0 in sets |
//! | [`nested`] | G12: TopK by a nested key |
//! | [`unlinked`] | what a session without `LinkDynamicFilters` believes |
//! | [`executions`] | a plan run twice, one after the other and side by side |
//! | [`fairness`] | other tasks get their turn while zones are skipped |
//!
//! Where DataFusion's own scan has the fault that a guard is against, the test shows that fault first: it fails, and
//! says so, once DataFusion is mended.

mod aggregates;
mod copies;
mod errors;
mod executions;
mod fairness;
mod floats;
mod limits;
mod nested;
mod requests;
mod reset;
mod support;
mod unlinked;
mod waiting;
