// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Column types of random tables, each with an enumeration of its values.
//!
//! A value is told by an index: those from 0 on ascend in the type's order (nested ones have none), those below 0 are
//! the values that scans get wrong (NaN, −0.0, the smallest integer, strings longer than statistics keep, …). Data and
//! literals draw from the same indexes, so that predicates and joins hit.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int64Array, Int64Builder, ListArray, MapBuilder, MapFieldNames, StringArray, StringBuilder,
    StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, IntervalUnit, TimeUnit};
use datafusion::scalar::ScalarValue;

use super::literal;

/// A column of random tables: its name and type. The build side's columns have the same names after `u`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // `name` and `data_type` say it all
pub enum Kind {
    Int32,
    Int64,
    Float64,
    Utf8,
    Date,
    Decimal,
    Timestamp,
    Boolean,
    Int8,
    Int16,
    UInt8,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Decimal32,
    Decimal64,
    Decimal256,
    LargeUtf8,
    Utf8View,
    /// Strings with a prefix in common that is longer than statistics are.
    LongPrefix,
    Binary,
    LargeBinary,
    BinaryView,
    FixedBinary,
    Date64,
    Time32,
    Time64,
    TimestampSecond,
    TimestampZone,
    TimestampCity,
    Duration,
    IntervalYearMonth,
    IntervalDayTime,
    DictionaryUtf8,
    DictionaryInt64,
    Struct,
    List,
    Map,
}

/// Precision and scale of decimals by width.
const DECIMALS: [(Kind, u8, i8); 4] =
    [(Kind::Decimal32, 9, 2), (Kind::Decimal64, 16, 2), (Kind::Decimal, 12, 2), (Kind::Decimal256, 45, 2)];
const SECONDS_A_DAY: i64 = 86_400;
/// 2020-01-01, in days since 1970.
const FIRST_DAY: i64 = 18_262;

impl Kind {
    /// The columns of every table, in its order.
    pub const CORE: [Self; 8] = [
        Self::Int32,
        Self::Int64,
        Self::Float64,
        Self::Utf8,
        Self::Date,
        Self::Decimal,
        Self::Timestamp,
        Self::Boolean,
    ];

