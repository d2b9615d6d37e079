// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What AND and OR have in common, for rules that fit both.

use datafusion_common::ScalarValue;

use crate::expr::functions::{And, Or};
use crate::expr::{BindError, BoundExpression, ScalarFnVTable};

/// AND or OR.
pub(super) trait Connective: ScalarFnVTable<Options = ()> {
    /// The value that decides a row, whatever the other terms are.
    const ABSORBING: bool;

    /// OR for AND, AND for OR.
    type Dual: Connective;

    /// See [`And::of`] and [`Or::of`].
    fn of(terms: Vec<BoundExpression>) -> Result<BoundExpression, BindError>;
}

impl Connective for And {
    const ABSORBING: bool = false;
    type Dual = Or;

    fn of(terms: Vec<BoundExpression>) -> Result<BoundExpression, BindError> {
        And::of(terms)
    }
}

impl Connective for Or {
    const ABSORBING: bool = true;
    type Dual = And;

    fn of(terms: Vec<BoundExpression>) -> Result<BoundExpression, BindError> {
        Or::of(terms)
    }
}

/// A boolean constant.
pub(super) fn constant(value: impl Into<Option<bool>>) -> BoundExpression {
    BoundExpression::literal(ScalarValue::Boolean(value.into()))
}

/// The value of a boolean constant; the outer `None` for anything else.
pub(super) fn as_constant(expression: &BoundExpression) -> Option<Option<bool>> {
    match expression.as_literal()? {
        ScalarValue::Boolean(value) => Some(*value),
        _ => None,
    }
}
