// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a leaf of a predicate tests: a column, possibly under casts that keep its order.
//!
//! A cast that never maps a greater value to a lesser one maps bounds to bounds, whatever it rounds. The
//! casts listed here also fail only beyond some least and some greatest value; so when both bounds can be
//! cast, every value between them can.

use arrow::datatypes::DataType;
use smallvec::SmallVec;

use super::ColumnPath;
use crate::expr::BoundExpression;
use crate::expr::functions::{Cast, GetItem};
use crate::floats::is_float;
use crate::index::TableCol;

/// A column under casts that keep its order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Operand {
    /// The column.
    pub path: ColumnPath,
    /// The column's type, dictionaries aside.
    pub column_type: DataType,
    /// The casts, innermost first, dictionaries aside.
    pub casts: SmallVec<[DataType; 1]>,
    /// Whether values can be told apart by comparing bounds.
    pub ordered: bool,
}

impl Operand {
    /// The operand that an expression over the table's struct is, if it is one.
    pub fn of(expr: &BoundExpression) -> Option<Self> {
        let mut casts = SmallVec::new();
        let mut inner = expr;
        while let Some(options) = inner.as_opt::<Cast>() {
            let child = inner.children().first()?;
            let (from, to) = (plain(child.field().data_type()), plain(&options.to));
            if from != to {
                keeps_order(from, to).then(|| casts.push(to.clone()))?;
            }
            inner = child;
        }
        casts.reverse();
        let column_type = plain(inner.field().data_type()).clone();
        Some(Self { path: path(inner)?, column_type, casts, ordered: is_ordered(expr.field().data_type()) })
    }

    /// The type of the values that are tested, dictionaries aside.
    pub fn data_type(&self) -> &DataType {
        self.casts.last().unwrap_or(&self.column_type)
    }
}

/// The column that a chain of field accesses over the root reads.
fn path(expr: &BoundExpression) -> Option<ColumnPath> {
    let (mut fields, mut inner) = (SmallVec::<[u32; 4]>::new(), expr);
    while let Some(field) = inner.as_opt::<GetItem>() {
        fields.push(u32::try_from(*field).ok()?);
        inner = inner.children().first()?;
    }
    let column = fields.pop().filter(|_| inner.is_root())?;
    fields.reverse();
    Some(ColumnPath { column: TableCol(column as usize), fields })
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
fn is_ordered(data_type: &DataType) -> bool {
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
        (from, to) if decimal(from) => decimal(to) || is_float(to),
        (from, to) => is_float(from) && is_float(to),
    }
}
