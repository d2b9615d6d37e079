// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bloom filters: which of some values a row group certainly doesn't hold.
//!
//! A filter knows values in the physical form in which the file stores them:
//!
//! | Arrow type | physical form |
//! |---|---|
//! | integers, dates, times, timestamps, decimals of few digits | 4 or 8 bytes, little-endian, as the leaf's type says |
//! | floats | their bits: both zeros are asked for, a NaN only as itself |
//! | strings, binaries | their bytes |
//! | decimals in byte arrays of fixed length | two's complement, big-endian, of that length |
//!
//! What has any other form may be there, as may anything where no filter was [put](FragmentBlooms::put) or one is
//! malformed. So may values of a column that is cast in a way that could make two values one.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{DataType, i256};
use datafusion_common::ScalarValue;
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::schema::types::ColumnDescriptor;
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::Candidates;
use trommel_planner::rows::{FragmentRows, RowRanges};

use crate::adapt::{Adaptation, ColumnSource};
use crate::metadata::FragmentMetadata;

/// Larger filters aren't worth fetching.
const MOST_BYTES: u64 = 1 << 20;
/// Nor are those that aren't this many times smaller than what they may spare, unless they are this small.
const LEAST_SAVED: u64 = 2;
const FEW_BYTES: u64 = 8 << 10;

/// Where a Bloom filter belongs: a leaf of a row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BloomId {
    /// The row group.
    pub row_group: usize,
    /// The leaf.
    pub leaf: usize,
}

/// The Bloom filters of one fragment, as far as they have been fetched.
#[derive(Debug)]
pub struct FragmentBlooms {
    metadata: Arc<FragmentMetadata>,
    adaptation: Arc<Adaptation>,
    filters: HashMap<BloomId, Sbbf>,
}

impl FragmentBlooms {
    /// None yet, of the file with this metadata.
    pub fn new(metadata: Arc<FragmentMetadata>, adaptation: Arc<Adaptation>) -> Self {
        Self { metadata, adaptation, filters: HashMap::new() }
    }

    /// The filters that could tell something of these columns in the row groups of these rows, and where their
    /// bytes lie; those that have been put are left out.
    pub fn wanted<'a>(
        &self,
        columns: impl IntoIterator<Item = &'a ColumnPath>,
        rows: &RowRanges<FragmentRows>,
    ) -> Vec<(BloomId, Range<u64>)> {
        let mut wanted = Vec::new();
        let touched = rows.span().map_or(0..0, |span| self.row_groups(&span));
        for leaf in columns.into_iter().filter_map(|column| Some(self.leaf(column)?.0)) {
            let overlapping = |group: &usize| rows.overlaps(&self.metadata.row_groups()[*group]);
            for row_group in touched.clone().filter(overlapping) {
                let chunk = self.metadata.parquet().row_group(row_group).column(leaf);
                let id = BloomId { row_group, leaf };
                let offset = chunk.bloom_filter_offset().and_then(|offset| u64::try_from(offset).ok());
                let length = chunk.bloom_filter_length().and_then(|length| u64::try_from(length).ok());
                if let (Some(offset), Some(length)) = (offset, length)
                    && let Some(end) = offset.checked_add(length).filter(|_| length <= MOST_BYTES)
                    && length <= FEW_BYTES.max(chunk.compressed_size().max(0) as u64 / LEAST_SAVED)
                    && !self.filters.contains_key(&id)
                {
                    wanted.push((id, offset..end));
                }
            }
        }
        wanted.sort_unstable_by_key(|(id, _)| *id);
        wanted.dedup();
        wanted
    }

    /// Whether any filter has been put.
    pub fn has_any(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Adds a filter, as read from the file; one that is malformed is left out.
    pub fn put(&mut self, id: BloomId, bytes: &[u8]) {
        match Sbbf::from_bytes(bytes) {
            Ok(filter) if filter.num_blocks() > 0 => {
                self.filters.insert(id, filter);
            }
            Ok(_) => {}
            Err(e) => log::debug!("{}: Bloom filter {id:?} isn't used: {e}", self.metadata.path()),
        }
    }

    /// The row groups that hold any of these rows.
    fn row_groups(&self, rows: &Range<u64>) -> Range<usize> {
        let groups = self.metadata.row_groups();
        let first = groups.partition_point(|group| group.end <= rows.start);
        first..groups.partition_point(|group| group.start < rows.end).max(first)
    }

    /// The leaf that a table column is in, and its type there; `None` where values can't be told apart.
    fn leaf(&self, column: &ColumnPath) -> Option<(usize, &DataType)> {
        let ColumnSource::File { column: file_column, .. } = self.adaptation.source(column.column)? else {
            return None;
        };
        let to = plain(self.adaptation.table().fields().get(column.column.0)?.data_type());
        let from = plain(self.metadata.schema().fields().get(file_column.0)?.data_type());
        let both = |is: fn(&DataType) -> bool| is(from) && is(to);
        let one_to_one = from == to
            || both(DataType::is_integer)
            || both(DataType::is_string)
            || both(DataType::is_binary);
        let is_plain = column.fields.is_empty() && !from.is_nested();
        (one_to_one && is_plain).then(|| (self.metadata.leaves(*file_column).start, from))
    }
}

