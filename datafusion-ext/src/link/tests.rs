// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rule on real plans: DataFusion's own rules first, then ours, over scans that only listen.

mod ear;

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::common::JoinType;
use datafusion::config::ConfigOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, binary, col, lit,
};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr, conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::joins::{HashJoinExecBuilder, PartitionMode};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use rstest::rstest;

use self::ear::{Ear, EarTable, Speaker};
use super::{LinkDynamicFilters, Listener, link};
use crate::live::{LiveFilter, Origin};

fn table(name: &'static str, columns: &[&str], rows: usize) -> EarTable {
    let fields = columns.iter().map(|column| Field::new(*column, DataType::Int64, true));
    EarTable { name, schema: Arc::new(Schema::new(fields.collect::<Fields>())), rows, partitions: 2 }
}

/// A session with a small table `d`, large tables `f`, `g`, `h`, the tables of the name clashes, and `n`
/// with a nested column. Joins keep the sides they are written with.
fn session(settings: &[(&str, &str)]) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(4);
    config.options_mut().optimizer.join_reordering = false;
    for (name, value) in settings {
        config.options_mut().set(name, value).unwrap();
    }
    let state = SessionStateBuilder::new_with_default_features().with_config(config).build();
    let context = SessionContext::new_with_state(state);
    let nested = DataType::Struct(Fields::from(vec![Field::new("x", DataType::Int64, true)]));
    let nested = Schema::new(vec![Field::new("k", DataType::Int64, true), Field::new("s", nested, true)]);
    let tables = [
        table("d", &["k", "w"], 10),
        table("e", &["k", "w"], 10),
        table("f", &["v", "k", "u"], 1_000_000),
        table("g", &["k", "v"], 1_000_000),
        table("h", &["k", "v"], 1_000_000),
        table("ta", &["id", "ty"], 1_000_000),
        table("tb", &["id"], 10),
        table("o", &["id", "amount"], 1_000_000),
        table("p", &["id", "amount"], 1_000_000),
        EarTable { name: "n", schema: Arc::new(nested), rows: 1_000, partitions: 2 },
    ];
    for table in tables {
        context.register_table(table.name, Arc::new(table)).unwrap();
    }
    context
}

/// The plan that DataFusion makes of a query, before our rule and after it.
async fn plans(sql: &str, settings: &[(&str, &str)]) -> (Arc<dyn ExecutionPlan>, Arc<dyn ExecutionPlan>) {
    let plan = session(settings).sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let linked = link::<Ear>(&plan, &[]).unwrap().plan;
    (plan, linked)
}

fn ears(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<Ear>> {
    let any: Arc<dyn Any + Send + Sync> = Arc::<dyn ExecutionPlan>::clone(plan);
    match any.downcast::<Ear>() {
        Ok(ear) => vec![ear],
        Err(_) => plan.children().into_iter().flat_map(ears).collect(),
    }
}

/// One line per filter that a scan listens to: the table, the origin, the keys.
fn heard(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let line = |ear: &Arc<Ear>, filter: &LiveFilter| {
        let keys: Vec<_> = filter.expr().children().iter().map(ToString::to_string).collect();
        let keys = keys.join(", ");
        let what = match filter.origin() {
            Origin::Join { join_type, mode } => format!("{join_type} {mode:?} on {keys}"),
            Origin::TopK { k, order, rows_preserved } => {
                let order = order.iter().map(|key| PhysicalSortExpr::new(Arc::clone(&key.expr), key.options));
                let order: Vec<_> = order.map(|key| key.to_string()).collect();
                let kept = if *rows_preserved { "each row" } else { "some rows" };
                format!("top {k} by {} of {kept}", order.join(", "))
            }
            Origin::MinMax { aggregates, extremes } => {
                let extremes =
                    extremes.iter().map(|e| format!("{} {}", if e.max { "max" } else { "min" }, e.expr));
                format!("{aggregates} extremes: {}", extremes.collect::<Vec<_>>().join(", "))
            }
            Origin::Other => format!("other on {keys}"),
            Origin::Unknown => format!("unknown on {keys}"),
        };
        format!("{}: {what}", ear.table.name)
    };
    let ears = ears(plan);
    ears.iter().flat_map(|ear| ear.live_filters().iter().map(move |filter| line(ear, filter))).collect()
}

const PARTITIONED: &[(&str, &str)] = &[
    ("datafusion.optimizer.hash_join_single_partition_threshold", "0"),
    ("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0"),
];

#[rstest]
#[case::join_with_collected_build_side(
    "SELECT f.v FROM d JOIN f ON d.k = f.k", &[],
    &["f: Inner CollectLeft on k@1"])]
