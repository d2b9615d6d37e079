// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Evaluating a bound expression over arrays.
//!
//! Evaluation is recursive: a function asks for its arguments when and for the rows it needs them, which
//! an explicit stack can't serve. Depth is bounded in practice, since AND and OR are n-ary and whatever
//! made the expression has recursed over it before.
//!
//! What occurs more than once is evaluated once, when it is asked for all rows.
//!
//! A guarded argument is evaluated over only some of the rows. The root isn't cut down to them as a whole,
//! which would copy every column of a table: columns are, when they are read.

mod shared;

use std::fmt::Display;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate};
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr_common::columnar_value::ColumnarValue;
use datafusion_physical_expr_common::utils::scatter;

use self::shared::Shared;
use super::functions::GetItem;
use super::{Args, BoundExpression, ExprKind, Foreign};

/// What an expression is evaluated over.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The root's value for each row.
    pub root: &'a ArrayRef,
    /// The values of the expression's parameter slots.
    pub params: &'a [ScalarValue],
}

/// The expression's value for each row of the input.
///
/// # Errors
/// When the value of some row can't be computed, or the input isn't what the expression was bound to.
pub fn evaluate(expr: &BoundExpression, input: Input<'_>) -> Result<ColumnarValue> {
    Scope { input, selected: None, shared: &Shared::of(expr) }.evaluate(expr)
}

/// A predicate's value for each row of the input, as booleans.
///
/// # Errors
/// When the value of some row can't be computed, or the expression isn't boolean.
pub fn evaluate_predicate(expr: &BoundExpression, input: Input<'_>) -> Result<BooleanArray> {
    let value = evaluate(expr, input)?.into_array_of_size(input.root.len())?;
    match value.as_boolean_opt() {
        Some(values) => Ok(values.clone()),
        None => internal_err!("the predicate {expr} is {}", value.data_type()),
    }
}

/// The rows that a part of an expression is evaluated over.
#[derive(Clone, Copy)]
struct Scope<'a> {
    input: Input<'a>,
    /// Only these rows of the input; all when absent.
    selected: Option<&'a Selected>,
    /// Values for all rows of the input.
    shared: &'a Shared,
}

struct Selected {
    rows: BooleanBuffer,
    count: usize,
    filter: FilterPredicate,
}

impl Selected {
    fn new(rows: BooleanBuffer) -> Self {
        let mask = BooleanArray::new(rows.clone(), None);
        let filter = FilterBuilder::new(&mask).optimize().build();
        Self { count: rows.count_set_bits(), rows, filter }
    }
}

