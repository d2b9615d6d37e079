// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A number that stands for an answer, whatever the order of its rows and the engine it came from.
//!
//! Each row becomes a text: its values between U+001F, NULL as U+0000. Integers, dates and strings are as usual;
//! decimals of at most four digits after the point are without trailing zeros; floats and finer decimals (of
//! which averages and quotients are made) have six significant digits. The MD5 of the UTF-8 of each text, first
//! eight bytes, little-endian, is added up modulo 2⁶⁴. `peers/duckdb.py` does the same.
//!
//! Two answers of one digest are taken for equal. Two answers with different digests may both be right: rows tie,
//! and a float sum can lie on the border between two roundings.

use std::fmt;
use std::fmt::Write as _;

use anyhow::Result;
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use md5::{Digest as _, Md5};

/// Decimals with more digits after the point than this are rounded.
const EXACT_SCALE: i8 = 4;

const SEPARATOR: char = '\u{1f}';
const NULL: char = '\0';

/// The digest of the rows so far, and their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    /// How many rows there are.
    pub rows: u64,
    sum: u64,
}

impl Digest {
    /// Adds the rows of a batch.
    ///
    /// # Errors
    /// A value has no text.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let options = FormatOptions::new();
        let columns = batch.columns().iter();
        let columns = columns
            .map(|c| Ok((c.as_ref(), ArrayFormatter::try_new(c, &options)?, Style::of(c.data_type()))))
            .collect::<Result<Vec<_>>>()?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            text.clear();
            for (column, values, style) in &columns {
                if column.is_null(row) {
                    text.push(NULL);
                } else {
                    let start = text.len();
                    values.value(row).write(&mut text)?;
                    style.settle(&mut text, start)?;
                }
                text.push(SEPARATOR);
            }
            let hash = Md5::digest(text.as_bytes());
            let first = hash.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            self.sum = self.sum.wrapping_add(first);
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.sum)
    }
}

/// How a value's text is made the same on every engine.
#[derive(Debug, Clone, Copy)]
enum Style {
    Plain,
    Trimmed,
    Rounded,
}

impl Style {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if *scale <= EXACT_SCALE => {
                Self::Trimmed
            }
            DataType::Decimal128(..) | DataType::Decimal256(..) => Self::Rounded,
            data_type if data_type.is_floating() => Self::Rounded,
            _ => Self::Plain,
        }
    }

    /// Settles the text of a value, which begins at `start`.
    fn settle(self, text: &mut String, start: usize) -> Result<()> {
        match self {
            Self::Plain => {}
            Self::Trimmed => {
                if text[start..].contains('.') {
                    let end = text.trim_end_matches('0').trim_end_matches('.').len();
                    text.truncate(end);
                }
            }
            Self::Rounded => {
                let value: f64 = text[start..].parse()?;
                text.truncate(start);
                // Both zeros are one.
                write!(text, "{:.5e}", value + 0.0)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray, StringViewArray,
    };
    use rstest::rstest;

    use super::*;

    fn decimal(value: i128, scale: i8) -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(20, scale).unwrap())
    }

    fn digest(columns: Vec<ArrayRef>) -> Digest {
        let names = ["a", "b", "c"];
        let mut digest = Digest::default();
        digest.add(&RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap()).unwrap();
        digest
    }

    #[rstest]
    #[case::scale(decimal(150, 2), decimal(15000, 4), true)]
    #[case::whole(decimal(100, 2), decimal(1, 0), true)]
    #[case::tens_stay(decimal(100, 0), decimal(1, 0), false)]
    #[case::average(decimal(25_522_005, 6), Arc::new(Float64Array::from(vec![25.522_005_853])), true)]
    #[case::other_average(decimal(25_522_005, 6), Arc::new(Float64Array::from(vec![25.5221])), false)]
    #[case::strings(Arc::new(StringArray::from(vec!["a"])), Arc::new(StringViewArray::from(vec!["a"])), true)]
    #[case::null(Arc::new(StringArray::from(vec![None::<&str>])), Arc::new(StringArray::from(vec![""])), false)]
    #[case::zero(Arc::new(Float64Array::from(vec![-0.0])), Arc::new(Float64Array::from(vec![0.0])), true)]
    fn one_value(#[case] a: ArrayRef, #[case] b: ArrayRef, #[case] same: bool) {
        assert_eq!(digest(vec![a]) == digest(vec![b]), same);
    }

    #[test]
    fn order_is_free_but_numbers_count() {
        let of = |values: &[i64]| digest(vec![Arc::new(Int64Array::from(values.to_vec()))]);
        assert_eq!(of(&[1, 2, 2]), of(&[2, 1, 2]));
        assert_ne!(of(&[1, 2, 2]), of(&[1, 1, 2]));
    }

    /// What Python's `hashlib` says of "7\x1f1.5\x1f1994-01-01\x1f".
    #[test]
    fn the_number_is_as_documented() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![7])),
            decimal(150, 2),
            Arc::new(Date32Array::from(vec![8766])),
        ];
        assert_eq!(digest(columns).to_string(), "9817a058013656ac");
    }
}
