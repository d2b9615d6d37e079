// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random tables whose files are sorted and declared so (`WITH ORDER`).

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::UInt32Array;
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::record_batch::RecordBatch;
use proptest::prelude::*;
use proptest::sample::select;

use super::kind::Kind;

/// The order of each of a table's files.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The column sorted by; `None` is `id`.
    kind: Option<Kind>,
    descending: bool,
    nulls_first: bool,
    /// Whether `id` is declared as a second key. Rows with equal keys are in its order in any case.
    then_id: bool,
    /// Whether the files' ranges of keys overlap; else each file ends where the next one starts.
    overlapping: bool,
}

/// A strategy for orders; most tables have none.
pub fn strategy() -> impl Strategy<Value = Option<Order>> {
    let kind = prop_oneof![2 => Just(None), 3 => select(&Kind::ALL[..]).prop_map(Some)];
    let order = (kind, any::<bool>(), any::<bool>(), any::<bool>(), proptest::bool::weighted(0.3)).prop_map(
        |(kind, descending, nulls_first, then_id, overlapping)| Order {
            kind,
            descending,
            nulls_first,
            then_id,
            overlapping,
        },
    );
    prop_oneof![3 => Just(None), 2 => order.prop_map(Some)]
}

/// What a table's order adds to coverage.
pub fn words(order: Option<&Order>) -> Vec<String> {
    let Some(order) = order else { return vec!["order=none".to_owned()] };
    let either = |flag: bool, yes: &str, no: &str| if flag { yes.to_owned() } else { no.to_owned() };
    vec![
        "order=declared".to_owned(),
        format!("order/key={}", either(order.is_unique(), "unique", "with ties")),
        format!("order/direction={}", either(order.descending, "descending", "ascending")),
        format!("order/nulls={}", either(order.nulls_first, "first", "last")),
        format!("order/files={}", either(order.overlapping, "overlapping", "disjoint")),
    ]
}

/// The rows of each of so many files: in order if there is one, else as they are.
///
/// # Errors
/// None but the engine's.
pub fn deal(order: Option<&Order>, rows: &RecordBatch, files: usize) -> Result<Vec<RecordBatch>> {
    let sorted = order.map_or_else(|| Ok(rows.clone()), |order| order.sort(rows))?;
    let overlapping = order.is_some_and(|order| order.overlapping);
    let file = |number: usize| {
        if overlapping {
            let dealt = (number..sorted.num_rows()).step_by(files).map(u32::try_from);
            let dealt = dealt.collect::<Result<Vec<_>, _>>()?;
            return Ok(take_record_batch(&sorted, &UInt32Array::from(dealt))?);
        }
        let border = |file: usize| sorted.num_rows() * file / files;
        Ok(sorted.slice(border(number), border(number + 1) - border(number)))
    };
    (0..files).map(file).collect()
}

impl Order {
    /// The leading key.
    pub fn key(self) -> &'static str {
        self.kind.map_or("id", Kind::name)
    }

    /// Its direction, to follow the key in SQL.
    pub fn direction(self) -> &'static str {
        match (self.descending, self.nulls_first) {
            (false, false) => " ASC NULLS LAST",
            (false, true) => " ASC NULLS FIRST",
            (true, false) => " DESC NULLS LAST",
            (true, true) => " DESC NULLS FIRST",
        }
    }

    /// Whether no two rows have equal keys.
    pub fn is_unique(self) -> bool {
        self.kind.is_none()
    }

    /// The clause of `CREATE EXTERNAL TABLE`.
    pub fn clause(&self) -> String {
        let second = if self.then_id && !self.is_unique() { ", id" } else { "" };
        format!("WITH ORDER ({}{}{second})", self.key(), self.direction())
    }

    fn sort(self, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |name: &str, options: SortOptions| {
            let values = rows.column_by_name(name).context("a column of the table")?;
            Ok::<_, anyhow::Error>(SortColumn { values: Arc::clone(values), options: Some(options) })
        };
        let options = SortOptions::new(self.descending, self.nulls_first);
        let keys = [column(self.key(), options)?, column("id", SortOptions::default())?];
        Ok(take_record_batch(rows, &lexsort_to_indices(&keys, None)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Arrangement, Column, Table};
    use super::*;

    fn ids(files: &[RecordBatch]) -> Vec<Vec<i64>> {
        use arrow::array::AsArray;
        use arrow::datatypes::Int64Type;
        files.iter().map(|rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[test]
    fn files_are_sorted_apart_or_interleaved() {
        let column = Column {
            kind: Kind::Boolean,
            spread: 2,
            arrangement: Arrangement::Clustered,
            nulls: 0,
            specials: 0,
        };
        let rows = Table { rows: 6, columns: vec![column], seed: 1 }.batch("").unwrap();
        let order =
            Order { kind: None, descending: true, nulls_first: false, then_id: false, overlapping: false };
        assert_eq!(ids(&deal(Some(&order), &rows, 2).unwrap()), [[5, 4, 3], [2, 1, 0]]);
        let order = Order { overlapping: true, ..order };
        assert_eq!(ids(&deal(Some(&order), &rows, 2).unwrap()), [[5, 3, 1], [4, 2, 0]]);
        assert_eq!(ids(&deal(None, &rows, 2).unwrap()), [[0, 1, 2], [3, 4, 5]]);
    }

    #[test]
    fn the_clause_says_the_order() {
        let order = Order {
            kind: Some(Kind::Int64),
            descending: true,
            nulls_first: true,
            then_id: true,
            overlapping: false,
        };
        assert_eq!(order.clause(), "WITH ORDER (l DESC NULLS FIRST, id)");
        assert_eq!(Order { kind: None, ..order }.clause(), "WITH ORDER (id DESC NULLS FIRST)");
    }
}
