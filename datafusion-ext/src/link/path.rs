// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The way from an operator's output down to one of its inputs, by column position.
//!
//! DataFusion 55.2 moves a filter below an operator by looking its columns up by *name* in the input's
//! schema, where the first of several equal names wins (`FilterRemapper`). A [`Step`] says for each output
//! column what it is in terms of the input. It is there only where a filter over the output may also be
//! applied to the input: for each operator that forwards filters it follows that operator's own rules, and
//! stops where rows below are not interchangeable (limits).

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::buffer::BufferExec;
#[expect(deprecated, reason = "older plans still hold it, and it forwards filters")]
use datafusion::physical_plan::coalesce_batches::CoalesceBatchesExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, build_join_schema};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;

/// What an output column is in terms of the input; `None` where a filter on it must stay above.
type Below = Option<Arc<dyn PhysicalExpr>>;

/// The way from an operator's output to one of its inputs.
#[derive(Debug)]
pub(super) struct Step {
    columns: Vec<Below>,
    rows_preserved: bool,
}

impl Step {
    /// The step from `node` to its input number `child`; `None` if no filter passes there.
    pub(super) fn below(node: &dyn ExecutionPlan, child: usize) -> Option<Self> {
        // Below a limit a filter decides which rows count, which is wrong as soon as they have an order.
        if node.fetch().is_some() {
            return None;
        }
        let (columns, rows_preserved) = if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
            (projection.expr().iter().map(|e| Some(Arc::clone(&e.expr))).collect(), true)
        } else if let Some(filter) = node.downcast_ref::<FilterExec>() {
            let kept = filter.projection().as_deref();
            (kept.map_or_else(|| same(node, child), |kept| kept.iter().map(|i| column(*i)).collect()), false)
        } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
            (group_keys(aggregate), false)
        } else if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            (join_columns(join, child), false)
        } else if hands_on_each_row(node) {
            (same(node, child), true)
        } else if node.is::<SortExec>() {
            (same(node, child), false)
        } else {
            return None;
        };
        Some(Self { columns, rows_preserved })
    }

    /// An expression over the output, in terms of the input; `None` where it can't be moved.
    pub(super) fn map(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        replace_columns(expr, |index| self.columns.get(index).cloned().flatten())
    }

    /// Whether the output holds each row of the input exactly once (together with other inputs' rows).
    pub(super) fn rows_preserved(&self) -> bool {
        self.rows_preserved
    }
}

/// `expr` with each column replaced by what `by` gives for its index; `None` if it gives nothing for one.
pub(crate) fn replace_columns(
    expr: &Arc<dyn PhysicalExpr>,
    by: impl Fn(usize) -> Option<Arc<dyn PhysicalExpr>>,
) -> Option<Arc<dyn PhysicalExpr>> {
    let mut complete = true;
    let replaced = Arc::clone(expr)
        .transform_up(|node| {
            let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            Ok(match by(column.index()) {
                Some(replacement) => Transformed::yes(replacement),
                None => {
                    complete = false;
                    Transformed::no(node)
                }
            })
        })
        .data()
        .ok()?;
    complete.then_some(replaced)
}

/// A column without a name: along the way only positions count.
pub(super) fn column(index: usize) -> Below {
    Some(Arc::new(Column::new("", index)))
}

/// Each column lies where it lay.
fn same(node: &dyn ExecutionPlan, child: usize) -> Vec<Below> {
    let width = node.children().get(child).map_or(0, |input| input.schema().fields().len());
    (0..width).map(column).collect()
}

/// Whether an operator (without a limit) only moves rows between batches and partitions.
#[expect(deprecated, reason = "older plans still hold CoalesceBatchesExec, and it forwards filters")]
fn hands_on_each_row(node: &dyn ExecutionPlan) -> bool {
    node.is::<RepartitionExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<CoalesceBatchesExec>()
        || node.is::<CooperativeExec>()
        || node.is::<BufferExec>()
        || node.is::<UnionExec>()
}

/// The group keys that every grouping set has. A filter on them takes whole groups away; but an aggregate
/// that gives a row for an empty input lets none pass.
fn group_keys(aggregate: &AggregateExec) -> Vec<Below> {
    let by = aggregate.group_expr();
    let empty_set = |nulls: &Vec<bool>| nulls.iter().all(|null| *null);
    if by.is_true_no_grouping() || by.groups().iter().any(empty_set) {
        return vec![];
    }
    let everywhere = |i: usize| !by.groups().iter().any(|nulls| nulls.get(i) == Some(&true));
    let keys = by.expr().iter().enumerate();
    keys.map(|(i, (key, _))| everywhere(i).then(|| Arc::clone(key))).collect()
}

/// What the output columns of a join are in terms of its left (0) or right (1) input.
fn join_columns(join: &HashJoinExec, child: usize) -> Vec<Below> {
    let (_, columns) = build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
    let below = |c: &ColumnIndex| join_column(join, c, child);
    match join.projection.as_deref() {
        Some(kept) => kept.iter().map(|i| columns.get(*i).and_then(below)).collect(),
        None => columns.iter().map(below).collect(),
    }
}

