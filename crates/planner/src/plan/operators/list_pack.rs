// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Lists of their elements.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::{Nothing, check_arity, validity_shape};
use crate::codec::{CodecError, ExprCodec, read};
use crate::plan::{Children, PackPlan, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape};

/// Lists, large lists or maps of elements: list *i* has those from offset *i* up to offset *i + 1*.
///
/// The children are the elements, the offsets (one more than there are lists, ascending, within the
/// elements) and, when a list may be NULL, the validity. What lies between the offsets of a NULL list
/// means nothing. The elements of a map are structs of key and value.
#[derive(Debug)]
pub struct ListPack;

/// A node of [`ListPack`].
pub type ListPackPlan = Plan<ListPack>;

impl ListPack {
    /// The child with the elements.
    pub const ELEMENTS: usize = 0;
    /// The child that says where each list begins, and where the last ends.
    pub const OFFSETS: usize = 1;
    /// The child that says whether each list isn't NULL, when one may be.
    pub const VALIDITY: usize = 2;
}

impl PlanVTable for ListPack {
    type Data = ();

    const ID: PlanId = PlanId::new("trommel.list_pack");

    fn with_children(_: &(), shape: &Shape, children: &Children) -> Result<(), PlanError> {
        let (item, offsets) = layout(shape.field.data_type())?;
        check_arity(Self::ID, if shape.field.is_nullable() { 3 } else { 2 }, children)?;
        let [elements, actual] = [&children.shapes()[Self::ELEMENTS], &children.shapes()[Self::OFFSETS]];
        elements.check_fits(&Shape::new(item, elements.rows), || "elements of a list_pack".to_owned())?;
        let offsets = Arc::new(Field::new("offsets", offsets, false));
        let wanted = Shape::new(offsets, shape.rows.saturating_add(1));
        actual.check_fits(&wanted, || "offsets of a list_pack".to_owned())?;
        match children.shapes().get(Self::VALIDITY) {
            None => Ok(()),
            Some(validity) => {
                validity.check_fits(&validity_shape(shape.rows), || "validity of a list_pack".to_owned())
            }
        }
    }

    fn encode(_: &(), _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Vec::new()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<(), CodecError> {
        read::<Nothing>(bytes).map(|_| ())
    }

    fn child_name(_: &(), _: &Shape, child: usize) -> String {
        ["elements", "offsets", "valid"].get(child).copied().unwrap_or_default().to_owned()
    }

    fn fmt(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("list_pack")
    }
}

/// The field of the elements and the type of the offsets of a list type.
fn layout(data_type: &DataType) -> Result<(FieldRef, DataType), PlanError> {
    match data_type {
        DataType::List(item) | DataType::Map(item, _) => Ok((Arc::clone(item), DataType::Int32)),
        DataType::LargeList(item) => Ok((Arc::clone(item), DataType::Int64)),
        other => Err(PlanError::Unsupported {
            operator: ListPack::ID,
            data_type: other.clone(),
            detail: "it makes lists, large lists and maps",
        }),
    }
}

impl ListPackPlan {
    /// `rows` lists with this field.
    ///
    /// # Errors
    /// When it isn't the field of a list, or the children don't make it.
    pub fn try_new(field: FieldRef, rows: u64, children: Children) -> Result<Self, PlanError> {
        Self::try_from_parts(Shape::new(field, rows), &(), children)
    }

    /// *lists of elements → lists of as many structs without fields*, of which nothing is read; `None`
    /// for what is so already. Whatever depends on lengths and validity alone is the same over both.
    ///
    /// # Errors
    /// When the children don't fit any more.
    pub fn without_elements(&self) -> Result<Option<PlanRef>, PlanError> {
        let (shape, children) = (self.as_plan().shape(), self.as_plan().children());
        let elements = &children.shapes()[ListPack::ELEMENTS];
        let nothing = PackPlan::empty(elements.rows);
        if elements.field.data_type() == nothing.as_plan().field().data_type() {
            return Ok(None);
        }
        let item = Arc::new(nothing.as_plan().field().as_ref().clone().with_name("item"));
        let data_type = match shape.field.data_type() {
            DataType::LargeList(_) => DataType::LargeList(item),
            _ => DataType::List(item),
        };
        let field = Arc::new(shape.field.as_ref().clone().with_data_type(data_type));
        let mut picked = vec![(Children::from(vec![nothing.into()]), 0)];
        picked.extend((ListPack::OFFSETS..children.len()).map(|child| (children.clone(), child)));
        Ok(Some(Self::try_new(field, shape.rows, Children::pick(picked)?)?.into()))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use rstest::rstest;

    use super::*;
    use crate::index::FragmentCol;
    use crate::plan::{SegmentId, SegmentScanPlan};

    fn segment(data_type: DataType, nullable: bool, rows: u64) -> PlanRef {
        let segment = SegmentId::new(0, FragmentCol(0));
        SegmentScanPlan::new(segment, Arc::new(Field::new("v", data_type, nullable)), rows).into()
    }

    fn item(nullable: bool) -> FieldRef {
        Arc::new(Field::new("item", DataType::Utf8, nullable))
    }

    fn list(nullable: bool) -> FieldRef {
        Arc::new(Field::new("l", DataType::List(item(true)), nullable))
    }

    fn parts(offset_rows: u64, valid: Option<u64>) -> Children {
        let mut parts = vec![segment(DataType::Utf8, true, 50), segment(DataType::Int32, false, offset_rows)];
        parts.extend(valid.map(|rows| segment(DataType::Boolean, false, rows)));
        parts.into()
    }

    #[rstest]
    #[case::lists(list(false), parts(8, None), None)]
    #[case::nullable(list(true), parts(8, Some(7)), None)]
    #[case::no_validity(list(true), parts(8, None), Some("trommel.list_pack takes 3 children, not 2"))]
    #[case::one_more_offset(
        list(false),
        parts(7, None),
        Some("offsets of a list_pack: 8 rows expected, not 7")
    )]
    #[case::short(list(true), parts(8, Some(6)), Some("validity of a list_pack: 7 rows expected, not 6"))]
    #[case::large(
        Arc::new(Field::new("l", DataType::LargeList(item(true)), false)),
        parts(8, None),
        Some("offsets of a list_pack: Int64 expected, not Int32")
    )]
    #[case::elements(
        Arc::new(Field::new("l", DataType::List(item(false)), false)),
        parts(8, None),
        Some("elements of a list_pack: Utf8 expected, not Utf8?")
    )]
    fn children_are_checked(#[case] field: FieldRef, #[case] parts: Children, #[case] error: Option<&str>) {
        let plan = ListPackPlan::try_new(field, 7, parts);
        assert_eq!(plan.err().map(|e| e.to_string()).as_deref(), error);
    }

    #[test]
    fn lists_without_elements_read_offsets_and_validity_only() {
        let plan = ListPackPlan::try_new(list(true), 7, parts(8, Some(7))).unwrap();
        let bare = plan.without_elements().unwrap().unwrap();
        assert!(bare.downcast::<ListPack>().unwrap().without_elements().unwrap().is_none());
        assert_snapshot!(bare.tree(), @r"
        list_pack: List(non-null Struct())? × 7
          elements = pack: struct of 0 × 50
          offsets = segment_scan(row group 0, column 0): Int32 × 8
          valid = segment_scan(row group 0, column 0): Boolean × 7
        ");
    }
}
