// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Optimizing what was translated: which rules a session has, and what becomes of their errors.
//!
//! A session's rules are an [`ExpressionOptimizerSession`] among the extensions of its configuration. Scans take
//! a snapshot when they are planned; without such an extension they have the rules of [`expression_rules`].

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::Array;
use datafusion::common::ScalarValue;
use datafusion::prelude::SessionConfig;
use trommel_planner::expr::{BoundExpression, ExprKind, FOREIGN};
use trommel_planner::optimizer::{
    ExprRewriteRule, ExpressionOptimizer, ExpressionOptimizerSession, Position, Rewrite, RewriteContext,
    RuleResult,
};

/// The built-in rules, and those for what DataFusion evaluates.
///
/// To add some, hand the session to DataFusion's configuration:
///
/// ```
/// # use std::sync::Arc;
/// # use datafusion::prelude::SessionConfig;
/// # use datafusion_trommel::translate::expression_rules;
/// let rules = expression_rules();
/// // rules.register::<Like>(MyRule);
/// let config = SessionConfig::new().with_extension(Arc::new(rules));
/// ```
pub fn expression_rules() -> ExpressionOptimizerSession {
    let rules = ExpressionOptimizerSession::default();
    rules.register_erased(FOREIGN, ConstantForeign);
    rules
}

/// The optimizer of a session with this configuration, with its rules as they are now.
pub fn expression_optimizer(config: &SessionConfig) -> ExpressionOptimizer {
    static DEFAULT: LazyLock<ExpressionOptimizer> = LazyLock::new(|| expression_rules().snapshot());
    match config.get_extension::<ExpressionOptimizerSession>() {
        Some(rules) => rules.snapshot(),
        None => DEFAULT.clone(),
    }
}

/// A filter as the optimizer leaves it. When a rule breaks its contract that is the filter as it was, and the
/// first time there is a warning: a faulty rule costs time, never a query.
pub fn optimize_filter(optimizer: &ExpressionOptimizer, filter: &BoundExpression) -> BoundExpression {
    static WARNED: AtomicBool = AtomicBool::new(false);
    optimizer.optimize(filter, Position::Filter).unwrap_or_else(|error| {
        if !WARNED.swap(true, Ordering::Relaxed) {
            log::warn!("filters with which an expression rule goes wrong are left as they are: {error}");
        }
        filter.clone()
    })
}

/// *A part that DataFusion evaluates over no column → its value*: what is left around a scalar subquery whose
/// value is known by now, say.
///
/// Requires that it isn't volatile, as one with a live filter is, and that evaluating it succeeds: what fails is
/// left to fail, or not, for the rows it is meant for. Type: declines when the value is of another type.
#[derive(Debug)]
struct ConstantForeign;

impl ExprRewriteRule for ConstantForeign {
    fn name(&self) -> &'static str {
        "constant_foreign"
    }

    fn rewrite(&self, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        let ExprKind::Foreign(foreign) = node.kind() else { return Ok(Rewrite::Unchanged) };
        if !node.children().is_empty() || node.is_volatile() {
            return Ok(Rewrite::Unchanged);
        }
        let value = match foreign.evaluate(&[], 1) {
            Ok(array) if array.len() == 1 => ScalarValue::try_from_array(&array, 0)?,
            Ok(_) => return Ok(Rewrite::Unchanged),
            Err(error) => {
                ctx.note(|| format!("{node} fails: {error}"));
                return Ok(Rewrite::Unchanged);
            }
        };
        let fits = &value.data_type() == node.field().data_type()
            && (node.field().is_nullable() || !value.is_null());
        Ok(if fits { Rewrite::Rewritten(BoundExpression::literal(value)) } else { Rewrite::Unchanged })
    }
}
