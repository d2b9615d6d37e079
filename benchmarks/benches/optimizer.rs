// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rewriting filters: Trommel's expression optimizer beside DataFusion's `PhysicalExprSimplifier`, which are given
//! the same filters. DataFusion's does less: it unwraps casts, moves NOT, and folds constants.
//!
//! `bound` binds names and optimizes, `translated` starts from the physical expression as a scan does, and
//! `patched` is what a live filter costs of which only the constants moved.

// A benchmark that can't be set up has nothing to measure.
#![allow(clippy::expect_used, clippy::panic)]

use std::hint::black_box;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Cast as LogicalCast, Expr, Operator, cast, col, lit};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::prelude::SessionContext;
use datafusion_trommel::translate::{Translator, expression_rules};
use divan::Bencher;
use trommel_planner::expr::functions::{
    And, Cast, CastOptions, Compare, CompareOp, InSet, InSetOptions, IsNull, Like, LikeOptions, Or, ValueSet,
};
use trommel_planner::expr::{BoundExpression, Expression, Scope, Shape};
use trommel_planner::optimizer::{ExpressionOptimizer, Position};

// The allocator of the benchmarks.
use trommel_benchmarks as _;

/// Filters of 12 to 35 nodes.
const FILTERS: [&str; 5] = ["nothing to do", "join", "TopK of two keys", "static", "join beside static"];

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn schema() -> SchemaRef {
    let column = |name: &str, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![
        column("a", DataType::Int64),
        column("b", DataType::Int64),
        column("n", DataType::Int32),
        column("s", DataType::Utf8View),
        column("x", DataType::Float64),
    ]))
}

fn filter(name: &str) -> Expr {
    let join = || {
        let keys = [5i64, 7, 100, 500].map(lit).to_vec();
        col("a").gt_eq(lit(5i64)).and(col("a").lt_eq(lit(500i64))).and(col("a").in_list(keys, false))
    };
    let fixed = || {
        let wide = cast(col("n"), DataType::Int64).gt(lit(3i64));
        let range = col("b").gt_eq(lit(100i64)).and(col("b").lt(lit(200i64)));
        col("a").is_not_null().and(wide).and(col("s").like(lit(view("abc%")))).and(range)
    };
    match name {
        "nothing to do" => {
            let range = col("a").gt_eq(lit(100i64)).and(col("a").lt(lit(200i64)));
            range.and(col("s").eq(lit(view("abc")))).and(col("x").lt(lit(0.5)))
        }
        "join" => join(),
        "TopK of two keys" => {
            let tie = col("s").is_null().or(col("s").lt(lit(view("s00002"))));
            col("a").gt(lit(9998i64)).or(col("a").eq(lit(9998i64)).and(tie))
        }
        "static" => fixed(),
        _ => fixed().and(join()),
    }
}

fn view(text: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(text.to_owned()))
}

/// So many comparisons of a column with a constant, any of which may hold.
fn any_of(terms: std::ops::Range<usize>) -> Expr {
    match terms.len() {
        0 | 1 => col("a").eq(lit(terms.start as i64)),
        many => {
            let middle = terms.start + many / 2;
            any_of(terms.start..middle).or(any_of(middle..terms.end))
        }
    }
}

fn physical(filter: Expr) -> Arc<dyn PhysicalExpr> {
    let schema = DFSchema::try_from(schema()).expect("columns have distinct names");
    SessionContext::new().create_physical_expr(filter, &schema).expect("the filter fits the schema")
}

