// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What is known of a scan's output before a row is read.
//!
//! Join order and join mode hang on these numbers. A scan that takes over the static filters must
//! therefore estimate their effect as well as the `FilterExec` it replaces, and can do better: rows of
//! zones that the filters exclude don't count. Live filters change nothing here: at planning, nothing is
//! known of them.

use std::sync::{Arc, OnceLock};

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::statistics::StatisticsArgs;
use trommel_planner::floats::is_float;
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::pruning::{Bound, Level, ZoneColumn};

use super::FilteredReadExec;
use super::units::{file_leaves, uncompressed_bytes};
use crate::table::Snapshot;

/// The statistics of a scan's whole output, worked out when first asked for.
#[derive(Debug, Default)]
pub struct ScanStatistics {
    output: OnceLock<Arc<Statistics>>,
}

impl FilteredReadExec {
    /// The statistics of the whole output, or of one partition of it. Which rows a partition will read is
    /// decided while it runs, so unless it is the only one nothing is known of it.
    pub(super) fn statistics_of(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        if partition.is_some() && self.partitions > 1 {
            return Ok(Arc::new(Statistics::new_unknown(self.properties.eq_properties.schema())));
        }
        if let Some(known) = self.statistics.output.get() {
            return Ok(Arc::clone(known));
        }
        let statistics = Arc::new(self.work_out()?);
        Ok(Arc::clone(self.statistics.output.get_or_init(|| statistics)))
    }

    fn work_out(&self) -> Result<Statistics> {
        let table = self.with_filters(self.of_table());
        let columns = self.projection.paths().map(|path| match path.fields.is_empty() {
            true => table.column_statistics[path.column.0].clone(),
            false => self.of_field(path),
        });
        let extra = self.extra.iter().map(|_| ColumnStatistics::new_unknown());
        let column_statistics: Vec<_> = columns.chain(extra).collect();
        let sizes = column_statistics.iter().map(|c| c.byte_size);
        let total = sizes.reduce(|a, b| a.add(&b)).unwrap_or(Precision::Exact(0));
        let output =
            Statistics { num_rows: table.num_rows, total_byte_size: total.to_inexact(), column_statistics };
        // Each partition may have a limit of its own.
        output.with_fetch(self.fetch, 0, self.partitions)
    }

    /// What is known of a field that is put out: how many bytes it takes, and how many values it has at most.
    fn of_field(&self, path: &ColumnPath) -> ColumnStatistics {
        let byte_size = Precision::Inexact(output_bytes(&self.snapshot, path, self.snapshot.rows()));
        ColumnStatistics { byte_size, ..ColumnStatistics::new_unknown() }
    }

    /// The table's statistics, no filter applied. Only the columns that matter are looked at.
    fn of_table(&self) -> Statistics {
        let snapshot = &self.snapshot;
        let rows: u64 = snapshot.fragments.iter().map(|f| f.open.metadata.rows()).sum();
        let filtered = self.filters.columns();
        let put_out: Vec<_> = self.projection.paths().filter(|path| path.fields.is_empty()).collect();
        let wanted = |column: &TableCol| {
            filtered.contains(column) || put_out.iter().any(|path| path.column == *column)
        };
        let columns = (0..snapshot.table.fields().len()).map(TableCol);
        let column_statistics = columns.map(|column| {
            if wanted(&column) { of_column(snapshot, column, rows) } else { ColumnStatistics::new_unknown() }
        });
        Statistics {
            num_rows: Precision::Exact(rows as usize),
            total_byte_size: Precision::Absent,
            column_statistics: column_statistics.collect(),
        }
    }

    /// The statistics after the static filters: what a `FilterExec` would estimate, but no more rows than
    /// there are in zones that may match; and exactly those where zones decide for every row.
    fn with_filters(&self, table: Statistics) -> Statistics {
        if self.filters.is_empty() {
            return table;
        }
        let Judged { may, open } = self.judged();
        let all = self.snapshot.rows();
        if open == 0 && may == all {
            return table;
        }
        let input = Arc::new(EmptyExec::new(Arc::clone(&self.snapshot.table)));
        let table = Arc::new(table);
        // An estimate may fail where no row would: negating a bound can overflow though no value does.
        let estimate = FilterExecBuilder::new(self.filters.conjunction(), input)
            .build()
            .and_then(|filter| filter.statistics_from_inputs(&[Arc::clone(&table)], &StatisticsArgs::new()));
        let mut statistics = Arc::unwrap_or_clone(estimate.unwrap_or(table)).to_inexact();
        statistics.num_rows = match statistics.num_rows {
            _ if open == 0 => Precision::Exact(may as usize),
            Precision::Absent => Precision::Inexact(may as usize),
            estimate => estimate.min(&Precision::Inexact(may as usize)),
        };
        statistics
    }

