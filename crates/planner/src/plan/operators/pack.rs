// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A struct of its children.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};

use super::check_arity;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanVTable, Shape};

/// A struct with one child for each field.
///
/// A struct without fields still has rows. The struct itself is never NULL: a nullable one needs a
/// validity child, which this operator doesn't take yet.
#[derive(Debug)]
pub struct Pack;

/// A node of [`Pack`].
pub type PackPlan = Plan<Pack>;

impl PlanVTable for Pack {
    type Data = ();

    const ID: PlanId = PlanId::new("trommel.pack");

    fn with_children(_: &(), shape: &Shape, children: &Children) -> Result<(), PlanError> {
        let unsupported = |detail| PlanError::Unsupported {
            operator: Self::ID,
            data_type: shape.field.data_type().clone(),
            detail,
        };
        let DataType::Struct(fields) = shape.field.data_type() else {
            return Err(unsupported("it makes structs"));
        };
        if shape.field.is_nullable() {
            return Err(unsupported("the struct may not be NULL"));
        }
        check_arity(Self::ID, fields.len(), children)?;
        fields.iter().zip(children.shapes()).try_for_each(|(field, child)| {
            let wanted = Shape::new(Arc::clone(field), shape.rows);
            child.check_fits(&wanted, || format!("field \"{}\" of a pack", field.name()))
        })
    }

    fn child_name(_: &(), shape: &Shape, child: usize) -> String {
        match shape.field.data_type() {
            DataType::Struct(fields) => fields.get(child).map_or_else(String::new, |f| f.name().clone()),
            _ => String::new(),
        }
    }

    fn fmt(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pack")
    }
}

impl PackPlan {
    /// The struct with these fields, `rows` times.
    ///
    /// # Errors
    /// When there isn't one child for each field, or a child has another type or another number of rows.
    pub fn try_new(fields: Fields, rows: u64, children: Children) -> Result<Self, PlanError> {
        let field = Arc::new(Field::new("", DataType::Struct(fields), false));
        Self::try_from_parts(Shape::new(field, rows), &(), children)
    }

    /// The struct without fields, `rows` times: what a constant is evaluated over.
    pub fn empty(rows: u64) -> Self {
        let field = Arc::new(Field::new_struct("", Fields::empty(), false));
        Self::new_unchecked(Shape::new(field, rows), (), Children::none())
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::FieldRef;
    use rstest::rstest;

    use super::*;
    use crate::index::FragmentCol;
    use crate::plan::{PlanRef, SegmentId, SegmentScanPlan};

    fn field(name: &str, nullable: bool) -> FieldRef {
        Arc::new(Field::new(name, DataType::Int32, nullable))
    }

    fn segment(rows: u64, nullable: bool) -> PlanRef {
        let segment = SegmentId { row_group: 0, column: FragmentCol(0) };
        SegmentScanPlan::new(segment, field("file's name", nullable), rows).into()
    }

    #[test]
    fn without_fields_it_keeps_its_rows() {
        assert_eq!(PackPlan::empty(12).as_plan().rows(), 12);
    }

    #[rstest]
    #[case::fits(vec![segment(5, true), segment(5, false)], None)]
    #[case::too_few(vec![segment(5, true)], Some("trommel.pack takes 2 children, not 1"))]
    #[case::rows(vec![segment(5, true), segment(4, false)], Some("field \"b\" of a pack: 5 rows expected, not 4"))]
    #[case::nulls(vec![segment(5, true), segment(5, true)], Some("field \"b\" of a pack: Int32 expected, not Int32?"))]
    fn children_are_checked(#[case] children: Vec<PlanRef>, #[case] error: Option<&str>) {
        let fields = Fields::from(vec![field("a", true), field("b", false)]);
        let plan = PackPlan::try_new(fields, 5, children.into());
        assert_eq!(plan.err().map(|e| e.to_string()).as_deref(), error);
    }

    #[test]
    fn a_nullable_struct_is_refused() {
        let shape = Shape::new(Arc::new(Field::new_struct("", Fields::empty(), true)), 5);
        assert!(PackPlan::try_from_parts(shape, &(), Children::none()).is_err());
    }
}
