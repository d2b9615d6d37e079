// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pruning: which zones a predicate can't match, and which it matches wholly.
//!
//! A predicate is compiled once ([`PrunePredicate`]) and then judged over arrays of zones
//! ([`ZoneColumn`]) as often as asked. Judging is abstract evaluation: for each zone it computes the set
//! of truth values that the predicate may take there ([`Truth`]); AND, OR and NOT are tables over such
//! sets. Columns have zones with different borders, so results are runs of rows, never a bit a row.
//!
//! | step | file |
//! |---|---|
//! | expression → tree of tests over operands | `compile`, `node`, `operand` |
//! | zones of a column → what an operand may be in each | `domain` |
//! | a test of an operand, a family a file | `leaf` |
//! | functions of booleans | `mapping`, `case`, `lanes` |
//! | one judgement over one level of zones | `judge`, `judged` |
//!
//! Absent or untrusted statistics give the set of all truth values. Nothing here fails: what can't be
//! judged must be read.

mod case;
mod compile;
mod domain;
mod judge;
mod judged;
mod lanes;
mod leaf;
mod mapping;
mod node;
mod operand;
#[cfg(test)]
mod tests;
mod truth;
mod verdicts;
mod zones;

pub(crate) use leaf::{Pattern, next_prefix};
pub use truth::{Truth, TruthRuns};
pub use verdicts::{PrunePredicate, Verdicts};
pub use zones::{Bound, ColumnPath, Level, ZoneColumn, ZoneSource};