    /// What zones tell of the static filters.
    fn judged(&self) -> Judged {
        let prune = self.filters.bind(&self.snapshot.table).prune;
        let mut judged = Judged { may: 0, open: 0 };
        for (at, fragment) in self.snapshot.fragments.iter().enumerate() {
            let rows = fragment.open.metadata.rows();
            let verdicts = prune.as_ref().map(|prune| self.snapshot.judge(at, prune));
            let (may, proven) = verdicts.map_or((rows, 0), |v| (v.may.len(), v.all.len()));
            judged.may += may;
            judged.open += may - proven;
        }
        judged
    }
}

/// Rows by what zones tell of them.
struct Judged {
    /// How many may satisfy the static filters.
    may: u64,
    /// For how many of them that isn't decided.
    open: u64,
}

/// The statistics of one table column over all fragments.
fn of_column(snapshot: &Snapshot, column: TableCol, rows: u64) -> ColumnStatistics {
    let path = ColumnPath::from(column);
    let byte_size = Precision::Inexact(output_bytes(snapshot, &path, rows));
    let all: Option<Vec<_>> =
        (0..snapshot.fragments.len()).map(|f| snapshot.zones(f).zones(&path, Level::RowGroup)).collect();
    let Some(zones) = all else { return ColumnStatistics { byte_size, ..ColumnStatistics::new_unknown() } };
    let lowest = zones.iter().map(|z| extreme(z, z.lower(), false)).reduce(|a, b| a.min(&b));
    let highest = zones.iter().map(|z| extreme(z, z.upper(), true)).reduce(|a, b| a.max(&b));
    ColumnStatistics {
        null_count: null_count(&zones),
        min_value: lowest.unwrap_or(Precision::Absent),
        max_value: highest.unwrap_or(Precision::Absent),
        byte_size,
        ..ColumnStatistics::new_unknown()
    }
}

fn null_count(zones: &[Arc<ZoneColumn>]) -> Precision<usize> {
    let each = zones.iter().flat_map(|z| (0..z.len()).map(|zone| z.null_count(zone)));
    match each.sum::<Option<u64>>() {
        Some(nulls) => Precision::Exact(nulls as usize),
        None => Precision::Absent,
    }
}

/// The least lower or the greatest upper bound of the zones. It is the column's minimum or maximum only
/// where each bound is a value; a float's never is (NaNs lie outside the bounds, zeros are widened).
fn extreme(zones: &ZoneColumn, bound: Option<&Bound>, max: bool) -> Precision<ScalarValue> {
    let Some(bound) = bound else { return Precision::Absent };
    let mut result: Option<Precision<ScalarValue>> = None;
    for zone in 0..zones.len() {
        let rows = zones.rows(zone);
        // A zone of NULLs alone has no bound and needs none.
        if zones.null_count(zone) == Some(rows.end - rows.start) {
            continue;
        }
        let value = match ScalarValue::try_from_array(&bound.values, zone) {
            Ok(value) if !value.is_null() => value,
            _ => return Precision::Absent,
        };
        let exact = bound.exact.value(zone) && !is_float(zones.data_type());
        let value = if exact { Precision::Exact(value) } else { Precision::Inexact(value) };
        result = Some(match result {
            None => value,
            Some(best) if max => best.max(&value),
            Some(best) => best.min(&value),
        });
    }
    result.unwrap_or(Precision::Absent)
}

/// How many bytes a column takes as Arrow arrays, about.
fn output_bytes(snapshot: &Snapshot, path: &ColumnPath, rows: u64) -> usize {
    let field = snapshot.table.field(path.column.0);
    if let Some(width) = field.data_type().primitive_width() {
        return (rows as usize).saturating_mul(width);
    }
    let each = snapshot.fragments.iter().map(|fragment| {
        let leaves = file_leaves(&fragment.open, [path]);
        let groups = 0..fragment.open.metadata.row_groups().len();
        groups.map(|group| uncompressed_bytes(&fragment.open, group, &leaves)).fold(0, u64::saturating_add)
    });
    each.fold(0, u64::saturating_add) as usize
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Float64Array};
    use arrow::buffer::BooleanBuffer;
    use arrow::compute::cast;
    use arrow::datatypes::DataType;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::integers(DataType::Int32, true)]
    #[case::floats(DataType::Float32, false)]
    #[case::dictionary(DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int32)), true)]
    #[case::dictionary_of_floats(
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Float64)),
        false
    )]
    fn bounds_of_floats_are_no_values(#[case] data_type: DataType, #[case] exact: bool) {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![3.0, 1.0]));
        let values = cast(&values, &data_type).unwrap();
        let zones = ZoneColumn::unknown(data_type.clone(), Arc::from([0, 10, 20]));
        let zones = zones.with_lower(Bound { values, exact: BooleanBuffer::new_set(2) });
        let least = ScalarValue::Float64(Some(1.0)).cast_to(&data_type).unwrap();
        let expect = if exact { Precision::Exact(least) } else { Precision::Inexact(least) };
        assert_eq!(extreme(&zones, zones.lower(), false), expect);
    }
}