#[case::join_with_partitioned_build_side(
    "SELECT f.v FROM d JOIN f ON d.k = f.k", PARTITIONED,
    &["f: Inner Partitioned on k@1"])]
#[case::join_on_two_keys(
    "SELECT f.u FROM d JOIN f ON d.k = f.k AND d.w = f.v", &[],
    &["f: Inner CollectLeft on k@1, v@0"])]
#[case::join_on_an_expression(
    "SELECT f.v FROM d JOIN (SELECT k + 1 AS j, v FROM f) f ON d.k = f.j", &[],
    &["f: Inner CollectLeft on k@1 + 1"])]
#[case::semi_join(
    "SELECT w FROM d WHERE k IN (SELECT k FROM f)", &[],
    &["f: LeftSemi CollectLeft on k@1"])]
#[case::topk_over_a_semi_join(
    "SELECT k FROM d WHERE k IN (SELECT k FROM f) ORDER BY k LIMIT 3", &[],
    &["d: top 3 by k@0 ASC NULLS LAST of some rows", "f: LeftSemi CollectLeft on k@1",
      "f: top 3 by k@1 ASC NULLS LAST of some rows"])]
#[case::join_over_join(
    "SELECT g.v FROM d JOIN (SELECT e.k AS ek, g.k AS gk, g.v FROM e JOIN g ON e.w = g.v) g ON d.k = g.gk", &[],
    &["g: Inner CollectLeft on k@0", "g: Inner CollectLeft on v@1"])]
#[case::join_through_an_aggregate(
    "SELECT d.w, q.n FROM d JOIN (SELECT k, count(*) AS n FROM (SELECT u, k FROM f) GROUP BY k) q ON d.k = q.k", &[],
    &["f: Inner CollectLeft on k@1"])]
#[case::topk(
    "SELECT * FROM f ORDER BY v DESC, k LIMIT 3", &[],
    &["f: top 3 by v@0 DESC, k@1 ASC NULLS LAST of each row"])]
#[case::topk_with_offset(
    "SELECT * FROM f ORDER BY v NULLS FIRST LIMIT 3 OFFSET 4", &[],
    &["f: top 7 by v@0 ASC of each row"])]
#[case::topk_over_renamed_columns(
    "SELECT x FROM (SELECT u AS v, k AS x FROM f) ORDER BY v LIMIT 3", &[],
    &["f: top 3 by u@2 ASC NULLS LAST of each row"])]
#[case::topk_by_an_expression(
    "SELECT k FROM f ORDER BY k % 10 LIMIT 3", &[],
    &["f: top 3 by k@1 % 10 ASC NULLS LAST of each row"])]
#[case::topk_over_a_filter(
    "SELECT * FROM f WHERE u > 5 ORDER BY v LIMIT 3", &[],
    &["f: top 3 by v@0 ASC NULLS LAST of some rows"])]
#[case::topk_over_a_union(
    "SELECT * FROM (SELECT k, v FROM f UNION ALL SELECT v, k FROM g) ORDER BY k LIMIT 3", &[],
    &["f: top 3 by k@1 ASC NULLS LAST of each row", "g: top 3 by v@1 ASC NULLS LAST of each row"])]
#[case::topk_over_a_join(
    "SELECT f.v FROM d JOIN f ON d.k = f.k ORDER BY f.v LIMIT 3", &[],
    &["f: Inner CollectLeft on k@1", "f: top 3 by v@0 ASC NULLS LAST of some rows"])]
#[case::topk_by_a_nested_key(
    "SELECT * FROM n ORDER BY s LIMIT 3", &[],
    &[])]
#[case::topk_by_a_nested_key_among_others(
    "SELECT * FROM n ORDER BY k, s LIMIT 3", &[],
    &[])]
#[case::one_aggregate(
    "SELECT max(v) FROM f", &[],
    &["f: 1 extremes: max v@0"])]
