// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as an expression: what is read of them can be printed, judged, optimized and written, and is read again as
//! the same; what reads no row has the same value after optimizing.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullArray};
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use trommel_planner::codec::ExprCodec;
use trommel_planner::expr::{BoundExpression, ExprKind, Input, evaluate};
use trommel_planner::optimizer::{ExpressionOptimizer, Position};
use trommel_planner::pruning::PrunePredicate;

use crate::plan::predicate;

thread_local! {
    static OPTIMIZER: ExpressionOptimizer = ExpressionOptimizer::default();
}

pub fn run(data: &[u8]) {
    let codec = ExprCodec::default();
    let Ok(expression) = codec.decode(data) else { return };
    assert!(!expression.to_string().is_empty());
    let bytes = codec.encode(&expression).expect("what was read can be written");
    assert_eq!(codec.decode(&bytes).expect("what was written can be read"), expression);
    let is_boolean = expression.field().data_type() == &DataType::Boolean;
    if is_boolean {
        PrunePredicate::compile(&expression).can_prune();
        let _ = OPTIMIZER.with(|optimizer| optimizer.optimize(&expression, Position::Filter));
    }
    let Ok(optimized) = OPTIMIZER.with(|optimizer| optimizer.optimize(&expression, Position::Value)) else {
        return;
    };
    let has_params = expression.any(|node| matches!(node.kind(), ExprKind::Param(..)));
    if expression.is_constant()
        && !has_params
        && let Some(before) = value(&expression)
    {
        assert_eq!(value(&optimized), Some(before), "{expression} became {optimized}");
    }
}

/// The value of an expression that reads no row.
fn value(expression: &BoundExpression) -> Option<ScalarValue> {
    let root: ArrayRef = Arc::new(NullArray::new(1));
    let value =
        evaluate(expression, Input { root: &root, params: &[] }).and_then(|v| v.into_array(1)).ok()?;
    Some(ScalarValue::try_from_array(&value, 0).expect("a value"))
}

pub fn seeds() -> Vec<Vec<u8>> {
    let parts = predicate().children().to_vec();
    let codec = ExprCodec::default();
    parts.iter().chain([&predicate()]).map(|part| codec.encode(part).unwrap()).collect()
}
