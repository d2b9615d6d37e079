// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rows of several children, one child after the other.

use std::fmt;
use std::ops::Range;

use arrow::datatypes::FieldRef;

use super::Nothing;
use crate::codec::{CodecError, ExprCodec, read};
use crate::optimizer::PlanRewriteRule;
use crate::plan::{Children, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape};

/// The rows of the first child, then those of the second, and so on.
#[derive(Debug)]
pub struct Concat;

/// A node of [`Concat`].
pub type ConcatPlan = Plan<Concat>;

/// What a [`Concat`] holds besides its children.
#[derive(Debug)]
pub struct ConcatData {
    /// Where each child starts, and, as one more, the number of rows of all.
    offsets: Vec<u64>,
}

impl ConcatData {
    /// The rows of a child, in the rows of all.
    pub fn child_rows(&self, child: usize) -> Option<Range<u64>> {
        Some(*self.offsets.get(child)?..*self.offsets.get(child + 1)?)
    }

    /// The children that hold rows of `rows`: all in between these positions.
    pub fn children_of(&self, rows: &Range<u64>) -> Range<usize> {
        if rows.start >= rows.end {
            return 0..0;
        }
        let first = self.offsets.partition_point(|o| *o <= rows.start).saturating_sub(1);
        let children = self.offsets.len().saturating_sub(1);
        let after = self.offsets.partition_point(|o| *o < rows.end).min(children);
        first.min(after)..after
    }
}

impl PlanVTable for Concat {
    type Data = ConcatData;

    const ID: PlanId = PlanId::new("trommel.concat");

    fn with_children(_: &ConcatData, shape: &Shape, children: &Children) -> Result<ConcatData, PlanError> {
        let (mut offsets, mut end) = (Vec::with_capacity(children.len() + 1), 0u64);
        offsets.push(end);
        for (child, actual) in children.shapes().iter().enumerate() {
            let wanted = Shape { rows: actual.rows, ..shape.clone() };
            actual.check_fits(&wanted, || format!("child {child} of a concat"))?;
            end = end.saturating_add(actual.rows);
            offsets.push(end);
        }
        match end {
            end if end == shape.rows => Ok(ConcatData { offsets }),
            actual => {
                Err(PlanError::Rows { what: "the children of a concat".into(), expected: shape.rows, actual })
            }
        }
    }

    fn encode(_: &ConcatData, _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Vec::new()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<ConcatData, CodecError> {
        read::<Nothing>(bytes).map(|_| ConcatData { offsets: Vec::new() })
    }

    fn child_name(_: &ConcatData, _: &Shape, child: usize) -> String {
        child.to_string()
    }

    fn fmt(_: &ConcatData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("concat")
    }
}

impl ConcatPlan {
    /// The rows of these children, all of which have this field.
    ///
    /// # Errors
    /// When a child has another type, or may be NULL where the field says it can't.
    pub fn try_new(field: FieldRef, children: Children) -> Result<Self, PlanError> {
        let rows = children.shapes().iter().fold(0u64, |sum, s| sum.saturating_add(s.rows));
        let filtered = children.shapes().iter().any(|s| s.filtered);
        Self::try_from_parts(Shape { field, rows, filtered }, &ConcatData { offsets: Vec::new() }, children)
    }
}

/// *concat(a, concat(b, c)) → concat(a, b, c)*, on shape alone: children that aren't made stay so, and a
/// concat among them stays where it is.
#[derive(Debug)]
pub struct ConcatOfConcat;

impl PlanRewriteRule<Concat> for ConcatOfConcat {
    fn name(&self) -> &'static str {
        "concat_of_concat"
    }

    fn rewrite(&self, node: &ConcatPlan) -> Result<Option<PlanRef>, PlanError> {
        let (field, children) = (node.as_plan().field(), node.as_plan().children());
        let nested = |child: usize| children.made(child).filter(|plan| plan.as_opt::<Concat>().is_some());
        if (0..children.len()).all(|child| nested(child).is_none()) {
            return Ok(None);
        }
        let mut flat = Vec::with_capacity(children.len());
        for child in 0..children.len() {
            match nested(child).map(PlanRef::children) {
                Some(inner) => flat.extend((0..inner.len()).map(|child| (inner.clone(), child))),
                None => flat.push((children.clone(), child)),
            }
        }
        Ok(Some(ConcatPlan::try_new(FieldRef::clone(field), Children::pick(flat)?)?.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};
    use rstest::rstest;

    use super::*;
    use crate::index::FragmentCol;
    use crate::plan::{SegmentId, SegmentScanPlan};

    fn field(data_type: DataType, nullable: bool) -> FieldRef {
        Arc::new(Field::new("a", data_type, nullable))
    }

    fn segment(rows: u64, field: FieldRef) -> PlanRef {
        SegmentScanPlan::new(SegmentId::new(0, FragmentCol(0)), field, rows).into()
    }

    fn concat(rows: &[u64]) -> ConcatPlan {
        let int = field(DataType::Int32, true);
        let children: Vec<_> = rows.iter().map(|r| segment(*r, Arc::clone(&int))).collect();
        ConcatPlan::try_new(int, children.into()).unwrap()
    }

    #[rstest]
    #[case::one(0..3, 0..1)]
    #[case::border(2..4, 0..2)]
    #[case::second_only(3..7, 1..2)]
    #[case::over_an_empty_child(6..8, 1..4)]
    #[case::beyond(100..101, 4..4)]
    #[case::past_the_end(8..100, 3..4)]
    #[case::nothing(4..4, 0..0)]
    fn children_of_rows(#[case] rows: Range<u64>, #[case] children: Range<usize>) {
        let plan = concat(&[3, 4, 0, 2]);
        let found = plan.children_of(&rows);
        assert_eq!(found.is_empty(), children.is_empty());
        if !children.is_empty() {
            assert_eq!(found, children);
        }
    }

    #[test]
    fn new_children_refresh_the_offsets() {
        let plan = concat(&[3, 4]);
        assert_eq!(plan.child_rows(1), Some(3..7));
        let swapped = plan.as_plan().with_children(concat(&[1, 6]).as_plan().children().clone()).unwrap();
        assert_eq!(swapped.as_opt::<Concat>().unwrap().child_rows(1), Some(1..7));
        assert!(plan.as_plan().with_children(concat(&[1, 2]).as_plan().children().clone()).is_err());
    }

    #[rstest]
    #[case::other_type(field(DataType::Int64, false), field(DataType::Int32, true), false)]
    #[case::narrower(field(DataType::Int32, false), field(DataType::Int32, true), true)]
    #[case::hidden_nulls(field(DataType::Int32, true), field(DataType::Int32, false), false)]
    fn children_must_fit(#[case] child: FieldRef, #[case] whole: FieldRef, #[case] ok: bool) {
        assert_eq!(ConcatPlan::try_new(whole, vec![segment(1, child)].into()).is_ok(), ok);
    }

    #[test]
    fn none_at_all() {
        let plan = concat(&[]);
        assert_eq!((plan.as_plan().rows(), plan.children_of(&(0..1))), (0, 0..0));
    }
}
