// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the optimizer promises whatever its rules: see `docs/optimizer-checklist.md`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr_common::columnar_value::ColumnarValue;
use rstest::rstest;

use super::support::*;
use crate::expr::functions::{And, Cast, Compare, CompareOp, GetItem, IsNull, Not};
use crate::expr::{
    Args, BindError, BoundExpression, ExprKind, FOREIGN, Facts, FnId, Foreign, Nulls, Printer, ScalarFnVTable,
};
use crate::optimizer::*;

/// A rule made of a function.
struct Rule<F>(&'static str, F);

impl<F> fmt::Debug for Rule<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<F> ExprRewriteRule for Rule<F>
where
    F: Fn(&BoundExpression, &RewriteContext<'_>) -> Option<BoundExpression> + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        self.0
    }

    fn rewrite(&self, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        Ok((self.1)(node, ctx).into())
    }
}

/// `NOT x → x` or the like: a rule for NOT.
#[derive(Debug)]
struct Peel(&'static str);

impl TypedExprRewriteRule<Not> for Peel {
    fn name(&self) -> &'static str {
        self.0
    }

    fn rewrite(&self, _: &(), node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
        Ok(Rewrite::Rewritten(node.children()[0].clone()))
    }
}

/// Another function that calls itself `trommel.not`.
struct Impostor;

impl ScalarFnVTable for Impostor {
    type Options = ();

    const ID: FnId = Not::ID;

    fn return_field(_: &(), args: &[FieldRef]) -> Result<FieldRef, BindError> {
        Ok(Arc::clone(&args[0]))
    }

    fn facts(_: &(), _: &[FieldRef]) -> Facts {
        Facts::infallible(Nulls::Other)
    }

    fn evaluate(_: &(), args: &mut dyn Args, _: usize) -> Result<ColumnarValue> {
        args.value(0)
    }

    fn fmt<'a>(_: &(), args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str("impostor(")?;
        out.joined(", ", args)?;
        out.write_str(")")
    }
}

fn rules() -> ExpressionOptimizerSession {
    ExpressionOptimizerSession::empty()
}

fn run(session: &ExpressionOptimizerSession, expression: &BoundExpression) -> String {
    match session.snapshot().optimize(expression, Position::Value) {
        Ok(result) => result.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_typed_rule_declines_another_vtable_of_the_same_id() {
    let session = rules();
    session.register::<Not>(Peel("peel"));
    assert_eq!(run(&session, &not(column("b"))), "$.b");
    let impostor = BoundExpression::call::<Impostor>((), vec![column("b")]).unwrap();
    assert_eq!(run(&session, &impostor), "impostor($.b)");
}

#[test]
fn rules_are_tried_in_the_order_of_registration_and_fallbacks_last() {
    let to = |name: &'static str| move |_: &BoundExpression, _: &RewriteContext<'_>| Some(column(name));
    let session = rules();
    session
        .register_fallback(Rule("fallback", |node: &BoundExpression, _: &RewriteContext<'_>| {
            node.as_opt::<IsNull>().map(|_| boolean(false))
        }))
        .register_erased(Not::ID, Rule("first", to("b")))
        .register_erased(Not::ID, Rule("second", to("bn")));
    let (result, trace) = session.snapshot().optimize_traced(&not(is_null(column("in"))), Position::Value);
    assert_eq!(result.unwrap().to_string(), "$.b");
    assert_eq!(trace.to_string(), "fallback: $.in IS NULL → false\nfirst: NOT false → $.b\n");
}

/// A part of another engine over no inputs.
#[derive(Debug)]
struct Opaque(FieldRef);

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("opaque")
    }
}

impl Foreign for Opaque {
    fn inputs(&self) -> &[FieldRef] {
        &[]
    }

    fn field(&self) -> &FieldRef {
        &self.0
    }

    fn evaluate(&self, _: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(new_null_array(&DataType::Boolean, rows))
    }

