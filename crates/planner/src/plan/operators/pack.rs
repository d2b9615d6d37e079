// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A struct of its children.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use prost::Message;

use super::{Number, check_arity, validity_shape};
use crate::codec::{CodecError, ExprCodec, read};
use crate::plan::{Children, Plan, PlanError, PlanId, PlanVTable, Shape};

/// A struct with one child for each field and, when the struct may be NULL, one more for its validity.
///
/// A struct without fields still has rows.
#[derive(Debug)]
pub struct Pack;

/// A node of [`Pack`].
pub type PackPlan = Plan<Pack>;

/// What a [`Pack`] holds besides its children.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackData {
    /// Whether children are NULL wherever the struct is, as fields of a NULL struct are; else they have any
    /// value there, which nobody may see. A child that is masked may be NULL though its field may not.
    pub masked: bool,
}

impl PlanVTable for Pack {
    type Data = PackData;

    const ID: PlanId = PlanId::new("trommel.pack");

    fn with_children(data: &PackData, shape: &Shape, children: &Children) -> Result<PackData, PlanError> {
        let DataType::Struct(fields) = shape.field.data_type() else {
            return Err(PlanError::Unsupported {
                operator: Self::ID,
                data_type: shape.field.data_type().clone(),
                detail: "it makes structs",
            });
        };
        let nullable = shape.field.is_nullable();
        check_arity(Self::ID, fields.len() + usize::from(nullable), children)?;
        for (field, child) in fields.iter().zip(children.shapes()) {
            let may_be_null = field.is_nullable() || nullable && data.masked;
            let wanted = Shape::new(Arc::new(field.as_ref().clone().with_nullable(may_be_null)), shape.rows);
            child.check_fits(&wanted, || format!("field \"{}\" of a pack", field.name()))?;
        }
        match children.shapes().get(fields.len()) {
            None => {}
            Some(validity) => {
                validity.check_fits(&validity_shape(shape.rows), || "validity of a pack".to_owned())?;
            }
        }
        Ok(*data)
    }

    fn encode(data: &PackData, _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Number { number: u64::from(data.masked) }.encode_to_vec()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<PackData, CodecError> {
        match read::<Number>(bytes)?.number {
            number @ (0 | 1) => Ok(PackData { masked: number == 1 }),
            _ => Err(CodecError::Malformed("neither true nor false")),
        }
    }

    fn child_name(_: &PackData, shape: &Shape, child: usize) -> String {
        match shape.field.data_type() {
            DataType::Struct(fields) => fields.get(child).map_or("valid", |f| f.name()).to_owned(),
            _ => String::new(),
        }
    }

    fn fmt(data: &PackData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if data.masked { "pack(masked)" } else { "pack" })
    }
}

impl PackPlan {
    /// The struct with these fields, `rows` times; never NULL.
    ///
    /// # Errors
    /// When there isn't one child for each field, or a child has another type or another number of rows.
    pub fn try_new(fields: Fields, rows: u64, children: Children) -> Result<Self, PlanError> {
        let field = Arc::new(Field::new("", DataType::Struct(fields), false));
        Self::try_from_parts(Shape::new(field, rows), &PackData::default(), children)
    }

    /// The structs with this field, `rows` times: one child for each of its fields, and, if it is nullable,
    /// one more that is TRUE where the struct isn't NULL.
    ///
    /// # Errors
    /// When it isn't the field of a struct, or the children don't make it.
    pub fn of(field: FieldRef, rows: u64, data: PackData, children: Children) -> Result<Self, PlanError> {
        Self::try_from_parts(Shape::new(field, rows), &data, children)
    }

    /// The struct without fields, `rows` times: what a constant is evaluated over.
    pub fn empty(rows: u64) -> Self {
        let field = Arc::new(Field::new_struct("", Fields::empty(), false));
        Self::new_unchecked(Shape::new(field, rows), PackData::default(), Children::none())
    }

    /// The number of the child that says where the struct isn't NULL, if there is one.
    pub fn validity(&self) -> Option<usize> {
        self.as_plan().field().is_nullable().then(|| self.as_plan().children().len().saturating_sub(1))
    }

    /// *pack(fields, valid) → pack(fields and valid, as one more field)*: a struct that is never NULL, of
    /// children as they are, hidden values included; `None` for one that is so already.
    ///
    /// # Errors
    /// Never: the children make such a struct.
    pub fn without_validity(&self) -> Result<Option<Self>, PlanError> {
        let plan = self.as_plan();
        if self.validity().is_none() {
            return Ok(None);
        }
        let named =
            |(child, shape): (usize, &Shape)| shape.field.as_ref().clone().with_name(plan.child_name(child));
        let fields: Fields = plan.children().shapes().iter().enumerate().map(named).collect();
        Self::try_new(fields, plan.rows(), plan.children().clone()).map(Some)
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
        let segment = SegmentId::new(0, FragmentCol(0));
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

    #[rstest]
    #[case::raw(false, 5, Some("field \"b\" of a pack: Int32 expected, not Int32?"))]
    #[case::masked(true, 5, None)]
    #[case::short(true, 4, Some("validity of a pack: 5 rows expected, not 4"))]
    fn a_nullable_struct_has_a_validity(
        #[case] masked: bool,
        #[case] rows: u64,
        #[case] error: Option<&str>,
    ) {
        let fields = Fields::from(vec![field("a", true), field("b", false)]);
        let valid = Arc::new(Field::new("valid", DataType::Boolean, false));
        let valid = SegmentScanPlan::new(SegmentId::new(0, FragmentCol(1)), valid, rows);
        let children = vec![segment(5, true), segment(5, true), valid.into()];
        let field = Arc::new(Field::new("s", DataType::Struct(fields), true));
        let plan = PackPlan::of(Arc::clone(&field), 5, PackData { masked }, children.clone().into());
        assert_eq!(plan.as_ref().err().map(|e| e.to_string()).as_deref(), error);
        if let Ok(plan) = plan {
            assert_eq!(plan.validity(), Some(2));
            let open = plan.without_validity().unwrap().unwrap();
            assert_eq!((open.validity(), open.as_plan().children().len()), (None, 3));
            assert!(open.without_validity().unwrap().is_none());
        }
        let error = PackPlan::of(field, 5, PackData { masked }, children[..2].to_vec().into()).unwrap_err();
        assert_eq!(error.to_string(), "trommel.pack takes 3 children, not 2");
    }
}
