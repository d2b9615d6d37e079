// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Every kind of expression that DataFusion 55.2 has, and every operator: none is forgotten.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::compute::SortOptions;
use datafusion::common::SplitPoint;
use datafusion::common::hash_utils::create_hashes;
use datafusion::logical_expr::physical_planning_context::{ScalarSubqueryResults, SubqueryIndex};
use datafusion::physical_expr::async_scalar_function::AsyncFuncExpr;
use datafusion::physical_expr::expressions::{LambdaExpr, LambdaVariable, NoOp, UnKnownColumn, is_null, not};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{HigherOrderFunctionExpr, LexOrdering, PhysicalSortExpr, RangePartitioning};
use datafusion::physical_plan::joins::join_hash_map::{JoinHashMapType, JoinHashMapU32};
use datafusion::physical_plan::joins::{HashExpr, HashTableLookupExpr, Map, SeededRandomState};
use datafusion::physical_plan::repartition::RangeExpr;
use datafusion::prelude::SessionConfig;

use super::*;

/// All implementations of `PhysicalExpr` in the sources of DataFusion 55.2, its tests aside.
macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        const KINDS: &[&str] = &[$(stringify!($kind)),*];

        fn kind(expr: &Expr) -> Option<&'static str> {
            $(if expr.is::<$kind>() { return Some(stringify!($kind)); })*
            None
        }
    };
}

kinds!(
    AsyncFuncExpr,
    BinaryExpr,
    CaseExpr,
    CastExpr,
    Column,
    DynamicFilterPhysicalExpr,
    HashExpr,
    HashTableLookupExpr,
    HigherOrderFunctionExpr,
    InListExpr,
    IsNotNullExpr,
    IsNullExpr,
    LambdaExpr,
    LambdaVariable,
    LikeExpr,
    Literal,
    NegativeExpr,
    NoOp,
    NotExpr,
    RangeExpr,
    ScalarFunctionExpr,
    ScalarSubqueryExpr,
    TryCastExpr,
    UnKnownColumn,
);

/// One over the table, of SQL that has lambdas.
fn lambda(sql: &str) -> Expr {
    let mut config = SessionConfig::new();
    config.options_mut().set("datafusion.sql_parser.dialect", "duckdb").unwrap();
    let context = SessionContext::new_with_config(config);
    let schema = DFSchema::try_from(schema()).unwrap();
    let expr = context.parse_sql_expr(sql, &schema).unwrap();
    context.create_physical_expr(expr, &schema).unwrap()
}

fn equals(left: Expr, right: Expr) -> Expr {
    binary(left, Operator::Eq, right, &schema()).unwrap()
}

/// The keys that a join has hashed, and whether a row's key is among them.
fn hash_lookup(keys: Vec<i64>) -> Expr {
    let state = SeededRandomState::with_seed(7);
    let keys: ArrayRef = Arc::new(Int64Array::from(keys));
    let mut hashes = vec![0; keys.len()];
    create_hashes(&[keys], state.random_state(), &mut hashes).unwrap();
    let mut map = JoinHashMapU32::with_capacity(hashes.len());
    map.update_from_iter(Box::new(hashes.iter().enumerate()), 0);
    let map = Arc::new(Map::HashMap(Box::new(map)));
    Arc::new(HashTableLookupExpr::new(vec![physical("a")], state, map, "lookup".to_owned()))
}

fn subquery(value: Option<i64>) -> Expr {
    let (results, index) = (ScalarSubqueryResults::new(1), SubqueryIndex::new(0));
    if let Some(value) = value {
        results.set(index, ScalarValue::from(value)).unwrap();
    }
    Arc::new(ScalarSubqueryExpr::new(DataType::Int64, true, index, results))
}

fn range_partition() -> Expr {
    let key = PhysicalSortExpr::new(physical("a"), SortOptions::default());
    let points = [1, 5].map(|v| SplitPoint::new(vec![ScalarValue::from(v as i64)]));
    let ranges = RangePartitioning::try_new(LexOrdering::new([key]).unwrap(), points.into()).unwrap();
    Arc::new(RangeExpr::try_new(vec![physical("a")], &ranges).unwrap())
}

/// Expressions that DataFusion evaluates.
fn answered() -> Vec<Expr> {
    let sql = [
        "(a + 1) * 2 - b = 3 AND NOT (p OR x < 1.5)",
        "CASE WHEN p THEN a WHEN q THEN nn END = 3",
        "CAST(b AS BIGINT) = a OR TRY_CAST(s AS INT) = 12",
        "a IN (1, nn, 3) AND s IN ('a', 'abc')",
        "a IS NULL OR s IS NOT NULL",
        "s LIKE 'a%' OR v NOT ILIKE '%B%'",
        "-x < 1.5 AND -a = 1",
        "length(s) + 1 > 3",
        "make_array(a, nn) @> make_array(nn)",
    ];
    let lambdas = [
        "array_any_match(make_array(a, nn), e -> e > 1)",
        "array_transform(make_array(a, nn), e -> e + b)[1] > 1",
        "array_filter(make_array(a, nn), e -> e > 1)[1] = 2 AND p",
    ];
    let hash: Expr =
        Arc::new(HashExpr::new(vec![physical("a")], SeededRandomState::with_seed(1), "hash".to_owned()));
    let dynamic: Expr = Arc::new(DynamicFilterPhysicalExpr::new(vec![physical("a")], physical("a > 1")));
    let mut all: Vec<_> = sql.iter().map(|sql| physical(sql)).collect();
    all.extend(lambdas.map(lambda));
    all.extend([
        hash_lookup(vec![1, 3, i64::MAX]),
        not(hash_lookup(vec![2])).unwrap(),
        equals(binary(hash, Operator::Modulo, lit(2u64), &schema()).unwrap(), lit(1u64)),
        equals(range_partition(), lit(1u64)),
        dynamic,
        equals(physical("a"), subquery(Some(3))),
        equals(physical("a"), binary(subquery(Some(3)), Operator::Plus, lit(2i64), &schema()).unwrap()),
    ]);
    all
}