/// A column passes to its own side if that side's rows come out as they are, never padded with NULLs for
/// want of a partner. The key of a semi join passes to the other side as well, as its partner.
fn join_column(join: &HashJoinExec, output: &ColumnIndex, child: usize) -> Below {
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let is_key = |key: &Arc<dyn PhysicalExpr>| {
        key.downcast_ref::<Column>().is_some_and(|column| column.index() == output.index)
    };
    match (join.join_type(), output.side, child) {
        (Inner | Left | LeftSemi | LeftAnti | LeftMark, JoinSide::Left, 0)
        | (Inner | Right | RightSemi | RightAnti | RightMark, JoinSide::Right, 1) => column(output.index),
        (LeftSemi, JoinSide::Left, _) => {
            join.on().iter().find(|(left, _)| is_key(left)).map(|(_, right)| Arc::clone(right))
        }
        (RightSemi, JoinSide::Right, _) => {
            join.on().iter().find(|(_, right)| is_key(right)).map(|(left, _)| Arc::clone(left))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::col;
    use datafusion::physical_plan::aggregates::{AggregateMode, PhysicalGroupBy};
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::joins::{HashJoinExecBuilder, PartitionMode};
    use datafusion::physical_plan::limit::GlobalLimitExec;
    use rstest::rstest;

    use super::*;

    fn input(columns: &[&str]) -> Arc<dyn ExecutionPlan> {
        let fields: Vec<_> = columns.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
        Arc::new(EmptyExec::new(Arc::new(Schema::new(fields))))
    }

    /// For each output column, the input column it is, or `-`.
    fn way(node: &dyn ExecutionPlan, child: usize) -> String {
        let Some(step) = Step::below(node, child) else { return "none".to_owned() };
        let index = |c: &Below| c.as_ref()?.downcast_ref::<Column>().map(|c| c.index().to_string());
        let columns = step.columns.iter().map(|c| index(c).unwrap_or("-".to_owned()));
        columns.collect::<Vec<_>>().join(" ")
    }

    /// The left input is (a, b), the right one (x, c), joined by a = c.
    fn join(join_type: JoinType) -> HashJoinExecBuilder {
        let (left, right) = (input(&["a", "b"]), input(&["x", "c"]));
        let on = vec![(col("a", &left.schema()).unwrap(), col("c", &right.schema()).unwrap())];
        HashJoinExecBuilder::new(left, right, on, join_type).with_partition_mode(PartitionMode::CollectLeft)
    }

    #[rstest]
    #[case::inner(JoinType::Inner, "0 1 - -", "- - 0 1")]
    #[case::left(JoinType::Left, "0 1 - -", "- - - -")]
    #[case::right(JoinType::Right, "- - - -", "- - 0 1")]
    #[case::full(JoinType::Full, "- - - -", "- - - -")]
    #[case::left_semi(JoinType::LeftSemi, "0 1", "1 -")]
    #[case::right_semi(JoinType::RightSemi, "- 0", "0 1")]
    #[case::left_anti(JoinType::LeftAnti, "0 1", "- -")]
    #[case::right_anti(JoinType::RightAnti, "- -", "0 1")]
    #[case::left_mark(JoinType::LeftMark, "0 1 -", "- - -")]
    #[case::right_mark(JoinType::RightMark, "- - -", "0 1 -")]
    fn joins(#[case] join_type: JoinType, #[case] left: &str, #[case] right: &str) {
        let join = join(join_type).build().unwrap();
        assert_eq!((way(&join, 0).as_str(), way(&join, 1).as_str()), (left, right));
    }

    #[test]
    fn a_join_that_narrows() {
        let join = join(JoinType::Inner).with_projection(Some(vec![3, 1, 2])).build().unwrap();
        assert_eq!((way(&join, 0).as_str(), way(&join, 1).as_str()), ("- 1 -", "1 - 0"));
    }

    #[test]
    fn no_way_past_a_limit() {
        let join = join(JoinType::Inner).with_fetch(Some(3)).build().unwrap();
        assert_eq!(way(&join, 0), "none");
        assert_eq!(way(&CoalescePartitionsExec::new(input(&["a"])).with_fetch(Some(3)), 0), "none");
        assert_eq!(way(&GlobalLimitExec::new(input(&["a"]), 0, Some(3)), 0), "none");
        assert_eq!(way(&CoalescePartitionsExec::new(input(&["a"])), 0), "0");
    }

    #[rstest]
    #[case::one_set(&[[false, false]], "1 0")]
    #[case::keys_of_all_sets(&[[false, true], [false, false]], "1 -")]
    #[case::a_set_without_keys(&[[false, false], [true, true]], "")]
    fn group_keys_by_position(#[case] sets: &[[bool; 2]], #[case] expect: &str) {
        let input = input(&["a", "b"]);
        let schema = input.schema();
        let key = |name: &str| (col(name, &schema).unwrap(), name.to_owned());
        let null = |name: &str| (datafusion::physical_expr::expressions::lit(0i64), name.to_owned());
        let sets: Vec<_> = sets.iter().map(|set| set.to_vec()).collect();
        let has_sets = sets.len() > 1;
        let by = PhysicalGroupBy::new(vec![key("b"), key("a")], vec![null("b"), null("a")], sets, has_sets);
        let aggregate =
            AggregateExec::try_new(AggregateMode::Partial, by, vec![], vec![], input, schema).unwrap();
        assert_eq!(way(&aggregate, 0), expect);
    }
}
