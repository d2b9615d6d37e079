// Licensed under the Apache License, Version 2.0. See LICENSE.

//! When two answers to one query are the same answer.
//!
//! SQL leaves some freedom in an answer, and no more than this:
//!
//! 1. Without ORDER BY, rows come in any order; the answer is a multiset.
//! 2. With ORDER BY, rows come in the order of the keys; rows with equal keys come in any order.
//! 3. LIMIT and OFFSET choose freely among rows with equal keys, without ORDER BY among all rows, but always as many
//!    rows as there are to choose.
//! 4. −0.0 and +0.0 are ties in ORDER BY … LIMIT: DataFusion's TopK orders them in its heap but not in the filter it
//!    hands down, so where both occur under one key the later keys decide nothing.
//! 5. A float sum is known up to rounding, relative to the magnitude of what was added.
//! 6. A query that fails may answer instead (a scan that skips rows need not meet the bad one); a query that has an
//!    answer must not fail.
//!
//! Everything else is compared to the bit (−0.0 is not +0.0, one NaN is not another), except how strings are encoded.
//!
//! The reference is therefore the *full* answer: without LIMIT and OFFSET, in order, and with the sort keys as
//! additional columns at its end. It must come from a scan that is trusted to be right.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail, ensure};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::scalar::ScalarValue;

/// One row.
pub type Row = Vec<ScalarValue>;

/// The rows of an answer with the types of its columns, both free of how strings are encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    types: Vec<DataType>,
    rows: Vec<Row>,
}

impl Answer {
    /// The answer in `batches`.
    ///
    /// # Errors
    /// A value that has no scalar form.
    pub fn try_new(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| plain_type(field.data_type())).collect();
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns().iter().zip(&types);
            let columns =
                columns.map(|(column, plain)| cast(column, plain)).collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let values = columns.iter().map(|column| ScalarValue::try_from_array(column, row));
                rows.push(values.collect::<Result<_, _>>()?);
            }
        }
        Ok(Self { types, rows })
    }

    /// Its first rows in words.
    pub fn sample(&self, most: usize) -> String {
        let rows: Vec<_> = self.rows.iter().take(most).map(|row| text(row)).collect();
        format!("{} rows: {}{}", self.len(), rows.join(" "), if self.len() > most { " …" } else { "" })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The type without what doesn't count: how strings are encoded, and what fields of nested types are called and say.
fn plain_type(data_type: &DataType) -> DataType {
    let plain =
        |field: &FieldRef, name: &str| Arc::new(Field::new(name, plain_type(field.data_type()), true));
    match data_type {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| plain(field, field.name())).collect())
        }
        DataType::List(item) | DataType::LargeList(item) => DataType::List(plain(item, "item")),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let key = Field::new("key", plain_type(fields[0].data_type()), false);
                let fields = Fields::from(vec![Arc::new(key), plain(&fields[1], "value")]);
                let entries = Field::new("entries", DataType::Struct(fields), false);
                DataType::Map(Arc::new(entries), false)
            }
            _ => data_type.clone(),
        },
        other => other.clone(),
    }
}

/// The part of the full answer that LIMIT and OFFSET ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// OFFSET: rows left out at the start.
    pub skip: usize,
    /// LIMIT: the most rows to return.
    pub fetch: usize,
}

/// The freedom one query leaves to its answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Relation {
    /// How many ORDER BY keys the reference carries as its last columns.
    pub keys: usize,
    /// LIMIT and OFFSET, which the reference was asked without.
    pub window: Option<Window>,
    /// Columns that hold a float sum, with the sum of the magnitudes that were added.
    pub sums: Vec<(usize, f64)>,
}

/// Rounding of a float sum, relative to the magnitude of what was added.
const ROUNDING: f64 = 1e-12;

impl Relation {
    /// Whether `actual` is a right outcome where `reference` is the full answer; if not, why.
    ///
    /// # Errors
    /// The first difference found.
    pub fn check<E: Display, F: Display>(
        &self,
        reference: &Result<Answer, E>,
        actual: &Result<Answer, F>,
    ) -> Result<()> {
        match (reference, actual) {
            (Err(_), _) => Ok(()),
            (Ok(full), Ok(actual)) => self.check_answer(full, actual),
            (Ok(full), Err(error)) => Err(anyhow!("an error where {} rows are: {error}", full.len())),
        }
    }

