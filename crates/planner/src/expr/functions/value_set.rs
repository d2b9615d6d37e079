// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A set of constants of one type, sorted once and hashed when first probed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray, StructArray, UInt32Array,
    downcast_primitive_array,
};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{cast, filter, sort, take};
use arrow::datatypes::{ArrowNativeType, DataType, Fields};
use arrow::row::{RowConverter, SortField};
use datafusion_common::{HashSet, Result, ScalarValue, internal_err};

use super::value_type;
use crate::floats::fold_zeros;

/// A set of constants of one type.
///
/// Equality follows the SQL order of floats, inside structs too. Dictionaries stand for their values.
pub struct ValueSet {
    /// The distinct non-null values in ascending SQL order (see [`crate::floats`]).
    values: ArrayRef,
    /// Whether NULL was listed too.
    has_null: bool,
    /// Built when the set is first probed: pruning needs the sorted values only.
    index: OnceLock<Index>,
}

impl ValueSet {
    /// The set of an array's values, in any order, with duplicates and NULLs.
    ///
    /// # Errors
    /// When values of the type can't be ordered.
    pub fn try_new(values: &ArrayRef) -> Result<Self> {
        let values = canonical(values)?;
        let has_null = values.logical_null_count() > 0;
        Ok(Self { values: sorted_distinct(&values)?, has_null, index: OnceLock::new() })
    }

    /// The set of these constants; `None` when there are none.
    ///
    /// # Errors
    /// When they have different types (NULLs may be untyped), or can't be ordered.
    pub fn from_scalars(values: impl IntoIterator<Item = ScalarValue>) -> Result<Option<Self>> {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return Ok(None);
        }
        Self::try_new(&ScalarValue::iter_to_array(values)?).map(Some)
    }

    /// The distinct non-null values in ascending SQL order: nested types in the order of arrow's row format.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// How many distinct non-null values there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value, NULL aside.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether NULL was listed too.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// Whether values of this type can be looked for.
    pub fn takes(&self, data_type: &DataType) -> bool {
        self.values.data_type().equals_datatype(&canonical_type(value_type(data_type)))
    }

    /// Whether each value is in the set; NULL for NULL.
    ///
    /// # Errors
    /// When the values aren't of a type the set [takes](Self::takes).
    pub fn contains(&self, needles: &ArrayRef) -> Result<BooleanArray> {
        if !self.takes(needles.data_type()) {
            return internal_err!("{} sought among {}", needles.data_type(), self.values.data_type());
        }
        if let Some(dictionary) = needles.as_any_dictionary_opt() {
            // With more entries than rows, most entries may be unused.
            if dictionary.values().len() <= needles.len() {
                let found = self.contains(dictionary.values())?;
                return Ok(take(&found, dictionary.keys(), None)?.as_boolean().clone());
            }
        }
        let needles = canonical(needles)?;
        let index = match self.index.get() {
            Some(index) => index,
            None => {
                let built = Index::of(&self.values)?;
                self.index.get_or_init(|| built)
            }
        };
        Ok(BooleanArray::new(index.contains(&needles)?, needles.logical_nulls()))
    }
}

impl fmt::Debug for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueSet").field("values", &self.values).field("has_null", &self.has_null).finish()
    }
}

impl PartialEq for ValueSet {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.has_null == other.has_null && *self.values == *other.values
    }
}

impl Eq for ValueSet {}

impl Hash for ValueSet {
    /// A sample will do: sets that are equal have equal samples.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.len(), self.has_null, self.values.data_type()).hash(state);
        let last = self.len().saturating_sub(1);
        for row in [0, self.len() / 2, last].into_iter().filter(|row| *row < self.len()) {
            if let Ok(value) = ScalarValue::try_from_array(&self.values, row) {
                value.hash(state);
            }
        }
    }
}

/// The form in which equal values have equal bits: no dictionary, −0.0 folded, structs with nullable
/// fields only (so that no two types differ in nullability alone).
fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => canonical(&cast(array, values)?),
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let columns = structs.columns().iter().map(canonical).collect::<Result<Vec<_>>>()?;
            let fields = canonical_fields(fields);
            let nulls = structs.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, array.len())?))
        }
        _ => Ok(fold_zeros(array)),
    }
}

fn canonical_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => canonical_type(values),
        DataType::Struct(fields) => DataType::Struct(canonical_fields(fields)),
        other => other.clone(),
    }
}

fn canonical_fields(fields: &Fields) -> Fields {
    fields
        .iter()
        .map(|f| f.as_ref().clone().with_data_type(canonical_type(f.data_type())).with_nullable(true))
        .collect()
}

/// The distinct non-null values, ascending.
fn sorted_distinct(values: &ArrayRef) -> Result<ArrayRef> {
    let values = match values.logical_nulls() {
        Some(nulls) => filter(values, &BooleanArray::new(nulls.into_inner(), None))?,
        None => Arc::clone(values),
    };
    if values.len() < 2 {
        return Ok(values);
    }
    if values.data_type().is_nested() {
        let rows = row_converter(values.data_type())?.convert_columns(&[Arc::clone(&values)])?;
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by_key(|i| rows.row(*i as usize));
        order.dedup_by_key(|i| rows.row(*i as usize));
        return Ok(take(&values, &UInt32Array::from(order), None)?);
    }
    let values = sort(&values, None)?;
    let (before, after) = (values.slice(0, values.len() - 1), values.slice(1, values.len() - 1));
    let new = distinct(&before, &after)?;
    let first: BooleanArray = std::iter::once(Some(true)).chain(new.iter()).collect();
    Ok(filter(&values, &first)?)
}

