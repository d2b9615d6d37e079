// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The driver applied to bound expressions.

use std::cell::RefCell;
use std::sync::Arc;

use super::driver::{self, Fired, Rules, Tree};
use super::session::Registered;
use super::{ExpressionOptimizerSession, Position, Rewrite, RewriteContext, RewriteError, Trace, label};
use crate::expr::functions::{And, Case, Or};
use crate::expr::{BindError, BoundExpression, FnId};
use crate::plan::fits;

/// The rules of one moment, ready to run. Immutable; cheap to clone.
#[derive(Debug, Clone)]
pub struct ExpressionOptimizer {
    registered: Arc<Registered>,
}

impl ExpressionOptimizer {
    pub(super) fn new(registered: Arc<Registered>) -> Self {
        Self { registered }
    }

    /// The expression, rewritten until no rule fires; the very same node when none does.
    ///
    /// # Errors
    /// When a rule breaks its contract or the budget is used up. The expression is then as good as it was.
    pub fn optimize(
        &self,
        expression: &BoundExpression,
        position: Position,
    ) -> Result<BoundExpression, RewriteError> {
        self.run(expression, position, None)
    }

    /// As [`optimize`](Self::optimize), with what happened on the way, also when it ends in an error.
    pub fn optimize_traced(
        &self,
        expression: &BoundExpression,
        position: Position,
    ) -> (Result<BoundExpression, RewriteError>, Trace) {
        let trace = RefCell::default();
        let result = self.run(expression, position, Some(&trace));
        (result, trace.into_inner())
    }

    /// The rules, each with the function at whose calls it is tried: none for a fallback rule, which is
    /// tried at all. Those of one function come in the order they are tried.
    pub fn rules(&self) -> Vec<(Option<FnId>, &'static str)> {
        self.registered.names()
    }

    fn run(
        &self,
        expression: &BoundExpression,
        position: Position,
        trace: Option<&RefCell<Trace>>,
    ) -> Result<BoundExpression, RewriteError> {
        let rules = ExpressionRules { registered: &self.registered, trace };
        let place = Place { position, absorbed: false };
        driver::rewrite(expression, place, &rules, self.registered.config.budget)
    }
}

impl Default for ExpressionOptimizer {
    /// The built-in rules.
    fn default() -> Self {
        ExpressionOptimizerSession::default().snapshot()
    }
}

struct ExpressionRules<'a> {
    registered: &'a Registered,
    trace: Option<&'a RefCell<Trace>>,
}

impl Rules<BoundExpression> for ExpressionRules<'_> {
    fn concern(&self, node: &BoundExpression, place: Place) -> bool {
        !place.absorbed && self.registered.rules(node.kind()).next().is_some()
    }

    fn rewrite(
        &self,
        node: &BoundExpression,
        place: Place,
    ) -> Result<Option<Fired<BoundExpression>>, RewriteError> {
        if place.absorbed {
            return Ok(None);
        }
        let Registered { config, values, .. } = self.registered;
        for rule in self.registered.rules(node.kind()) {
            let ctx = RewriteContext {
                position: place.position,
                config,
                values,
                rule: rule.name(),
                trace: self.trace,
            };
            match rule.rewrite(node, &ctx) {
                Ok(Rewrite::Unchanged) => {}
                Ok(Rewrite::Rewritten(replacement)) => {
                    return Ok(Some(Fired { rule: rule.name(), replacement }));
                }
                Err(source) => {
                    return Err(RewriteError::Rule { rule: rule.name(), root: node.label(), source });
                }
            }
        }
        Ok(None)
    }

    fn fired(&self, rule: &'static str, before: &BoundExpression, after: &BoundExpression) {
        if let Some(trace) = self.trace {
            trace.borrow_mut().firing(rule, before, after);
        }
    }
}

/// What the nodes above say of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    position: Position,
    /// An AND in an AND, or an OR in an OR. No rules are tried there: the outer one takes in the terms of
    /// the whole nest at once, which keeps a deep chain linear.
    absorbed: bool,
}

impl Tree for BoundExpression {
    type Place = Place;
    type Error = BindError;

    fn address(&self) -> usize {
        BoundExpression::address(self)
    }

    fn arity(&self) -> usize {
        self.children().len()
    }

    fn child(&self, child: usize) -> Result<&Self, BindError> {
        self.children().get(child).ok_or(BindError::NoSuchField { field: child, fields: self.arity() })
    }

    fn place_of(&self, child: usize, place: Place) -> Place {
        let nested = |inner: &BoundExpression| {
            self.as_opt::<And>().is_some() && inner.as_opt::<And>().is_some()
                || self.as_opt::<Or>().is_some() && inner.as_opt::<Or>().is_some()
        };
        let absorbed = self.children().get(child).is_some_and(nested);
        Place { position: position_of(self, child, place.position), absorbed }
    }

    fn with_children(&self, children: Vec<Self>) -> Result<Self, BindError> {
        BoundExpression::with_children(self, children)
    }

    fn is_identical(&self, other: &Self) -> bool {
        self == other
    }

    fn check_stands_for(&self, original: &Self, place: Place, whole: &Self) -> Result<(), String> {
        let (field, wanted) = (self.field(), original.field());
        let alike = place.position == Position::Filter && field.data_type() == wanted.data_type();
        if !alike && !fits(field, wanted) {
            let name = |nullable| if nullable { "nullable" } else { "not nullable" };
            return Err(format!(
                "is {} and {}, not {} and {}",
                field.data_type(),
                name(field.is_nullable()),
                wanted.data_type(),
                name(wanted.is_nullable()),
            ));
        }
        if !self.is_within_scope_of(whole) {
            return Err("reads another root".to_owned());
        }
        Ok(())
    }

    fn label(&self) -> String {
        label(self)
    }
}

/// What a child's value is used for.
///
/// A filter's terms are filters too, unless the conjunction holds something that can fail: there FALSE
/// guards what comes after it, and NULL doesn't, so the two aren't alike.
fn position_of(node: &BoundExpression, child: usize, position: Position) -> Position {
    if node.as_opt::<Or>().is_some() || node.as_opt::<And>().is_some() && !node.can_fail() {
        return position;
    }
    let Some(shape) = node.as_opt::<Case>() else { return Position::Value };
    let Some(part) = child.checked_sub(shape.when(0)) else { return Position::Value };
    match part % 2 == 1 || part == 2 * shape.arms {
        true => position,
        // An arm is taken where its condition is TRUE, whatever the CASE is used for.
        false if !shape.operand => Position::Filter,
        false => Position::Value,
    }
}
