// Licensed under the Apache License, Version 2.0. See LICENSE.

//! CASE, searched or with an operand.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_empty_array, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, internal_err};
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_physical_expr_common::datum::compare_with_eq;

use super::{arity, boolean_argument, type_error};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Guarded, Nulls, Printer, ScalarFnVTable};

/// Which parts a CASE has.
///
/// The arguments are: the operand if there is one, then WHEN and THEN for each arm, then ELSE if there
/// is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CaseShape {
    /// `CASE operand WHEN …`: an arm is taken where the operand equals its WHEN (in arrow's total
    /// order, which for floats is not the `=` of SQL).
    pub operand: bool,
    /// How many arms there are.
    pub arms: usize,
    /// Whether there is an ELSE.
    pub otherwise: bool,
}

impl CaseShape {
    /// The position of the WHEN of an arm; its THEN comes next.
    pub fn when(self, arm: usize) -> usize {
        usize::from(self.operand) + 2 * arm
    }

    /// The position of the ELSE.
    pub fn otherwise(self) -> Option<usize> {
        self.otherwise.then(|| self.when(self.arms))
    }

    /// How many arguments there are.
    pub fn len(self) -> usize {
        self.when(self.arms) + usize::from(self.otherwise)
    }

    /// Whether there are no arguments, as no CASE has.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The positions of all values the CASE may take.
    fn values(self) -> impl Iterator<Item = usize> {
        (0..self.arms).map(move |arm| self.when(arm) + 1).chain(self.otherwise())
    }
}

/// CASE, searched or with an operand.
///
/// Each part is evaluated only for the rows that reach it; a NULL operand reaches no arm.
#[derive(Debug)]
pub struct Case;

impl Case {
    /// `CASE [operand] WHEN … THEN … [ELSE otherwise] END`.
    ///
    /// # Errors
    /// When there is no arm, or types disagree.
    pub fn of(
        operand: Option<BoundExpression>,
        arms: impl IntoIterator<Item = (BoundExpression, BoundExpression)>,
        otherwise: Option<BoundExpression>,
    ) -> Result<BoundExpression, BindError> {
        let (with_operand, with_otherwise) = (operand.is_some(), otherwise.is_some());
        let mut args = Vec::from_iter(operand);
        args.extend(arms.into_iter().flat_map(|(when, then)| [when, then]));
        let arms = (args.len() - usize::from(with_operand)) / 2;
        args.extend(otherwise);
        BoundExpression::call::<Self>(
            CaseShape { operand: with_operand, arms, otherwise: with_otherwise },
            args,
        )
    }
}

impl ScalarFnVTable for Case {
    type Options = CaseShape;

    const ID: FnId = FnId::new("trommel.case");

    fn return_field(shape: &CaseShape, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        if shape.arms == 0 {
            let expected = "one or more arms as".to_owned();
            return Err(BindError::Arity { function: Self::ID, expected, actual: args.len() });
        }
        arity(Self::ID, args, shape.len())?;
        for when in (0..shape.arms).map(|arm| shape.when(arm)) {
            match shape.operand {
                false => boolean_argument(Self::ID, args, when)?,
                true if equatable(args[0].data_type(), args[when].data_type()) => {}
                true => {
                    let expected = format!("comparable with {}", args[0].data_type());
                    return Err(type_error(Self::ID, args, when, expected));
                }
            }
        }
        let data_type = args[shape.when(0) + 1].data_type();
        if let Some(other) = shape.values().find(|v| args[*v].data_type() != data_type) {
            return Err(type_error(Self::ID, args, other, data_type.to_string()));
        }
        let nullable = !shape.otherwise || shape.values().any(|v| args[v].is_nullable());
        Ok(Arc::new(Field::new(Self::ID.as_str(), data_type.clone(), nullable)))
    }

    fn facts(shape: &CaseShape, _args: &[FieldRef]) -> Facts {
        let guarded = Guarded::from(if shape.operand { 2 } else { 1 });
        Facts { guarded, ..Facts::infallible(Nulls::Other) }
    }

