// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a leaf of a predicate tests: a column, or a function of operands whose bounds follow from theirs.
//!
//! A cast that never maps a greater value to a lesser one maps bounds to bounds, whatever it rounds. The
//! casts listed here also fail only beyond some least and some greatest value; so when both bounds can be
//! cast, every value between them can.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

use crate::expr::functions::{Arithmetic, ArithmeticOp, Cast, GetItem};
use crate::expr::{BoundExpression, ExprKind, Foreign, Monotone, Nulls};
use crate::floats::is_float;
use crate::index::ColumnPath;

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Column {
    /// Where it is.
    pub path: ColumnPath,
    /// Its type, dictionaries aside.
    pub data_type: DataType,
    /// Whether values can be told apart by comparing bounds.
    pub ordered: bool,
}

/// What a leaf tests. Operands refer to each other by their numbers in [`Operands`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Operand {
    /// A column.
    Column(Column),
    /// A cast that keeps the order; `total` when it never fails. Dictionaries aside.
    Cast { of: usize, to: DataType, total: bool },
    /// `+`, `-` or `*`.
    Arithmetic { op: ArithmeticOp, terms: [Term; 2], data_type: DataType },
    /// A monotone function of another engine.
    Foreign { of: usize, function: Function, monotone: Monotone },
}

/// A term of a sum or product.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Term {
    Operand(usize),
    Value(ScalarValue),
    Param(u16),
}

/// A function of another engine; the same only as itself.
#[derive(Debug, Clone)]
pub(super) struct Function(pub Arc<dyn Foreign>);

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.fingerprint().hash(state);
    }
}

/// The operands of a predicate, each once; those that others are made from come before them.
#[derive(Debug, Default)]
pub(super) struct Operands {
    all: Vec<Operand>,
    numbers: HashMap<Operand, usize>,
}

impl Operands {
    /// The operands by number.
    pub fn into_all(self) -> Vec<Operand> {
        self.all
    }

    /// The number of the operand that an expression over the table's struct is, if it is one.
    pub fn number(&mut self, expr: &BoundExpression) -> Option<usize> {
        self.of(expr, 0)
    }

    fn of(&mut self, expr: &BoundExpression, depth: usize) -> Option<usize> {
        if depth > super::compile::MAX_DEPTH {
            return None;
        }
        let operand = if let Some(options) = expr.as_opt::<Cast>() {
            let child = expr.children().first()?;
            let (from, to) = (plain(child.field().data_type()), plain(&options.to));
            is_ordered(&options.to).then_some(())?;
            if from == to {
                return self.of(child, depth + 1);
            }
            keeps_order(from, to).then_some(())?;
            let total =
                expr.facts().nulls == Nulls::Strict { null_only_from_null: true } || never_fails(from, to);
            Operand::Cast { of: self.of(child, depth + 1)?, to: to.clone(), total }
        } else if let Some(op) = expr.as_opt::<Arithmetic>() {
            let [left, right] = expr.children() else { return None };
            keeps_bounds(*op, left.field().data_type(), right.field().data_type()).then_some(())?;
            let terms = [self.term(left, depth)?, self.term(right, depth)?];
            Operand::Arithmetic { op: *op, terms, data_type: expr.field().data_type().clone() }
        } else if let ExprKind::Foreign(function) = expr.kind() {
            let ([of], monotone) = (expr.children(), function.monotone()?) else { return None };
            let ordered = |expr: &BoundExpression| {
                let data_type = expr.field().data_type();
                is_ordered(data_type) && plain(data_type) == data_type
            };
            (ordered(of) && ordered(expr)).then_some(())?;
            Operand::Foreign {
                of: self.of(of, depth + 1)?,
                function: Function(Arc::clone(function)),
                monotone,
            }
        } else {
            let (path, field) = (GetItem::path(expr)?, expr.field());
            let (data_type, ordered) = (plain(field.data_type()).clone(), is_ordered(field.data_type()));
            Operand::Column(Column { path, data_type, ordered })
        };
        let next = self.all.len();
        Some(*self.numbers.entry(operand).or_insert_with_key(|operand| {
            self.all.push(operand.clone());
            next
        }))
    }

