// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether any of some values is in a zone, where bounds say that they may be.
//!
//! Bloom filters, dictionaries and indexes know more of a zone than its bounds, and cost more to ask. So they are
//! asked in a second judgement, about what the first left open, and only about the values that the zone's bounds
//! allow: those of `x = c` and of `x IN (…)`, static or live.
//!
//! Sound because only what would make the test hold is excluded: a test fails, and is NULL, as before.

use std::ops::Range;

use arrow::array::ArrayRef;
use datafusion_common::Result;

use super::domain::Domain;
use super::words::{self, Words};
use crate::index::ColumnPath;

/// More values than this aren't asked about, of one zone.
pub(super) const MOST_CANDIDATES: usize = 1024;

/// What knows of zones which values they hold.
pub trait Candidates {
    /// Whether any of these values may be in these rows of a column. Unless this says no for sure, it says yes.
    ///
    /// The values are of the column's type, dictionaries aside; distinct, not NULL, and ascending. A zero stands
    /// for both zeros; a NaN is that NaN alone.
    fn may_hold(&self, column: &ColumnPath, rows: &Range<u64>, values: &ArrayRef) -> bool;
}

/// Those of the live zones that may hold one of the sorted values, by what knows of them.
///
/// # Errors
/// When the values aren't of the domain's type.
pub(super) fn still_held(
    candidates: &dyn Candidates,
    column: &ColumnPath,
    domain: &Domain,
    values: &ArrayRef,
    live: &[u64],
) -> Result<Words> {
    let starts = domain.grid.starts();
    let between = domain.bounds.members(values)?;
    Ok(words::select_each(live, |zone| {
        // NaNs lie beyond all bounds.
        let may_be_nan = domain.nans.as_ref().is_some_and(|nans| nans[zone / 64] >> (zone % 64) & 1 == 1);
        let within = if may_be_nan { 0..values.len() } else { between(zone) };
        within.len() > MOST_CANDIDATES
            || candidates.may_hold(
                column,
                &(starts[zone]..starts[zone + 1]),
                &values.slice(within.start, within.len()),
            )
    }))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use arrow::array::Array;
    use datafusion_common::ScalarValue;
    use proptest::prelude::*;

    use super::*;
    use crate::pruning::tests::model::{COLUMNS, Table, path, scalar, tables};
    use crate::pruning::tests::predicate::{Pred, predicates};
    use crate::pruning::{Level, PrunePredicate};
    use crate::rows::RowRanges;

    /// What the rows hold, and what was asked.
    struct Rows<'a>(&'a Table, RefCell<Vec<ColumnPath>>);

    impl Candidates for Rows<'_> {
        fn may_hold(&self, column: &ColumnPath, rows: &Range<u64>, values: &ArrayRef) -> bool {
            self.1.borrow_mut().push(column.clone());
            let index = (0..COLUMNS.len()).find(|index| path(*index) == *column).unwrap();
            let held = self.0.columns[index][rows.start as usize..rows.end as usize].iter().flatten();
            let sought = |value: &ScalarValue| {
                (0..values.len()).any(|at| {
                    let candidate = ScalarValue::try_from_array(values, at).unwrap();
                    let zeros = [value, &candidate]
                        .map(|v| *v == ScalarValue::from(0.0) || *v == ScalarValue::from(-0.0));
                    candidate == *value || zeros == [true, true]
                })
            };
            let plain = crate::pruning::operand::plain(&COLUMNS[index].data_type()).clone();
            held.map(|value| scalar(&plain, Some(value))).any(|value| sought(&value))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(400)))]

        /// A judge that knows all values of each zone loses no row that matches and proves no other.
        #[test]
        fn no_matching_row_is_lost(table in tables(), pred in predicates()) {
            let mut params = Vec::new();
            let bound = pred.bind(&mut params);
            let compiled = PrunePredicate::compile(&bound);
            let all = RowRanges::all(table.len() as u64);
            let before = compiled.judge(&table, &all, &params);
            let rows = Rows(&table, RefCell::default());
            let after = compiled.judge_candidates(&table, Level::Page, &rows, &before.may, &params);
            prop_assert_eq!(after.errors, 0);
            let sought: Vec<_> = compiled.sought().collect();
            prop_assert!(rows.1.borrow().iter().all(|column| sought.contains(&column)));
            for row in 0..table.len() {
                let (at, matches) = (row as u64..row as u64 + 1, pred.eval(&table, row) == Some(true));
                prop_assert!(!matches || after.may.covers(&at), "{} loses row {}", bound, row);
                prop_assert!(matches || !after.all.overlaps(&at), "{} is proven for row {}", bound, row);
            }
        }

        /// A zone without any value of a list is left out, whatever its bounds.
        #[test]
        fn zones_without_a_value_are_left_out(
            table in tables(), which in prop::sample::select(vec![0usize, 1, 3, 5, 7, 8, 9]), pick in 0usize..24,
        ) {
            let Some(value) = table.columns[which][pick % table.len()].clone() else { return Ok(()) };
            let pred = Pred::In(crate::pruning::tests::predicate::Of(which, false), vec![Some(value)], false);
            let compiled = PrunePredicate::compile(&pred.bind(&mut Vec::new()));
            let all = RowRanges::all(table.len() as u64);
            let rows = Rows(&table, RefCell::default());
            let after = compiled.judge_candidates(&table, Level::Page, &rows, &all, &[]);
            let Some(zones) = table.zones.get(&(path(which), Level::Page)) else { return Ok(()) };
            for zone in 0..zones.len() {
                let rows = zones.rows(zone);
                let matches = rows.clone().any(|row| pred.eval(&table, row as usize) == Some(true));
                prop_assert_eq!(after.may.overlaps(&rows), matches, "zone {}", zone);
            }
        }
    }
}
