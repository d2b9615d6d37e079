// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The static predicates of a scan: what the query says of the rows, fixed at planning.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::ColumnarValue;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::And;
use trommel_planner::index::TableCol;
use trommel_planner::optimizer::ExpressionOptimizer;
use trommel_planner::pruning::PrunePredicate;
use trommel_scan::execute::group_by_columns;

use crate::translate::{Translator, optimize_filter};

/// The conjuncts that every row must satisfy, over the table's schema, in the query's order.
#[derive(Debug, Clone)]
pub struct StaticFilters {
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    optimizer: ExpressionOptimizer,
}

impl StaticFilters {
    /// The top-level conjuncts of these predicates, and what rewrites them when they are bound.
    pub fn new(predicates: &[Arc<dyn PhysicalExpr>], optimizer: ExpressionOptimizer) -> Self {
        Self { conjuncts: conjuncts(predicates).collect(), optimizer }
    }

    /// These filters and more, those that are there already left out.
    #[must_use]
    pub fn and(&self, predicates: &[Arc<dyn PhysicalExpr>]) -> Self {
        let mut all = self.clone();
        for conjunct in conjuncts(predicates) {
            if !all.conjuncts.iter().any(|c| c.eq(&conjunct)) {
                all.conjuncts.push(conjunct);
            }
        }
        all
    }

    /// What rewrites the filters of the scan, static and live.
    pub fn optimizer(&self) -> &ExpressionOptimizer {
        &self.optimizer
    }

    /// Whether every row qualifies.
    pub fn is_empty(&self) -> bool {
        self.conjuncts.is_empty()
    }

    /// The conjuncts.
    pub fn conjuncts(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.conjuncts
    }

    /// All conjuncts as one expression.
    pub fn conjunction(&self) -> Arc<dyn PhysicalExpr> {
        conjunction(self.conjuncts.iter().cloned())
    }

    /// The table columns that the conjuncts read.
    pub fn columns(&self) -> Vec<TableCol> {
        let all = self.conjuncts.iter().flat_map(collect_columns);
        let mut columns: Vec<_> = all.map(|c| TableCol(c.index())).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The filters, optimized as one, in the form that is pushed through scan plans and judges zones.
    pub fn bind(&self, table: &SchemaRef) -> BoundFilters {
        if self.is_empty() {
            return BoundFilters { conjuncts: Vec::new(), prune: None };
        }
        let translator = Translator::new(Arc::clone(table));
        let conjuncts: Vec<_> = self.conjuncts.iter().map(|c| translator.translate(c)).collect();
        // Every conjunct is boolean, so this can't fail; if it did, nothing would be pruned.
        let Some(all) = And::of(conjuncts.clone()).ok() else {
            return BoundFilters { conjuncts, prune: None };
        };
        let all = optimize_filter(&self.optimizer, &all);
        let conjuncts = match (all.as_opt::<And>(), all.as_literal()) {
            (Some(()), _) => all.children().to_vec(),
            (_, Some(ScalarValue::Boolean(Some(true)))) => Vec::new(),
            _ => vec![all.clone()],
        };
        let prune = Some(PrunePredicate::compile(&all)).filter(PrunePredicate::can_prune);
        let conjuncts = group_by_columns(&conjuncts).unwrap_or(conjuncts);
        BoundFilters { conjuncts, prune }
    }

    /// The same filters with the values of scalar subqueries put in, which are known once execution starts.
    ///
    /// # Errors
    /// When a subquery has no value yet.
    pub fn with_subqueries_resolved(&self) -> Result<Self> {
        let resolve = |conjunct: &Arc<dyn PhysicalExpr>| {
            Arc::clone(conjunct)
                .transform_up(|node| match node.downcast_ref::<ScalarSubqueryExpr>() {
                    None => Ok(Transformed::no(node)),
                    Some(_) => {
                        let value = evaluate_constant(&node)?;
                        Ok(Transformed::yes(Arc::new(Literal::new(value)) as _))
                    }
                })
                .data()
        };
        let conjuncts = self.conjuncts.iter().map(resolve).collect::<Result<_>>()?;
        Ok(Self { conjuncts, optimizer: self.optimizer.clone() })
    }
}

/// The top-level conjuncts of predicates, in order.
fn conjuncts(predicates: &[Arc<dyn PhysicalExpr>]) -> impl Iterator<Item = Arc<dyn PhysicalExpr>> {
    predicates.iter().flat_map(split_conjunction).map(Arc::clone)
}

/// The value of an expression that reads no column.
fn evaluate_constant(expr: &Arc<dyn PhysicalExpr>) -> Result<ScalarValue> {
    match expr.evaluate(&RecordBatch::new_empty(Arc::new(Schema::empty())))? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    }
}

impl fmt::Display for StaticFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, conjunct) in self.conjuncts.iter().enumerate() {
            write!(f, "{}{conjunct}", if i == 0 { "" } else { " AND " })?;
        }
        Ok(())
    }
}

/// Static filters as bound expressions over the table.
#[derive(Debug)]
pub struct BoundFilters {
    /// What every row must satisfy, in order; what is over the same columns is together.
    pub conjuncts: Vec<BoundExpression>,
    /// All of them together, if they can exclude a zone.
    pub prune: Option<PrunePredicate>,
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::logical_expr::Operator::{self, Gt, GtEq, Lt};
    use datafusion::physical_expr::expressions::{binary, col, lit};
    use rstest::rstest;
    use trommel_planner::optimizer::ExpressionOptimizerSession;

    use super::*;

    fn table() -> SchemaRef {
        let column = |name: &str| Field::new(name, DataType::Int64, true);
        Arc::new(Schema::new(vec![column("a"), column("b")]))
    }

    fn compare(name: &str, op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
        binary(col(name, &table()).unwrap(), op, lit(value), &table()).unwrap()
    }

    #[rstest]
    #[case::none(vec![], &[], false)]
    #[case::one(vec![compare("a", Gt, 5)], &["$.a > 5"], true)]
    #[case::of_one_column(vec![compare("a", Gt, 5), compare("b", Gt, 5), compare("a", Gt, 7)],
        &["$.a > 7", "$.b > 5"], true)]
    #[case::contradiction(vec![compare("a", Gt, 5), compare("a", Lt, 5)], &["false"], true)]
    #[case::nothing_left(vec![lit(true)], &[], true)]
    fn conjuncts_are_optimized_together(
        #[case] predicates: Vec<Arc<dyn PhysicalExpr>>,
        #[case] expect: &[&str],
        #[case] prunes: bool,
    ) {
        let optimizer = ExpressionOptimizerSession::default().snapshot();
        let bound = StaticFilters::new(&predicates, optimizer).bind(&table());
        let conjuncts: Vec<_> = bound.conjuncts.iter().map(ToString::to_string).collect();
        assert_eq!(conjuncts, expect);
        assert_eq!(bound.prune.is_some(), prunes);
    }

    #[test]
    fn without_rules_conjuncts_stay() {
        let optimizer = ExpressionOptimizerSession::empty().snapshot();
        let filters = StaticFilters::new(&[compare("a", GtEq, 5)], optimizer).and(&[compare("a", Gt, 7)]);
        let conjuncts: Vec<_> = filters.bind(&table()).conjuncts.iter().map(ToString::to_string).collect();
        assert_eq!(conjuncts, ["($.a >= 5 AND $.a > 7)"], "one column is read once");
    }
}
