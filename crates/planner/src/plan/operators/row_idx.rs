// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The numbers of rows.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};

use prost::Message;

use super::{Number, check_arity};
use crate::codec::{CodecError, ExprCodec, read};
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

    fn with_children(data: &RowIdxData, shape: &Shape, children: &Children) -> Result<RowIdxData, PlanError> {
        check_arity(Self::ID, 0, children)?;
        let unsupported = |detail| PlanError::Unsupported {
            operator: Self::ID,
            data_type: shape.field.data_type().clone(),
            detail,
        };
        if shape.field.data_type() != &DataType::UInt64 {
            return Err(unsupported("row numbers are UInt64"));
        }
        if data.start.checked_add(shape.rows).is_none() {
            return Err(unsupported("they would go beyond it"));
        }
        Ok(*data)
    }

    fn encode(data: &RowIdxData, _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Number { number: data.start }.encode_to_vec()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<RowIdxData, CodecError> {
        Ok(RowIdxData { start: read::<Number>(bytes)?.number })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end() {
        assert_eq!(RowIdxPlan::try_new(7, 3).unwrap().as_plan().to_string(), "row_idx(from 7)");
        assert!(RowIdxPlan::try_new(u64::MAX, 0).is_ok());
        assert!(RowIdxPlan::try_new(u64::MAX, 1).is_err());
        let shape = Shape::new(Arc::new(Field::new("row", DataType::Int64, false)), 1);
        assert!(RowIdxPlan::try_from_parts(shape, &RowIdxData { start: 0 }, Children::none()).is_err());
    }
}
