// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The schema of a table over files whose schemas differ.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use object_store::path::Path;

use super::can_adapt;
use crate::ScanError;

/// The schema of a table over files with these schemas.
///
/// Columns are joined by name, in order of first appearance; their type is [`widen`]'s; a column may be
/// NULL where some file has it so or not at all. An error names two files that don't go together.
pub fn union_schemas<'a>(
    files: impl IntoIterator<Item = (&'a Path, &'a Schema)>,
) -> Result<SchemaRef, ScanError> {
    struct Column<'a> {
        field: Field,
        first: &'a Path,
        files: usize,
    }
    let (mut columns, mut by_name, mut count) = (Vec::<Column<'a>>::new(), HashMap::new(), 0);
    for (path, schema) in files {
        count += 1;
        for field in schema.fields() {
            let at = *by_name.entry(field.name().as_str()).or_insert(columns.len());
            let Some(column) = columns.get_mut(at) else {
                columns.push(Column { field: field.as_ref().clone(), first: path, files: 1 });
                continue;
            };
            let Some(widened) = widen(column.field.data_type(), field.data_type()) else {
                return Err(ScanError::Conflict {
                    column: field.name().clone(),
                    first_path: column.first.clone(),
                    first: column.field.data_type().clone(),
                    second_path: path.clone(),
                    second: field.data_type().clone(),
                });
            };
            let nullable = column.field.is_nullable() || field.is_nullable();
            column.field = Field::new(field.name(), widened, nullable);
            column.files += 1;
        }
    }
    let fields = columns.into_iter().map(|Column { field, files, .. }| {
        let nullable = field.is_nullable() || files < count;
        field.with_nullable(nullable)
    });
    Ok(Arc::new(Schema::new(fields.collect::<Fields>())))
}

/// The type that holds the values of both types: the type of a table column over files that have either.
///
/// `None` when there is none: only types of one kind go together (numbers; strings; binaries; dates and
/// timestamps without a zone; timestamps with zones; structs; lists). Integers of more than 16 bits with
/// floats become `Float64`, as in DataFusion's own coercion.
pub fn widen(a: &DataType, b: &DataType) -> Option<DataType> {
    let widened = join(a, b)?;
    (can_adapt("", a, &widened) && can_adapt("", b, &widened)).then_some(widened)
}

fn join(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match (a, b) {
        _ if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),

        (Dictionary(k, v), Dictionary(l, w)) => {
            let (v, w) = (join(v, w)?, integer_width(k).max(integer_width(l)));
            let key = if integer_width(k) == w { k } else { l };
            Dictionary(key.clone(), Box::new(v))
        }
        (Dictionary(_, v), other) | (other, Dictionary(_, v)) => join(v, other)?,

        _ if a.is_integer() && b.is_integer() => join_integers(a, b)?,
        _ if a.is_numeric() && b.is_numeric() => join_numbers(a, b)?,

        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => {
            if *a == Utf8View || *b == Utf8View {
                Utf8View
            } else {
                LargeUtf8
            }
        }
        (
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
        ) => match (a, b) {
            (BinaryView, _) | (_, BinaryView) => BinaryView,
            (LargeBinary, _) | (_, LargeBinary) => LargeBinary,
            _ => Binary,
        },

        (Date32, Date64) | (Date64, Date32) => Date64,
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Timestamp(*unit, None),
        (Date64, Timestamp(unit, None)) | (Timestamp(unit, None), Date64) => {
            Timestamp(finer(*unit, TimeUnit::Millisecond), None)
        }
        (Timestamp(x, z), Timestamp(y, w)) if z.is_some() == w.is_some() => {
            Timestamp(finer(*x, *y), z.clone())
        }
        (Time32(x) | Time64(x), Time32(y) | Time64(y)) => match finer(*x, *y) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Time32(unit),
            unit => Time64(unit),
        },
        (Duration(x), Duration(y)) => Duration(finer(*x, *y)),

        (Struct(x), Struct(y)) => Struct(join_fields(x, y)?),
        (List(x), List(y)) => List(join_items(x, y)?),
        (List(x) | LargeList(x), List(y) | LargeList(y)) => LargeList(join_items(x, y)?),
        (FixedSizeList(x, n), FixedSizeList(y, m)) if n == m => FixedSizeList(join_items(x, y)?, *n),
        (Map(x, sorted), Map(y, also)) if sorted == also => Map(join_items(x, y)?, *sorted),
        _ => return None,
    })
}