    fn facts(&self) -> Facts {
        Facts::UNKNOWN
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

#[test]
fn rules_for_foreign_nodes_are_tried_at_no_others_and_fallbacks_not_there() {
    let opaque = Arc::new(Opaque(Arc::new(Field::new("opaque", DataType::Boolean, true))));
    let opaque = BoundExpression::try_new(ExprKind::Foreign(opaque), vec![]).unwrap();
    let session = rules();
    session
        .register_fallback(Rule("fallback", |node: &BoundExpression, ctx: &RewriteContext<'_>| {
            ctx.note(|| node.to_string());
            None
        }))
        .register_erased(
            FOREIGN,
            Rule("known", |_: &BoundExpression, _: &RewriteContext<'_>| Some(boolean(true))),
        );
    let (result, trace) = session.snapshot().optimize_traced(&not(opaque), Position::Value);
    assert_eq!(result.unwrap().to_string(), "NOT true");
    assert_eq!(trace.to_string(), "known: opaque → true\nfallback: NOT true\n");
}

#[test]
fn registering_during_a_run_changes_later_snapshots_only() {
    let session = Arc::new(rules());
    let inner = Arc::clone(&session);
    session.register_fallback(Rule("late", move |node: &BoundExpression, _: &RewriteContext<'_>| {
        if node.as_opt::<Compare>().is_some() {
            inner.register::<Not>(Peel("peel"));
        }
        None
    }));
    let expression = not(is("in", CompareOp::Eq, 1));
    let optimizer = session.snapshot();
    assert!(optimizer.optimize(&expression, Position::Value).unwrap().ptr_eq(&expression));
    assert!(optimizer.optimize(&expression, Position::Value).unwrap().ptr_eq(&expression));
    assert_eq!(run(&session, &expression), "$.in = 1");
}

#[test]
fn rules_see_position_configuration_and_session_values() {
    let session = rules();
    session.provide(7u32).configure(OptimizerConfig { budget: Some(5) }).register_fallback(Rule(
        "look",
        |node: &BoundExpression, ctx: &RewriteContext<'_>| {
            ctx.note(|| {
                format!("{node} {:?} {:?} {:?}", ctx.position(), ctx.config().budget, ctx.value::<u32>())
            });
            None
        },
    ));
    let expression = or([is("i", CompareOp::Eq, 1), and([is_null(column("in")), not(column("b"))])]);
    let (_, trace) = session.snapshot().optimize_traced(&expression, Position::Filter);
    insta::assert_snapshot!(trace, @"
    look: $.i Value Some(5) Some(7)
    look: $.i = 1 Filter Some(5) Some(7)
    look: $.in Value Some(5) Some(7)
    look: $.in IS NULL Filter Some(5) Some(7)
    look: $.b Value Some(5) Some(7)
    look: NOT $.b Filter Some(5) Some(7)
    look: ($.in IS NULL AND NOT $.b) Filter Some(5) Some(7)
    look: ($.i = 1 OR ($.in IS NULL AND NOT $.b)) Filter Some(5) Some(7)
    ");
}

#[rstest]
#[case::condition_of_a_case("CASE WHEN bn THEN bn ELSE bn END", Position::Value, "FVV")]
#[case::case_in_a_filter("CASE WHEN bn THEN bn ELSE bn END", Position::Filter, "FFF")]
#[case::case_with_operand("CASE bn WHEN bn THEN bn ELSE bn END", Position::Filter, "VVFF")]
#[case::below_not("NOT bn", Position::Filter, "V")]
#[case::conjunction_that_cannot_fail("bn AND bn", Position::Filter, "FF")]
#[case::conjunction_that_can_fail("bn AND fallible", Position::Filter, "VV")]
#[case::disjunction_that_can_fail("bn OR fallible", Position::Filter, "FF")]
fn positions(#[case] what: &str, #[case] position: Position, #[case] expect: &str) {
    use crate::expr::functions::Case;
    let b = || not(column("bn"));
    let expression = match what {
        "NOT bn" => not(b()),
        "bn AND bn" => and([b(), b()]),
        "bn AND fallible" => and([b(), not(fallible(1))]),
        "bn OR fallible" => or([b(), not(fallible(1))]),
        "CASE WHEN bn THEN bn ELSE bn END" => Case::of(None, [(b(), b())], Some(b())).unwrap(),
        _ => Case::of(Some(b()), [(b(), b())], Some(b())).unwrap(),
    };
    let session = rules();
    session.register_erased(
        Not::ID,
        Rule("look", move |node: &BoundExpression, ctx: &RewriteContext<'_>| {
            ctx.note(|| if ctx.is_filter() { "F" } else { "V" }.to_owned());
            (node.children()[0].as_opt::<Not>().is_some()).then(|| column("bn"))
        }),
    );
    let (_, trace) = session.snapshot().optimize_traced(&expression, position);
    let seen: String = trace
        .events()
        .iter()
        .filter_map(|e| match e {
            Event::Note { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(seen.chars().take(expect.len()).collect::<String>(), expect, "{trace}");
}

/// The ways in which the rules of others are known to have gone wrong: each is an error that names its rule.
#[rstest]
#[case::loses_null(
    is_null(column("in")),
    boolean(None),
    "Boolean and nullable, not Boolean and not nullable"
)]
#[case::another_type(not(column("b")), lit(1i32), "Int32 and not nullable, not Boolean and not nullable")]
#[case::wider(
    cast(column("i"), DataType::Int64),
    column("i"),
    "Int32 and not nullable, not Int64 and not nullable"
)]
#[case::null_of_another_type(
    compare(column("in"), CompareOp::Eq, lit(1)),
    lit(ScalarValue::Null),
    "Null and nullable, not Boolean and nullable"
)]
fn a_change_of_type_is_an_error(
    #[case] expression: BoundExpression,
    #[case] replacement: BoundExpression,
    #[case] expect: &str,
) {
    let (from, to) = (expression.to_string(), replacement.to_string());
    let session = rules();
    let whole = expression.clone();
    session.register_fallback(Rule("bad", move |node: &BoundExpression, _: &RewriteContext<'_>| {
        (node == &whole).then(|| replacement.clone())
    }));
    assert_eq!(run(&session, &expression), format!("rule bad rewrote {from} to {to}, which is {expect}"));
}

