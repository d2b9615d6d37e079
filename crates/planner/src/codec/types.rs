// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Arrow's types and fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION,
    DataType, Field, FieldRef, IntervalUnit, TimeUnit,
};

use super::{CodecError, wire};

/// How deep types may be nested. (Messages of messages end at 100, and a level takes two.)
const MAX_NESTING: usize = 32;

/// How many bytes a value may take for its type alone, which a NULL takes as well.
const MAX_WIDTH: u64 = 1 << 24;

/// The types that are a name and nothing else, by number.
const PLAIN: [(u32, DataType); 24] = [
    (0, DataType::Null),
    (1, DataType::Boolean),
    (2, DataType::Int8),
    (3, DataType::Int16),
    (4, DataType::Int32),
    (5, DataType::Int64),
    (6, DataType::UInt8),
    (7, DataType::UInt16),
    (8, DataType::UInt32),
    (9, DataType::UInt64),
    (10, DataType::Float16),
    (11, DataType::Float32),
    (12, DataType::Float64),
    (13, DataType::Date32),
    (14, DataType::Date64),
    (15, DataType::Binary),
    (16, DataType::LargeBinary),
    (17, DataType::BinaryView),
    (18, DataType::Utf8),
    (19, DataType::LargeUtf8),
    (20, DataType::Utf8View),
    (21, DataType::Interval(IntervalUnit::YearMonth)),
    (22, DataType::Interval(IntervalUnit::DayTime)),
    (23, DataType::Interval(IntervalUnit::MonthDayNano)),
];

const TIMESTAMP: u32 = 32;
const TIME32: u32 = 33;
const TIME64: u32 = 34;
const DURATION: u32 = 35;
const FIXED_SIZE_BINARY: u32 = 36;
const DECIMAL32: u32 = 37;
const DECIMAL64: u32 = 38;
const DECIMAL128: u32 = 39;
const DECIMAL256: u32 = 40;
const LIST: u32 = 41;
const LARGE_LIST: u32 = 42;
const FIXED_SIZE_LIST: u32 = 43;
const MAP: u32 = 44;
const STRUCT: u32 = 45;
const DICTIONARY: u32 = 46;

/// Writes a field.
pub fn write_field(field: &Field) -> Result<wire::Field, CodecError> {
    nested_field(field, MAX_NESTING)
}

fn nested_field(field: &Field, levels: usize) -> Result<wire::Field, CodecError> {
    let entry = |(key, value): (&String, &String)| wire::Entry { key: key.clone(), value: value.clone() };
    let mut metadata: Vec<_> = field.metadata().iter().map(entry).collect();
    metadata.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let data_type = Some(nested_type(field.data_type(), levels)?);
    Ok(wire::Field { name: field.name().clone(), data_type, nullable: field.is_nullable(), metadata })
}

/// Writes a type.
pub fn write_type(data_type: &DataType) -> Result<wire::DataType, CodecError> {
    nested_type(data_type, MAX_NESTING)
}

fn nested_type(data_type: &DataType, levels: usize) -> Result<wire::DataType, CodecError> {
    let levels =
        levels.checked_sub(1).filter(|_| width(data_type) <= MAX_WIDTH).ok_or(CodecError::TooLarge)?;
    let plain = |kind| wire::DataType { kind, ..wire::DataType::default() };
    let with = |kind, numbers: &[i64]| wire::DataType { numbers: numbers.to_vec(), ..plain(kind) };
    let of = |kind, field: &Field, numbers: &[i64]| -> Result<_, CodecError> {
        Ok(wire::DataType { fields: vec![nested_field(field, levels)?], ..with(kind, numbers) })
    };
    Ok(match data_type {
        DataType::Timestamp(unit, zone) => wire::DataType {
            text: zone.as_ref().map(|zone| zone.to_string()),
            ..with(TIMESTAMP, &[unit_number(*unit)])
        },
        DataType::Time32(unit) => with(TIME32, &[unit_number(*unit)]),
        DataType::Time64(unit) => with(TIME64, &[unit_number(*unit)]),
        DataType::Duration(unit) => with(DURATION, &[unit_number(*unit)]),
        DataType::FixedSizeBinary(width) => with(FIXED_SIZE_BINARY, &[i64::from(*width)]),
        DataType::Decimal32(p, s) => with(DECIMAL32, &[i64::from(*p), i64::from(*s)]),
        DataType::Decimal64(p, s) => with(DECIMAL64, &[i64::from(*p), i64::from(*s)]),
        DataType::Decimal128(p, s) => with(DECIMAL128, &[i64::from(*p), i64::from(*s)]),
        DataType::Decimal256(p, s) => with(DECIMAL256, &[i64::from(*p), i64::from(*s)]),
        DataType::List(field) => of(LIST, field, &[])?,
        DataType::LargeList(field) => of(LARGE_LIST, field, &[])?,
        DataType::FixedSizeList(field, size) => of(FIXED_SIZE_LIST, field, &[i64::from(*size)])?,
        DataType::Map(field, sorted) => of(MAP, field, &[i64::from(*sorted)])?,
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| nested_field(field, levels));
            wire::DataType { fields: fields.collect::<Result<_, _>>()?, ..plain(STRUCT) }
        }
        DataType::Dictionary(key, value) => {
            let part = |part: &DataType| nested_field(&Field::new("", part.clone(), true), levels);
            wire::DataType { fields: vec![part(key)?, part(value)?], ..plain(DICTIONARY) }
        }
        other => match PLAIN.iter().find(|(_, plain)| plain == other) {
            Some((kind, _)) => plain(*kind),
            None => return Err(CodecError::Type(other.to_string())),
        },
    })
}

