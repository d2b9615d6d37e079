// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Reading one segment.

use std::fmt;

use arrow::datatypes::FieldRef;

use prost::Message;

use super::check_arity;
use crate::codec::{CodecError, ExprCodec, read};
use crate::index::FragmentCol;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanVTable, SegmentId, Shape};

/// Reads one segment and decodes it; its rows are the rows of the segment's row group.
#[derive(Debug)]
pub struct SegmentScan;

/// A node of [`SegmentScan`].
pub type SegmentScanPlan = Plan<SegmentScan>;

/// What is written of a segment.
#[derive(Clone, PartialEq, Message)]
struct Segment {
    #[prost(uint64, tag = "1")]
    row_group: u64,
    #[prost(uint64, tag = "2")]
    column: u64,
    #[prost(uint32, repeated, tag = "3")]
    path: Vec<u32>,
}

impl PlanVTable for SegmentScan {
    type Data = SegmentId;

    const ID: PlanId = PlanId::new("trommel.segment_scan");

    fn with_children(data: &SegmentId, _: &Shape, children: &Children) -> Result<SegmentId, PlanError> {
        check_arity(Self::ID, 0, children)?;
        Ok(*data)
    }

    fn encode(data: &SegmentId, _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        let path = data.path.iter().map(|field| field as u32).collect();
        let (row_group, column) = (data.row_group as u64, data.column.0 as u64);
        Ok(Some(Segment { row_group, column, path }.encode_to_vec()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<SegmentId, CodecError> {
        let Segment { row_group, column, path } = read(bytes)?;
        let number = |number| usize::try_from(number).map_err(|_| CodecError::TooLarge);
        let whole = SegmentId::new(number(row_group)?, FragmentCol(number(column)?));
        let mut fields = path.iter().map(|field| *field as usize);
        fields.try_fold(whole, SegmentId::field).ok_or(CodecError::TooLarge)
    }

    fn child_name(_: &SegmentId, _: &Shape, child: usize) -> String {
        child.to_string()
    }

    fn fmt(data: &SegmentId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment_scan({data})")
    }
}

impl SegmentScanPlan {
    /// Reads `segment`, which decodes to `rows` values with this field.
    pub fn new(segment: SegmentId, field: FieldRef, rows: u64) -> Self {
        Self::new_unchecked(Shape::new(field, rows), segment, Children::none())
    }
}