/// The filter in the planner's own terms.
fn unbound(filter: &Expr) -> Expression {
    let compare =
        |op, of: &Expr, value: &Expr| Expression::call::<Compare>(op, vec![unbound(of), unbound(value)]);
    match filter {
        Expr::Column(column) => Expression::column(column.name()),
        Expr::Literal(value, _) => Expression::literal(value.clone()),
        Expr::IsNull(of) => Expression::call::<IsNull>(false, vec![unbound(of)]),
        Expr::IsNotNull(of) => Expression::call::<IsNull>(true, vec![unbound(of)]),
        Expr::Like(like) => {
            let options = LikeOptions { negated: like.negated, case_insensitive: like.case_insensitive };
            Expression::call::<Like>(options, vec![unbound(&like.expr), unbound(&like.pattern)])
        }
        Expr::Cast(LogicalCast { expr, field }) => {
            let options = CastOptions { to: field.data_type().clone(), try_cast: false };
            Expression::call::<Cast>(options, vec![unbound(expr)])
        }
        Expr::InList(list) => {
            let values = list.list.iter().filter_map(|item| item.as_literal().cloned());
            let set = ValueSet::from_scalars(values).expect("values of one type").expect("values");
            let options = InSetOptions { set: Arc::new(set), negated: list.negated };
            Expression::call::<InSet>(options, vec![unbound(&list.expr)])
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => Expression::call::<And>((), vec![unbound(left), unbound(right)]),
            Operator::Or => Expression::call::<Or>((), vec![unbound(left), unbound(right)]),
            Operator::Eq => compare(CompareOp::Eq, left, right),
            Operator::Lt => compare(CompareOp::Lt, left, right),
            Operator::LtEq => compare(CompareOp::LtEq, left, right),
            Operator::Gt => compare(CompareOp::Gt, left, right),
            Operator::GtEq => compare(CompareOp::GtEq, left, right),
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    }
}

fn scope() -> Scope {
    Scope::new(Arc::new(Field::new("table", DataType::Struct(schema().fields().clone()), false)))
}

/// What the script for instruction counts looks at; never inlined, so that it has a name.
#[inline(never)]
fn counted_region_bound(
    scope: &Scope,
    optimizer: &ExpressionOptimizer,
    filter: &Expression,
) -> BoundExpression {
    let bound = scope.bind(filter).expect("it binds");
    optimizer.optimize(&bound, Position::Filter).expect("no rule is faulty")
}

#[inline(never)]
fn counted_region_translated(
    translator: &Translator,
    optimizer: &ExpressionOptimizer,
    filter: &Arc<dyn PhysicalExpr>,
) -> BoundExpression {
    let bound = translator.translate(filter);
    optimizer.optimize(&bound, Position::Filter).expect("no rule is faulty")
}

#[inline(never)]
fn counted_region_datafusion(schema: &Schema, filter: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    PhysicalExprSimplifier::new(schema).simplify(Arc::clone(filter)).expect("it is well typed")
}

#[inline(never)]
fn counted_region_patched(shape: &Shape, filter: &BoundExpression, values: &mut Vec<ScalarValue>) -> bool {
    shape.patch(filter, values)
}

fn bound_of(bencher: Bencher, filter: &Expr) {
    let (scope, optimizer, filter) = (scope(), expression_rules().snapshot(), unbound(filter));
    bencher.bench_local(|| counted_region_bound(&scope, &optimizer, black_box(&filter)));
}

fn translated_of(bencher: Bencher, filter: Expr) {
    let (translator, optimizer) = (Translator::new(schema()), expression_rules().snapshot());
    let filter = physical(filter);
    bencher.bench_local(|| counted_region_translated(&translator, &optimizer, black_box(&filter)));
}

fn datafusion_of(bencher: Bencher, filter: Expr) {
    let (schema, filter) = (schema(), physical(filter));
    bencher.bench_local(|| counted_region_datafusion(&schema, black_box(&filter)));
}

mod typical {
    use super::*;

    #[divan::bench(args = FILTERS)]
    fn bound(bencher: Bencher, name: &str) {
        bound_of(bencher, &filter(name));
    }

    #[divan::bench(args = FILTERS)]
    fn translated(bencher: Bencher, name: &str) {
        translated_of(bencher, filter(name));
    }

    #[divan::bench(args = FILTERS)]
    fn datafusion(bencher: Bencher, name: &str) {
        datafusion_of(bencher, filter(name));
    }

    #[divan::bench(args = FILTERS)]
    fn patched(bencher: Bencher, name: &str) {
        let filter = scope().bind(&unbound(&filter(name))).expect("it binds");
        let (shape, mut values) = Shape::of(&filter).expect("it has no slots");
        bencher.bench_local(|| assert!(counted_region_patched(&shape, black_box(&filter), &mut values)));
    }
}

/// A disjunction of so many comparisons, three nodes each.
mod disjunction {
    use super::*;

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn bound(bencher: Bencher, terms: usize) {
        bound_of(bencher, &any_of(0..terms));
    }

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn translated(bencher: Bencher, terms: usize) {
        translated_of(bencher, any_of(0..terms));
    }

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn datafusion(bencher: Bencher, terms: usize) {
        datafusion_of(bencher, any_of(0..terms));
    }
}

fn main() {
    divan::main();
}
