// Licensed under the Apache License, Version 2.0. See LICENSE.

//! AND, OR and NOT in three-valued logic; AND and OR take any number of arguments.
//!
//! AND and OR read left to right: an argument that can fail is evaluated only for rows that the
//! arguments before it left undecided.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and_kleene, not, or_kleene};
use arrow::datatypes::FieldRef;
use datafusion_common::cast::as_boolean_array;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr_common::columnar_value::ColumnarValue;

use super::{any_nullable, arity, boolean_argument, boolean_field};
use crate::expr::{Args, BindError, BoundExpression, Facts, FnId, Guarded, Nulls, Printer, ScalarFnVTable};

/// Rows are looked at one by one rather than all together when fewer than one in this many are left.
const SPARSE: usize = 8;

/// The conjunction of two or more booleans.
#[derive(Debug)]
pub struct And;

/// The disjunction of two or more booleans.
#[derive(Debug)]
pub struct Or;

impl And {
    /// The conjunction of any number of booleans: nested ones are flattened, one stands for itself, and
    /// none is TRUE.
    ///
    /// # Errors
    /// When a term isn't boolean.
    pub fn of(terms: impl IntoIterator<Item = BoundExpression>) -> Result<BoundExpression, BindError> {
        flat::<Self>(terms, true)
    }
}

impl Or {
    /// The disjunction of any number of booleans: nested ones are flattened, one stands for itself, and
    /// none is FALSE.
    ///
    /// # Errors
    /// When a term isn't boolean.
    pub fn of(terms: impl IntoIterator<Item = BoundExpression>) -> Result<BoundExpression, BindError> {
        flat::<Self>(terms, false)
    }
}

fn flat<V: ScalarFnVTable<Options = ()>>(
    terms: impl IntoIterator<Item = BoundExpression>,
    neutral: bool,
) -> Result<BoundExpression, BindError> {
    let mut flat = Vec::new();
    for term in terms {
        match term.as_opt::<V>() {
            Some(()) => flat.extend_from_slice(term.children()),
            None => flat.push(term),
        }
    }
    match flat.len() {
        0 => Ok(BoundExpression::literal(ScalarValue::from(neutral))),
        1 => {
            boolean_argument(V::ID, &[Arc::clone(flat[0].field())], 0)?;
            Ok(flat.remove(0))
        }
        _ => BoundExpression::call::<V>((), flat),
    }
}

impl ScalarFnVTable for And {
    type Options = ();

    const ID: FnId = FnId::new("trommel.and");

    fn return_field(_options: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        connective_field(Self::ID, args)
    }

    fn facts(_options: &(), _args: &[FieldRef]) -> Facts {
        CONNECTIVE
    }

    fn evaluate(_options: &(), args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        connect(args, rows, false)
    }

    fn fmt<'a>(_options: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        fmt_joined(" AND ", args, out)
    }
}

impl ScalarFnVTable for Or {
    type Options = ();

    const ID: FnId = FnId::new("trommel.or");

    fn return_field(_options: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        connective_field(Self::ID, args)
    }

    fn facts(_options: &(), _args: &[FieldRef]) -> Facts {
        CONNECTIVE
    }

    fn evaluate(_options: &(), args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        connect(args, rows, true)
    }

    fn fmt<'a>(_options: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        fmt_joined(" OR ", args, out)
    }
}

const CONNECTIVE: Facts = Facts { guarded: Guarded::from(1), ..Facts::infallible(Nulls::Other) };

fn connective_field(function: FnId, args: &[FieldRef]) -> Result<FieldRef, BindError> {
    if args.len() < 2 {
        return Err(BindError::Arity { function, expected: "two or more".to_owned(), actual: args.len() });
    }
    (0..args.len()).try_for_each(|argument| boolean_argument(function, args, argument))?;
    Ok(boolean_field(any_nullable(args)))
}

