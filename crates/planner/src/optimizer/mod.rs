// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rule-based optimizer of bound expressions.
//!
//! ```text
//! Expression ── bind(Scope) ──► BoundExpression ── optimize ──► BoundExpression
//! ```
//!
//! Bound expressions are all it takes and gives. An [`ExpressionOptimizerSession`] holds the rules, in
//! order, by the function at their root; its [snapshot](ExpressionOptimizerSession::snapshot) is an
//! immutable [`ExpressionOptimizer`], and no later registration changes what that one does. The work is
//! done by a [driver] that knows nothing of expressions.
//!
//! # What a rule must keep
//!
//! * **Type**: the replacement has the same data type, and may be NULL only if the original may, or if NULL
//!   and FALSE are alike. (It may be known not to be NULL where the original wasn't: such a value fits
//!   every use of the original. As no step goes the other way, no two rules compose to a wider type.)
//! * **Rows**: in [`Position::Value`] each row has the same value; in [`Position::Filter`] the same rows are
//!   TRUE, while FALSE and NULL may stand for each other.
//! * **Errors**: a rewrite never adds an error. It drops one only in an operand whose value isn't needed:
//!   when types, constants or the other operands decide the result without it. Operands that can fail are
//!   never evaluated for more rows than before, so none loses the guard before it, nor moves ahead of it.
//! * **Volatility**: a volatile expression isn't folded, doubled or merged with its like.
//! * **Floats**: comparisons and sets are in SQL order, CASE with an operand is in total order (see
//!   [`crate::floats`]); one never becomes the other.
//!
//! The driver checks types. It can't check the rest, which the property suite does.
//!
//! # A rule of one's own
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow::datatypes::{DataType, Field};
//! use trommel_planner::expr::functions::{Like, LikeOptions};
//! use trommel_planner::expr::{BoundExpression, Expression, Scope};
//! use trommel_planner::optimizer::{
//!     ExpressionOptimizerSession, Position, Rewrite, RewriteContext, RuleResult, TypedExprRewriteRule,
//! };
//!
//! /// *x ILIKE '12-%' → x LIKE '12-%'*: what has no letters has no case.
//! #[derive(Debug)]
//! struct Caseless;
//!
//! impl TypedExprRewriteRule<Like> for Caseless {
//!     fn name(&self) -> &'static str {
//!         "caseless"
//!     }
//!
//!     fn rewrite(&self, like: &LikeOptions, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
//!         let pattern = node.children()[1].as_literal().and_then(|p| p.try_as_str().flatten());
//!         let caseless = |p: &str| p.chars().all(|c| c.is_ascii() && !c.is_ascii_alphabetic());
//!         if !like.case_insensitive || !pattern.is_some_and(caseless) {
//!             return Ok(Rewrite::Unchanged);
//!         }
//!         let like = LikeOptions { case_insensitive: false, ..*like };
//!         Ok(Rewrite::Rewritten(BoundExpression::call::<Like>(like, node.children().to_vec())?))
//!     }
//! }
//!
//! let session = ExpressionOptimizerSession::default();
//! session.register::<Like>(Caseless);
//! let optimizer = session.snapshot();
//!
//! let table = DataType::Struct(vec![Field::new("part", DataType::Utf8, true)].into());
//! let scope = Scope::new(Arc::new(Field::new("table", table, false)));
//! let ilike = LikeOptions { negated: false, case_insensitive: true };
//! let filter = Expression::call::<Like>(ilike, vec![Expression::column("part"), Expression::literal("12-7")]);
//!
//! let (optimized, trace) = optimizer.optimize_traced(&scope.bind(&filter)?, Position::Filter);
//! assert_eq!(optimized?.to_string(), "$.part = '12-7'");
//! assert_eq!(trace.fired().collect::<Vec<_>>(), ["caseless", "simple_like"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A missing rule may cost time, never an answer; neither does a failing one: callers that get a
//! [`RewriteError`] go on with the expression they had.

mod context;
pub mod driver;
mod error;
mod expression;
mod label;
mod plan;
mod plan_rules;
mod rule;
mod rules;
mod session;
mod trace;

use label::label;

pub use context::{OptimizerConfig, Position, RewriteContext};
pub use error::RewriteError;
pub use expression::ExpressionOptimizer;
pub use plan_rules::{PlanOptimizer, PlanRewriteRule};
pub use rule::{ExprRewriteRule, Rewrite, RuleError, RuleResult, TypedExprRewriteRule};
pub use session::ExpressionOptimizerSession;
pub use trace::{Event, Trace};

#[cfg(test)]
pub(crate) mod tests;