#[case::several_aggregates(
    "SELECT min(v), max(u), max(k) FROM f", &[],
    &["f: 3 extremes: min v@0, max u@2, max k@1"])]
#[case::aggregates_with_a_filter_clause(
    "SELECT max(v), max(v) FILTER (WHERE u = 1) FROM f", &[],
    &["f: 2 extremes: max v@0, max v@0"])]
#[case::several_aggregates_one_of_an_expression(
    "SELECT min(k + 1), max(v) FROM f", &[],
    &[])]
#[case::aggregate_over_a_join(
    "SELECT max(f.v) FROM d JOIN f ON d.k = f.k", &[],
    &["f: 1 extremes: max v@0", "f: Inner CollectLeft on k@1"])]
#[tokio::test]
async fn origins(#[case] sql: &str, #[case] settings: &[(&str, &str)], #[case] expect: &[&str]) {
    let (before, after) = plans(sql, settings).await;
    let mut lines = heard(&after);
    lines.sort_unstable();
    assert_eq!(lines, expect, "{}", displayable(before.as_ref()).indent(false));
}

/// The engine binds these filters to a column of the same name on the wrong side.
#[rstest]
#[case::join_over_outer_join(
    "SELECT s.id AS sid, a.id AS aid, b.id AS bid FROM tb s JOIN (ta a LEFT JOIN tb b ON a.ty = b.id) ON s.id = b.id",
    "ta: unknown on id@0",
    &["tb: Left Partitioned on id@0"])]
#[case::topk(
    "SELECT o.amount, p.amount FROM o JOIN p ON o.id = p.id JOIN d ON p.id = d.k ORDER BY p.amount LIMIT 1",
    "o: unknown on amount@1",
    &["p: Inner Partitioned on id@0", "d: Inner Partitioned on k@0"])]
#[tokio::test]
async fn wrong_bindings_are_dropped(#[case] sql: &str, #[case] wrong: &str, #[case] expect: &[&str]) {
    let (before, after) = plans(sql, PARTITIONED).await;
    assert!(heard(&before).iter().any(|line| line == wrong), "{:?}", heard(&before));
    assert_eq!(heard(&after), expect);
}

/// Sort keys that contain each other, over columns that swapped names on the way: the engine itself makes
/// another filter of it.
#[tokio::test]
async fn keys_that_get_mixed_up_are_dropped() {
    let sql = "SELECT * FROM (SELECT v AS k, k AS v FROM g) ORDER BY k, v, k % 10, v % 10 LIMIT 3";
    let (before, after) = plans(sql, &[]).await;
    let published = producers(&before).remove(0);
    let third = Arc::clone(published.children()[2]);
    assert_eq!(third.to_string(), "k@0 % 10");
    dynamic(&published).update(third).unwrap();
    let ear = ears(&before).remove(0);
    let copy = ear.live_filters()[0].expr();
    assert_eq!(copy.children()[2].to_string(), "v@1 % 10", "what the scan should read");
    assert_eq!(dynamic(copy).current().unwrap().to_string(), "k@0 % 10", "what it does read");
    assert!(heard(&after).is_empty());
}

