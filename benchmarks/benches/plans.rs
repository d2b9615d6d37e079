// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Optimizing the plan of a query over a fragment, none of whose row groups is looked at.

// A benchmark that can't be set up has nothing to measure.
#![allow(clippy::expect_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::ScalarValue;
use divan::Bencher;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{Arithmetic, ArithmeticOp, Compare, CompareOp, GetItem, Pack};
use trommel_planner::index::FragmentCol;
use trommel_planner::optimizer::PlanOptimizer;
use trommel_planner::plan::{
    Children, ConcatPlan, ExpressionScanPlan, FilterPlan, PackPlan, PlanRef, SegmentId, SegmentScanPlan,
    Shape,
};

// The allocator of the benchmarks.
use trommel_benchmarks as _;

/// Columns and row groups.
const SIZES: [(usize, usize); 3] = [(10, 100), (200, 100), (200, 10_000)];

fn main() {
    divan::main();
}

fn int(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Int64, true))
}

fn column(number: usize, row_groups: usize) -> PlanRef {
    let shapes = vec![Shape::new(int("file"), 1000); row_groups];
    let segments = Children::lazy(shapes, move |row_group| {
        let segment = SegmentId::new(row_group, FragmentCol(number));
        Ok(SegmentScanPlan::new(segment, int("file"), 1000).into())
    });
    ConcatPlan::try_new(int("file"), segments).expect("segments of one type").into()
}

/// The sums of each column and one, of the rows for which the first column is more than 5.
fn query(columns: usize, row_groups: usize) -> PlanRef {
    let fields: Fields = (0..columns).map(|c| int(&format!("c{c}"))).collect();
    let plans: Vec<_> = (0..columns).map(|c| column(c, row_groups)).collect();
    let rows = 1000 * row_groups as u64;
    let table: PlanRef = PackPlan::try_new(fields.clone(), rows, plans.into()).expect("columns").into();
    let root = BoundExpression::root(Arc::clone(table.field()));
    let item = |c| GetItem::of(root.clone(), c).expect("a column");
    let constant = |value: i64| BoundExpression::literal(ScalarValue::from(value));
    let sum = |c| Arithmetic::of(ArithmeticOp::Add, item(c), constant(1)).expect("numbers");
    let sums = Pack::of(fields, (0..columns).map(sum).collect()).expect("sums");
    let predicate = Compare::of(CompareOp::Gt, item(0), constant(5)).expect("numbers");
    let filtered = FilterPlan::try_new(&predicate, table).expect("a predicate").into();
    ExpressionScanPlan::try_new(sums, filtered).expect("sums over columns").into()
}

#[divan::bench(args = SIZES)]
fn optimize(bencher: Bencher<'_, '_>, (columns, row_groups): (usize, usize)) {
    let optimizer = PlanOptimizer::default();
    let plan = query(columns, row_groups);
    bencher.bench(|| optimizer.optimize(&plan).expect("an optimized plan"));
}
