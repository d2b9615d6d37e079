// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Column types of random tables, each with an enumeration of its values.
//!
//! A value is told by an index: those from 0 on ascend in the type's order, those below 0 are the values that scans
//! get wrong (NaN, −0.0, the smallest integer, strings longer than statistics keep, …). Data and literals draw from
//! the same indexes, so that predicates and joins hit.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::scalar::ScalarValue;

/// A column of every random table: its name and type. The build side's columns have the same names after `u`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `i`: Int32.
    Int32,
    /// `l`: Int64.
    Int64,
    /// `f`: Float64.
    Float64,
    /// `s`: Utf8.
    Utf8,
    /// `d`: Date32.
    Date,
    /// `n`: Decimal128(12, 2).
    Decimal,
    /// `ts`: Timestamp in µs.
    Timestamp,
    /// `b`: Boolean.
    Boolean,
}

const PRECISION: u8 = 12;
const SCALE: i8 = 2;
const MICROS_A_DAY: i64 = 86_400_000_000;
/// 2020-01-01, in days since 1970.
const FIRST_DAY: i32 = 18_262;

impl Kind {
    /// Every column, in the table's order.
    pub const ALL: [Self; 8] = [
        Self::Int32,
        Self::Int64,
        Self::Float64,
        Self::Utf8,
        Self::Date,
        Self::Decimal,
        Self::Timestamp,
        Self::Boolean,
    ];

    /// The column's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int32 => "i",
            Self::Int64 => "l",
            Self::Float64 => "f",
            Self::Utf8 => "s",
            Self::Date => "d",
            Self::Decimal => "n",
            Self::Timestamp => "ts",
            Self::Boolean => "b",
        }
    }

    /// The column's type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Utf8 => DataType::Utf8,
            Self::Date => DataType::Date32,
            Self::Decimal => DataType::Decimal128(PRECISION, SCALE),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Boolean => DataType::Boolean,
        }
    }

    /// The value at `index`.
    pub fn value(self, index: i64) -> ScalarValue {
        let special = usize::try_from(-index - 1).ok();
        match self {
            Self::Int32 => {
                let small = i32::try_from(index).unwrap_or(0) - 5;
                ScalarValue::Int32(Some(pick(special, &[i32::MIN, i32::MAX]).unwrap_or(small)))
            }
            Self::Int64 => {
                let specials = [i64::MIN, i64::MAX, i64::from(i32::MAX) + 1];
                ScalarValue::Int64(Some(pick(special, &specials).unwrap_or(index - 5)))
            }
            Self::Float64 => {
                let specials = [-0.0, 0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                let small = (index as f64).mul_add(0.5, -3.0);
                ScalarValue::Float64(Some(pick(special, &specials).unwrap_or(small)))
            }
            Self::Utf8 => {
                let long = format!("k{}", "x".repeat(80));
                let longer = format!("{long}y");
                let specials = ["", "50%_off", "äöü", "\u{10ffff}\u{10ffff}", &long, &longer, "K003"];
                let text = pick(special, &specials);
                ScalarValue::Utf8(Some(text.map_or_else(|| format!("k{index:03}"), str::to_owned)))
            }
            Self::Date => {
                let day = FIRST_DAY + i32::try_from(index).unwrap_or(0);
                ScalarValue::Date32(Some(pick(special, &[-1, 0, 2_932_896]).unwrap_or(day)))
            }
            Self::Decimal => {
                let largest = 999_999_999_999;
                let hundredths = pick(special, &[-largest, largest]).unwrap_or(i128::from(index) * 25 - 100);
                ScalarValue::Decimal128(Some(hundredths), PRECISION, SCALE)
            }
            Self::Timestamp => {
                let day = i64::from(FIRST_DAY) * MICROS_A_DAY;
                let micros = pick(special, &[-1, 0]).unwrap_or(day + index * (MICROS_A_DAY / 4) + index % 3);
                ScalarValue::TimestampMicrosecond(Some(micros), None)
            }
            Self::Boolean => ScalarValue::Boolean(Some(index % 2 == 0)),
        }
    }

    /// The value at `index` in SQL.
    pub fn literal(self, index: i64) -> String {
        match self.value(index) {
            ScalarValue::Int32(Some(value)) => value.to_string(),
            // The smallest integer has no literal of its own.
            ScalarValue::Int64(Some(value)) => format!("CAST('{value}' AS BIGINT)"),
            ScalarValue::Float64(Some(value)) => format!("CAST('{value:?}' AS DOUBLE)"),
            ScalarValue::Utf8(Some(value)) => format!("'{value}'"),
            ScalarValue::Date32(Some(days)) => format!("CAST({days} AS DATE)"),
            ScalarValue::Decimal128(Some(value), precision, scale) => {
                let sign = if value < 0 { "-" } else { "" };
                let value = value.unsigned_abs();
                format!("CAST('{sign}{}.{:02}' AS DECIMAL({precision}, {scale}))", value / 100, value % 100)
            }
            ScalarValue::TimestampMicrosecond(Some(micros), _) => {
                format!("arrow_cast(CAST({micros} AS BIGINT), 'Timestamp(Microsecond, None)')")
            }
            other => other.to_string(),
        }
    }
}

fn pick<T: Copy>(special: Option<usize>, values: &[T]) -> Option<T> {
    values.get(special? % values.len()).copied()
}
