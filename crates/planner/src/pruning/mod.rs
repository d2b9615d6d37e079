// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pruning: which zones a predicate can't match, and which it matches wholly.
//!
//! A predicate is compiled once ([`PrunePredicate`]) and then judged over arrays of zones
//! ([`ZoneColumn`]) as often as asked. Judging is abstract evaluation: for each zone it computes the set
//! of truth values that the predicate may take there ([`Truth`]); AND, OR and NOT are tables over such
//! sets. Columns have zones with different borders, so results are runs of rows, never a bit a row.
//!
//! Absent or untrusted statistics give the set of all truth values. Nothing here fails: what can't be
//! judged must be read.

mod truth;
mod verdicts;
mod zones;

pub use truth::{Truth, TruthRuns};
pub use verdicts::{PrunePredicate, Verdicts};
pub use zones::{Bound, ColumnPath, Level, ZoneColumn, ZoneSource};
