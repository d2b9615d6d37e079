// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which live filters a scan may believe.
//!
//! DataFusion 55.2 publishes some filters that are wrong for the rows: min/max filters that forget an
//! aggregate whose argument isn't a plain column, or whose bound is still NULL in one partition
//! (apache/datafusion#24816, #25147), and TopK filters over nested keys, which compare in another order
//! than the heap does. A filter's [`Origin`] tells what it is. Without an origin (a session that lacks
//! [`LinkDynamicFilters`](crate::LinkDynamicFilters)) its shape has to: hash joins and multi-key TopKs can
//! be recognised, but a lone strict comparison may be either a TopK's or half of a min/max filter, so it
//! is believed only if a sort asked this scan for that very key.

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, IsNullExpr, Literal};
use datafusion::physical_expr::utils::collect_columns;

use arrow::datatypes::{DataType, Schema};

use super::{Origin, SortKey};

/// Whether a join that hands the filter down may fail because somebody listens to it.
///
/// A hash join that builds a filter computes bounds of its keys. DataFusion 55.2 then tries a dense table for a key
/// whose bounds are integers, also where the key is a dictionary of integers, which the table can't take. The filter
/// doesn't tell whose it is, so those of other operators over such a key are lost too.
pub fn breaks_its_join(filter: &Arc<dyn PhysicalExpr>, table: &Schema) -> bool {
    let is_dictionary_of_integers = |key: &&Arc<dyn PhysicalExpr>| match key.data_type(table) {
        Ok(DataType::Dictionary(_, values)) => values.is_integer(),
        _ => false,
    };
    let keys = filter.children();
    keys.len() == 1 && keys.iter().all(is_dictionary_of_integers)
}

/// Whether a scan may believe the present form `current` of a live filter.
///
/// `asked` is the sort key that a sort above asked for, and `table` is the schema that the filter's columns
/// index.
pub fn trusted(
    current: &Arc<dyn PhysicalExpr>,
    origin: &Origin,
    asked: Option<&SortKey>,
    table: &Schema,
) -> bool {
    match origin {
        Origin::Join { .. } | Origin::TopK { .. } | Origin::Other => true,
        Origin::MinMax { aggregates, .. } => {
            let disjuncts = disjuncts(current);
            disjuncts.len() == *aggregates && !disjuncts.iter().any(|d| compares_with_null(d))
        }
        Origin::Unknown => !compares_nested(current, table) && recognised(current, asked),
    }
}

/// Whether the shape alone shows that the filter is no min/max aggregate's.
fn recognised(current: &Arc<dyn PhysicalExpr>, asked: Option<&SortKey>) -> bool {
    let disjuncts = disjuncts(current);
    // A min/max filter is one strict comparison per aggregate, joined by OR, and nothing else.
    if !disjuncts.iter().all(|d| strict_comparison(d).is_some()) {
        return true;
    }
    match (disjuncts.as_slice(), asked) {
        // With NULLs first a TopK's filter lets NULLs pass, and so isn't a lone comparison.
        ([only], Some(key)) if !key.options.nulls_first => strict_comparison(only)
            .is_some_and(|(left, op)| left.eq(&key.expr) && (op == Operator::Gt) == key.options.descending),
        _ => false,
    }
}

/// The operands of the top-level ORs.
fn disjuncts(expr: &Arc<dyn PhysicalExpr>) -> Vec<&Arc<dyn PhysicalExpr>> {
    let (mut out, mut stack) = (Vec::new(), vec![expr]);
    while let Some(expr) = stack.pop() {
        match expr.downcast_ref::<BinaryExpr>() {
            Some(binary) if *binary.op() == Operator::Or => stack.extend([binary.right(), binary.left()]),
            _ => out.push(expr),
        }
    }
    out
}

/// The left side of `left < literal` or `left > literal`.
fn strict_comparison(expr: &Arc<dyn PhysicalExpr>) -> Option<(&Arc<dyn PhysicalExpr>, Operator)> {
    let binary = expr.downcast_ref::<BinaryExpr>()?;
    let strict = matches!(binary.op(), Operator::Lt | Operator::Gt);
    (strict && binary.right().is::<Literal>()).then(|| (binary.left(), *binary.op()))
}

/// Whether the expression is a comparison with a NULL literal: a bound that isn't known yet.
fn compares_with_null(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_null =
        |e: &Arc<dyn PhysicalExpr>| e.downcast_ref::<Literal>().is_some_and(|l| l.value().is_null());
    expr.downcast_ref::<BinaryExpr>().is_some_and(|b| is_null(b.left()) || is_null(b.right()))
}

