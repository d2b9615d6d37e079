// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernel of [`SegmentScan`]: a field of a struct is a segment of its own.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::traverse::replace;
use super::{Kernels, Reshaped};
use crate::expr::BoundExpression;
use crate::expr::functions::GetItem;
use crate::plan::operators::SegmentScan;
use crate::plan::{PackPlan, PlanError, PlanRef, SegmentId, SegmentScanPlan};

/// *e over a segment of structs → e over the pack of the fields that it reads, each a segment; requires that
/// e reads fields only.* A field is read as NULL where the struct is, so the pack needs no validity.
pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels.with_reshape::<SegmentScan>(|expression, plan, _| {
        let (Some(segment), DataType::Struct(fields)) =
            (plan.as_opt::<SegmentScan>(), plan.field().data_type())
        else {
            return Ok(None);
        };
        let Some(read) = fields_read(expression, fields.len()) else { return Ok(None) };
        split(expression, plan, segment, fields, &read)
    })
}

/// The fields that an expression reads of a struct, which it reads for no other purpose.
fn fields_read(expression: &BoundExpression, fields: usize) -> Option<Vec<bool>> {
    let mut read = vec![false; fields];
    let (mut stack, mut seen) = (vec![expression], HashSet::new());
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        if node.is_root() {
            return None;
        }
        match (node.as_opt::<GetItem>(), node.children()) {
            (Some(field), [of]) if of.is_root() => *read.get_mut(*field)? = true,
            (_, children) => stack.extend(children),
        }
    }
    Some(read)
}

fn split(
    expression: &BoundExpression,
    plan: &PlanRef,
    segment: &SegmentId,
    fields: &Fields,
    read: &[bool],
) -> Result<Reshaped, PlanError> {
    let (mut parts, mut packed, mut at) = (Vec::<PlanRef>::new(), Vec::<FieldRef>::new(), Vec::new());
    for (number, field) in fields.iter().enumerate() {
        at.push(parts.len());
        if !read[number] {
            continue;
        }
        let Some(part) = segment.field(number) else { return Ok(None) };
        let nullable = field.is_nullable() || plan.field().is_nullable();
        let field = Arc::new(Field::clone(field).with_nullable(nullable));
        parts.push(SegmentScanPlan::new(part, Arc::clone(&field), plan.rows()).into());
        packed.push(field);
    }
    let pack: PlanRef = PackPlan::try_new(packed.into(), plan.rows(), parts.into())?.into();
    let root = BoundExpression::root(Arc::clone(pack.field()));
    let expression = replace(expression, |node| match (node.as_opt::<GetItem>(), node.children()) {
        (Some(field), [of]) if of.is_root() => GetItem::of(root.clone(), at[*field]).ok(),
        _ => None,
    })?;
    Ok(Some((expression, pack)))
}
