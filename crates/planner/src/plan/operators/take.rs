// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Values chosen by codes.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion_common::ScalarValue;

use prost::Message;

use super::{Number, check_arity};
use crate::codec::{CodecError, ExprCodec, read};
use crate::expr::BoundExpression;
use crate::plan::{
    Children, ConcatPlan, ExpressionScanPlan, PackPlan, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape,
};

/// For each code, the value at that position: what a dictionary means.
///
/// Its rows are the rows of the codes, which are integers. A value may be chosen by many codes or by none.
#[derive(Debug)]
pub struct Take;

/// A node of [`Take`].
pub type TakePlan = Plan<Take>;

impl Take {
    /// The child with the positions.
    pub const CODES: usize = 0;
    /// The child they are positions in.
    pub const VALUES: usize = 1;
}

/// What a [`Take`] holds besides its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeData {
    /// Whether a NULL code chooses the last value, which no other code does; else it gives NULL.
    pub null_is_last: bool,
}

impl PlanVTable for Take {
    type Data = TakeData;

    const ID: PlanId = PlanId::new("trommel.take");

    fn with_children(data: &TakeData, shape: &Shape, children: &Children) -> Result<TakeData, PlanError> {
        check_arity(Self::ID, 2, children)?;
        let [codes, values] = [&children.shapes()[Self::CODES], &children.shapes()[Self::VALUES]];
        let wanted = Shape::new(Arc::clone(&codes.field), shape.rows);
        codes.check_fits(&wanted, || "codes of a take".to_owned())?;
        let unsupported = |data_type: &FieldRef, detail| PlanError::Unsupported {
            operator: Self::ID,
            data_type: data_type.data_type().clone(),
            detail,
        };
        if !codes.field.data_type().is_integer() {
            return Err(unsupported(&codes.field, "codes are integers"));
        }
        if data.null_is_last && values.rows == 0 {
            return Err(unsupported(&values.field, "there is no last value"));
        }
        let nullable = values.field.is_nullable() || codes.field.is_nullable() && !data.null_is_last;
        let taken = Shape::new(nullable_as(&values.field, nullable), values.rows);
        let wanted = Shape::new(Arc::clone(&shape.field), values.rows);
        taken.check_fits(&wanted, || "values of a take".to_owned())?;
        if values.filtered {
            return Err(PlanError::Filtered { what: "values of a take".to_owned() });
        }
        Ok(*data)
    }

    fn lift(data: &TakeData, plan: &PlanRef, child: usize, value: PlanRef) -> Result<PlanRef, PlanError> {
        match child {
            Self::VALUES => Ok(TakePlan::new(*data, plan.children(), value)?.into()),
            _ => Ok(value),
        }
    }

    fn encode(data: &TakeData, _: &ExprCodec) -> Result<Option<Vec<u8>>, CodecError> {
        Ok(Some(Number { number: u64::from(data.null_is_last) }.encode_to_vec()))
    }

    fn decode(bytes: &[u8], _: &ExprCodec) -> Result<TakeData, CodecError> {
        match read::<Number>(bytes)?.number {
            number @ (0 | 1) => Ok(TakeData { null_is_last: number == 1 }),
            _ => Err(CodecError::Malformed("neither true nor false")),
        }
    }

    fn child_name(_: &TakeData, _: &Shape, child: usize) -> String {
        if child == Self::CODES { "codes" } else { "values" }.to_owned()
    }

    fn fmt(data: &TakeData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if data.null_is_last { "take(NULL is last)" } else { "take" })
    }
}

impl TakePlan {
    /// The values at these positions, and NULL for a NULL code.
    ///
    /// # Errors
    /// When the codes aren't integers.
    pub fn try_new(codes: PlanRef, values: PlanRef) -> Result<Self, PlanError> {
        Self::new(TakeData { null_is_last: false }, &vec![codes].into(), values)
    }

    /// A take of other values by the codes among `children`, which may not be made yet.
    fn new(data: TakeData, children: &Children, values: PlanRef) -> Result<Self, PlanError> {
        let values = Children::from(vec![values]);
        let children = Children::pick(vec![(children.clone(), Take::CODES), (values, 0)])?;
        let [codes, values] = [&children.shapes()[Take::CODES], &children.shapes()[Take::VALUES]];
        let nullable = values.field.is_nullable() || codes.field.is_nullable() && !data.null_is_last;
        let shape = Shape::new(nullable_as(&values.field, nullable), codes.rows);
        Self::try_from_parts(shape, &data, children)
    }

