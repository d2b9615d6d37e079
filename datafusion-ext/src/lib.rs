// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Trommel for DataFusion: a table over Parquet files whose scan keeps listening while it reads.
//!
//! | module | what it holds |
//! |---|---|
//! | [`session`] | one call that installs everything in a session |
//! | [`table`] | `TrommelTable`, its listing, schema and DDL |
//! | [`exec`] | `FilteredReadExec`, the scan, and how its partitions share the work |
//! | [`live`] | filters that change while the scan runs, and where they come from |
//! | [`fetch`] | the rule that lets a TopK fetch wide columns for its winners alone |
//! | [`link`] | the rule that tells each scan the origin of its filters |
//! | [`translate`] | DataFusion's physical expressions as ours |

pub mod exec;
pub mod fetch;
pub mod link;
pub mod live;
pub mod session;
pub mod table;
pub mod translate;

pub use exec::FilteredReadExec;
pub use fetch::{FetchRowsExec, FetchTopKRows};
pub use link::LinkDynamicFilters;
pub use session::TrommelSessionExt;
pub use table::{
    LateFetch, LiveRowFilters, TableOptions, TrommelTable, TrommelTableBuilder, TrommelTableFactory,
};
