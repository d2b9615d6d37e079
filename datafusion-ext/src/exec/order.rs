// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether a scan can promise an order, and the fragment sequence in which it holds.
//!
//! `WITH ORDER` declares that each file is sorted. Partitions share one queue and claim it in order, so
//! every partition's stream is sorted if the *sequence* of fragments is; that is proven from the bounds of
//! the leading key, or nothing is promised.

use std::cmp::Ordering;

use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use trommel_planner::floats::is_float;
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::pruning::{Level, ZoneColumn, ZoneSource};

use crate::table::Snapshot;

/// The order in which fragments are read, and the row order that follows from it.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// The fragments, as numbers in the snapshot.
    pub fragments: Vec<usize>,
    /// The order of rows over the table's schema, if there is one to promise.
    pub promised: Option<LexOrdering>,
}

impl Sequence {
    /// The sequence for the first declared order that can be promised; listing order if there is none.
    pub fn of(snapshot: &Snapshot) -> Self {
        let listed: Vec<_> = (0..snapshot.fragments.len()).collect();
        let proven = snapshot.order.iter().find_map(|order| {
            let fragments = prove(snapshot, order.first()?)?;
            Some(Self { fragments, promised: LexOrdering::new(order.iter().cloned()) })
        });
        proven.unwrap_or(Self { fragments: listed, promised: None })
    }
}

/// The sequence in which all rows of each fragment come before all rows of the next by `key`.
fn prove(snapshot: &Snapshot, key: &PhysicalSortExpr) -> Option<Vec<usize>> {
    let fragments = &snapshot.fragments;
    if fragments.len() <= 1 {
        return Some((0..fragments.len()).collect());
    }
    let column = TableCol(key.expr.downcast_ref::<Column>()?.index());
    let mut hulls: Vec<_> = (0..fragments.len())
        .filter(|f| fragments[*f].open.metadata.rows() > 0)
        .map(|f| Some((f, hull(snapshot.zones(f), column)?)))
        .collect::<Option<_>>()?;
    let ascending = |a: &ScalarValue, b: &ScalarValue| a.partial_cmp(b).unwrap_or(Ordering::Equal);
    hulls.sort_by(|(_, a), (_, b)| ascending(&a.0, &b.0));
    let apart = hulls.windows(2).all(|w| w[0].1.1.partial_cmp(&w[1].1.0) == Some(Ordering::Less));
    let mut sequence: Vec<_> = hulls.into_iter().map(|(f, _)| f).collect();
    if key.options.descending {
        sequence.reverse();
    }
    apart.then_some(sequence)
}

/// Bounds of all of a fragment's values of a column.
fn hull(zones: &dyn ZoneSource, column: TableCol) -> Option<(ScalarValue, ScalarValue)> {
    hull_of(zones.zones(&ColumnPath::from(column), Level::RowGroup)?.as_ref())
}

/// Bounds of all values in the zones. `None` when they are unknown, when there may be NULLs (which sort
/// outside any bound), and for floats (NaNs do too, and ±0 are told apart by sorting).
fn hull_of(zones: &ZoneColumn) -> Option<(ScalarValue, ScalarValue)> {
    if is_float(zones.data_type()) || (0..zones.len()).any(|zone| zones.null_count(zone) != Some(0)) {
        return None;
    }
    let known = |bound: &trommel_planner::pruning::Bound| {
        let each = (0..zones.len()).map(|zone| ScalarValue::try_from_array(&bound.values, zone).ok());
        each.map(|v| v.filter(|v| !v.is_null())).collect::<Option<Vec<_>>>()
    };
    let extreme = |values: Vec<ScalarValue>, keep: Ordering| {
        values.into_iter().reduce(|a, b| if b.partial_cmp(&a) == Some(keep) { b } else { a })
    };
    let lower = extreme(known(zones.lower()?)?, Ordering::Less)?;
    let upper = extreme(known(zones.upper()?)?, Ordering::Greater)?;
    Some((lower, upper))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, UInt64Array};
    use arrow::buffer::BooleanBuffer;
    use arrow::compute::cast;
    use arrow::datatypes::DataType;
    use rstest::rstest;
    use trommel_planner::pruning::Bound;

    use super::*;

    #[rstest]
    #[case::integers(DataType::Int32, true)]
    #[case::floats(DataType::Float32, false)]
    #[case::dictionary(DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int32)), true)]
    #[case::dictionary_of_floats(
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Float64)),
        false
    )]
    fn values_with_bounds_that_sorting_keeps(#[case] data_type: DataType, #[case] known: bool) {
        let bound = |values: [f64; 2]| {
            let values: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
            Bound { values: cast(&values, &data_type).unwrap(), exact: BooleanBuffer::new_set(2) }
        };
        let zones = ZoneColumn::unknown(data_type.clone(), Arc::from([0, 10, 20]))
            .with_lower(bound([3.0, 1.0]))
            .with_upper(bound([7.0, 5.0]))
            .with_nulls(UInt64Array::from(vec![0, 0]));
        let value = |v: f64| ScalarValue::Float64(Some(v)).cast_to(&data_type).unwrap();
        assert_eq!(hull_of(&zones), known.then(|| (value(1.0), value(7.0))));
    }
}