    fn term(&mut self, expr: &BoundExpression, depth: usize) -> Option<Term> {
        match expr.kind() {
            ExprKind::Literal(value) => Some(Term::Value(value.clone())),
            ExprKind::Param(slot, _) => Some(Term::Param(*slot)),
            // Intervals aren't in the order of their lengths.
            _ if is_span(expr.field().data_type()) => None,
            _ => self.of(expr, depth + 1).map(Term::Operand),
        }
    }
}

/// The type of a dictionary's values; other types as they are.
pub(super) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Whether comparisons of the type are by the order its bounds are in.
///
/// Structs and lists have no bounds. Dictionaries of floats are compared without folding zeros, unlike
/// all other floats.
pub(super) fn is_ordered(data_type: &DataType) -> bool {
    let dictionary = matches!(data_type, DataType::Dictionary(..)) && is_float(data_type);
    !data_type.is_nested() && !dictionary
}

/// Whether a cast never maps a greater value to a lesser one, and fails only outside an interval.
///
/// Missing on purpose: to and from zoned timestamps unless both are (a local clock goes back in autumn),
/// `Date64` to timestamps (wraps), binary to text (fails in between), anything between numbers and text.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let text = |t: &DataType| matches!(t, Utf8 | LargeUtf8 | Utf8View);
    let binary = |t: &DataType| matches!(t, Binary | LargeBinary | BinaryView);
    let decimal = |t: &DataType| matches!(t, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..));
    match (from, to) {
        (Timestamp(_, a), Timestamp(_, b)) => a.is_some() == b.is_some(),
        (Date32, Date64 | Timestamp(_, None)) | (Timestamp(_, None), Date32) => true,
        (from, to) if text(from) => text(to) || binary(to),
        (from, to) if binary(from) => binary(to),
        (from, to) if from.is_integer() => to.is_integer() || is_float(to) || decimal(to),
        (from, to) if decimal(from) => decimal(to) || is_float(to) || to.is_integer(),
        (from, to) => is_float(from) && (is_float(to) || to.is_integer() || decimal(to)),
    }
}

/// Whether a cast never fails, beside those of which the function itself knows that: between strings, to a coarser
/// unit, and to decimals with at least as many digits on both sides of the point.
fn never_fails(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (Timestamp(fine, _), Timestamp(coarse, _)) => coarse <= fine,
        (from, to) if from.is_string() => to.is_string(),
        (Decimal128(p, s), Decimal128(wide, scale)) => {
            scale >= s && i16::from(*wide) - i16::from(*scale) >= i16::from(*p) - i16::from(*s)
        }
        _ => false,
    }
}

/// Whether bounds of the terms give bounds of the result.
///
/// Missing on purpose: anything with zoned timestamps (a day may have 23 hours), `Date64` (its
/// arithmetic wraps), and dictionaries.
fn keeps_bounds(op: ArithmeticOp, left: &DataType, right: &DataType) -> bool {
    use DataType::*;
    let number = |t: &DataType| {
        t.is_integer()
            || is_float(t) && plain(t) == t
            || matches!(t, Decimal32(..) | Decimal64(..) | Decimal128(..))
    };
    let day = |t: &DataType| matches!(t, Date32 | Timestamp(_, None));
    match op {
        _ if number(left) && number(right) => true,
        // Months, days, then time: each step keeps the order of days.
        ArithmeticOp::Add => day(left) && is_span(right) || is_span(left) && day(right),
        ArithmeticOp::Sub => day(left) && is_span(right),
        ArithmeticOp::Mul => false,
    }
}

fn is_span(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::Duration(_))
}
