// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Where a live filter comes from, as told by [`LinkDynamicFilters`](crate::LinkDynamicFilters).

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::JoinType;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::PartitionMode;

/// Where a live filter comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Origin {
    /// A hash join's build side: complete before the scan is first polled, as a rule.
    Join {
        /// The join's type.
        join_type: JoinType,
        /// How its build side is spread over partitions.
        mode: PartitionMode,
    },
    /// A sort with a limit: tightens while the scan runs.
    TopK {
        /// How many rows it keeps (its offset included).
        k: usize,
        /// Its sort keys, in terms of the table's columns.
        order: Vec<SortKey>,
        /// Whether every node between the sort and the scan hands on each row exactly once.
        rows_preserved: bool,
    },
    /// Ungrouped min and max aggregates: tighten while the scan runs.
    MinMax {
        /// How many aggregates there are. A filter that names fewer of them at some moment is not to be
        /// trusted at that moment.
        aggregates: usize,
        /// What each aggregate that is over a plain column looks for.
        extremes: Vec<Extreme>,
    },
    /// A producer that this version doesn't know; the filter's columns were found to be the right ones.
    Other,
    /// Not told: the session has no [`LinkDynamicFilters`](crate::LinkDynamicFilters), or the rule hasn't
    /// seen this filter.
    Unknown,
}

/// One sort key.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The expression sorted by, over the table's schema.
    pub expr: Arc<dyn PhysicalExpr>,
    /// Its direction, and where NULLs go.
    pub options: SortOptions,
}

/// The smallest or the largest value of an expression.
#[derive(Debug, Clone)]
pub struct Extreme {
    /// The expression, over the table's schema.
    pub expr: Arc<dyn PhysicalExpr>,
    /// Whether the largest value is wanted.
    pub max: bool,
}