fn row_converter(data_type: &DataType) -> Result<RowConverter> {
    Ok(RowConverter::new(vec![SortField::new(data_type.clone())])?)
}

/// The values of a set in a form that is fast to probe.
enum Index {
    /// So few that looking at each in turn is fastest; plain types only.
    Few(ArrayRef),
    /// Values of one, two, four, eight or sixteen bytes, by their bits.
    W1(HashSet<u8>),
    W2(HashSet<u16>),
    W4(HashSet<u32>),
    W8(HashSet<u64>),
    W16(HashSet<i128>),
    /// Strings and binaries.
    Bytes(HashSet<Box<[u8]>>),
    /// Anything else, in arrow's row format.
    Rows(RowConverter, HashSet<Box<[u8]>>),
}

/// Sets of at most this many values are probed one by one.
const FEW: usize = 4;

impl Index {
    fn of(values: &ArrayRef) -> Result<Self> {
        let data_type = values.data_type();
        let is_plain = data_type.is_primitive() && !matches!(data_type, DataType::Interval(_));
        Ok(match data_type.primitive_width() {
            Some(_) if is_plain && values.len() <= FEW => Self::Few(Arc::clone(values)),
            Some(1) if is_plain => Self::W1(bits(values).iter().copied().collect()),
            Some(2) if is_plain => Self::W2(bits(values).iter().copied().collect()),
            Some(4) if is_plain => Self::W4(bits(values).iter().copied().collect()),
            Some(8) if is_plain => Self::W8(bits(values).iter().copied().collect()),
            Some(16) if is_plain => Self::W16(bits(values).iter().copied().collect()),
            _ if is_bytes(data_type) => {
                let mut set = HashSet::default();
                for_each_bytes(values, |_, value| {
                    set.insert(Box::from(value));
                });
                Self::Bytes(set)
            }
            _ => {
                let converter = row_converter(data_type)?;
                let rows = converter.convert_columns(&[Arc::clone(values)])?;
                let set = rows.iter().map(|row| Box::from(row.data())).collect();
                Self::Rows(converter, set)
            }
        })
    }

    /// Whether each of the needles, of the set's own type, is in the set; anything for NULLs.
    fn contains(&self, needles: &ArrayRef) -> Result<BooleanBuffer> {
        fn probe<N: ArrowNativeType + Hash + Eq>(set: &HashSet<N>, needles: &ArrayRef) -> BooleanBuffer {
            let needles = bits::<N>(needles);
            BooleanBuffer::collect_bool(needles.len(), |i| set.contains(&needles[i]))
        }
        Ok(match self {
            Self::Few(values) => few(values, needles)?,
            Self::W1(set) => probe(set, needles),
            Self::W2(set) => probe(set, needles),
            Self::W4(set) => probe(set, needles),
            Self::W8(set) => probe(set, needles),
            Self::W16(set) => probe(set, needles),
            Self::Bytes(set) => {
                let mut found = vec![false; needles.len()];
                for_each_bytes(needles, |row, value| found[row] = set.contains(value));
                BooleanBuffer::from(found)
            }
            Self::Rows(converter, set) => {
                let rows = converter.convert_columns(&[Arc::clone(needles)])?;
                BooleanBuffer::collect_bool(needles.len(), |i| set.contains(rows.row(i).data()))
            }
        })
    }
}

fn few(values: &ArrayRef, needles: &ArrayRef) -> Result<BooleanBuffer> {
    fn each<T: ArrowPrimitiveType>(values: &ArrayRef, needles: &[T::Native]) -> BooleanBuffer {
        let values = values.as_primitive::<T>().values();
        // No early exit: a branch a row costs more than the comparisons.
        BooleanBuffer::collect_bool(needles.len(), |i| {
            values.iter().fold(false, |found, v| found | v.is_eq(needles[i]))
        })
    }
    fn typed<T: ArrowPrimitiveType>(
        needles: &arrow::array::PrimitiveArray<T>,
        values: &ArrayRef,
    ) -> BooleanBuffer {
        each::<T>(values, needles.values())
    }
    downcast_primitive_array! {
        needles => Ok(typed(needles, values)),
        other => internal_err!("few values of {other}")
    }
}

/// The values of a primitive array of this width, as they lie in memory.
fn bits<N: ArrowNativeType>(array: &ArrayRef) -> ScalarBuffer<N> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary()
}

/// Calls `visit` with each non-null row and its bytes; nothing for types other than strings and binaries.
fn for_each_bytes<'a>(array: &'a ArrayRef, mut visit: impl FnMut(usize, &'a [u8])) {
    macro_rules! visit_all {
        ($values:expr) => {
            for (row, value) in $values.iter().enumerate() {
                if let Some(value) = value {
                    visit(row, value.as_ref());
                }
            }
        };
    }
    match array.data_type() {
        DataType::Utf8 => visit_all!(array.as_string::<i32>()),
        DataType::LargeUtf8 => visit_all!(array.as_string::<i64>()),
        DataType::Utf8View => visit_all!(array.as_string_view()),
        DataType::Binary => visit_all!(array.as_binary::<i32>()),
        DataType::LargeBinary => visit_all!(array.as_binary::<i64>()),
        DataType::BinaryView => visit_all!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => visit_all!(array.as_fixed_size_binary()),
        _ => {}
    }
}
