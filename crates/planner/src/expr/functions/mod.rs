// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The functions the planner knows by name, one file each.
//!
//! | function | arguments | options |
//! |---|---|---|
//! | [`Compare`] | left, right | the operator |
//! | [`Arithmetic`] | left, right | the operator: `+`, `-`, `*` |
//! | [`And`], [`Or`] | two or more booleans | |
//! | [`Not`] | a boolean | |
//! | [`IsNull`] | a value | whether negated |
//! | [`InSet`] | a value | the set, whether negated |
//! | [`Like`] | value, pattern | negated, case-insensitive |
//! | [`Cast`] | a value | target, whether errors give NULL |
//! | [`Case`] | see [`Case`] | its shape |
//! | [`GetItem`] | a struct | the field |
//! | [`ListLength`] | a list or a map | |
//! | [`Mask`] | condition, value | |
//! | [`Pack`] | the fields' values | the fields |
//!
//! Rows mean what they mean in DataFusion, whose kernels evaluate them, with two deliberate differences:
//! sets of floats are compared in SQL order ([`InSet`]), and a field of a NULL struct is NULL ([`GetItem`]).

mod arithmetic;
mod boolean;
mod case;
mod cast;
mod compare;
mod get_item;
mod in_set;
mod is_null;
mod like;
mod list_length;
mod mask;
mod pack;
#[cfg(test)]
mod tests;
mod value_set;

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};

pub use arithmetic::{Arithmetic, ArithmeticOp};
pub use boolean::{And, Not, Or};
pub use case::{Case, CaseShape};
pub use cast::{Cast, CastOptions};
pub use compare::{Compare, CompareOp};
pub use get_item::GetItem;
pub use in_set::{InSet, InSetOptions};
pub use is_null::IsNull;
pub use like::{Like, LikeOptions};
pub use list_length::ListLength;
pub use mask::Mask;
pub use pack::Pack;
pub use value_set::ValueSet;

use super::{BindError, FnId};

/// Fails unless there are `expected` arguments.
fn arity(function: FnId, args: &[FieldRef], expected: usize) -> Result<(), BindError> {
    if args.len() == expected {
        return Ok(());
    }
    Err(BindError::Arity { function, expected: expected.to_string(), actual: args.len() })
}

/// Fails unless an argument is a boolean.
fn boolean_argument(function: FnId, args: &[FieldRef], argument: usize) -> Result<(), BindError> {
    match args[argument].data_type() {
        DataType::Boolean => Ok(()),
        _ => Err(type_error(function, args, argument, "Boolean")),
    }
}

/// An argument has a type the function doesn't take.
fn type_error(function: FnId, args: &[FieldRef], argument: usize, expected: impl Into<String>) -> BindError {
    BindError::Type {
        function,
        argument,
        expected: expected.into(),
        actual: args[argument].data_type().clone(),
    }
}

/// The field of a boolean result; one for all, since most nodes of a filter have it.
fn boolean_field(nullable: bool) -> FieldRef {
    static FIELDS: LazyLock<[FieldRef; 2]> =
        LazyLock::new(|| [false, true].map(|n| Arc::new(Field::new("boolean", DataType::Boolean, n))));
    Arc::clone(&FIELDS[usize::from(nullable)])
}

/// Whether any of the arguments may be NULL.
fn any_nullable(args: &[FieldRef]) -> bool {
    args.iter().any(|a| a.is_nullable())
}

/// The type of the values: of a dictionary, that of its entries.
fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}