/// Expressions that nobody can evaluate as they stand.
fn unanswerable() -> Vec<Expr> {
    let field = Arc::new(Field::new("e", DataType::Boolean, true));
    let variable: Expr = Arc::new(LambdaVariable::new(99, field));
    let function = physical("length(s)");
    vec![
        Arc::new(NoOp::new()),
        Arc::new(UnKnownColumn::new("u")),
        Arc::new(LambdaExpr::try_new(vec!["e".to_owned()], physical("p")).unwrap()),
        Arc::clone(&variable),
        is_null(variable).unwrap(),
        Arc::new(AsyncFuncExpr::try_new("async", function, &schema()).unwrap()),
        equals(physical("a"), subquery(None)),
    ]
}

#[test]
fn every_kind_means_what_it_meant() {
    for expr in answered() {
        assert!(agree(&expr) > 0, "the oracle never answered {expr}");
    }
    for expr in unanswerable() {
        let rows = batch(1, 7);
        assert!(theirs(&expr, &rows).is_err(), "{expr}");
        assert!(ours(&expr, &rows).is_err(), "{expr}");
    }
}

#[test]
fn no_kind_is_forgotten() {
    let mut met = BTreeSet::new();
    for expr in answered().into_iter().chain(unanswerable()) {
        foreign::any(&expr, |node| {
            met.insert(kind(node).unwrap_or_else(|| panic!("{node} is of a kind not listed")));
            false
        });
    }
    assert_eq!(met, KINDS.iter().copied().collect());
}

/// Operators that the planner writes as other expressions, or that no SQL reaches, are tried too: where
/// DataFusion doesn't implement one, neither do we (`@>` and `<@` it plans as functions).
#[test]
fn every_operator_means_what_it_meant() {
    use Operator::*;
    let operators = [
        Eq,
        NotEq,
        Lt,
        LtEq,
        Gt,
        GtEq,
        Plus,
        Minus,
        Multiply,
        Divide,
        Modulo,
        And,
        Or,
        IsDistinctFrom,
        IsNotDistinctFrom,
        RegexMatch,
        RegexIMatch,
        RegexNotMatch,
        RegexNotIMatch,
        LikeMatch,
        ILikeMatch,
        NotLikeMatch,
        NotILikeMatch,
        BitwiseAnd,
        BitwiseOr,
        BitwiseXor,
        BitwiseShiftRight,
        BitwiseShiftLeft,
        StringConcat,
        AtArrow,
        ArrowAt,
        Arrow,
        LongArrow,
        HashArrow,
        HashLongArrow,
        AtAt,
        IntegerDivide,
        HashMinus,
        AtQuestion,
        Question,
        QuestionAnd,
        QuestionPipe,
        Colon,
    ];
    let operands = [
        ["a", "nn"],
        ["a", "2"],
        ["b", "b"],
        ["x", "y"],
        ["x", "1.5"],
        ["s", "s"],
        ["s", "'a'"],
        ["v", "v"],
        ["d", "d"],
        ["n", "n"],
        ["n", "n * n"],
        ["p", "q"],
        ["dt", "dt"],
        ["t", "t"],
        ["st", "st"],
        ["dt", "INTERVAL '1 month'"],
        ["t", "INTERVAL '1 day'"],
        ["make_array(a)", "make_array(nn)"],
    ];
    let mut answered = BTreeSet::new();
    for op in operators {
        for [left, right] in operands {
            for checked in [false, true] {
                let expr =
                    BinaryExpr::new(physical(left), op, physical(right)).with_fail_on_overflow(checked);
                let expr: Expr = Arc::new(expr);
                // Only what has a type is ever planned, and of that some kernels panic at.
                let evaluate = |rows: &RecordBatch| catch_unwind(AssertUnwindSafe(|| theirs(&expr, rows)));
                for rows in [batch(1, 1), batch(2, 7), batch(3, 64)] {
                    if expr.data_type(&schema()).is_ok()
                        && let Ok(Ok(expected)) = evaluate(&rows)
                    {
                        assert_eq!(&ours(&expr, &rows).unwrap(), &expected, "{expr}");
                        answered.insert(op.to_string());
                    }
                }
            }
        }
    }
    let not_implemented =
        ["@>", "<@", "->", "->>", "#>", "#>>", "@@", "DIV", "#-", "@?", "?", "?&", "?|", ":"];
    let missing: Vec<_> =
        operators.iter().map(ToString::to_string).filter(|op| !answered.contains(op)).collect();
    assert_eq!(missing, not_implemented);
}