/// The dynamic filters that the operators of a plan produce, from the root down.
fn producers(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn PhysicalExpr>> {
    let below = plan.children().into_iter().flat_map(producers);
    plan.dynamic_expressions_produced().into_iter().chain(below).collect()
}

fn dynamic(expr: &Arc<dyn PhysicalExpr>) -> &DynamicFilterPhysicalExpr {
    expr.downcast_ref().unwrap()
}

#[rstest]
#[case::join("SELECT f.v FROM d JOIN f ON d.k = f.k")]
#[case::topk("SELECT * FROM f ORDER BY v LIMIT 3")]
#[case::topk_over_a_union("SELECT k, v FROM f UNION ALL SELECT k, v FROM g ORDER BY v LIMIT 3")]
#[case::aggregate("SELECT max(v) FROM f")]
#[tokio::test]
async fn producer_and_scan_stay_linked(#[case] sql: &str) {
    let (_, after) = plans(sql, &[]).await;
    let produced = producers(&after).remove(0);
    let value = lit(42i64);
    let key = Arc::clone(produced.children()[0]);
    dynamic(&produced).update(Arc::new(BinaryExpr::new(key, Operator::Lt, value))).unwrap();
    let copies: Vec<_> = ears(&after).iter().flat_map(|ear| ear.live_filters().to_vec()).collect();
    assert!(!copies.is_empty());
    for copy in copies {
        let expect = format!("{} < 42", copy.expr().children()[0]);
        assert_eq!(dynamic(copy.expr()).current().unwrap().to_string(), expect);
    }
}

#[rstest]
#[case::join("SELECT f.v FROM d JOIN f ON d.k = f.k ORDER BY f.v LIMIT 3")]
#[case::aggregate("SELECT max(v), min(k) FROM f")]
#[case::dropped("SELECT min(k + 1), max(v) FROM f")]
#[case::nothing_to_do("SELECT * FROM f JOIN g ON f.k < g.k")]
#[tokio::test]
async fn a_second_run_changes_nothing(#[case] sql: &str) {
    let (_, once) = plans(sql, &[]).await;
    let twice = link::<Ear>(&once, &[]).unwrap().plan;
    assert!(Arc::ptr_eq(&once, &twice));
}

#[tokio::test]
async fn a_plan_without_our_scans_stays_as_it_is() {
    let (before, _) = plans("SELECT f.v FROM d JOIN f ON d.k = f.k ORDER BY f.v LIMIT 3", &[]).await;
    let after = LinkDynamicFilters::default().optimize(Arc::clone(&before), &ConfigOptions::new()).unwrap();
    assert!(Arc::ptr_eq(&before, &after));
}

#[rstest]
#[case::aggregate("SELECT max(v) FROM f")]
#[case::topk("SELECT * FROM f ORDER BY v LIMIT 3")]
#[case::join("SELECT f.v FROM d JOIN f ON d.k = f.k")]
#[tokio::test]
async fn without_its_producer_a_filter_is_dropped(#[case] sql: &str) {
    let (before, after) = plans(sql, &[]).await;
    for plan in [before, after] {
        let cut_off: Arc<dyn ExecutionPlan> = ears(&plan).pop().unwrap();
        assert_eq!(heard(&cut_off).len(), 1);
        assert!(heard(&link::<Ear>(&cut_off, &[]).unwrap().plan).is_empty());
    }
}

#[tokio::test]
async fn each_part_of_a_conjunction_is_a_filter_of_its_own() {
    let (before, _) = plans("SELECT f.v FROM d JOIN f ON d.k = f.k ORDER BY f.v LIMIT 3", &[]).await;
    let ear = ears(&before).pop().unwrap();
    let parts = ear.live_filters().iter().map(|filter| Arc::clone(filter.expr()));
    let stray: Arc<dyn PhysicalExpr> = Arc::new(DynamicFilterPhysicalExpr::new(vec![], lit(true)));
    let whole = LiveFilter::new(conjunction(parts.chain([lit(true), stray])));
    let replaced = replace_scan(&before, "f", &(ear.with_live_filters(vec![whole]) as _));
    let mut lines = heard(&link::<Ear>(&replaced, &[]).unwrap().plan);
    lines.sort_unstable();
    assert_eq!(lines, ["f: Inner CollectLeft on k@1", "f: top 3 by v@0 ASC NULLS LAST of some rows"]);
}

fn replace_scan(
    plan: &Arc<dyn ExecutionPlan>,
    name: &str,
    by: &Arc<dyn ExecutionPlan>,
) -> Arc<dyn ExecutionPlan> {
    if plan.downcast_ref::<Ear>().is_some_and(|ear| ear.table.name == name) {
        return Arc::clone(by);
    }
    let inputs = plan.children().into_iter().map(|input| replace_scan(input, name, by)).collect();
    replace_children_if_necessary(Arc::clone(plan), inputs).unwrap()
}

fn scan(name: &'static str, columns: &[&str]) -> Arc<dyn ExecutionPlan> {
    let all: Vec<_> = (0..columns.len()).collect();
    Arc::new(Ear::new(EarTable { partitions: 1, ..table(name, columns, 10) }, &all).unwrap())
}

fn join(probe: Arc<dyn ExecutionPlan>, join_type: JoinType) -> Arc<dyn ExecutionPlan> {
    let build = scan("d", &["k", "w"]);
    let on = vec![(col("k", &build.schema()).unwrap(), col("k", &probe.schema()).unwrap())];
    let join = HashJoinExecBuilder::new(build, probe, on, join_type);
    join.with_partition_mode(PartitionMode::CollectLeft).build_exec().unwrap()
}

fn sort(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let key = PhysicalSortExpr::new_default(col("v", &input.schema()).unwrap());
    Arc::new(SortExec::new(LexOrdering::new([key]).unwrap(), input))
}

fn positive(input: Arc<dyn ExecutionPlan>) -> FilterExecBuilder {
    let schema = input.schema();
    FilterExecBuilder::new(
        binary(col("v", &schema).unwrap(), Operator::Gt, lit(0i64), &schema).unwrap(),
        input,
    )
}

/// The plan with its filters pushed down by DataFusion.
fn pushed(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    FilterPushdown::new_post_optimization().optimize(plan, &ConfigOptions::new()).unwrap()
}

fn shape(plan: &Arc<dyn ExecutionPlan>) -> String {
    let below: Vec<_> = plan.children().into_iter().map(shape).collect();
    if below.is_empty() { plan.name().to_owned() } else { format!("{}({})", plan.name(), below.join(", ")) }
}

#[test]
fn a_sort_without_limit_loses_the_filter_it_put_below_itself() {
    let before = pushed(join(sort(scan("g", &["k", "v"])), JoinType::Inner));
    assert_eq!(shape(&before), "HashJoinExec(Ear, SortExec(FilterExec(Ear)))");
    let after = link::<Ear>(&before, &[]).unwrap().plan;
    assert_eq!(shape(&after), "HashJoinExec(Ear, SortExec(Ear))");
    assert_eq!(heard(&after), ["g: Inner CollectLeft on k@0"]);
    assert!(Arc::ptr_eq(&after, &link::<Ear>(&after, &[]).unwrap().plan));
}

#[test]
fn other_filters_stay() {
    let before = pushed(join(Arc::new(positive(scan("g", &["k", "v"])).build().unwrap()), JoinType::Inner));
    let after = link::<Ear>(&before, &[]).unwrap().plan;
    assert_eq!(shape(&after), "HashJoinExec(Ear, FilterExec(Ear))");
    assert_eq!(heard(&after), ["g: Inner CollectLeft on k@0"]);
}

#[test]
fn a_filter_that_also_narrows_is_followed_by_position() {
    let filter = positive(scan("g", &["u", "v", "k"])).apply_projection(Some(vec![2, 1])).unwrap();
    let after =
        link::<Ear>(&pushed(join(Arc::new(filter.build().unwrap()), JoinType::Inner)), &[]).unwrap().plan;
    assert_eq!(heard(&after), ["g: Inner CollectLeft on k@2"]);
}

/// DataFusion pushes a join's filter below a limit that a filter carries.
#[test]
fn nothing_passes_a_limit() {
    let limited = Arc::new(positive(scan("g", &["k", "v"])).with_fetch(Some(5)).build().unwrap());
    let before = pushed(join(limited, JoinType::Inner));
    assert_eq!(heard(&before), ["g: unknown on k@0"]);
    assert!(heard(&link::<Ear>(&before, &[]).unwrap().plan).is_empty());
}

#[test]
fn a_producer_unknown_here_is_believed_where_its_columns_fit() {
    for (at, expect) in [(1, vec!["g: other on v@1"]), (0, vec![])] {
        let filter = DynamicFilterPhysicalExpr::new(vec![Arc::new(Column::new("v", 1))], lit(true));
        let filter: Arc<dyn PhysicalExpr> = Arc::new(filter);
        let bound = Arc::clone(&filter).with_new_children(vec![Arc::new(Column::new("v", at))]).unwrap();
        let ear = Arc::new(Ear::new(table("g", &["k", "v"], 10), &[0, 1]).unwrap());
        let ear = ear.with_live_filters(vec![LiveFilter::new(bound)]);
        let plan: Arc<dyn ExecutionPlan> = Arc::new(Speaker { filter, input: ear });
        assert_eq!(heard(&link::<Ear>(&plan, &[]).unwrap().plan), expect);
    }
}