    /// The columns of some tables.
    pub const MORE: [Self; 31] = [
        Self::Int8,
        Self::Int16,
        Self::UInt8,
        Self::UInt32,
        Self::UInt64,
        Self::Float16,
        Self::Float32,
        Self::Decimal32,
        Self::Decimal64,
        Self::Decimal256,
        Self::LargeUtf8,
        Self::Utf8View,
        Self::LongPrefix,
        Self::Binary,
        Self::LargeBinary,
        Self::BinaryView,
        Self::FixedBinary,
        Self::Date64,
        Self::Time32,
        Self::Time64,
        Self::TimestampSecond,
        Self::TimestampZone,
        Self::TimestampCity,
        Self::Duration,
        Self::IntervalYearMonth,
        Self::IntervalDayTime,
        Self::DictionaryUtf8,
        Self::DictionaryInt64,
        Self::Struct,
        Self::List,
        Self::Map,
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
            Self::Int8 => "i8",
            Self::Int16 => "i16",
            Self::UInt8 => "n8",
            Self::UInt32 => "n32",
            Self::UInt64 => "n64",
            Self::Float16 => "f16",
            Self::Float32 => "f32",
            Self::Decimal32 => "d32",
            Self::Decimal64 => "d64",
            Self::Decimal256 => "d256",
            Self::LargeUtf8 => "sl",
            Self::Utf8View => "sv",
            Self::LongPrefix => "sp",
            Self::Binary => "x",
            Self::LargeBinary => "xl",
            Self::BinaryView => "xv",
            Self::FixedBinary => "xf",
            Self::Date64 => "dl",
            Self::Time32 => "t32",
            Self::Time64 => "t64",
            Self::TimestampSecond => "tsec",
            Self::TimestampZone => "tz",
            Self::TimestampCity => "tc",
            Self::Duration => "td",
            Self::IntervalYearMonth => "iy",
            Self::IntervalDayTime => "idt",
            Self::DictionaryUtf8 => "sd",
            Self::DictionaryInt64 => "ld",
            Self::Struct => "st",
            Self::List => "li",
            Self::Map => "mp",
        }
    }

    /// The column's type.
    pub fn data_type(self) -> DataType {
        let (precision, scale) = self.decimal();
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Utf8 | Self::LongPrefix => DataType::Utf8,
            Self::Date => DataType::Date32,
            Self::Decimal => DataType::Decimal128(precision, scale),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Boolean => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::UInt8 => DataType::UInt8,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Float16 => DataType::Float16,
            Self::Float32 => DataType::Float32,
            Self::Decimal32 => DataType::Decimal32(precision, scale),
            Self::Decimal64 => DataType::Decimal64(precision, scale),
            Self::Decimal256 => DataType::Decimal256(precision, scale),
            Self::LargeUtf8 => DataType::LargeUtf8,
            Self::Utf8View => DataType::Utf8View,
            Self::Binary => DataType::Binary,
            Self::LargeBinary => DataType::LargeBinary,
            Self::BinaryView => DataType::BinaryView,
            Self::FixedBinary => DataType::FixedSizeBinary(4),
            Self::Date64 => DataType::Date64,
            Self::Time32 => DataType::Time32(TimeUnit::Millisecond),
            Self::Time64 => DataType::Time64(TimeUnit::Microsecond),
            Self::TimestampSecond => DataType::Timestamp(TimeUnit::Second, None),
            Self::TimestampZone => DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into())),
            Self::TimestampCity => DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
            Self::Duration => DataType::Duration(TimeUnit::Microsecond),
            Self::IntervalYearMonth => DataType::Interval(IntervalUnit::YearMonth),
            Self::IntervalDayTime => DataType::Interval(IntervalUnit::DayTime),
            Self::DictionaryUtf8 => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
            Self::DictionaryInt64 => DataType::Dictionary(DataType::Int16.into(), DataType::Int64.into()),
            Self::Struct => DataType::Struct(struct_fields()),
            Self::List => DataType::new_list(DataType::Int64, true),
            Self::Map => map(&[]).data_type().clone(),
        }
    }

    /// Whether the column is nested: it has no order and is no join's key.
    pub fn is_nested(self) -> bool {
        matches!(self, Self::Struct | Self::List | Self::Map)
    }

    /// Whether the column holds floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64)
    }

    fn decimal(self) -> (u8, i8) {
        let of = DECIMALS.iter().find(|(kind, ..)| *kind == self);
        of.map_or((1, 0), |(_, precision, scale)| (*precision, *scale))
    }

    /// The value at `index`.
    pub fn value(self, index: i64) -> ScalarValue {
        match self {
            Self::Struct => {
                let (a, b) = Self::parts(index);
                let a: ArrayRef = Arc::new(Int64Array::from(vec![a]));
                let b: ArrayRef = Arc::new(StringArray::from(vec![b]));
                ScalarValue::Struct(Arc::new(StructArray::new(struct_fields(), vec![a, b], None)))
            }
            Self::List => {
                ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(items(
                    index,
                ))])))
            }
            Self::Map => map(&[entries(index)]),
            _ => {
                let value = match self.plain(index) {
                    // Casts lose the sign of NaN.
                    Plain::Text(text) if self.is_float() => ScalarValue::Float64(text.parse().ok()),
                    Plain::Text(text) => ScalarValue::Utf8(Some(text)),
                    Plain::Bytes(bytes) => ScalarValue::Binary(Some(bytes)),
                    Plain::Number(number) => self.number(number),
                };
                value.cast_to(&self.data_type()).unwrap_or(value)
            }
        }
    }

    /// A number in the integer type that casts to this kind's type.
    fn number(self, number: i64) -> ScalarValue {
        match self {
            Self::Time32 => ScalarValue::Int32(Some(i32::try_from(number).unwrap_or(0))),
            _ => ScalarValue::Int64(Some(number)),
        }
    }

    /// The value at `index` in SQL.
    pub fn literal(self, index: i64) -> String {
        literal::sql(&self.value(index))
    }

    /// The fields of a struct.
    fn parts(index: i64) -> (Option<i64>, Option<String>) {
        ((index % 5 != 4).then_some(index / 2), (index % 7 != 3).then(|| format!("k{:03}", index.abs())))
    }

    /// The value at `index` as what it is cast from.
    fn plain(self, index: i64) -> Plain {
        let special = usize::try_from(-index - 1).ok();
        let text = |special: Option<String>, plain: String| Plain::Text(special.unwrap_or(plain));
        let integer = |specials: &[i128], less: i64| {
            text(pick(special, specials).map(|n| n.to_string()), (index - less).to_string())
        };
        let seconds = |specials: &[i64], a_second: i64| {
            let day = FIRST_DAY * SECONDS_A_DAY;
            let plain =
                (day + index * (SECONDS_A_DAY / 4)) * a_second + if a_second > 1 { index % 3 } else { 0 };
            Plain::Number(pick(special, specials).unwrap_or(plain))
        };
        let string = |prefix: &str| {
            let long = format!("k{}", "x".repeat(80));
            let longer = format!("{long}y");
            let specials = ["", "50%_off", "äöü", "\u{10ffff}\u{10ffff}", &long, &longer, "K003"];
            text(pick(special, &specials).map(str::to_owned), format!("{prefix}{index:03}"))
        };
        let bytes = |length: usize| {
            let specials = [vec![], vec![0xff; 70], vec![0], vec![0xff], vec![0x80]];
            let mut bytes = pick(special, &[0usize, 1, 2, 3, 4])
                .map_or_else(|| format!("k{index:03}").into_bytes(), |at| specials[at].clone());
            if length > 0 {
                bytes.resize(length, 0);
            }
            Plain::Bytes(bytes)
        };
        match self {
            Self::Int32 => integer(&[i32::MIN.into(), i32::MAX.into()], 5),
            Self::Int64 => integer(&[i64::MIN.into(), i64::MAX.into(), i128::from(i32::MAX) + 1], 5),
            Self::DictionaryInt64 => integer(&[i64::MIN.into(), i64::MAX.into()], 5),
            Self::Int8 => integer(&[i8::MIN.into(), i8::MAX.into()], 5),
            Self::Int16 => integer(&[i16::MIN.into(), i16::MAX.into()], 5),
            Self::UInt8 => integer(&[u8::MAX.into(), 128], 0),
            Self::UInt32 => integer(&[u32::MAX.into(), i128::from(i32::MAX) + 1], 0),
            Self::UInt64 => integer(&[u64::MAX.into(), i128::from(i64::MAX) + 1], 0),
            Self::Float64 | Self::Float32 | Self::Float16 => {
                let specials = ["-0.0", "0.0", "NaN", "-NaN", "inf", "-inf"];
                let small = (index as f64).mul_add(0.5, -3.0);
                text(pick(special, &specials).map(str::to_owned), format!("{small:?}"))
            }
            Self::Decimal | Self::Decimal32 | Self::Decimal64 | Self::Decimal256 => {
                let nines = "9".repeat(usize::from(self.decimal().0) - 2);
                let specials = [format!("-{nines}.99"), format!("{nines}.99")];
                let hundredths = index * 25 - 100;
                let sign = if hundredths < 0 { "-" } else { "" };
                let (whole, part) = (hundredths.abs() / 100, hundredths.abs() % 100);
                let special = special.and_then(|n| specials.get(n % 2).cloned());
                text(special, format!("{sign}{whole}.{part:02}"))
            }
            Self::Utf8 | Self::LargeUtf8 | Self::Utf8View | Self::DictionaryUtf8 => string("k"),
            Self::LongPrefix => string(&"p".repeat(70)),
            Self::Binary | Self::LargeBinary | Self::BinaryView => bytes(0),
            Self::FixedBinary => bytes(4),
            Self::Date => Plain::Text(date(pick(special, &[-1, 0, 2_932_896]).unwrap_or(FIRST_DAY + index))),
            Self::Date64 => {
                let day = pick(special, &[-1, 0]).unwrap_or(FIRST_DAY + index);
                Plain::Number(day * SECONDS_A_DAY * 1000)
            }
            Self::Time32 => Plain::Number(pick(special, &[0, 86_399_999]).unwrap_or(index * 1000 + 7)),
            Self::Time64 => {
                Plain::Number(pick(special, &[0, 86_399_999_999]).unwrap_or(index * 1_000_000 + 7))
            }
            Self::Timestamp => seconds(&[-1, 0], 1_000_000),
            Self::TimestampSecond => seconds(&[-1, 0], 1),
            Self::TimestampZone => seconds(&[-1, 0], 1000),
            // Around the change to summer time of 2020, too.
            Self::TimestampCity => {
                seconds(&[-1, 0, 1_585_443_600_000_000_000, 1_585_443_599_999_999_999], 1_000_000_000)
            }
            Self::Duration => {
                Plain::Number(pick(special, &[i64::MIN, i64::MAX]).unwrap_or((index - 5) * 1000))
            }
            Self::IntervalYearMonth => Plain::Text(format!("{} months", index - 5)),
            Self::IntervalDayTime => Plain::Text(format!("{} days {} seconds", index / 4, index % 4)),
            Self::Boolean => Plain::Text((index % 2 == 0).to_string()),
            Self::Struct | Self::List | Self::Map => Plain::Number(index),
        }
    }
}

