// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pruning: which zones a predicate can't match, and which it matches wholly.
//!
//! A predicate is compiled once ([`PrunePredicate`]) and then judged over arrays of zones
//! ([`ZoneColumn`]) as often as asked. Judging asks where the predicate may be one of some truth values
//! ([`Truth`]): rows for which it can't be TRUE don't match, rows for which it can't be FALSE or NULL all do.
//! Columns have zones with different borders, so results are ranges of rows, never a bit a row.
//!
//! | step | file |
//! |---|---|
//! | expression → tree of tests over operands | `compile`, `node`, `operand` |
//! | zones of a column → what an operand may be in each | `known`, `domain`, `arithmetic` |
//! | a test of an operand, a family a file | `leaf`, over `ordered` |
//! | what bounds don't decide | `probe`, `candidates` |
//! | functions of booleans | `mapping`, `case`, `node` |
//! | one judgement over one level of zones | `judge`, `grid` |
//! | sets of zones and of rows | `words`, `extent` |
//!
//! Absent or untrusted statistics give the set of all truth values. Nothing here fails: what can't be
//! judged must be read.

mod arithmetic;
mod candidates;
mod case;
mod compile;
mod domain;
mod extent;
mod grid;
mod judge;
mod known;
mod leaf;
mod mapping;
mod node;
mod operand;
mod ordered;
mod probe;
mod ranked;
#[cfg(test)]
mod tests;
mod truth;
mod verdicts;
mod words;
mod zones;

pub use candidates::Candidates;
pub(crate) use leaf::{Pattern, next_prefix};
pub use ranked::Ranked;
pub use truth::{Truth, TruthRuns};
pub use verdicts::{PrunePredicate, Verdicts};
pub use zones::{Bound, Level, ZoneColumn, ZoneSource};
