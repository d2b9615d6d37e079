// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The options of the functions that the planner knows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, Fields};
use prost::Message;

use super::arrays::{read_array, write_array};
use super::types::{read_field, read_type, write_field, write_type};
use super::{CodecError, read, wire};
use crate::expr::ScalarFnVTable;
use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, CaseShape, Cast, CastOptions, Compare, CompareOp, GetItem, InSet,
    InSetOptions, IsNull, Like, LikeOptions, ListLength, Mask, Not, Or, Pack, ValueSet,
};

/// A function whose options can be written and read.
pub trait FnCodec: ScalarFnVTable {
    /// The options as bytes.
    ///
    /// # Errors
    /// When something in them has no codec.
    fn encode(options: &Self::Options) -> Result<Vec<u8>, CodecError>;

    /// The options that these bytes are, which may be anything.
    ///
    /// # Errors
    /// When they are no options.
    fn decode(bytes: &[u8]) -> Result<Self::Options, CodecError>;
}

/// Options that are one small number, or several.
#[derive(Clone, PartialEq, Message)]
struct Numbers {
    #[prost(uint64, repeated, tag = "1")]
    numbers: Vec<u64>,
}

fn write_numbers<const N: usize>(numbers: [u64; N]) -> Vec<u8> {
    Numbers { numbers: numbers.to_vec() }.encode_to_vec()
}

fn read_numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N], CodecError> {
    let numbers = read::<Numbers>(bytes)?.numbers;
    numbers.try_into().map_err(|_| CodecError::Malformed("other options than the function has"))
}

fn flag(number: u64) -> Result<bool, CodecError> {
    match number {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(CodecError::Malformed("neither true nor false")),
    }
}

/// Which of these a number stands for.
fn choice<T: Copy>(choices: &[T], number: u64) -> Result<T, CodecError> {
    let choice = usize::try_from(number).ok().and_then(|number| choices.get(number));
    choice.copied().ok_or(CodecError::Malformed("an operator that isn't known"))
}

fn number_of<T: PartialEq>(choices: &[T], choice: &T) -> u64 {
    choices.iter().position(|c| c == choice).unwrap_or(choices.len()) as u64
}

macro_rules! without_options {
    ($($function:ty),*) => {$(
        impl FnCodec for $function {
            fn encode((): &()) -> Result<Vec<u8>, CodecError> {
                Ok(Vec::new())
            }

            fn decode(bytes: &[u8]) -> Result<(), CodecError> {
                read_numbers::<0>(bytes).map(|_| ())
            }
        }
    )*};
}

without_options!(And, Or, Not, ListLength, Mask);

/// In the order of their numbers, to which more may be added.
const COMPARISONS: [CompareOp; 8] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
    CompareOp::IsDistinctFrom,
    CompareOp::IsNotDistinctFrom,
];

impl FnCodec for Compare {
    fn encode(op: &CompareOp) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([number_of(&COMPARISONS, op)]))
    }

    fn decode(bytes: &[u8]) -> Result<CompareOp, CodecError> {
        let [op] = read_numbers(bytes)?;
        choice(&COMPARISONS, op)
    }
}

/// In the order of their numbers, to which more may be added.
const OPERATIONS: [ArithmeticOp; 3] = [ArithmeticOp::Add, ArithmeticOp::Sub, ArithmeticOp::Mul];

impl FnCodec for Arithmetic {
    fn encode(op: &ArithmeticOp) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([number_of(&OPERATIONS, op)]))
    }

    fn decode(bytes: &[u8]) -> Result<ArithmeticOp, CodecError> {
        let [op] = read_numbers(bytes)?;
        choice(&OPERATIONS, op)
    }
}

impl FnCodec for Case {
    fn encode(shape: &CaseShape) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([u64::from(shape.operand), shape.arms as u64, u64::from(shape.otherwise)]))
    }

    fn decode(bytes: &[u8]) -> Result<CaseShape, CodecError> {
        let [operand, arms, otherwise] = read_numbers(bytes)?;
        let arms = u32::try_from(arms).map_err(|_| CodecError::TooLarge)? as usize;
        Ok(CaseShape { operand: flag(operand)?, arms, otherwise: flag(otherwise)? })
    }
}

impl FnCodec for GetItem {
    fn encode(field: &usize) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([*field as u64]))
    }

    fn decode(bytes: &[u8]) -> Result<usize, CodecError> {
        let [field] = read_numbers(bytes)?;
        usize::try_from(field).map_err(|_| CodecError::TooLarge)
    }
}

impl FnCodec for IsNull {
    fn encode(negated: &bool) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([u64::from(*negated)]))
    }

    fn decode(bytes: &[u8]) -> Result<bool, CodecError> {
        let [negated] = read_numbers(bytes)?;
        flag(negated)
    }
}

impl FnCodec for Like {
    fn encode(options: &LikeOptions) -> Result<Vec<u8>, CodecError> {
        Ok(write_numbers([u64::from(options.negated), u64::from(options.case_insensitive)]))
    }

    fn decode(bytes: &[u8]) -> Result<LikeOptions, CodecError> {
        let [negated, case_insensitive] = read_numbers(bytes)?;
        Ok(LikeOptions { negated: flag(negated)?, case_insensitive: flag(case_insensitive)? })
    }
}

#[derive(Clone, PartialEq, Message)]
struct CastTo {
    #[prost(message, optional, tag = "1")]
    to: Option<wire::DataType>,
    #[prost(bool, tag = "2")]
    try_cast: bool,
}

impl FnCodec for Cast {
    fn encode(CastOptions { to, try_cast }: &CastOptions) -> Result<Vec<u8>, CodecError> {
        Ok(CastTo { to: Some(write_type(to)?), try_cast: *try_cast }.encode_to_vec())
    }

    fn decode(bytes: &[u8]) -> Result<CastOptions, CodecError> {
        let CastTo { to, try_cast } = read(bytes)?;
        Ok(CastOptions { to: read_type(to)?, try_cast })
    }
}

impl FnCodec for Pack {
    fn encode(fields: &Fields) -> Result<Vec<u8>, CodecError> {
        let whole = Field::new("", DataType::Struct(fields.clone()), false);
        Ok(write_field(&whole)?.encode_to_vec())
    }

    fn decode(bytes: &[u8]) -> Result<Fields, CodecError> {
        match read_field(Some(read(bytes)?))?.data_type() {
            DataType::Struct(fields) => Ok(fields.clone()),
            _ => Err(CodecError::Malformed("a pack that isn't of fields")),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Set {
    #[prost(message, optional, tag = "1")]
    values: Option<wire::Array>,
    #[prost(bool, tag = "2")]
    has_null: bool,
    #[prost(bool, tag = "3")]
    negated: bool,
}

impl FnCodec for InSet {
    fn encode(InSetOptions { set, negated }: &InSetOptions) -> Result<Vec<u8>, CodecError> {
        let values = Some(write_array(set.values())?);
        Ok(Set { values, has_null: set.has_null(), negated: *negated }.encode_to_vec())
    }

    fn decode(bytes: &[u8]) -> Result<InSetOptions, CodecError> {
        let Set { values, has_null, negated } = read(bytes)?;
        let mut values: ArrayRef = read_array(values.ok_or(CodecError::Malformed("no set"))?)?;
        if has_null {
            values = concat(&[&values, &new_null_array(values.data_type(), 1)])?;
        }
        Ok(InSetOptions { set: Arc::new(ValueSet::try_new(&values)?), negated })
    }
}
