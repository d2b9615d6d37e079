// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random tables whose files are sorted and declared so (`WITH ORDER`).

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::UInt32Array;
use arrow::compute::{SortColumn, SortOptions, lexsort_to_indices, take_record_batch};
use arrow::record_batch::RecordBatch;
use proptest::prelude::*;

use super::kind::Kind;
use super::kinds::Kinds;

/// The order of each of a table's files.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The column sorted by; `None` is `id`.
    kind: Option<Kind>,
    descending: bool,
    nulls_first: bool,
    /// Whether `id` is declared as a second key. Rows with equal keys are in its order in any case.
    then_id: bool,
    files: Files,
}

/// How the rows of a sorted table are spread over its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Each file ends where the next one starts.
    Disjoint,
    /// As disjoint, but every file has some of the NULLs.
    DisjointButNulls,
    /// Every file has keys from everywhere.
    Overlapping,
}

/// A strategy for orders; most tables have none.
pub fn strategy(kinds: &Kinds) -> BoxedStrategy<Option<Order>> {
    let kind = prop_oneof![2 => Just(None), 3 => kinds.one().prop_map(Some)];
    let files = prop_oneof![4 => Just(Files::Disjoint), 1 => Just(Files::DisjointButNulls), 1 => Just(Files::Overlapping)];
    let order = (kind, any::<bool>(), any::<bool>(), any::<bool>(), files).prop_map(
        |(kind, descending, nulls_first, then_id, files)| Order {
            kind,
            descending,
            nulls_first,
            then_id,
            files,
        },
    );
    prop_oneof![3 => Just(None), 2 => order.prop_map(Some)].boxed()
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
        format!("order/files={:?}", order.files),
    ]
}

/// The rows of each of so many files: in order if there is one, else as they are.
///
/// # Errors
/// None but the engine's.
pub fn deal(order: Option<&Order>, rows: &RecordBatch, files: usize) -> Result<Vec<RecordBatch>> {
    let sorted = order.map_or_else(|| Ok(rows.clone()), |order| order.sort(rows))?;
    let how = order.map_or(Files::Disjoint, |order| order.files);
    let keys = order.and_then(|order| sorted.column_by_name(order.key()));
    let file_of = |row: usize| match how {
        Files::Overlapping => row % files,
        Files::DisjointButNulls if keys.is_some_and(|keys| keys.is_null(row)) => row % files,
        Files::Disjoint | Files::DisjointButNulls => row * files / sorted.num_rows(),
    };
    let file = |number: usize| {
        let dealt = (0..sorted.num_rows()).filter(|row| file_of(*row) == number).map(u32::try_from);
        let dealt = dealt.collect::<Result<Vec<_>, _>>()?;
        Ok(take_record_batch(&sorted, &UInt32Array::from(dealt))?)
    };
    (0..files).map(file).collect()
}

impl Order {
    /// The leading key's kind, unless it is `id`.
    pub fn kind(self) -> Option<Kind> {
        self.kind
    }

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
        let order = Order {
            kind: None,
            descending: true,
            nulls_first: false,
            then_id: false,
            files: Files::Disjoint,
        };
        assert_eq!(ids(&deal(Some(&order), &rows, 2).unwrap()), [[5, 4, 3], [2, 1, 0]]);
        let order = Order { files: Files::Overlapping, ..order };
        assert_eq!(ids(&deal(Some(&order), &rows, 2).unwrap()), [[5, 3, 1], [4, 2, 0]]);
        assert_eq!(ids(&deal(None, &rows, 2).unwrap()), [[0, 1, 2], [3, 4, 5]]);
    }

    #[test]
    fn nulls_may_be_anywhere() {
        let column = Column {
            kind: Kind::Int64,
            spread: 40,
            arrangement: Arrangement::Clustered,
            nulls: 2,
            specials: 0,
        };
        let rows = Table { rows: 60, columns: vec![column], seed: 1 }.batch("").unwrap();
        let order = Order {
            kind: Some(Kind::Int64),
            descending: false,
            nulls_first: false,
            then_id: false,
            files: Files::DisjointButNulls,
        };
        let files = deal(Some(&order), &rows, 3).unwrap();
        assert_eq!(files.iter().map(RecordBatch::num_rows).sum::<usize>(), 60);
        for file in files {
            let nulls = file.column(1).logical_nulls().unwrap();
            assert!(nulls.null_count() > 0);
            let first = (0..file.num_rows()).find(|row| nulls.is_null(*row)).unwrap();
            assert!((first..file.num_rows()).all(|row| nulls.is_null(row)), "NULLs come last in each file");
        }
    }

    #[test]
    fn the_clause_says_the_order() {
        let order = Order {
            kind: Some(Kind::Int64),
            descending: true,
            nulls_first: true,
            then_id: true,
            files: Files::Disjoint,
        };
        assert_eq!(order.clause(), "WITH ORDER (l DESC NULLS FIRST, id)");
        assert_eq!(Order { kind: None, ..order }.clause(), "WITH ORDER (id DESC NULLS FIRST)");
    }
}