fn fmt_joined<'a>(joint: &str, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
    out.write_str("(")?;
    out.joined(joint, args)?;
    out.write_str(")")
}

/// AND and OR alike: `absorbing` is the value that decides a row whatever comes after it.
fn connect(args: &mut dyn Args, rows: usize, absorbing: bool) -> Result<ColumnarValue> {
    let mut sofar = args.value(0)?;
    for argument in 1..args.len() {
        let next = match &sofar {
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(value))) if *value == absorbing => break,
            ColumnarValue::Scalar(_) => args.value(argument)?,
            ColumnarValue::Array(array) => {
                let undecided = undecided(as_boolean_array(array)?, absorbing);
                let left = undecided.count_set_bits();
                if left == 0 {
                    break;
                }
                if left < rows && (args.can_fail(argument) || left < rows / SPARSE) {
                    ColumnarValue::Array(args.value_where(argument, &undecided)?)
                } else {
                    args.value(argument)?
                }
            }
        };
        sofar = combine(sofar, next, rows, absorbing)?;
    }
    Ok(sofar)
}

/// The rows whose value isn't `absorbing`.
fn undecided(values: &BooleanArray, absorbing: bool) -> BooleanBuffer {
    let decided = if absorbing { values.values().clone() } else { !values.values() };
    match values.nulls() {
        Some(valid) => !&(&decided & valid.inner()),
        None => !&decided,
    }
}

fn combine(a: ColumnarValue, b: ColumnarValue, rows: usize, absorbing: bool) -> Result<ColumnarValue> {
    let constant = |value: &ColumnarValue| match value {
        ColumnarValue::Scalar(ScalarValue::Boolean(value)) => *value,
        _ => None,
    };
    match (constant(&a), constant(&b)) {
        (Some(value), _) if value != absorbing => Ok(b),
        (_, Some(value)) if value != absorbing => Ok(a),
        (Some(_), _) => Ok(a),
        (_, Some(_)) => Ok(b),
        (None, None) => {
            if let (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) = (&a, &b) {
                return Ok(a);
            }
            let (a, b) = (a.into_array_of_size(rows)?, b.into_array_of_size(rows)?);
            let (a, b) = (as_boolean_array(&a)?, as_boolean_array(&b)?);
            let both = if absorbing { or_kleene(a, b)? } else { and_kleene(a, b)? };
            Ok(ColumnarValue::Array(Arc::new(both)))
        }
    }
}

/// The negation of a boolean.
#[derive(Debug)]
pub struct Not;

impl Not {
    /// `NOT arg`.
    ///
    /// # Errors
    /// When the argument isn't boolean.
    pub fn of(arg: BoundExpression) -> Result<BoundExpression, BindError> {
        BoundExpression::call::<Self>((), vec![arg])
    }
}

impl ScalarFnVTable for Not {
    type Options = ();

    const ID: FnId = FnId::new("trommel.not");

    fn return_field(_options: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        arity(Self::ID, args, 1)?;
        boolean_argument(Self::ID, args, 0)?;
        Ok(boolean_field(any_nullable(args)))
    }

    fn facts(_options: &(), _args: &[FieldRef]) -> Facts {
        Facts::infallible(Nulls::Strict { null_only_from_null: true })
    }

    fn evaluate(_options: &(), args: &mut dyn Args, _rows: usize) -> Result<ColumnarValue> {
        match args.value(0)? {
            ColumnarValue::Array(array) => match array.as_boolean_opt() {
                Some(values) => Ok(ColumnarValue::Array(Arc::new(not(values)?))),
                None => internal_err!("NOT of {}", array.data_type()),
            },
            ColumnarValue::Scalar(ScalarValue::Boolean(value)) => {
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(value.map(|v| !v))))
            }
            ColumnarValue::Scalar(value) => internal_err!("NOT of {}", value.data_type()),
        }
    }

    fn fmt<'a>(_options: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("NOT ")?;
        out.operand(&args[0])
    }
}
