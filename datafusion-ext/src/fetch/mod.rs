// Licensed under the Apache License, Version 2.0. See LICENSE.

//! TopK in two steps: which rows win, then what is in them.
//!
//! A sort with a limit over a wide scan throws away nearly every row it is given, and each one given costs
//! pages of all columns. [`FetchTopKRows`] lets the scan put out only what decides, the sort keys and the
//! number of each row, and puts a [`FetchRowsExec`] above the sort (and its merge and offset) that fetches
//! the other columns for the rows that are left:
//!
//! ```text
//! SortPreservingMergeExec fetch=10            FetchRowsExec: columns=[b, c, d]
//!   SortExec: TopK(fetch=10) a        ──►       SortPreservingMergeExec fetch=10
//!     FilteredReadExec [a, b, c, d]               SortExec: TopK(fetch=10) a
//!                                                   FilteredReadExec [a, _row]
//! ```
//!
//! Projections between the sort and the scan are applied to the fetched rows instead, predicates stay where
//! they were. The rule runs before dynamic filters are handed down, so that the narrow scan gets the sort's.

mod exec;
mod topk;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

pub use self::exec::FetchRowsExec;

use self::topk::TopK;

/// The rule that lets a TopK over a Trommel scan fetch wide columns for its winners alone, where that reads
/// less.
///
/// It never changes an answer; among rows that tie for the last places others may win, as between any two
/// runs of a TopK.
#[derive(Debug, Default)]
pub struct FetchTopKRows {}

impl PhysicalOptimizerRule for FetchTopKRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rewrite = |node: Arc<dyn ExecutionPlan>| match TopK::at(&node).map(|topk| topk.in_two_steps()) {
            Some(Ok(Some(rewritten))) if rewritten.schema() == node.schema() => {
                Ok(Transformed::new(rewritten, true, TreeNodeRecursion::Jump))
            }
            Some(Err(error)) => Err(error),
            _ => Ok(Transformed::no(node)),
        };
        plan.transform_down(rewrite).data()
    }

    fn name(&self) -> &str {
        "FetchTopKRows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
