// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The plan operators, one file each, with the rules that rewrite them.

mod concat;
mod eval;
mod filter;
mod list_pack;
mod pack;
mod row_idx;
mod segment_scan;
mod take;
mod unknown;

pub use concat::{Concat, ConcatData, ConcatOfConcat, ConcatPlan};
pub use eval::{Eval, EvalData, ExpressionScanPlan, PushDown};
pub use filter::{Filter, FilterByConstant, FilterOfConcat, FilterPlan};
pub use list_pack::{ListPack, ListPackPlan};
pub use pack::{Pack, PackData, PackPlan};
pub use row_idx::{RowIdx, RowIdxData, RowIdxPlan};
pub use segment_scan::{SegmentScan, SegmentScanPlan};
pub use take::{Take, TakeData, TakePlan};
pub use unknown::{Unknown, UnknownData};

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::{Children, PlanError, PlanId, Shape};

/// Checks that an operator gets as many children as it takes.
fn check_arity(operator: PlanId, expected: usize, children: &Children) -> Result<(), PlanError> {
    match children.len() {
        actual if actual == expected => Ok(()),
        actual => Err(PlanError::Arity { operator, expected, actual }),
    }
}

/// What an operator writes that holds nothing.
#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

/// What an operator writes that holds one number.
#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    number: u64,
}

/// The field of a boolean.
fn boolean_field(nullable: bool) -> FieldRef {
    Arc::new(Field::new("boolean", DataType::Boolean, nullable))
}

/// The shape of what says for each of `rows` rows whether it isn't NULL.
fn validity_shape(rows: u64) -> Shape {
    Shape::new(boolean_field(false), rows)
}