/// Reads a field.
pub fn read_field(field: Option<wire::Field>) -> Result<FieldRef, CodecError> {
    let field = field.ok_or(CodecError::Malformed("no field"))?;
    let metadata: HashMap<_, _> = field.metadata.into_iter().map(|entry| (entry.key, entry.value)).collect();
    let data_type = read_type(field.data_type)?;
    Ok(Arc::new(Field::new(field.name, data_type, field.nullable).with_metadata(metadata)))
}

/// Reads a type. Nesting ends where messages do.
pub fn read_type(data_type: Option<wire::DataType>) -> Result<DataType, CodecError> {
    let wire::DataType { kind, numbers, text, fields } = data_type.ok_or(CodecError::Malformed("no type"))?;
    if let Some((_, plain)) = PLAIN.iter().find(|(number, _)| *number == kind) {
        return Ok(plain.clone());
    }
    let fields = fields.into_iter().map(|field| read_field(Some(field))).collect::<Result<Vec<_>, _>>()?;
    let wrong = || CodecError::Malformed("a type that can't be");
    let unit = || numbers.first().and_then(|number| unit_of(*number)).ok_or_else(wrong);
    let size = || {
        numbers.first().and_then(|size| i32::try_from(*size).ok()).filter(|size| *size >= 0).ok_or_else(wrong)
    };
    let decimal = |max: u8| match numbers.as_slice() {
        [precision, scale] => {
            let precision = u8::try_from(*precision).ok().filter(|p| (1..=max).contains(p));
            let scale = i8::try_from(*scale).ok();
            precision.zip(scale).filter(|(p, s)| i16::from(*s).abs() <= i16::from(*p)).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    };
    let only = || match fields.as_slice() {
        [field] => Ok(Arc::clone(field)),
        _ => Err(wrong()),
    };
    let data_type = match kind {
        TIMESTAMP => DataType::Timestamp(unit()?, text.map(Into::into)),
        TIME32 => match unit()? {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(unit),
            _ => return Err(wrong()),
        },
        TIME64 => match unit()? {
            unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => DataType::Time64(unit),
            _ => return Err(wrong()),
        },
        DURATION => DataType::Duration(unit()?),
        FIXED_SIZE_BINARY => DataType::FixedSizeBinary(size()?),
        DECIMAL32 => decimal(DECIMAL32_MAX_PRECISION).map(|(p, s)| DataType::Decimal32(p, s))?,
        DECIMAL64 => decimal(DECIMAL64_MAX_PRECISION).map(|(p, s)| DataType::Decimal64(p, s))?,
        DECIMAL128 => decimal(DECIMAL128_MAX_PRECISION).map(|(p, s)| DataType::Decimal128(p, s))?,
        DECIMAL256 => decimal(DECIMAL256_MAX_PRECISION).map(|(p, s)| DataType::Decimal256(p, s))?,
        LIST => DataType::List(only()?),
        LARGE_LIST => DataType::LargeList(only()?),
        FIXED_SIZE_LIST => DataType::FixedSizeList(only()?, size()?),
        MAP => match only()?.data_type() {
            DataType::Struct(entries) if entries.len() == 2 && !fields[0].is_nullable() => {
                DataType::Map(only()?, numbers.first() == Some(&1))
            }
            _ => return Err(wrong()),
        },
        STRUCT => DataType::Struct(fields.into()),
        DICTIONARY => match fields.as_slice() {
            [key, value] if key.data_type().is_dictionary_key_type() && !value.data_type().is_nested() => {
                DataType::Dictionary(Box::new(key.data_type().clone()), Box::new(value.data_type().clone()))
            }
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    if width(&data_type) > MAX_WIDTH { Err(CodecError::TooLarge) } else { Ok(data_type) }
}

/// How many bytes a NULL of a type takes at most, where it is of a fixed size.
fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeBinary(size) => u64::from(size.unsigned_abs()),
        DataType::FixedSizeList(field, size) => {
            u64::from(size.unsigned_abs()).saturating_mul(width(field.data_type()))
        }
        DataType::Struct(fields) => {
            fields.iter().map(|field| width(field.data_type())).fold(1, u64::saturating_add)
        }
        // The largest numbers.
        _ => 32,
    }
}

fn unit_number(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

fn unit_of(number: i64) -> Option<TimeUnit> {
    Some(match number {
        0 => TimeUnit::Second,
        1 => TimeUnit::Millisecond,
        2 => TimeUnit::Microsecond,
        3 => TimeUnit::Nanosecond,
        _ => return None,
    })
}
