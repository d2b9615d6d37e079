// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Judging a million zones: Trommel's `PrunePredicate` beside DataFusion's `PruningPredicate`, which are given
//! the same predicates over the same statistics.
//!
//! DataFusion doesn't judge lists of more than 20 values: it keeps every zone, in no time.

// A benchmark that can't be set up has nothing to measure.
#![allow(clippy::expect_used)]

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, BooleanArray, Int64Array, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::prelude::SessionContext;
use datafusion_trommel::translate::translate;
use divan::Bencher;
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::{Bound, Level, PrunePredicate, Verdicts, ZoneColumn, ZoneSource};
use trommel_planner::rows::{FragmentRows, RowRanges};

// The allocator of the benchmarks.
use trommel_benchmarks as _;

const ZONES: i64 = 1_000_000;
const ROWS_PER_ZONE: i64 = 10;
const COLUMNS: usize = 3;
const PREDICATES: [&str; 5] =
    ["range", "five conjuncts", "IN of 20", "IN of 100 000", "IN of 100 000, zones sorted"];

/// Zones of three columns. In column c zone z holds values from z·(c + 1) to ten above, modulo the number of zones:
/// the first column is sorted, the others less and less.
struct Zones {
    lower: Vec<ArrayRef>,
    upper: Vec<ArrayRef>,
    nulls: UInt64Array,
    columns: Vec<Arc<ZoneColumn>>,
}

static ZONES_OF_ALL: LazyLock<Zones> = LazyLock::new(|| {
    let starts: Arc<[u64]> = (0..=ZONES).map(|zone| (zone * ROWS_PER_ZONE).unsigned_abs()).collect();
    let bound = |column: usize, plus: i64| -> ArrayRef {
        let step = i64::try_from(column).unwrap_or(0) * 7919 + 1;
        Arc::new(Int64Array::from_iter_values((0..ZONES).map(|zone| zone * step % ZONES * 10 + plus)))
    };
    let lower: Vec<_> = (0..COLUMNS).map(|column| bound(column, 0)).collect();
    let upper: Vec<_> = (0..COLUMNS).map(|column| bound(column, 9)).collect();
    let nulls = UInt64Array::from(vec![0; lower[0].len()]);
    let exact = BooleanBuffer::new_set(nulls.len());
    let of = |values: &ArrayRef| Bound { values: Arc::clone(values), exact: exact.clone() };
    let column = |column: usize| {
        let zones = ZoneColumn::unknown(DataType::Int64, Arc::clone(&starts));
        Arc::new(
            zones.with_lower(of(&lower[column])).with_upper(of(&upper[column])).with_nulls(nulls.clone()),
        )
    };
    let columns = (0..COLUMNS).map(column).collect();
    Zones { lower, upper, nulls, columns }
});

impl ZoneSource for Zones {
    fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        (level == Level::Page).then(|| Arc::clone(&self.columns[column.column.0]))
    }
}

impl PruningStatistics for Zones {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        schema().index_of(&column.name).ok().map(|index| Arc::clone(&self.lower[index]))
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        schema().index_of(&column.name).ok().map(|index| Arc::clone(&self.upper[index]))
    }

    fn num_containers(&self) -> usize {
        self.nulls.len()
    }

    fn null_counts(&self, _: &Column) -> Option<ArrayRef> {
        Some(Arc::new(self.nulls.clone()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(UInt64Array::from(vec![ROWS_PER_ZONE.unsigned_abs(); self.nulls.len()])))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(
        (0..COLUMNS).map(|c| Field::new(format!("c{c}"), DataType::Int64, true)).collect::<Vec<_>>(),
    ))
}

fn predicate(name: &str) -> Arc<dyn PhysicalExpr> {
    let middle = ZONES * 5;
    let list = |column: &str, values: i64| {
        let step = ZONES * 10 / values;
        col(column).in_list((0..values).map(|value| lit(value * step)).collect(), false)
    };
    let expression: Expr = match name {
        "range" => col("c0").gt_eq(lit(middle)).and(col("c0").lt(lit(middle + 10_000))),
        "five conjuncts" => {
            let between = |c: &str| col(c).gt(lit(middle)).and(col(c).lt(lit(middle + ZONES * 2)));
            between("c0").and(between("c1")).and(col("c2").gt(lit(middle)))
        }
        "IN of 20" => list("c1", 20),
        "IN of 100 000" => list("c1", 100_000),
        _ => list("c0", 100_000),
    };
    let schema = DFSchema::try_from(schema()).expect("columns have distinct names");
    SessionContext::new().create_physical_expr(expression, &schema).expect("the predicate fits the schema")
}

/// What the script for instruction counts looks at; never inlined, so that it has a name.
#[inline(never)]
fn counted_region_judge(predicate: &PrunePredicate, within: &RowRanges<FragmentRows>) -> Verdicts {
    predicate.judge(&*ZONES_OF_ALL, within, &[])
}

#[inline(never)]
fn counted_region_prune(predicate: &PruningPredicate) -> Vec<bool> {
    predicate.prune(&*ZONES_OF_ALL).expect("the statistics fit the predicate")
}

#[divan::bench(args = PREDICATES)]
fn trommel(bencher: Bencher, name: &str) {
    let predicate = PrunePredicate::compile(&translate(&predicate(name), &schema()));
    let within = RowRanges::all((ZONES * ROWS_PER_ZONE).unsigned_abs());
    LazyLock::force(&ZONES_OF_ALL);
    bencher.bench_local(|| counted_region_judge(black_box(&predicate), &within));
}

#[divan::bench(args = PREDICATES)]
fn datafusion(bencher: Bencher, name: &str) {
    let predicate = PruningPredicateBuilder::new()
        .with_file_schema(schema())
        .try_build(predicate(name))
        .expect("it can be judged");
    LazyLock::force(&ZONES_OF_ALL);
    bencher.bench_local(|| counted_region_prune(black_box(&predicate)));
}

fn main() {
    divan::main();
}
