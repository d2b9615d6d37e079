// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which unit first: the one that will tighten a live filter most.
//!
//! A TopK, a minimum or a maximum settles after reading the zones with the best bounds; every zone that
//! can't beat them is then skipped. So units are claimed in the order of their best possible key. The
//! order is a matter of speed alone: the filter, not the order, decides what is left out.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Literal, NegativeExpr};
use trommel_planner::expr::functions::GetItem;
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::{Level, ZoneColumn, ZoneSource};

use super::units::{PageGrid, Unit, split};
use crate::live::{LiveFilter, Origin, SortKey};
use crate::table::Snapshot;
use crate::translate::translate;

/// What makes a unit promising: a small or a large value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The column, or the field below one.
    pub column: ColumnPath,
    /// Whether large values come first.
    pub descending: bool,
    /// Whether NULLs come before all values.
    pub nulls_first: bool,
}

impl Promise {
    /// What the producers of these filters look for; `asked` is what a sort asked for, where no origin
    /// tells.
    pub fn of(filters: &[LiveFilter], asked: Option<&SortKey>, table: &SchemaRef) -> Option<Self> {
        let like_key = |key: &SortKey| Self::like_key(key, table);
        let told = filters.iter().find_map(|filter| match filter.origin() {
            Origin::TopK { order, .. } => order.first().and_then(like_key),
            Origin::MinMax { extremes, .. } => {
                let extreme = extremes.first()?;
                let column = column(&extreme.expr, table)?;
                Some(Self { column, descending: extreme.max, nulls_first: false })
            }
            _ => None,
        });
        let by_asking = || filters.first().and(asked).and_then(like_key);
        told.or_else(by_asking)
    }

    /// What a sort by this key looks for; `None` when it isn't a plain column, or a field below one.
    pub fn of_key(key: &SortKey, table: &SchemaRef) -> Option<Self> {
        let column = column(&key.expr, table)?;
        Some(Self { column, descending: key.options.descending, nulls_first: key.options.nulls_first })
    }
}

impl Promise {
    /// The order of the column in which what is promising comes first.
    pub fn order(&self) -> SortOptions {
        SortOptions { descending: self.descending, nulls_first: self.nulls_first }
    }

    /// What a sort by this key looks for, as far as it follows one column up or down. Sums may wrap and casts
    /// may round, so this is a hint.
    fn like_key(key: &SortKey, table: &SchemaRef) -> Option<Self> {
        let (mut expr, mut descending) = (&key.expr, key.options.descending);
        loop {
            if let Some(column) = column(expr, table) {
                return Some(Self { column, descending, nulls_first: key.options.nulls_first });
            }
            expr = if let Some(cast) = expr.downcast_ref::<CastExpr>() {
                cast.expr()
            } else if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
                descending = !descending;
                negative.arg()
            } else {
                let binary = expr.downcast_ref::<BinaryExpr>()?;
                match (binary.left().is::<Literal>(), binary.op(), binary.right().is::<Literal>()) {
                    (false, Operator::Plus | Operator::Minus, true) => binary.left(),
                    (true, Operator::Plus, false) => binary.right(),
                    (true, Operator::Minus, false) => {
                        descending = !descending;
                        binary.right()
                    }
                    _ => return None,
                }
            };
        }
    }
}

fn column(expr: &Arc<dyn PhysicalExpr>, table: &SchemaRef) -> Option<ColumnPath> {
    GetItem::path(&translate(expr, table))
}

/// The best key a unit may hold; greater is better.
#[derive(Debug, PartialEq)]
enum Best {
    /// Nothing is known of it; it will be read in any case, so the others go first.
    Unknown,
    /// No value beats this one.
    Value(ScalarValue),
    /// It may hold a NULL, and NULLs come first.
    Null,
}

/// Puts the most promising units first; units of equal promise keep their order.
///
/// The first `starters` are cut into pages: what they hold settles how much of the rest is read, so they
/// should be small.
pub fn arrange(
    units: Vec<Unit>,
    snapshot: &Snapshot,
    grids: &[PageGrid],
    promise: &Promise,
    starters: usize,
) -> Vec<Unit> {
    let mut units = sort(units, snapshot, promise);
    let rest = units.split_off(starters.min(units.len()));
    let pieces = units.into_iter().flat_map(|unit| split(unit, grids, 1));
    sort(pieces.chain(rest).collect(), snapshot, promise)
}

