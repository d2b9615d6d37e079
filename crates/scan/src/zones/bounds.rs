// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a file says of a zone, and its bounds as Arrow values.
//!
//! The conversion is done here and not by parquet's `StatisticsConverter`, which panics on decimals of a
//! wrong length and knows nothing of deprecated fields and column orders.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal32Array, Decimal64Array, Decimal128Array,
    Decimal256Array, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int32Array, Int64Array,
    StringArray, UInt32Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, i256};
use parquet::data_type::AsBytes;
use parquet::file::page_index::column_index::{ColumnIndexMetaData, PrimitiveColumnIndex};
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::trust::Trust;

/// What a file says of one zone, as far as it can be relied on.
#[derive(Debug, Default)]
pub(super) struct RawZone<'a> {
    pub nulls: Option<u64>,
    pub lower: Option<Raw<'a>>,
    pub upper: Option<Raw<'a>>,
    pub lower_is_exact: bool,
    pub upper_is_exact: bool,
}

/// A value of one of Parquet's physical types.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Raw<'a> {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

impl Raw<'_> {
    fn is_nan(&self, trust: &Trust) -> bool {
        match self {
            Self::Float(v) => v.is_nan(),
            Self::Double(v) => v.is_nan(),
            Self::Bytes(bytes) if trust.float16 => float16(bytes).is_some_and(F16::is_nan),
            _ => false,
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(i64::from(*v)),
            Self::Long(v) => Some(*v),
            _ => None,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// What the statistics of a chunk of `rows` rows say.
pub(super) fn row_group_zone<'a>(
    statistics: Option<&'a Statistics>,
    rows: u64,
    trust: &Trust,
) -> RawZone<'a> {
    let Some(statistics) = statistics else { return RawZone::default() };
    let nulls = statistics.null_count_opt().filter(|nulls| *nulls <= rows);
    let mut zone = RawZone { nulls, ..Default::default() };
    let trusted = if statistics.is_min_max_deprecated() { trust.deprecated } else { trust.current };
    if trusted {
        let bounds = match statistics {
            Statistics::Boolean(v) => both(v, |v| Raw::Boolean(*v)),
            Statistics::Int32(v) => both(v, |v| Raw::Int(*v)),
            Statistics::Int64(v) => both(v, |v| Raw::Long(*v)),
            Statistics::Float(v) => both(v, |v| Raw::Float(*v)),
            Statistics::Double(v) => both(v, |v| Raw::Double(*v)),
            Statistics::ByteArray(v) => both(v, |v| Raw::Bytes(v.as_bytes())),
            Statistics::FixedLenByteArray(v) => both(v, |v| Raw::Bytes(v.as_bytes())),
            Statistics::Int96(_) => (None, None),
        };
        (zone.lower_is_exact, zone.upper_is_exact) = (statistics.min_is_exact(), statistics.max_is_exact());
        (zone.lower, zone.upper) = bounds;
        if trust.decimal_bytes {
            zone.lower = zone.lower.filter(|_| zone.lower_is_exact);
            zone.upper = zone.upper.filter(|_| zone.upper_is_exact);
        }
    }
    zone.without_nans(trust)
}

fn both<'a, T>(
    statistics: &'a ValueStatistics<T>,
    raw: impl Fn(&'a T) -> Raw<'a>,
) -> (Option<Raw<'a>>, Option<Raw<'a>>) {
    (statistics.min_opt().map(&raw), statistics.max_opt().map(&raw))
}

/// What a chunk's page index says of a page of `rows` rows; the index is not `NONE` and has that page.
pub(super) fn page_zone<'a>(
    index: &'a ColumnIndexMetaData,
    page: usize,
    rows: u64,
    trust: &Trust,
) -> RawZone<'a> {
    let stated = index.null_counts().and_then(|counts| counts.get(page));
    let nulls = stated.and_then(|nulls| u64::try_from(*nulls).ok()).filter(|nulls| *nulls <= rows);
    if index.is_null_page(page) {
        // Bounds of a null page are placeholders. It may not contradict its null count.
        let nulls = (stated.is_none() || nulls == Some(rows)).then_some(rows);
        return RawZone { nulls, ..Default::default() };
    }
    let mut zone = RawZone { nulls, ..Default::default() };
    if trust.current && !trust.decimal_bytes {
        (zone.lower, zone.upper) = match index {
            ColumnIndexMetaData::BOOLEAN(v) => page_bounds(v, page, |v| Raw::Boolean(*v)),
            ColumnIndexMetaData::INT32(v) => page_bounds(v, page, |v| Raw::Int(*v)),
            ColumnIndexMetaData::INT64(v) => page_bounds(v, page, |v| Raw::Long(*v)),
            ColumnIndexMetaData::FLOAT(v) => page_bounds(v, page, |v| Raw::Float(*v)),
            ColumnIndexMetaData::DOUBLE(v) => page_bounds(v, page, |v| Raw::Double(*v)),
            ColumnIndexMetaData::BYTE_ARRAY(v) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(v) => {
                (v.min_value(page).map(Raw::Bytes), v.max_value(page).map(Raw::Bytes))
            }
            ColumnIndexMetaData::INT96(_) | ColumnIndexMetaData::NONE => (None, None),
        };
        // The page index doesn't say whether bytes were truncated.
        let exact = |bound: Option<Raw<'_>>| bound.is_some_and(|bound| bound.bytes().is_none());
        (zone.lower_is_exact, zone.upper_is_exact) = (exact(zone.lower), exact(zone.upper));
    }
    zone.without_nans(trust)
}

