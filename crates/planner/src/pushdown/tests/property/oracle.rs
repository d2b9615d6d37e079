// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Terms evaluated row by row.

use arrow::array::{Array, ArrayRef};
use datafusion_common::ScalarValue;

use super::term::Term;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
    Bool(bool),
    Struct(Vec<Value>),
    List(Vec<Value>),
}

impl Value {
    pub fn of(scalar: &ScalarValue) -> Self {
        let all = |array: &dyn Array| {
            let array = array.slice(0, array.len());
            (0..array.len()).map(|row| Self::of(&ScalarValue::try_from_array(&array, row).unwrap())).collect()
        };
        match scalar {
            scalar if scalar.is_null() => Self::Null,
            ScalarValue::Int64(Some(value)) => Self::Int(*value),
            ScalarValue::Int8(Some(value)) => Self::Int(i64::from(*value)),
            ScalarValue::UInt64(Some(value)) => Self::Int(*value as i64),
            ScalarValue::Utf8(Some(text)) => Self::Text(text.clone()),
            ScalarValue::Boolean(Some(value)) => Self::Bool(*value),
            ScalarValue::Struct(of) => {
                let field = |column: &ArrayRef| Self::of(&ScalarValue::try_from_array(column, 0).unwrap());
                Self::Struct(of.columns().iter().map(field).collect())
            }
            ScalarValue::List(of) => Self::List(all(&of.value(0))),
            ScalarValue::LargeList(of) => Self::List(all(&of.value(0))),
            other => unreachable!("{other:?}"),
        }
    }
}

/// The value of a term for a row of columns; `None` when it fails.
///
/// What SQL guards is looked at only where it is needed: the right of AND and OR where the left doesn't
/// decide, the arms of CASE where they are reached. Everything else is evaluated, needed or not.
pub fn evaluate(term: &Term, row: &[Value]) -> Option<Value> {
    use Value::{Bool, Int, List, Null, Struct, Text};
    Some(match term {
        Term::Column(number) => row[*number].clone(),
        Term::Field(of, field) => match evaluate(of, row)? {
            Struct(mut fields) => fields.swap_remove(*field),
            _ => Null,
        },
        Term::Int(value) => Int(*value),
        Term::Bool(value) => value.map_or(Null, Bool),
        Term::Add(a, b) => match (evaluate(a, row)?, evaluate(b, row)?) {
            (Int(a), Int(b)) => Int(a.wrapping_add(b)),
            _ => Null,
        },
        Term::Narrow(of) => match evaluate(of, row)? {
            Int(value) => Int(i64::from(i8::try_from(value).ok()?)),
            _ => Null,
        },
        Term::Number(of) => match evaluate(of, row)? {
            Text(text) => Int(text.parse().ok()?),
            _ => Null,
        },
        Term::Less(a, b) => match (evaluate(a, row)?, evaluate(b, row)?) {
            (Int(a), Int(b)) => Bool(a < b),
            _ => Null,
        },
        Term::Differs(a, b) => Bool(evaluate(a, row)? != evaluate(b, row)?),
        Term::StartsWith(of, prefix) => match evaluate(of, row)? {
            Text(text) => Bool(text.starts_with(prefix.as_str())),
            _ => Null,
        },
        Term::IsNull(of, negated) => Bool((evaluate(of, row)? == Null) != *negated),
        Term::Length(of) => match evaluate(of, row)? {
            List(elements) => Int(elements.len() as i64),
            _ => Null,
        },
        Term::Not(of) => match evaluate(of, row)? {
            Bool(value) => Bool(!value),
            _ => Null,
        },
        Term::And(terms) => connect(terms, row, false)?,
        Term::Or(terms) => connect(terms, row, true)?,
        Term::Case(when, then, otherwise) => match evaluate(when, row)? {
            Bool(true) => evaluate(then, row)?,
            _ => evaluate(otherwise, row)?,
        },
    })
}

fn connect(terms: &[Term], row: &[Value], absorbing: bool) -> Option<Value> {
    let mut sofar = Value::Bool(!absorbing);
    for term in terms {
        match evaluate(term, row)? {
            Value::Bool(value) if value == absorbing => return Some(Value::Bool(absorbing)),
            Value::Null => sofar = Value::Null,
            _ => {}
        }
    }
    Some(sofar)
}
