// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Reading one segment.

use std::fmt;

use arrow::datatypes::FieldRef;

use super::check_arity;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanVTable, SegmentId, Shape};

/// Reads one segment and decodes it; its rows are the rows of the segment's row group.
#[derive(Debug)]
pub struct SegmentScan;

/// A node of [`SegmentScan`].
pub type SegmentScanPlan = Plan<SegmentScan>;

impl PlanVTable for SegmentScan {
    type Data = SegmentId;

    const ID: PlanId = PlanId::new("trommel.segment_scan");

    fn with_children(data: &SegmentId, _: &Shape, children: &Children) -> Result<SegmentId, PlanError> {
        check_arity(Self::ID, 0, children)?;
        Ok(*data)
    }

    fn child_name(_: &SegmentId, _: &Shape, child: usize) -> String {
        child.to_string()
    }

    fn fmt(data: &SegmentId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment_scan(row group {}, column {})", data.row_group, data.column.0)
    }
}

impl SegmentScanPlan {
    /// Reads `segment`, which decodes to `rows` values with this field.
    pub fn new(segment: SegmentId, field: FieldRef, rows: u64) -> Self {
        Self::new_unchecked(Shape::new(field, rows), segment, Children::none())
    }
}
