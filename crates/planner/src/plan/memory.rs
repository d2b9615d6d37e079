// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running plans over arrays in memory: what the operators mean, for tests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, LargeListArray, ListArray, MapArray, StructArray,
    UInt64Array, new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, concat, filter, take};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion_common::Result;

use super::operators::{Concat, Eval, Filter, ListPack, Pack, RowIdx, SegmentScan, Take};
use super::{PlanRef, SegmentId};
use crate::expr::{Input, evaluate};

/// Segments in memory, and which have been read.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub segments: HashMap<SegmentId, ArrayRef>,
    pub read: RefCell<Vec<SegmentId>>,
}

impl Memory {
    /// The value of a plan, which is checked against what the plan says of it.
    pub fn run(&self, plan: &PlanRef) -> Result<ArrayRef> {
        let value = self.compute(plan)?;
        assert_eq!(value.data_type(), plan.field().data_type(), "{plan:?}");
        assert!(plan.field().is_nullable() || value.logical_null_count() == 0, "{value:?} of {plan:?}");
        match plan.shape().filtered {
            false => assert_eq!(value.len() as u64, plan.rows(), "{plan:?}"),
            true => assert!(value.len() as u64 <= plan.rows(), "{plan:?}"),
        }
        Ok(value)
    }

    fn compute(&self, plan: &PlanRef) -> Result<ArrayRef> {
        let child = |child: usize| self.run(plan.child(child)?);
        if let Some(segment) = plan.as_opt::<SegmentScan>() {
            self.read.borrow_mut().push(*segment);
            return Ok(Arc::clone(&self.segments[segment]));
        }
        if let Some(row_idx) = plan.as_opt::<RowIdx>() {
            return Ok(Arc::new(UInt64Array::from_iter_values(row_idx.start..row_idx.start + plan.rows())));
        }
        if let Some(eval) = plan.as_opt::<Eval>() {
            let root = child(0)?;
            return evaluate(&eval.expression, Input { root: &root, params: &[] })?
                .into_array_of_size(root.len());
        }
        if plan.as_opt::<Filter>().is_some() {
            let (input, predicate) = (child(Filter::INPUT)?, child(Filter::PREDICATE)?);
            return Ok(filter(&input, predicate.as_boolean())?);
        }
        let children = (0..plan.children().len()).map(child).collect::<Result<Vec<_>>>()?;
        if plan.as_opt::<Concat>().is_some() {
            let empty = new_empty_array(plan.field().data_type());
            let parts: Vec<_> = std::iter::once(&empty).chain(&children).map(|part| &**part).collect();
            return Ok(concat(&parts)?);
        }
        if let Some(data) = plan.as_opt::<Take>() {
            return by_codes(&children[Take::CODES], &children[Take::VALUES], data.null_is_last);
        }
        if plan.as_opt::<ListPack>().is_some() {
            return lists(plan.field().data_type(), &children);
        }
        assert!(plan.as_opt::<Pack>().is_some(), "{plan} can't be run");
        let DataType::Struct(fields) = plan.field().data_type() else { unreachable!() };
        let validity = children.get(fields.len()).map(nulls);
        let columns = children[..fields.len()].to_vec();
        let rows = plan.rows() as usize;
        Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, validity, rows)?))
    }
}

fn by_codes(codes: &ArrayRef, values: &ArrayRef, null_is_last: bool) -> Result<ArrayRef> {
    let codes = cast(codes, &DataType::Int64)?;
    let codes = codes.as_primitive::<Int64Type>();
    let last = null_is_last.then(|| values.len() as i64 - 1);
    let codes: Int64Array = codes.iter().map(|code| code.or(last)).collect();
    Ok(take(values, &codes, None)?)
}

/// The NULLs of a validity.
fn nulls(valid: &ArrayRef) -> NullBuffer {
    NullBuffer::new(BooleanArray::from(valid.to_data()).values().clone())
}

fn lists(data_type: &DataType, children: &[ArrayRef]) -> Result<ArrayRef> {
    let elements = Arc::clone(&children[ListPack::ELEMENTS]);
    let validity = children.get(ListPack::VALIDITY).map(nulls);
    let offsets = &children[ListPack::OFFSETS];
    let small = || OffsetBuffer::new(offsets.as_primitive::<Int32Type>().values().clone());
    Ok(match data_type {
        DataType::List(item) => Arc::new(ListArray::try_new(Arc::clone(item), small(), elements, validity)?),
        DataType::LargeList(item) => {
            let offsets = OffsetBuffer::new(offsets.as_primitive::<Int64Type>().values().clone());
            Arc::new(LargeListArray::try_new(Arc::clone(item), offsets, elements, validity)?)
        }
        DataType::Map(entries, sorted) => {
            let structs = elements.as_struct().clone();
            Arc::new(MapArray::try_new(Arc::clone(entries), small(), structs, validity, *sorted)?)
        }
        other => unreachable!("lists of type {other}"),
    })
}