/// Whether the filter reads a column of a nested type outside a membership test: a TopK over such a key
/// is wrong, and a join never compares one by itself.
fn compares_nested(expr: &Arc<dyn PhysicalExpr>, table: &Schema) -> bool {
    let sorts = disjuncts(expr).iter().any(|d| strict_comparison(d).is_some() || d.is::<IsNullExpr>());
    sorts && collect_columns(expr).iter().any(|c| table.field(c.index()).data_type().is_nested())
}

#[cfg(test)]
mod tests {
    use arrow::compute::SortOptions;
    use arrow::datatypes::{DataType, Field, Fields};
    use datafusion::common::ScalarValue;
    use datafusion::physical_expr::expressions::{binary, col, in_list, is_null, lit};
    use rstest::rstest;

    use super::*;

    fn table() -> Schema {
        let nested = DataType::Struct(Fields::from(vec![Field::new("x", DataType::Int64, true)]));
        Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
            Field::new("s", nested, true),
        ])
    }

    fn cmp(column: &str, op: Operator, value: Option<i64>) -> Arc<dyn PhysicalExpr> {
        let schema = table();
        binary(col(column, &schema).unwrap(), op, lit(ScalarValue::Int64(value)), &schema).unwrap()
    }

    fn join(l: Arc<dyn PhysicalExpr>, op: Operator, r: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        binary(l, op, r, &table()).unwrap()
    }

    fn asked(column: &str, descending: bool, nulls_first: bool) -> Option<SortKey> {
        let options = SortOptions { descending, nulls_first };
        Some(SortKey { expr: col(column, &table()).unwrap(), options })
    }

    use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, Or};

    #[rstest]
    #[case::topk_or_aggregate(cmp("a", Gt, Some(5)), None, false)]
    #[case::topk_that_asked(cmp("a", Gt, Some(5)), asked("a", true, false), true)]
    #[case::another_key_was_asked(cmp("a", Gt, Some(5)), asked("b", true, false), false)]
    #[case::another_direction_was_asked(cmp("a", Gt, Some(5)), asked("a", false, false), false)]
    #[case::nulls_would_come_first(cmp("a", Gt, Some(5)), asked("a", true, true), false)]
    #[case::two_aggregates(
        join(cmp("a", Lt, Some(1)), Or, cmp("b", Gt, Some(9))),
        asked("a", false, false),
        false
    )]
    #[case::two_key_topk(
        join(cmp("a", Lt, Some(1)), Or, join(cmp("a", Eq, Some(1)), And, cmp("b", Lt, Some(9)))),
        None,
        true
    )]
    #[case::topk_nulls_first(join(is_null(col("a", &table()).unwrap()).unwrap(), Or, cmp("a", Lt, Some(1))), None, true)]
    #[case::join_bounds(join(cmp("a", GtEq, Some(1)), And, cmp("a", LtEq, Some(9))), None, true)]
    #[case::join_set(in_list(col("a", &table()).unwrap(), vec![lit(1i64)], &false, &table()).unwrap(), None, true)]
    #[case::nothing_can_match(lit(false), None, true)]
    fn unlinked(
        #[case] current: Arc<dyn PhysicalExpr>,
        #[case] asked: Option<SortKey>,
        #[case] expect: bool,
    ) {
        assert_eq!(trusted(&current, &Origin::Unknown, asked.as_ref(), &table()), expect);
    }

    #[test]
    fn a_topk_over_a_nested_key_is_refused() {
        let schema = table();
        let null = ScalarValue::try_from(schema.field(2).data_type()).unwrap();
        let key = col("s", &schema).unwrap();
        let first = is_null(Arc::clone(&key)).unwrap();
        let less: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(key, Lt, lit(null)));
        let filter: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(first, Or, less));
        assert!(!trusted(&filter, &Origin::Unknown, None, &schema));
    }

    #[rstest]
    #[case::both_there(join(cmp("a", Lt, Some(1)), Or, cmp("b", Gt, Some(9))), 2, true)]
    #[case::one_forgotten(cmp("b", Gt, Some(9)), 2, false)]
    #[case::one_not_known_yet(join(cmp("a", Lt, None), Or, cmp("b", Gt, Some(9))), 2, false)]
    #[case::a_single_one(cmp("b", Gt, Some(9)), 1, true)]
    fn min_max(#[case] current: Arc<dyn PhysicalExpr>, #[case] aggregates: usize, #[case] expect: bool) {
        let origin = Origin::MinMax { aggregates, extremes: Vec::new() };
        assert_eq!(trusted(&current, &origin, None, &table()), expect);
    }
}
