// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The plan operators, one file each.

mod concat;
mod eval;
mod pack;
mod row_idx;
mod segment_scan;

pub use concat::{Concat, ConcatData, ConcatPlan};
pub use eval::{Eval, EvalData, ExpressionScanPlan};
pub use pack::{Pack, PackPlan};
pub use row_idx::{RowIdx, RowIdxData, RowIdxPlan};
pub use segment_scan::{SegmentScan, SegmentScanPlan};

use super::{Children, PlanError, PlanId};

/// Checks that an operator gets as many children as it takes.
fn check_arity(operator: PlanId, expected: usize, children: &Children) -> Result<(), PlanError> {
    match children.len() {
        actual if actual == expected => Ok(()),
        actual => Err(PlanError::Arity { operator, expected, actual }),
    }
}
