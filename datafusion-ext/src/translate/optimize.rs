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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use datafusion::common::DFSchema;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, lit};
    use datafusion::prelude::SessionContext;
    use rstest::rstest;
    use trommel_planner::expr::functions::Compare;
    use trommel_planner::optimizer::TypedExprRewriteRule;

    use super::*;
    use crate::translate::translate;

    fn filter(sql: &str) -> BoundExpression {
        let table: SchemaRef = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ]));
        let (context, schema) = (SessionContext::new(), DFSchema::try_from(Arc::clone(&table)).unwrap());
        let expr = context.parse_sql_expr(sql, &schema).unwrap();
        translate(&context.create_physical_expr(expr, &schema).unwrap(), &table)
    }

    #[rstest]
    #[case::function("a > abs(-3)", "$.a > 3")]
    #[case::quotient("a > 7 / 2", "$.a > 3")]
    #[case::gives_null("a > nullif(1, 1)", "NULL")]
    #[case::beside_a_column("a > 7 / 2 + a", "$.a > (3 + $.a)")]
    #[case::fails("a > 7 / 0", "$.a > «7 / 0»")]
    #[case::volatile("a > random()", "CAST($.a AS Float64) > «random()»")]
    #[case::of_a_column("a > abs(a)", "$.a > «abs(a@0)»{$.a}")]
    fn constant_parts_of_datafusion_are_evaluated(#[case] sql: &str, #[case] expect: &str) {
        let optimizer = expression_optimizer(&SessionConfig::new());
        assert_eq!(optimize_filter(&optimizer, &filter(sql)).to_string(), expect);
    }

    #[test]
    fn a_live_filter_is_no_constant() {
        let live: Arc<dyn PhysicalExpr> = Arc::new(DynamicFilterPhysicalExpr::new(vec![], lit(true)));
        let bound = translate(&live, &Arc::new(Schema::empty()));
        assert!(optimize_filter(&expression_optimizer(&SessionConfig::new()), &bound).ptr_eq(&bound));
    }

    /// Turns every comparison into what it was given.
    #[derive(Debug)]
    struct Put(BoundExpression);

    impl TypedExprRewriteRule<Compare> for Put {
        fn name(&self) -> &'static str {
            "put"
        }

        fn rewrite(
            &self,
            _: &<Compare as trommel_planner::expr::ScalarFnVTable>::Options,
            _: &BoundExpression,
            _: &RewriteContext<'_>,
        ) -> RuleResult {
            Ok(Rewrite::Rewritten(self.0.clone()))
        }
    }

    fn session(put: BoundExpression) -> SessionConfig {
        let rules = expression_rules();
        rules.register::<Compare>(Put(put));
        SessionConfig::new().with_extension(Arc::new(rules))
    }

    #[test]
    fn a_session_brings_its_own_rules() {
        let config = session(filter("s IS NULL"));
        assert_eq!(
            optimize_filter(&expression_optimizer(&config), &filter("a > 5")).to_string(),
            "$.s IS NULL"
        );
    }

    /// Counts warnings about rules.
    struct Warnings(AtomicUsize);

    impl log::Log for Warnings {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            if record.level() == log::Level::Warn && record.args().to_string().contains("rule put rewrote") {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn flush(&self) {}
    }

    #[test]
    fn a_faulty_rule_leaves_the_filter_as_it_was_and_is_told_of_once() {
        static WARNINGS: Warnings = Warnings(AtomicUsize::new(0));
        log::set_logger(&WARNINGS).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
        let optimizer = expression_optimizer(&session(BoundExpression::literal(ScalarValue::from(1i64))));
        for sql in ["a > 5 AND TRUE", "a < 5", "s = 'x'"] {
            let filter = filter(sql);
            assert!(optimize_filter(&optimizer, &filter).ptr_eq(&filter));
        }
        assert_eq!(WARNINGS.0.load(Ordering::Relaxed), 1);
    }
}