fn sort(units: Vec<Unit>, snapshot: &Snapshot, promise: &Promise) -> Vec<Unit> {
    let mut keyed: Vec<_> = units.into_iter().map(|unit| (best(&unit, snapshot, promise), unit)).collect();
    keyed.sort_by(|(a, _), (b, _)| compare(b, a, promise.descending));
    keyed.into_iter().map(|(_, unit)| unit).collect()
}

fn compare(a: &Best, b: &Best, descending: bool) -> Ordering {
    let rank = |best: &Best| match best {
        Best::Unknown => 0,
        Best::Value(_) => 1,
        Best::Null => 2,
    };
    match (a, b) {
        (Best::Value(a), Best::Value(b)) => {
            let order = a.partial_cmp(b).unwrap_or(Ordering::Equal);
            if descending { order } else { order.reverse() }
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn best(unit: &Unit, snapshot: &Snapshot, promise: &Promise) -> Best {
    let zones = &snapshot.fragments[unit.fragment].open.zones;
    zones.zones(&promise.column, Level::Page).map_or(Best::Unknown, |z| of_zones(&z, unit, promise))
}

fn of_zones(zones: &ZoneColumn, unit: &Unit, promise: &Promise) -> Best {
    let mut best = Best::Unknown;
    for zone in zones.overlapping(&unit.rows) {
        let only_nulls =
            zones.null_count(zone).is_some_and(|n| n == zones.rows(zone).end - zones.rows(zone).start);
        let candidate = if promise.nulls_first && zones.null_count(zone) != Some(0) {
            Best::Null
        } else if only_nulls {
            continue;
        } else {
            let bound = if promise.descending { zones.upper() } else { zones.lower() };
            let value = bound.and_then(|b| ScalarValue::try_from_array(&b.values, zone).ok());
            match value.filter(|v| !v.is_null()) {
                Some(value) => Best::Value(value),
                None => return Best::Unknown,
            }
        };
        if compare(&candidate, &best, promise.descending) == Ordering::Greater {
            best = candidate;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, UInt64Array};
    use arrow::buffer::BooleanBuffer;
    use arrow::datatypes::DataType;
    use rstest::rstest;
    use trommel_planner::index::TableCol;
    use trommel_planner::pruning::Bound;

    use super::*;

    fn bound(values: &[Option<i64>]) -> Bound {
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        Bound { exact: BooleanBuffer::new_unset(values.len()), values }
    }

    /// Three zones of ten rows: 1..=5, 7..=9 with NULLs perhaps, and NULLs only.
    fn zones() -> ZoneColumn {
        ZoneColumn::unknown(DataType::Int64, Arc::from([0, 10, 20, 30]))
            .with_lower(bound(&[Some(1), Some(7), None]))
            .with_upper(bound(&[Some(5), Some(9), None]))
            .with_nulls(UInt64Array::from(vec![Some(0), None, Some(10)]))
    }

    #[rstest]
    #[case::smallest(0..20, false, false, Best::Value(ScalarValue::Int64(Some(1))))]
    #[case::largest(0..20, true, false, Best::Value(ScalarValue::Int64(Some(9))))]
    #[case::nulls_win(0..20, false, true, Best::Null)]
    #[case::no_nulls_there(0..10, false, true, Best::Value(ScalarValue::Int64(Some(1))))]
    #[case::zones_of_nulls_hold_no_value(0..30, true, false, Best::Value(ScalarValue::Int64(Some(9))))]
    fn best_of_a_unit(
        #[case] rows: std::ops::Range<u64>,
        #[case] descending: bool,
        #[case] nulls_first: bool,
        #[case] expect: Best,
    ) {
        let unit = Unit { fragment: 0, rows, opens: None, kept: None };
        let promise = Promise { column: TableCol(0).into(), descending, nulls_first };
        assert_eq!(of_zones(&zones(), &unit, &promise), expect);
    }
}
