// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Deep, wide and large expressions: small stacks, linear cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrow::datatypes::{DataType, Field};
use rstest::rstest;

use super::support::*;
use crate::expr::functions::{Compare, CompareOp, InSet, Not, Or};
use crate::expr::{BoundExpression, Expression, Scope, Shape};
use crate::optimizer::*;

/// Runs on a stack of 256 KiB.
fn on_a_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, run).unwrap().join().unwrap()
    })
}

fn scope() -> Scope {
    Scope::new(Arc::new(Field::new("table", DataType::Struct(columns()), false)))
}

fn equal(value: i32) -> Expression {
    Expression::call::<Compare>(CompareOp::Eq, vec![Expression::column("in"), Expression::literal(value)])
}

fn bn() -> Expression {
    Expression::column("bn")
}

fn alternate(e: Expression, level: usize) -> Expression {
    if level.is_multiple_of(2) { e.and(bn()) } else { e.or(bn()) }
}

fn less(e: Expression, _: usize) -> Expression {
    Expression::call::<Compare>(CompareOp::Lt, vec![e, bn()])
}

/// Binds, prints, compares, optimizes and drops: a million levels where the tree that is bound is as deep as the
/// one that is written. A recursion that took three bytes a level wouldn't get through the others.
#[rstest]
#[case::left_conjunction(1_000_000, |e: Expression, _: usize| e.and(bn()), "$.bn")]
#[case::right_disjunction(100_000, |e: Expression, _: usize| bn().or(e), "$.bn")]
#[case::negations(300_000, |e: Expression, _: usize| e.negated(), "$.bn")]
#[case::alternating(100_000, alternate, "$.bn")]
#[case::nothing_to_do(1_000_000, less, "")]
fn a_deep_expression_needs_no_deep_stack(
    #[case] depth: usize,
    #[case] wrap: fn(Expression, usize) -> Expression,
    #[case] expect: &str,
) {
    on_a_small_stack(|| {
        let build = || (0..depth).fold(bn(), wrap);
        let (bound, same) = (scope().bind(&build()).unwrap(), scope().bind(&build()).unwrap());
        assert!(!bound.ptr_eq(&same) && bound == same);
        assert!(!bound.any(|node| node.as_literal().is_some()));
        assert!(bound.to_string().len() > depth);
        let (shape, values) = Shape::of(&bound).unwrap();
        assert_eq!(shape.values_of(&same), Some(values));
        let optimized = ExpressionOptimizer::default().optimize(&bound, Position::Filter).unwrap();
        match expect {
            "" => assert!(optimized.ptr_eq(&bound)),
            expect => assert_eq!(optimized.to_string(), expect),
        }
    });
}

/// A nest that wasn't flattened when it was bound.
#[test]
fn a_deep_nest_of_one_connective_is_flattened_at_once() {
    on_a_small_stack(|| {
        let mut nest = is("in", CompareOp::Eq, 0);
        for i in 1..20_000 {
            nest = BoundExpression::call::<Or>((), vec![nest, is("in", CompareOp::Eq, i)]).unwrap();
        }
        let (result, trace) = ExpressionOptimizer::default().optimize_traced(&nest, Position::Filter);
        assert_eq!(trace.fired().collect::<Vec<_>>(), ["flatten", "unite_tests"]);
        assert_eq!(result.unwrap().as_opt::<InSet>().unwrap().set.len(), 20_000);
    });
}

/// Counts the nodes it is asked about.
#[derive(Debug)]
struct Count(Arc<AtomicUsize>);

impl ExprRewriteRule for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn rewrite(&self, _: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Rewrite::Unchanged)
    }
}

#[rstest]
#[case::disjunction_of_equals(|n| (0..n).map(equal).reduce(Expression::or))]
#[case::negated_pairs(|n| (0..n).map(|i| equal(i).negated().negated()).reduce(Expression::and))]
#[case::nested_in_pairs(|n| (0..n / 2).map(|i| equal(i).and(Expression::column("b"))).reduce(Expression::or))]
fn cost_is_linear_in_nodes(#[case] build: fn(i32) -> Option<Expression>) {
    let visits = |n| {
        let count = Arc::new(AtomicUsize::new(0));
        let session = ExpressionOptimizerSession::default();
        session.register_fallback(Count(Arc::clone(&count)));
        let bound = scope().bind(&build(n).unwrap()).unwrap();
        session.snapshot().optimize(&bound, Position::Value).unwrap();
        count.load(Ordering::Relaxed)
    };
    let (small, large) = (visits(1000), visits(10_000));
    assert!(large < 11 * small, "{small} visits, then {large}");
    assert!(small < 5 * 1000, "{small} visits");
}

/// Generous: the time is of an unoptimized build on a busy machine. What matters is that no rule looks at
/// pairs of terms.
#[rstest]
#[case::equals(|i| equal(i))]
#[case::two_columns(|i| if i % 2 == 0 { equal(i) } else {
    Expression::call::<Compare>(CompareOp::Lt, vec![Expression::column("ln"), Expression::literal(i64::from(i))])
})]
#[case::unlike(|i| equal(i).and(Expression::column("b")))]
fn ten_thousand_terms(#[case] term: fn(i32) -> Expression) {
    let bound = scope().bind(&(0..10_000).map(term).reduce(Expression::or).unwrap()).unwrap();
    let optimizer = ExpressionOptimizer::default();
    let start = Instant::now();
    let result = optimizer.optimize(&bound, Position::Filter).unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert!(optimizer.optimize(&result, Position::Filter).unwrap().ptr_eq(&result));
}

/// Subexpressions shared so often that walking them as a tree would never end.
#[test]
fn shared_subexpressions_are_visited_once() {
    let mut node = not(column("bn"));
    for _ in 0..60 {
        node = compare(node.clone(), CompareOp::Lt, BoundExpression::call::<Not>((), vec![node]).unwrap());
    }
    let optimized = ExpressionOptimizer::default().optimize(&node, Position::Value).unwrap();
    assert!(!optimized.can_fail());
}
