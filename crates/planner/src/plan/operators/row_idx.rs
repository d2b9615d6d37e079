// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The number of each row.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};

use super::check_arity;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanVTable, Shape};

/// The number of each row in the fragment: the first row's, and one more for each row after it.
#[derive(Debug)]
pub struct RowIdx;

/// A node of [`RowIdx`].
pub type RowIdxPlan = Plan<RowIdx>;

/// What a [`RowIdx`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowIdxData {
    /// The number of the first row.
    pub start: u64,
}

impl PlanVTable for RowIdx {
    type Data = RowIdxData;

    const ID: PlanId = PlanId::new("trommel.row_idx");

    fn with_children(data: &RowIdxData, _: &Shape, children: &Children) -> Result<RowIdxData, PlanError> {
        check_arity(Self::ID, 0, children)?;
        Ok(*data)
    }

    fn child_name(_: &RowIdxData, _: &Shape, _: usize) -> String {
        String::new()
    }

    fn fmt(data: &RowIdxData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row_idx(from {})", data.start)
    }
}

impl RowIdxPlan {
    /// The numbers of `rows` rows, the first of which is row `start`.
    ///
    /// # Errors
    /// When they don't end.
    pub fn try_new(start: u64, rows: u64) -> Result<Self, PlanError> {
        let field = Arc::new(Field::new("row", DataType::UInt64, false));
        Self::try_from_parts(Shape::new(field, rows), &RowIdxData { start }, Children::none())
    }
}