    fn evaluate(shape: &CaseShape, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        let operand = match shape.operand {
            true => Some(args.value(0)?.into_array_of_size(rows)?),
            false => None,
        };
        let mut result = Merge::new(rows);
        // The rows that no arm has taken, less those that no arm can take.
        let mut open = match operand.as_ref().and_then(|o| o.logical_nulls()) {
            Some(nulls) => nulls.inner().clone(),
            None => BooleanBuffer::new_set(rows),
        };
        for when in (0..shape.arms).map(|arm| shape.when(arm)) {
            if open.count_set_bits() == 0 {
                break;
            }
            let condition = value_for(args, when, &open)?;
            let taken = &open & &is_true(&condition, operand.as_ref(), rows)?;
            if taken.count_set_bits() > 0 {
                open = &open & &!&taken;
                let value = value_for(args, when + 1, &taken)?;
                result.set(&taken, value)?;
            }
        }
        if let Some(otherwise) = shape.otherwise() {
            let rest = result.unset();
            if rest.count_set_bits() > 0 {
                let value = value_for(args, otherwise, &rest)?;
                result.set(&rest, value)?;
            }
        }
        result.finish(args.field(shape.when(0) + 1).data_type())
    }

    fn fmt<'a>(shape: &CaseShape, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("CASE")?;
        if shape.operand {
            out.write_str(" ")?;
            out.argument(&args[0])?;
        }
        for when in (0..shape.arms).map(|arm| shape.when(arm)) {
            out.write_str(" WHEN ")?;
            out.argument(&args[when])?;
            out.write_str(" THEN ")?;
            out.argument(&args[when + 1])?;
        }
        if let Some(otherwise) = shape.otherwise() {
            out.write_str(" ELSE ")?;
            out.argument(&args[otherwise])?;
        }
        out.write_str(" END")
    }
}

/// Whether operands of the one type can be tested against values of the other.
fn equatable(operand: &DataType, when: &DataType) -> bool {
    let (operand, when) = (new_empty_array(operand), new_empty_array(when));
    compare_with_eq(&when, &operand, operand.data_type().is_nested()).is_ok()
}

/// An argument's value for the rows set, at least.
fn value_for(args: &mut dyn Args, argument: usize, rows: &BooleanBuffer) -> Result<ColumnarValue> {
    let count = rows.count_set_bits();
    if count < rows.len() && (args.can_fail(argument) || count < rows.len() / 2) {
        return Ok(ColumnarValue::Array(args.value_where(argument, rows)?));
    }
    args.value(argument)
}

/// Where a WHEN holds: where it is TRUE, or equals the operand.
fn is_true(when: &ColumnarValue, operand: Option<&ArrayRef>, rows: usize) -> Result<BooleanBuffer> {
    let holds = match (when, operand) {
        (when, None) => when.to_array_of_size(rows)?,
        (ColumnarValue::Array(when), Some(operand)) => {
            Arc::new(compare_with_eq(when, operand, operand.data_type().is_nested())?)
        }
        (ColumnarValue::Scalar(when), Some(operand)) => {
            Arc::new(compare_with_eq(&when.to_scalar()?, operand, operand.data_type().is_nested())?)
        }
    };
    let Some(holds): Option<&BooleanArray> = holds.as_boolean_opt() else {
        return internal_err!("a WHEN of type {}", holds.data_type());
    };
    Ok(match holds.nulls() {
        Some(valid) => holds.values() & valid.inner(),
        None => holds.values().clone(),
    })
}

/// The result of a CASE, put together from the values of its arms.
struct Merge {
    /// The values of the arms so far; a constant has one row.
    values: Vec<ArrayRef>,
    /// For each row, which of the values and which of its rows; 0 for none so far.
    source: Vec<(usize, usize)>,
    whole: Option<ColumnarValue>,
}

impl Merge {
    fn new(rows: usize) -> Self {
        Self { values: Vec::new(), source: vec![(0, 0); rows], whole: None }
    }

    fn set(&mut self, rows: &BooleanBuffer, value: ColumnarValue) -> Result<()> {
        if rows.count_set_bits() == self.source.len() {
            self.whole = Some(value);
            return Ok(());
        }
        let constant = matches!(value, ColumnarValue::Scalar(_));
        self.values.push(value.into_array(1)?);
        let arm = self.values.len();
        for row in rows.set_indices() {
            self.source[row] = (arm, if constant { 0 } else { row });
        }
        Ok(())
    }

    /// The rows that have no value yet.
    fn unset(&self) -> BooleanBuffer {
        let whole = self.whole.is_some();
        BooleanBuffer::collect_bool(self.source.len(), |row| !whole && self.source[row].0 == 0)
    }

    fn finish(self, data_type: &DataType) -> Result<ColumnarValue> {
        if let Some(whole) = self.whole {
            return Ok(whole);
        }
        let none = new_null_array(data_type, 1);
        let mut values: Vec<&dyn Array> = vec![none.as_ref()];
        values.extend(self.values.iter().map(|v| v.as_ref()));
        Ok(ColumnarValue::Array(interleave(&values, &self.source)?))
    }
}
