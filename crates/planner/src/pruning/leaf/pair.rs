// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x op y`, both operands of a row's.
//!
//! | test | may hold iff | may fail iff |
//! |---|---|---|
//! | `x = y` | x.lower ≤ y.upper and y.lower ≤ x.upper | unless all four bounds are the same |
//! | `x < y` | x.lower < y.upper | x.upper ≥ y.lower |
//! | `x <= y` | x.lower ≤ y.upper | x.upper > y.lower |
//!
//! and an unknown bound makes what is asked of it possible. Sound because x and y are taken to be any values
//! within their bounds. NaNs lie beyond all other values, on either side, so a zone that may hold any may come out either
//! way, but no NaN equals anything other than a NaN.
//!
//! Where either is NULL the comparison is; `IS [NOT] DISTINCT FROM` is then a question of whether both are.

use arrow::array::{Array, ArrayRef};
use arrow::compute::kernels::cmp;
use datafusion_common::Result;

use super::Ask;
use super::compare::outcomes;
use crate::expr::functions::CompareOp;
use crate::pruning::Truth;
use crate::pruning::domain::Domain;
use crate::pruning::known::unknown;
use crate::pruning::ordered::Side;
use crate::pruning::words::{self, Words};

/// The live zones in which the comparison of two operands, over one grid, may give one of `set`.
///
/// # Errors
/// When the two don't compare.
pub(in crate::pruning) fn may_compare(
    op: CompareOp,
    [x, y]: [&Domain; 2],
    set: Truth,
    live: &[u64],
) -> Result<Words> {
    let outcomes = outcomes(op, false);
    let mut found = vec![0; live.len()];
    let some = words::and(live, &words::and(&x.values, &y.values));
    if outcomes.on_hold.meets(set) {
        words::add(&mut found, &may(op, Ask::Holds, [x, y], &some)?);
    }
    if outcomes.on_fail.meets(set) {
        let fails = may(op, Ask::Fails, [x, y], &words::minus(&some, &found))?;
        words::add(&mut found, &fails);
    }
    let (one, both) = match op.is_distinct() {
        true => (outcomes.on_null, outcomes.on_null.negate()),
        false => (Truth::NULL, Truth::NULL),
    };
    let mut add_if = |truth: Truth, zones: [&[u64]; 2]| {
        if truth.meets(set) {
            words::add(&mut found, &words::and(live, &words::and(zones[0], zones[1])));
        }
    };
    add_if(one, [&x.nulls, &y.values]);
    add_if(one, [&x.values, &y.nulls]);
    add_if(both, [&x.nulls, &y.nulls]);
    Ok(found)
}

fn may(op: CompareOp, ask: Ask, [x, y]: [&Domain; 2], live: &[u64]) -> Result<Words> {
    use CompareOp::*;
    let mut found = match (op, ask) {
        (Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom, Ask::Holds) => {
            let below = lies(&x.bounds.lower, Side::LtEq, &y.bounds.upper, live)?;
            lies(&x.bounds.upper, Side::GtEq, &y.bounds.lower, &below)?
        }
        (Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom, Ask::Fails) => {
            let mut found = lies(&x.bounds.lower, Side::Lt, &y.bounds.upper, live)?;
            words::add(&mut found, &lies(&x.bounds.upper, Side::Gt, &y.bounds.lower, live)?);
            found
        }
        (Lt | GtEq, Ask::Holds) => lies(&x.bounds.lower, Side::Lt, &y.bounds.upper, live)?,
        (Lt | GtEq, Ask::Fails) => lies(&x.bounds.upper, Side::GtEq, &y.bounds.lower, live)?,
        (LtEq | Gt, Ask::Holds) => lies(&x.bounds.lower, Side::LtEq, &y.bounds.upper, live)?,
        (LtEq | Gt, Ask::Fails) => lies(&x.bounds.upper, Side::Gt, &y.bounds.lower, live)?,
    };
    let none = vec![0; live.len()];
    let [of_x, of_y] = [x, y].map(|operand| operand.nans.as_ref().unwrap_or(&none));
    let is_equality = matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom);
    let nans = match is_equality && ask == Ask::Holds {
        true => words::and(of_x, of_y),
        false => words::zip(of_x, of_y, |x, y| x | y),
    };
    words::add(&mut found, &words::and(live, &nans));
    Ok(found)
}

/// The live zones whose bounds lie so to each other, or of which one isn't known.
fn lies(a: &Option<ArrayRef>, side: Side, b: &Option<ArrayRef>, live: &[u64]) -> Result<Words> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(live.to_vec()) };
    let lies = match side {
        Side::Lt => cmp::lt(a, b)?,
        Side::LtEq => cmp::lt_eq(a, b)?,
        Side::Gt => cmp::gt(a, b)?,
        Side::GtEq => cmp::gt_eq(a, b)?,
    };
    let mut found = words::and(live, &words::of(lies.values()));
    if lies.null_count() > 0 {
        words::add(&mut found, &unknown(Some(a), live));
        words::add(&mut found, &unknown(Some(b), live));
    }
    Ok(found)
}