fn join_fields(a: &Fields, b: &Fields) -> Option<Fields> {
    let mut fields = Vec::with_capacity(a.len());
    for field in a {
        fields.push(match b.iter().find(|other| other.name() == field.name()) {
            Some(other) => join_items(field, other)?,
            None => Arc::new(field.as_ref().clone().with_nullable(true)),
        });
    }
    let new = b.iter().filter(|other| a.iter().all(|field| field.name() != other.name()));
    fields.extend(new.map(|field| Arc::new(field.as_ref().clone().with_nullable(true))));
    Some(fields.into())
}

fn join_items(a: &Arc<Field>, b: &Arc<Field>) -> Option<Arc<Field>> {
    let nullable = a.is_nullable() || b.is_nullable();
    Some(Arc::new(Field::new(a.name(), join(a.data_type(), b.data_type())?, nullable)))
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    a.max(b)
}

fn integer_width(t: &DataType) -> usize {
    t.primitive_width().unwrap_or(0)
}

fn join_integers(a: &DataType, b: &DataType) -> Option<DataType> {
    let wider = if integer_width(a) >= integer_width(b) { a } else { b };
    if a.is_signed_integer() == b.is_signed_integer() {
        return Some(wider.clone());
    }
    let (signed, unsigned) = if a.is_signed_integer() { (a, b) } else { (b, a) };
    Some(match integer_width(signed).max(2 * integer_width(unsigned)) {
        1 | 2 => DataType::Int16,
        4 => DataType::Int32,
        8 => DataType::Int64,
        _ => DataType::Decimal128(20, 0),
    })
}

fn join_numbers(a: &DataType, b: &DataType) -> Option<DataType> {
    let (wider, other) = if integer_width(a) >= integer_width(b) { (a, b) } else { (b, a) };
    if wider.is_floating() && other.is_floating() {
        return Some(wider.clone());
    }
    if a.is_floating() || b.is_floating() {
        let (float, number) = if a.is_floating() { (a, b) } else { (b, a) };
        let short = number.is_integer() && integer_width(number) <= 2 && *float != DataType::Float64;
        return Some(if short { DataType::Float32 } else { DataType::Float64 });
    }
    // Two decimals, or a decimal and an integer.
    let ((p, s), (q, t)) = (as_decimal(a)?, as_decimal(b)?);
    let scale = s.max(t);
    let digits = (i16::from(p) - i16::from(s)).max(i16::from(q) - i16::from(t)) + i16::from(scale);
    let precision = u8::try_from(digits).ok()?.max(1);
    Some(match (integer_width(a).max(integer_width(b)), precision) {
        (4, ..=9) => DataType::Decimal32(precision, scale),
        (4 | 8, ..=18) => DataType::Decimal64(precision, scale),
        (..=16, ..=38) => DataType::Decimal128(precision, scale),
        (_, ..=76) => DataType::Decimal256(precision, scale),
        _ => return None,
    })
}

/// The precision and scale of the decimals that hold the type's values.
fn as_decimal(t: &DataType) -> Option<(u8, i8)> {
    Some(match t {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (*p, *s),
        DataType::Int8 | DataType::UInt8 => (3, 0),
        DataType::Int16 | DataType::UInt16 => (5, 0),
        DataType::Int32 | DataType::UInt32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::UInt64 => (20, 0),
        _ => return None,
    })
}
