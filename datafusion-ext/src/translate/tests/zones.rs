// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What translations make of zones, against what DataFusion makes of their rows.

use arrow::array::UInt64Array;
use arrow::buffer::BooleanBuffer;
use trommel_planner::floats::{load_lower, load_upper};
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::{Bound, Level, PrunePredicate, ZoneColumn, ZoneSource};
use trommel_planner::rows::RowRanges;

use super::*;

/// Zones of a few rows each, with all statistics.
struct Zones(RecordBatch, usize);

impl ZoneSource for Zones {
    fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        let values = self.0.column(column.column.0);
        if level != Level::Page || values.data_type().is_nested() || !column.fields.is_empty() {
            return None;
        }
        let starts: Vec<u64> =
            (0..values.len()).step_by(self.1).chain([values.len()]).map(|s| s as u64).collect();
        let zones: Vec<Vec<ScalarValue>> = starts
            .windows(2)
            .map(|w| {
                (w[0]..w[1]).map(|row| ScalarValue::try_from_array(values, row as usize).unwrap()).collect()
            })
            .collect();
        let is_nan = |v: &ScalarValue| matches!(v, ScalarValue::Float64(Some(v)) if v.is_nan());
        let bound = |greatest: bool| -> ArrayRef {
            let best = zones.iter().map(|zone| {
                let known = zone.iter().filter(|v| !v.is_null() && !is_nan(v));
                let better = |a: &&ScalarValue, b: &&ScalarValue| a.partial_cmp(b).unwrap();
                let best = if greatest { known.max_by(better) } else { known.min_by(better) };
                best.cloned().unwrap_or(ScalarValue::try_new_null(values.data_type()).unwrap())
            });
            ScalarValue::iter_to_array(best).unwrap()
        };
        let count = |test: &dyn Fn(&ScalarValue) -> bool| -> UInt64Array {
            zones.iter().map(|zone| Some(zone.iter().filter(|v| test(v)).count() as u64)).collect()
        };
        let as_bound = |values: ArrayRef| Bound { exact: BooleanBuffer::new_unset(values.len()), values };
        let column = ZoneColumn::unknown(values.data_type().clone(), starts.into())
            .with_lower(as_bound(load_lower(&bound(false))))
            .with_upper(as_bound(load_upper(&bound(true))))
            .with_nulls(count(&ScalarValue::is_null))
            .with_nans(count(&is_nan));
        Some(Arc::new(column))
    }
}

#[rstest]
#[case::negative("-a < 3")]
#[case::negative_wraps("-b < -1000")]
#[case::absolute("abs(b) > 2")]
#[case::absolute_float("abs(x) >= 1.5")]
#[case::floor("floor(x) = 2.0")]
#[case::ceil("ceil(x + 0.5) < 2.0")]
#[case::floor_of_absolute("floor(abs(x)) = 1.0")]
#[case::date_trunc("date_trunc('month', t) > TIMESTAMP '1970-01-01'")]
#[case::date_trunc_date("date_trunc('year', dt) < TIMESTAMP '1970-01-01'")]
#[case::date_bin("date_bin(INTERVAL '15 minutes', t) IN (TIMESTAMP '1970-01-02', TIMESTAMP '1970-01-03')")]
#[case::year("date_part('year', t) > 1970")]
#[case::year_of_date("date_part('year', dt) = 1969")]
#[case::epoch("date_part('epoch', dt) < 0")]
#[case::regex("s ~ '^ab+c'")]
#[case::regex_negated("s !~ '^a[b]c'")]
#[case::starts_with("starts_with(v, 'ab')")]
#[case::sum("a + nn > 12")]
#[case::product("x * 2.0 < -3.0")]
#[case::day_later("dt + INTERVAL '1 month' > DATE '1970-03-01'")]
#[case::columns("a < nn")]
#[case::modulo("a % 4 = 3")]
#[case::lookup("upper(s) = 'ABC'")]
fn zones_are_judged_as_their_rows_are(#[case] sql: &str) {
    let expr = physical(sql);
    let (mut pruned, mut proven) = (0, 0);
    for seed in 0..60 {
        for rows in [1, 3] {
            let zones = Zones(batch(seed, 60), rows);
            let predicate = PrunePredicate::compile(&translate(&expr, &zones.0.schema()));
            assert!(predicate.can_prune(), "{sql}: {}", translate(&expr, &zones.0.schema()));
            let verdicts = predicate.judge(&zones, &RowRanges::all(60), &[]);
            for row in 0..60 {
                let at = row as u64..row as u64 + 1;
                // DataFusion can't evaluate some: then nothing is asked of the zone.
                let Ok(truth) = expr.evaluate(&zones.0.slice(row, 1)).and_then(|v| v.into_array(1)) else {
                    continue;
                };
                let matches = truth.is_valid(0) && truth.as_boolean().value(0);
                assert!(!matches || verdicts.may.covers(&at), "{sql} loses row {row} of seed {seed}");
                assert!(
                    matches || !verdicts.all.overlaps(&at),
                    "{sql} is proven for row {row} of seed {seed}"
                );
                pruned += u32::from(!verdicts.may.covers(&at));
                proven += u32::from(verdicts.all.covers(&at));
            }
        }
    }
    assert!(pruned > 100 && proven > 10, "{sql}: {pruned} rows pruned, {proven} proven");
}