    /// *take(c, v) → take(c, v and one NULL more, which NULL codes choose)*, so that whatever a function
    /// makes of NULL it makes once, with the values; `None` when no code can be NULL or it is so already.
    ///
    /// # Errors
    /// When the values can't be made, or have no NULL.
    pub fn with_null_as_last(&self) -> Result<Option<Self>, PlanError> {
        let plan = self.as_plan();
        if self.null_is_last || !plan.children().shapes()[Take::CODES].field.is_nullable() {
            return Ok(None);
        }
        let values = plan.child(Take::VALUES)?;
        let null = ScalarValue::try_new_null(values.field().data_type());
        let null = BoundExpression::literal(null.map_err(|e| PlanError::Source(Box::new(e)))?);
        let null = ExpressionScanPlan::try_new(null, PackPlan::empty(1).into())?;
        let field = nullable_as(values.field(), true);
        let values = ConcatPlan::try_new(field, vec![values.clone(), null.into()].into())?;
        Self::new(TakeData { null_is_last: true }, plan.children(), values.into()).map(Some)
    }
}

fn nullable_as(field: &FieldRef, nullable: bool) -> FieldRef {
    match field.is_nullable() == nullable {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_nullable(nullable)),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use insta::assert_snapshot;
    use rstest::rstest;

    use super::*;
    use crate::index::FragmentCol;
    use crate::plan::{SegmentId, SegmentScanPlan};

    fn segment(data_type: DataType, nullable: bool, rows: u64) -> PlanRef {
        let segment = SegmentId::new(0, FragmentCol(0));
        SegmentScanPlan::new(segment, Arc::new(Field::new("v", data_type, nullable)), rows).into()
    }

    #[rstest]
    #[case::neither(false, false, false)]
    #[case::codes(true, false, true)]
    #[case::values(false, true, true)]
    fn it_may_be_null_where_either_may(#[case] codes: bool, #[case] values: bool, #[case] either: bool) {
        let plan = TakePlan::try_new(segment(DataType::UInt8, codes, 9), segment(DataType::Utf8, values, 3));
        let plan = plan.unwrap();
        let Shape { field, rows, .. } = plan.as_plan().shape();
        assert_eq!((field.is_nullable(), field.data_type(), *rows), (either, &DataType::Utf8, 9));
        let with_null = plan.with_null_as_last().unwrap();
        assert_eq!(with_null.is_some(), codes);
        if let Some(plan) = with_null {
            assert!(plan.with_null_as_last().unwrap().is_none());
            assert!(plan.as_plan().field().is_nullable());
        }
    }

    #[test]
    fn null_is_one_more_value() {
        let plan = TakePlan::try_new(segment(DataType::Int8, true, 9), segment(DataType::Utf8, false, 3));
        assert_snapshot!(plan.unwrap().with_null_as_last().unwrap().unwrap().as_plan().tree(), @r"
        take(NULL is last): Utf8? × 9
          codes = segment_scan(row group 0, column 0): Int8? × 9
          values = concat: Utf8? × 4
            0 = segment_scan(row group 0, column 0): Utf8 × 3
            1 = eval(NULL): Utf8? × 1
              input = pack: struct of 0 × 1
        ");
    }

    #[test]
    fn children_are_checked() {
        let (codes, values) = (segment(DataType::Int8, false, 9), segment(DataType::Utf8, false, 3));
        let plan = TakePlan::try_new(codes.clone(), values.clone()).unwrap();
        let with = |codes: &PlanRef, values: &PlanRef| {
            let plan = plan.as_plan().with_children(vec![codes.clone(), values.clone()].into());
            plan.err().map(|e| e.to_string())
        };
        assert_eq!(with(&codes, &segment(DataType::Utf8, false, 4)), None);
        let error = "values of a take: Utf8 expected, not Utf8?";
        assert_eq!(with(&codes, &segment(DataType::Utf8, true, 3)).as_deref(), Some(error));
        assert_eq!(with(&segment(DataType::Int8, true, 9), &values).as_deref(), Some(error));
        let error = "codes of a take: 9 rows expected, not 8";
        assert_eq!(with(&segment(DataType::Int8, false, 8), &values).as_deref(), Some(error));
        assert!(TakePlan::try_new(values, codes).is_err());
    }
}