    fn check_answer(&self, full: &Answer, actual: &Answer) -> Result<()> {
        let visible = full.types.len().checked_sub(self.keys);
        let Some(visible) = visible else { bail!("the reference has less than {} columns", self.keys) };
        let types = &full.types[..visible];
        ensure!(types == actual.types.as_slice(), "column types {types:?} became {:?}", actual.types);

        let Window { skip, fetch } = self.window.unwrap_or(Window { skip: 0, fetch: usize::MAX });
        let expected = full.len().saturating_sub(skip).min(fetch);
        ensure!(actual.len() == expected, "{} rows where {expected} are right", actual.len());

        let classes = self.classes(full, visible);
        let mut choices: Vec<Choice<'_>> = Vec::new();
        for (row, class) in full.rows.iter().zip(&classes) {
            if choices.len() == *class {
                choices.push(Choice::default());
            }
            choices[*class].add(&row[..visible]);
        }
        for (position, row) in actual.rows.iter().enumerate() {
            let class = classes[skip + position];
            ensure!(
                choices[class].take(row, &self.sums),
                "row {position} {} is not (or not as often) among the rows of that rank: {}",
                text(row),
                choices[class].sample(),
            );
        }
        Ok(())
    }

    /// For each row of the full answer the number of its class: rows whose keys tie. Classes are contiguous, and
    /// numbered from 0.
    fn classes(&self, full: &Answer, visible: usize) -> Vec<usize> {
        let limited = self.window.is_some();
        let mixed_zeros: Vec<bool> =
            (visible..full.types.len()).map(|key| limited && has_both_zeros(&full.rows, key)).collect();
        let class_keys = |row: &Row| -> Row {
            let mut keys = Vec::with_capacity(self.keys);
            for (key, mixed) in row[visible..].iter().zip(&mixed_zeros) {
                let zero = is_zero(key);
                keys.push(if limited && zero { ScalarValue::Float64(Some(0.0)) } else { key.clone() });
                if *mixed && zero {
                    break;
                }
            }
            keys
        };
        let mut class = 0;
        let mut previous: Option<Row> = None;
        let mut classes = Vec::with_capacity(full.len());
        for row in &full.rows {
            let keys = class_keys(row);
            if previous.as_ref().is_some_and(|previous| *previous != keys) {
                class += 1;
            }
            previous = Some(keys);
            classes.push(class);
        }
        classes
    }
}

fn has_both_zeros(rows: &[Row], column: usize) -> bool {
    let sign = |negative: bool| rows.iter().any(|row| zero_sign(&row[column]) == Some(negative));
    sign(true) && sign(false)
}

fn is_zero(value: &ScalarValue) -> bool {
    zero_sign(value).is_some()
}

/// Whether a float zero is negative; `None` for any other value.
fn zero_sign(value: &ScalarValue) -> Option<bool> {
    float(value).filter(|value| *value == 0.0).map(f64::is_sign_negative)
}

fn float(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Float64(value) => *value,
        ScalarValue::Float32(value) => value.map(f64::from),
        ScalarValue::Float16(value) => value.map(f64::from),
        _ => None,
    }
}

/// The rows of one class that an answer may still return, each with how often.
#[derive(Default)]
struct Choice<'a>(HashMap<&'a [ScalarValue], usize>);

impl<'a> Choice<'a> {
    fn add(&mut self, row: &'a [ScalarValue]) {
        *self.0.entry(row).or_default() += 1;
    }

    /// Uses up one row equal to `row`; `false` if there is none left.
    fn take(&mut self, row: &[ScalarValue], sums: &[(usize, f64)]) -> bool {
        let left = if sums.is_empty() {
            self.0.get_mut(row)
        } else {
            let mut close = self.0.iter_mut().filter(|(candidate, _)| is_close(candidate, row, sums));
            close.find_map(|(_, left)| (*left > 0).then_some(left))
        };
        match left {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    fn sample(&self) -> String {
        let mut rows: Vec<String> = self
            .0
            .iter()
            .filter(|(_, left)| **left > 0)
            .map(|(row, left)| format!("{}×{left}", text(row)))
            .collect();
        rows.sort();
        let more = rows.len().saturating_sub(8);
        rows.truncate(8);
        if more > 0 {
            rows.push(format!("and {more} more"));
        }
        if rows.is_empty() { "none is left".to_owned() } else { rows.join(", ") }
    }
}

fn is_close(a: &[ScalarValue], b: &[ScalarValue], sums: &[(usize, f64)]) -> bool {
    let magnitude =
        |column: usize| sums.iter().find(|(sum, _)| *sum == column).map(|(_, magnitude)| *magnitude);
    a.iter().zip(b).enumerate().all(|(column, (a, b))| match (magnitude(column), float(a), float(b)) {
        (Some(magnitude), Some(a), Some(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= ROUNDING * magnitude.abs()
        }
        _ => a == b,
    })
}

fn text(row: &[ScalarValue]) -> String {
    let values: Vec<String> = row.iter().map(ToString::to_string).collect();
    format!("({})", values.join(", "))
}

#[cfg(test)]
mod tests;