impl Candidates for FragmentBlooms {
    fn may_hold(&self, column: &ColumnPath, rows: &Range<u64>, values: &ArrayRef) -> bool {
        let Some((leaf, data_type)) = self.leaf(column) else { return true };
        // What the file's type can't hold isn't there: the cast makes it NULL.
        let Ok(values) = cast(values, data_type) else { return true };
        let descriptor = self.metadata.parquet().file_metadata().schema_descr().column(leaf);
        self.row_groups(rows).any(|row_group| {
            let Some(filter) = self.filters.get(&BloomId { row_group, leaf }) else { return true };
            (0..values.len()).filter(|at| values.is_valid(*at)).any(|at| {
                let value = ScalarValue::try_from_array(&values, at);
                value.map_or(true, |value| may_contain(filter, &descriptor, &value))
            })
        })
    }
}

/// The type of a dictionary's values; other types as they are.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Whether a leaf's filter may contain a value, in the form that the leaf stores it in.
fn may_contain(filter: &Sbbf, leaf: &ColumnDescriptor, value: &ScalarValue) -> bool {
    let integer = integer(value);
    match (leaf.physical_type(), value) {
        // Small and unsigned integers are stored by their low bytes.
        (Type::INT32, _) => integer.is_none_or(|v| filter.check(&(v as i32))),
        (Type::INT64, _) => integer.is_none_or(|v| filter.check(&(v as i64))),
        (Type::FLOAT, ScalarValue::Float32(Some(v))) if *v == 0.0 => {
            filter.check(&0f32) || filter.check(&-0f32)
        }
        (Type::FLOAT, ScalarValue::Float32(Some(v))) => filter.check(v),
        (Type::DOUBLE, ScalarValue::Float64(Some(v))) if *v == 0.0 => {
            filter.check(&0f64) || filter.check(&-0f64)
        }
        (Type::DOUBLE, ScalarValue::Float64(Some(v))) => filter.check(v),
        (
            Type::BYTE_ARRAY,
            ScalarValue::Utf8(Some(v)) | ScalarValue::LargeUtf8(Some(v)) | ScalarValue::Utf8View(Some(v)),
        ) => filter.check(v.as_bytes()),
        (
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY,
            ScalarValue::Binary(Some(v))
            | ScalarValue::LargeBinary(Some(v))
            | ScalarValue::BinaryView(Some(v))
            | ScalarValue::FixedSizeBinary(_, Some(v)),
        ) => filter.check(v.as_slice()),
        (Type::FIXED_LEN_BYTE_ARRAY, _) => {
            let decimal = match value {
                ScalarValue::Decimal256(Some(v), ..) => Some(*v),
                ScalarValue::Decimal32(..) | ScalarValue::Decimal64(..) | ScalarValue::Decimal128(..) => {
                    integer.map(i256::from_i128)
                }
                _ => None,
            };
            let length = usize::try_from(leaf.type_length()).unwrap_or(0);
            decimal.map(i256::to_be_bytes).is_none_or(|bytes| {
                bytes.len().checked_sub(length).is_none_or(|skip| filter.check(&bytes[skip..]))
            })
        }
        _ => true,
    }
}

