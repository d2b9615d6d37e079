// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Answers, and when two of them are equal.
//!
//! Answers are equal when they hold the same rows the same number of times. Under `ORDER BY … LIMIT`, rows that
//! tie with the last one may be any of their kind: of these only the sort keys are compared.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

type Row = Vec<String>;

/// The rows of an answer, as text: so a string is the same in whichever array it came.
#[derive(Debug, Clone)]
pub struct Answer {
    columns: Row,
    /// In the order they came.
    rows: Vec<Row>,
    /// The column an answer with a limit was ordered by.
    sort_key: Option<usize>,
}

impl Answer {
    /// The rows of `batches`, ordered by the column `sort_key` if it was given and cut by a limit.
    ///
    /// # Errors
    /// A value can't be printed, or there is no such column.
    pub fn new(schema: &Schema, batches: &[RecordBatch], sort_key: Option<&str>) -> Result<Self> {
        let options = FormatOptions::new().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            let format = |column| ArrayFormatter::try_new(column, &options);
            let columns = batch.columns().iter().map(|column| format(column.as_ref()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let values = columns.iter().map(|column| column.value(row).try_to_string());
                rows.push(values.collect::<Result<Row, _>>()?);
            }
        }
        let columns: Row = schema.fields().iter().map(|field| field.name().clone()).collect();
        let position = |key: &str| columns.iter().position(|name| name == key);
        let sort_key =
            sort_key.map(|key| position(key).with_context(|| format!("no column {key}"))).transpose()?;
        Ok(Self { columns, rows, sort_key })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where this answer departs from `other`, in words; `None` if they are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.columns != other.columns {
            return Some(format!("columns {:?} instead of {:?}", self.columns, other.columns));
        }
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows instead of {}", self.rows.len(), other.rows.len()));
        }
        if let Some(key) = self.sort_key {
            let unequal = self.rows.iter().zip(&other.rows).find(|(mine, theirs)| mine[key] != theirs[key]);
            if let Some((mine, theirs)) = unequal {
                return Some(format!("{} {} instead of {}", self.columns[key], mine[key], theirs[key]));
            }
        }
        let (mine, theirs) = (self.settled_rows(), other.settled_rows());
        mine.iter()
            .find(|(row, count)| theirs.get(*row) != Some(count))
            .map(|(row, count)| format!("{count} times the row {}", row.join(" | ")))
    }

    /// The rows no tie leaves open, each with how often it occurs.
    fn settled_rows(&self) -> BTreeMap<&Row, usize> {
        let open = self.sort_key.zip(self.rows.last()).map(|(key, last)| (key, &last[key]));
        let mut settled = BTreeMap::new();
        for row in self.rows.iter().filter(|row| open.is_none_or(|(key, last)| row[key] != *last)) {
            *settled.entry(row).or_insert(0) += 1;
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray, StringViewArray};
    use rstest::rstest;

    use super::*;

    fn answer(keys: &[i64], names: &[Option<&str>], sort_key: Option<&str>) -> Answer {
        let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
        let batch =
            RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("n", names, true)]).unwrap();
        Answer::new(&batch.schema(), &[batch], sort_key).unwrap()
    }

    #[rstest]
    #[case::same(&[2, 1], &["a", "b"], None, true)]
    #[case::order_is_free(&[1, 2], &["b", "a"], None, true)]
    #[case::other_value(&[2, 1], &["a", "c"], None, false)]
    #[case::fewer_rows(&[2], &["a"], None, false)]
    #[case::repeated(&[2, 2], &["a", "a"], None, false)]
    #[case::order_matters_under_order_by(&[1, 2], &["b", "a"], Some("k"), false)]
    #[case::the_last_row_may_be_another_tie(&[2, 1], &["a", "c"], Some("k"), true)]
    #[case::a_row_before_the_last_key_may_not(&[2, 1], &["c", "b"], Some("k"), false)]
    fn equality(
        #[case] keys: &[i64],
        #[case] names: &[&str],
        #[case] sort_key: Option<&str>,
        #[case] equal: bool,
    ) {
        let names: Vec<_> = names.iter().map(|name| Some(*name)).collect();
        let expected = answer(&[2, 1], &[Some("a"), Some("b")], sort_key);
        let actual = answer(keys, &names, sort_key);
        assert_eq!(actual.difference(&expected).is_none(), equal);
        assert_eq!(expected.difference(&actual).is_none(), equal, "equality is symmetric");
    }

    #[test]
    fn null_is_no_empty_string() {
        let (null, empty) = (answer(&[1], &[None], None), answer(&[1], &[Some("")], None));
        assert!(null.difference(&empty).is_some());
    }

    #[test]
    fn the_kind_of_string_array_is_no_difference() {
        let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
        let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let [views, strings] = [views, strings].map(|array| {
            let batch = RecordBatch::try_from_iter([("n", array)]).unwrap();
            Answer::new(&batch.schema(), &[batch], None).unwrap()
        });
        assert_eq!(views.difference(&strings), None);
    }

    #[test]
    fn an_answer_without_rows_is_equal_to_another() {
        let none = answer(&[], &[], Some("k"));
        assert!(none.is_empty());
        assert_eq!(none.difference(&none), None);
    }
}