fn page_bounds<'a, T>(
    index: &'a PrimitiveColumnIndex<T>,
    page: usize,
    raw: impl Fn(&'a T) -> Raw<'a>,
) -> (Option<Raw<'a>>, Option<Raw<'a>>) {
    (index.min_value(page).map(&raw), index.max_value(page).map(&raw))
}

impl RawZone<'_> {
    /// The zone without its bounds if one of them is NaN: the other may have been compared with it.
    fn without_nans(mut self, trust: &Trust) -> Self {
        if self.lower.iter().chain(&self.upper).any(|bound| bound.is_nan(trust)) {
            (self.lower, self.upper) = (None, None);
        }
        self
    }
}

/// Bounds as values of a file's Arrow type; null where there is none or it is no value of the type.
///
/// `None` for types whose bounds can't be used at all.
pub(super) fn to_arrow(bounds: &[Option<Raw<'_>>], data_type: &DataType) -> Option<ArrayRef> {
    use DataType::*;
    let each = || bounds.iter().map(Option::as_ref);
    let int32 =
        || -> Int32Array { each().map(|b| b.and_then(|b| i32::try_from(b.integer()?).ok())).collect() };
    let int64 = || -> Int64Array {
        each().map(|b| b.and_then(|b| matches!(b, Raw::Long(_)).then(|| b.integer())?)).collect()
    };
    // Unsigned values are stored in signed ones of the same bits.
    let uint32 = || -> UInt32Array { int32().iter().map(|b| b.map(|v| v as u32)).collect() };
    // Casts from here on turn what is out of range into null.
    let array: ArrayRef = match data_type {
        Boolean => Arc::new(BooleanArray::from_iter(each().map(|b| match b {
            Some(Raw::Boolean(v)) => Some(*v),
            _ => None,
        }))),
        Int8 | Int16 | Int32 | Date32 | Time32(_) => cast(&int32(), data_type).ok()?,
        UInt8 | UInt16 | UInt32 => cast(&uint32(), data_type).ok()?,
        Int64 | Time64(_) | Timestamp(_, _) | Duration(_) => cast(&int64(), data_type).ok()?,
        UInt64 => Arc::new(int64().iter().map(|b| b.map(|v| v as u64)).collect::<UInt64Array>()),
        Date64 if bounds.iter().flatten().all(|b| matches!(b, Raw::Int(_))) => {
            cast(&cast(&int32(), &Date32).ok()?, &Date64).ok()?
        }
        Date64 => cast(&int64(), data_type).ok()?,
        Float16 => Arc::new(Float16Array::from_iter(each().map(|b| float16(b?.bytes()?)))),
        Float32 => Arc::new(Float32Array::from_iter(each().map(|b| match b {
            Some(Raw::Float(v)) => Some(*v),
            _ => None,
        }))),
        Float64 => Arc::new(Float64Array::from_iter(each().map(|b| match b {
            Some(Raw::Double(v)) => Some(*v),
            _ => None,
        }))),
        Decimal32(p, s) => {
            let values = each().map(|b| i32::try_from(decimal(b?)?.to_i128()?).ok());
            Arc::new(Decimal32Array::from_iter(values).with_precision_and_scale(*p, *s).ok()?)
        }
        Decimal64(p, s) => {
            let values = each().map(|b| i64::try_from(decimal(b?)?.to_i128()?).ok());
            Arc::new(Decimal64Array::from_iter(values).with_precision_and_scale(*p, *s).ok()?)
        }
        Decimal128(p, s) => {
            let values = each().map(|b| decimal(b?)?.to_i128());
            Arc::new(Decimal128Array::from_iter(values).with_precision_and_scale(*p, *s).ok()?)
        }
        Decimal256(p, s) => {
            let values = each().map(|b| decimal(b?));
            Arc::new(Decimal256Array::from_iter(values).with_precision_and_scale(*p, *s).ok()?)
        }
        Utf8 | LargeUtf8 | Utf8View => {
            let text = |b: Option<&Raw<'_>>| std::str::from_utf8(b?.bytes()?).ok().map(str::to_owned);
            cast(&StringArray::from_iter(each().map(text)), data_type).ok()?
        }
        Binary | LargeBinary | BinaryView => {
            cast(&BinaryArray::from_iter(each().map(|b| b?.bytes())), data_type).ok()?
        }
        FixedSizeBinary(size) => {
            let values = each().map(|b| b?.bytes().filter(|bytes| bytes.len() == *size as usize));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size).ok()?)
        }
        Dictionary(_, value) => cast(&to_arrow(bounds, value)?, data_type).ok()?,
        _ => return None,
    };
    (array.len() == bounds.len()).then_some(array)
}

type F16 = <Float16Type as ArrowPrimitiveType>::Native;

fn float16(bytes: &[u8]) -> Option<F16> {
    Some(F16::from_le_bytes(bytes.try_into().ok()?))
}

/// An unscaled decimal: an integer, or big-endian two's complement of 1 to 32 bytes.
fn decimal(bound: &Raw<'_>) -> Option<i256> {
    if let Some(integer) = bound.integer() {
        return Some(i256::from_i128(i128::from(integer)));
    }
    let bytes = bound.bytes()?;
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut all = [sign; 32];
    all[32usize.checked_sub(bytes.len())?..].copy_from_slice(bytes);
    Some(i256::from_be_bytes(all))
}