/// The integer that a value is stored as, where one is.
fn integer(value: &ScalarValue) -> Option<i128> {
    use ScalarValue::*;
    match value {
        Int8(v) => v.map(i128::from),
        Int16(v) => v.map(i128::from),
        Int32(v) | Date32(v) | Time32Second(v) | Time32Millisecond(v) | Decimal32(v, ..) => v.map(i128::from),
        Int64(v)
        | Time64Microsecond(v)
        | Time64Nanosecond(v)
        | TimestampMillisecond(v, _)
        | TimestampMicrosecond(v, _)
        | TimestampNanosecond(v, _)
        | Decimal64(v, ..) => v.map(i128::from),
        UInt8(v) => v.map(i128::from),
        UInt16(v) => v.map(i128::from),
        UInt32(v) => v.map(i128::from),
        UInt64(v) => v.map(i128::from),
        Decimal128(v, ..) => *v,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt32Array as Indices;
    use arrow::array::{
        ArrayRef, BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
        Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
        UInt32Array, UInt64Array,
    };
    use arrow::compute::take;
    use bytes::Bytes;
    use object_store::path::Path;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ParquetMetaDataReader;
    use parquet::file::properties::WriterProperties;
    use rstest::rstest;
    use trommel_planner::index::{ColumnPath, TableCol};

    use super::*;

    /// The first half of the values, written with a Bloom filter to one row group and read as `table`.
    fn blooms(values: &ArrayRef, table: &DataType) -> FragmentBlooms {
        let half = values.slice(0, values.len() / 2);
        let batch = RecordBatch::try_from_iter([("c", half)]).unwrap();
        let properties = WriterProperties::builder().set_bloom_filter_enabled(true).build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = Bytes::from(file);
        let parquet = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
        let path = Path::from("blooms.parquet");
        let metadata = Arc::new(FragmentMetadata::try_new(path.clone(), parquet).unwrap());
        let field = arrow::datatypes::Field::new("c", table.clone(), true);
        let schema = Arc::new(arrow::datatypes::Schema::new(vec![field]));
        let adaptation = Adaptation::try_new(&path, &schema, metadata.schema(), 0, &[]).unwrap();
        let mut blooms = FragmentBlooms::new(metadata, Arc::new(adaptation));
        let column = ColumnPath::from(TableCol(0));
        let wanted = blooms.wanted([&column], &RowRanges::all(1));
        assert_eq!(wanted.len(), 1);
        for (id, range) in wanted {
            blooms.put(id, &file[range.start as usize..range.end as usize]);
        }
        assert!(blooms.wanted([&column], &RowRanges::all(1)).is_empty());
        blooms
    }

    fn holds(blooms: &FragmentBlooms, values: &ArrayRef, at: usize) -> bool {
        let one = take(values, &Indices::from(vec![at as u32]), None).unwrap();
        blooms.may_hold(&ColumnPath::from(TableCol(0)), &(0..1), &one)
    }

    fn decimals(precision: u8, factor: i128) -> ArrayRef {
        let values = Decimal128Array::from_iter_values((0..200).map(|i| (i - 50) * factor));
        Arc::new(values.with_precision_and_scale(precision, 2).unwrap())
    }

    #[rstest]
    #[case::small(Arc::new(Int8Array::from_iter_values((0..100).map(|i| i - 50))))]
    #[case::int(Arc::new(Int32Array::from_iter_values(-100..100)))]
    #[case::long(Arc::new(Int64Array::from_iter_values((0..200).map(|i| i << 40))))]
    #[case::unsigned(Arc::new(UInt32Array::from_iter_values((0..200).map(|i| u32::MAX - i))))]
    #[case::unsigned_long(Arc::new(UInt64Array::from_iter_values((0..200).map(|i| u64::MAX - i))))]
    #[case::date(Arc::new(Date32Array::from_iter_values(0..200)))]
    #[case::timestamp(Arc::new(TimestampMicrosecondArray::from_iter_values(0..200)))]
    #[case::float(Arc::new(Float32Array::from_iter_values((0..200).map(|i| i as f32 - 0.5))))]
    #[case::double(Arc::new(Float64Array::from_iter_values((0..200).map(|i| f64::from(i) - 0.5))))]
    #[case::text(Arc::new(StringArray::from_iter_values((0..200).map(|i| format!("text {i}")))))]
    #[case::view(Arc::new(StringViewArray::from_iter_values((0..200).map(|i| format!("text {i}")))))]
    #[case::binary(Arc::new(BinaryArray::from_iter_values((0..200u8).map(|i| [i, 1]))))]
    #[case::decimal_of_4_bytes(decimals(8, 7))]
    #[case::decimal_of_8_bytes(decimals(17, 7_000_000_000))]
    #[case::decimal_of_16_bytes(decimals(38, 7 << 80))]
    fn values_are_found_in_every_physical_form(#[case] values: ArrayRef) {
        let blooms = blooms(&values, values.data_type());
        let half = values.len() / 2;
        assert!((0..half).all(|at| holds(&blooms, &values, at)), "what is there may be there");
        let others = (half..values.len()).filter(|at| holds(&blooms, &values, *at)).count();
        assert!(others < half / 4, "{others} of {half} that aren't there");
    }

    #[rstest]
    #[case::wider(Arc::new(Int32Array::from_iter_values(0..200)), DataType::Int64)]
    #[case::view(Arc::new(StringArray::from_iter_values((0..200).map(|i| i.to_string()))), DataType::Utf8View)]
    fn values_are_found_under_other_types(#[case] file: ArrayRef, #[case] table: DataType) {
        let (blooms, values) = (blooms(&file, &table), cast(&file, &table).unwrap());
        assert!((0..100).all(|at| holds(&blooms, &values, at)));
        assert!((100..200).filter(|at| holds(&blooms, &values, *at)).count() < 25);
        if table == DataType::Int64 {
            let beyond: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40]));
            assert!(!holds(&blooms, &beyond, 0), "no such value fits the file's type");
        }
    }

    #[rstest]
    #[case::positive(0.0)]
    #[case::negative(-0.0)]
    fn both_zeros_are_asked_for(#[case] stored: f64) {
        let stored: ArrayRef = Arc::new(Float64Array::from(vec![stored, 5.0]));
        let blooms = blooms(&stored, &DataType::Float64);
        for zero in [0.0, -0.0] {
            let sought: ArrayRef = Arc::new(Float64Array::from(vec![zero]));
            assert!(holds(&blooms, &sought, 0));
        }
    }

    #[test]
    fn what_is_not_known_may_be_there() {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let mut blooms = blooms(&values, &DataType::Int64);
        assert!(!holds(&blooms, &values, 9));
        blooms.filters.clear();
        assert!(holds(&blooms, &values, 9), "there is no filter");
        blooms.put(BloomId { row_group: 0, leaf: 0 }, b"no filter");
        assert!(holds(&blooms, &values, 9), "a malformed filter");
        let nested = ColumnPath { column: TableCol(0), fields: smallvec::smallvec![1] };
        assert!(blooms.may_hold(&nested, &(0..1), &values));
        assert!(blooms.wanted([&ColumnPath::from(TableCol(7))], &RowRanges::all(1)).is_empty());
    }
}