/// A rule may learn that a value is never NULL, so two rules can't compose to a wider type than either's.
#[test]
fn a_narrower_type_passes_and_cannot_be_undone() {
    let narrow = Rule("narrow", |node: &BoundExpression, _: &RewriteContext<'_>| {
        (node.to_string() == "NOT $.bn").then(|| boolean(true))
    });
    let widen = Rule("widen", |node: &BoundExpression, _: &RewriteContext<'_>| {
        (node.to_string() == "NOT true").then(|| not(column("bn")))
    });
    let session = rules();
    session.register_erased(Not::ID, narrow).register_erased(Not::ID, widen);
    insta::assert_snapshot!(run(&session, &not(not(column("bn")))), @"rule widen rewrote NOT true to NOT $.bn, which is Boolean and nullable, not Boolean and not nullable");
}

#[test]
fn null_may_take_the_place_of_false_in_a_filter_only() {
    let widen = Rule("widen", |node: &BoundExpression, _: &RewriteContext<'_>| {
        (node == &is_null(column("in"))).then(|| column("bn"))
    });
    let session = rules();
    session.register_erased(IsNull::ID, widen);
    let expression = and([is_null(column("in")), column("b")]);
    let optimizer = session.snapshot();
    assert!(optimizer.optimize(&expression, Position::Filter).is_ok());
    assert!(optimizer.optimize(&expression, Position::Value).is_err());
}

#[test]
fn a_foreign_root_is_an_error() {
    let other = BoundExpression::root(Arc::new(Field::new("other", DataType::Boolean, false)));
    let session = rules();
    session.register_erased(
        Not::ID,
        Rule("lost", move |_: &BoundExpression, _: &RewriteContext<'_>| Some(other.clone())),
    );
    assert_eq!(run(&session, &not(column("b"))), "rule lost rewrote NOT $.b to $, which reads another root");
}

#[test]
fn a_failing_rule_is_named() {
    #[derive(Debug)]
    struct Fails;
    impl ExprRewriteRule for Fails {
        fn name(&self) -> &'static str {
            "fails"
        }
        fn rewrite(&self, node: &BoundExpression, _: &RewriteContext<'_>) -> RuleResult {
            Ok(Rewrite::Rewritten(GetItem::of(node.clone(), 0)?))
        }
    }
    let session = rules();
    session.register_fallback(Fails);
    insta::assert_snapshot!(run(&session, &not(column("b"))), @"rule fails failed at $.b: trommel.get_item: argument 0 is Boolean, but it must be a struct");
}

#[test]
fn an_identical_replacement_is_an_error() {
    let session = rules();
    session.register_erased(
        Not::ID,
        Rule("same", |_: &BoundExpression, _: &RewriteContext<'_>| Some(not(column("b")))),
    );
    assert_eq!(run(&session, &not(column("b"))), "rule same rewrote NOT $.b to itself");
}

#[test]
fn the_error_of_a_ping_pong_names_both_rules() {
    let pong = |from: i32, to: i32| {
        move |node: &BoundExpression, _: &RewriteContext<'_>| {
            (node == &is("i", CompareOp::Eq, from)).then(|| is("i", CompareOp::Eq, to))
        }
    };
    let session = rules();
    session
        .configure(OptimizerConfig { budget: Some(10) })
        .register_erased(Compare::ID, Rule("ping", pong(1, 2)))
        .register_erased(Compare::ID, Rule("pong", pong(2, 1)));
    insta::assert_snapshot!(run(&session, &not(is("i", CompareOp::Eq, 1))), @"more than 10 rewrites; most recently pong at $.i = 2, ping at $.i = 1, pong at $.i = 2, ping at $.i = 1, pong at $.i = 2, ping at $.i = 1");
}

#[test]
fn a_nest_of_one_connective_is_left_to_its_outermost() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let session = rules();
    session.register_erased(
        And::ID,
        Rule("count", move |_: &BoundExpression, _: &RewriteContext<'_>| {
            count.fetch_add(1, Ordering::Relaxed);
            None
        }),
    );
    let nest = and([and([column("b"), column("bn")]), and([column("b"), and([column("b"), column("bn")])])]);
    assert_eq!(run(&session, &nest), nest.to_string());
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[test]
fn an_optimizer_without_rules_gives_the_same_node_back() {
    let expression = not(not(cast(column("b"), DataType::Boolean)));
    let result = rules().snapshot().optimize(&expression, Position::Filter).unwrap();
    assert!(result.ptr_eq(&expression));
    assert!(expression.children()[0].children()[0].as_opt::<Cast>().is_some());
}