/// What a value is cast from.
enum Plain {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
}

fn struct_fields() -> Fields {
    Fields::from(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)])
}

/// The items of a list.
fn items(index: i64) -> Vec<Option<i64>> {
    (0..index.rem_euclid(4)).map(|n| (n != 2).then_some(index + n)).collect()
}

/// The entries of a map.
fn entries(index: i64) -> Vec<(String, i64)> {
    (0..index.rem_euclid(3)).map(|n| (format!("k{n}"), index + n)).collect()
}

/// A map of one row, or of none.
fn map(rows: &[Vec<(String, i64)>]) -> ScalarValue {
    let name = str::to_owned;
    let names = MapFieldNames { entry: name("entries"), key: name("key"), value: name("value") };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), Int64Builder::new());
    for (key, value) in rows.iter().flatten() {
        builder.keys().append_value(key);
        builder.values().append_value(*value);
    }
    let appended = builder.append(!rows.is_empty());
    debug_assert!(appended.is_ok());
    ScalarValue::Map(Arc::new(builder.finish()))
}

fn date(days: i64) -> String {
    let days = i32::try_from(days).unwrap_or(0);
    ScalarValue::Date32(Some(days)).to_string()
}

fn pick<T: Copy>(special: Option<usize>, values: &[T]) -> Option<T> {
    values.get(special? % values.len()).copied()
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[tokio::test]
    async fn a_literal_is_the_value() {
        let session = SessionContext::new();
        for kind in Kind::CORE.into_iter().chain(Kind::MORE) {
            for index in (-8..8).chain([23, 49]) {
                let value = kind.value(index);
                assert_eq!(value.data_type(), kind.data_type(), "{kind:?} {index}");
                let sql = format!("SELECT {}", kind.literal(index));
                let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
                let column = batches[0].column(0);
                let literal =
                    ScalarValue::try_from_array(column, 0).unwrap().cast_to(&kind.data_type()).unwrap();
                assert_eq!(literal, value, "{sql}");
            }
        }
    }

    #[test]
    fn values_ascend() {
        for kind in Kind::CORE.into_iter().chain(Kind::MORE) {
            if kind.is_nested() || kind == Kind::Boolean {
                continue;
            }
            for index in 0..50 {
                let (a, b) = (kind.value(index), kind.value(index + 1));
                assert!(a < b, "{kind:?}: {a} {b}");
            }
        }
    }
}