impl Scope<'_> {
    fn rows(&self) -> usize {
        self.selected.map_or(self.input.root.len(), |s| s.count)
    }

    /// Those of this scope's rows that are set in `rows`.
    fn narrow(&self, rows: &BooleanBuffer) -> Selected {
        Selected::new(match self.selected {
            None => rows.clone(),
            Some(outer) => {
                let mut narrowed = vec![false; outer.rows.len()];
                outer.rows.set_indices().zip(rows).for_each(|(row, selected)| narrowed[row] = selected);
                BooleanBuffer::from(narrowed)
            }
        })
    }

    fn evaluate(&self, expr: &BoundExpression) -> Result<ColumnarValue> {
        if let Some(column) = self.read(expr)? {
            return Ok(ColumnarValue::Array(match self.selected {
                Some(selected) => selected.filter.filter(&column)?,
                None => column,
            }));
        }
        match (self.shared.get(expr), self.selected) {
            (Some(ColumnarValue::Array(values)), Some(selected)) => {
                return Ok(ColumnarValue::Array(selected.filter.filter(&values)?));
            }
            (Some(value), _) => return Ok(value),
            (None, _) => {}
        }
        let value = self.compute(expr)?;
        if self.selected.is_none() {
            self.shared.put(expr, &value);
        }
        Ok(value)
    }

    /// The value of anything that isn't just read.
    fn compute(&self, expr: &BoundExpression) -> Result<ColumnarValue> {
        match expr.kind() {
            ExprKind::Literal(value) => Ok(ColumnarValue::Scalar(value.clone())),
            ExprKind::Param(slot, field) => match self.input.params.get(usize::from(*slot)) {
                Some(value) if &value.data_type() == field.data_type() => {
                    Ok(ColumnarValue::Scalar(value.clone()))
                }
                Some(value) => mismatch(expr, field, &value.data_type()),
                None => internal_err!("parameter {expr} of {}", self.input.params.len()),
            },
            ExprKind::Call(function) => {
                let mut args = Lazy { args: expr.children(), scope: *self };
                function.evaluate(&mut args, self.rows())
            }
            ExprKind::Foreign(foreign) => {
                self.evaluate_foreign(foreign.as_ref(), expr.children()).map(ColumnarValue::Array)
            }
            ExprKind::Root(_) => internal_err!("a root that wasn't read"),
        }
    }

    /// The value of the root, or of a field below it, for every row of the input; `None` when the
    /// expression is something else.
    fn read(&self, expr: &BoundExpression) -> Result<Option<ArrayRef>> {
        let value = match (expr.kind(), expr.as_opt::<GetItem>()) {
            (ExprKind::Root(_), _) => ArrayRef::clone(self.input.root),
            (_, Some(field)) => match self.read(&expr.children()[0])? {
                Some(structs) => GetItem::of_array(&structs, *field)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        match value.data_type() == expr.field().data_type() {
            true => Ok(Some(value)),
            false => mismatch(expr, expr.field(), value.data_type()),
        }
    }

    fn evaluate_foreign(&self, foreign: &dyn Foreign, children: &[BoundExpression]) -> Result<ArrayRef> {
        let rows = self.rows();
        let inputs = children
            .iter()
            .zip(foreign.inputs())
            .map(|(child, input)| {
                let value = self.evaluate(child)?.into_array_of_size(rows)?;
                match value.data_type() == input.data_type() {
                    true => Ok(value),
                    false => mismatch(child, input, value.data_type()),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        let value = foreign.evaluate(&inputs, rows)?;
        if value.data_type() != foreign.field().data_type() {
            return mismatch(foreign, foreign.field(), value.data_type());
        }
        if value.len() != rows {
            return internal_err!("{foreign} gave {} rows for {rows}", value.len());
        }
        Ok(value)
    }
}

fn mismatch<T>(what: impl Display, expected: &FieldRef, actual: &DataType) -> Result<T> {
    internal_err!("{what} is {actual}, but was bound as {}", expected.data_type())
}

/// The arguments of a call, evaluated over a scope when asked for.
struct Lazy<'a> {
    args: &'a [BoundExpression],
    scope: Scope<'a>,
}

impl Args for Lazy<'_> {
    fn len(&self) -> usize {
        self.args.len()
    }

    fn field(&self, argument: usize) -> &FieldRef {
        self.args[argument].field()
    }

    fn can_fail(&self, argument: usize) -> bool {
        self.args[argument].can_fail()
    }

    fn value(&mut self, argument: usize) -> Result<ColumnarValue> {
        self.scope.evaluate(&self.args[argument])
    }

    fn value_where(&mut self, argument: usize, rows: &BooleanBuffer) -> Result<ArrayRef> {
        let (arg, all) = (&self.args[argument], self.scope.rows());
        if rows.len() != all {
            return internal_err!("a mask of {} rows for {all}", rows.len());
        }
        let selected = self.scope.narrow(rows);
        if selected.count == 0 {
            return Ok(new_null_array(arg.field().data_type(), all));
        }
        if selected.count == all {
            return self.scope.evaluate(arg)?.into_array_of_size(all);
        }
        let scope = Scope { selected: Some(&selected), ..self.scope };
        let value = scope.evaluate(arg)?.into_array_of_size(selected.count)?;
        scatter(&BooleanArray::new(rows.clone(), None), &value)
    }
}

#[cfg(test)]
mod tests;
