// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The driver on a tree that is no expression: terms like `f(a, g(b))`.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use rstest::rstest;

use super::*;

/// A named node; names in capitals are of type 2, all others of type 1.
#[derive(Clone)]
struct Term(Arc<(String, Vec<Term>)>);

fn term(name: &str, children: impl Into<Vec<Term>>) -> Term {
    Term(Arc::new((name.to_owned(), children.into())))
}

impl Term {
    fn is(&self, name: &str) -> bool {
        self.0.0 == name
    }

    fn text(&self) -> String {
        let children: Vec<_> = self.0.1.iter().map(Term::text).collect();
        match children.is_empty() {
            true => self.0.0.clone(),
            false => format!("{}({})", self.0.0, children.join(",")),
        }
    }
}

impl Tree for Term {
    type Place = bool;
    type Error = Infallible;

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn arity(&self) -> usize {
        self.0.1.len()
    }

    fn child(&self, child: usize) -> Result<&Self, Infallible> {
        Ok(&self.0.1[child])
    }

    /// `not` exchanges the two places, and so does `if` over anything but `true`.
    fn place_of(&self, _child: usize, place: bool) -> bool {
        place != (self.is("not") || self.is("if") && !self.0.1[0].is("true"))
    }

    fn with_children(&self, children: Vec<Self>) -> Result<Self, Infallible> {
        Ok(term(&self.0.0, children))
    }

    fn is_identical(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    fn check_stands_for(&self, original: &Self, _place: bool, _whole: &Self) -> Result<(), String> {
        let kind = |t: &Term| t.0.0.chars().all(char::is_uppercase);
        if kind(self) == kind(original) { Ok(()) } else { Err("is of another type".to_owned()) }
    }

    fn label(&self) -> String {
        self.text()
    }
}

type Rewriter = fn(&Term) -> Option<Term>;

/// Rules in order, and what happened.
#[derive(Default)]
struct Rewriters {
    rules: Vec<(&'static str, Rewriter)>,
    visits: RefCell<Vec<String>>,
    trace: RefCell<Vec<String>>,
}

impl Rewriters {
    fn new(rules: impl Into<Vec<(&'static str, Rewriter)>>) -> Self {
        Self { rules: rules.into(), ..Self::default() }
    }

    fn run(&self, tree: &Term) -> Result<Term, RewriteError> {
        rewrite(tree, true, self, None)
    }
}

impl Rules<Term> for Rewriters {
    fn concern(&self, _node: &Term, _place: bool) -> bool {
        true
    }

    fn rewrite(&self, node: &Term, place: bool) -> Result<Option<Fired<Term>>, RewriteError> {
        self.visits.borrow_mut().push(format!("{}{}", if place { "" } else { "!" }, node.text()));
        Ok(self.rules.iter().find_map(|(rule, f)| f(node).map(|replacement| Fired { rule, replacement })))
    }

    fn fired(&self, rule: &'static str, before: &Term, after: &Term) {
        self.trace.borrow_mut().push(format!("{rule}: {} → {}", before.text(), after.text()));
    }
}

/// A rule that renames one leaf or node, children kept.
macro_rules! rename {
    ($from:literal => $to:literal) => {
        (concat!($from, "→", $to), (|t: &Term| t.is($from).then(|| term($to, t.0.1.clone()))) as Rewriter)
    };
}

#[test]
fn children_come_first_and_in_order() {
    let rules = Rewriters::new([]);
    let tree = term("f", [term("a", []), term("g", [term("b", [])]), term("c", [])]);
    assert!(Arc::ptr_eq(&rules.run(&tree).unwrap().0, &tree.0));
    assert_eq!(rules.visits.into_inner(), ["a", "b", "g(b)", "c", "f(a,g(b),c)"]);
}

#[test]
fn a_replacement_starts_over_at_its_own_root() {
    let rules = Rewriters::new([rename!("c" => "d"), rename!("b" => "c"), rename!("a" => "b")]);
    assert_eq!(rules.run(&term("a", [])).unwrap().text(), "d");
    assert_eq!(rules.trace.into_inner(), ["a→b: a → b", "b→c: b → c", "c→d: c → d"]);
}

#[test]
fn a_replacements_whole_subtree_is_visited_and_its_parent_after_that() {
    let introduce: Rewriter = |t| t.is("a").then(|| term("f", [term("g", [term("x", [])])]));
    let collapse: Rewriter = |t| (t.is("g") && t.0.1[0].is("y")).then(|| term("h", []));
    let parent: Rewriter = |t| (t.text() == "p(f(h),q)").then(|| term("done", []));
    let rules = Rewriters::new([
        ("introduce", introduce),
        rename!("x" => "y"),
        ("collapse", collapse),
        ("parent", parent),
    ]);
    assert_eq!(rules.run(&term("p", [term("a", []), term("q", [])])).unwrap().text(), "done");
}

#[test]
fn what_no_rule_touched_stays_the_same_node() {
    let rules = Rewriters::new([rename!("a" => "b")]);
    let (kept, changed) = (term("g", [term("x", [])]), term("g", [term("a", [])]));
    let result = rules.run(&term("f", [kept.clone(), changed])).unwrap();
    assert_eq!(result.text(), "f(g(x),g(b))");
    assert!(Arc::ptr_eq(&result.0.1[0].0, &kept.0));
    let again = rules.run(&result).unwrap();
    assert!(Arc::ptr_eq(&again.0, &result.0));
}

#[test]
fn a_settled_subtree_is_not_visited_again_in_the_same_place() {
    let shared = term("g", [term("x", [])]);
    let wrap: Rewriter = |t| t.is("f").then(|| term("h", t.0.1.clone()));
    let rules = Rewriters::new([("wrap", wrap)]);
    rules.run(&term("f", [shared.clone(), shared.clone(), term("not", [shared])])).unwrap();
    let visits = rules.visits.into_inner();
    assert_eq!(visits.iter().filter(|v| *v == "g(x)").count(), 1);
    assert_eq!(visits.iter().filter(|v| *v == "!g(x)").count(), 1);
}

#[test]
fn a_child_is_visited_again_when_its_place_changes() {
    let rules = Rewriters::new([rename!("maybe" => "true")]);
    rules.run(&term("if", [term("maybe", []), term("g", [])])).unwrap();
    assert_eq!(rules.visits.into_inner(), ["!maybe", "!true", "!g", "true", "g", "if(true,g)"]);
}

#[test]
fn two_runs_do_the_same() {
    let tree = term("f", [term("a", []), term("g", [term("a", []), term("b", [])])]);
    let run = || {
        let rules = Rewriters::new([rename!("a" => "b"), rename!("b" => "c"), rename!("g" => "k")]);
        rules.run(&tree).unwrap();
        (rules.visits.into_inner(), rules.trace.into_inner())
    };
    assert_eq!(run(), run());
}

#[rstest]
#[case::ping_pong(
    vec![rename!("a" => "b"), rename!("b" => "a")],
    "more than 1024 rewrites; most recently b→a at b, a→b at a, b→a at b, a→b at a, b→a at b, a→b at a"
)]
#[case::identical(vec![rename!("a" => "a")], "rule a→a rewrote a to itself")]
#[case::another_type(vec![rename!("a" => "A")], "rule a→A rewrote a to A, which is of another type")]
fn broken_rules_are_named(#[case] rules: Vec<(&'static str, Rewriter)>, #[case] expect: &str) {
    let error = Rewriters::new(rules).run(&term("f", [term("a", [])])).err().unwrap();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn growth_without_end_is_stopped() {
    let grow: Rewriter = |t| t.is("a").then(|| term("f", [term("a", [])]));
    let error = Rewriters::new([("grow", grow)]).run(&term("a", [])).err().unwrap();
    assert!(matches!(error, RewriteError::Budget { budget: 1024, .. }), "{error}");
}

#[test]
fn the_budget_grows_with_the_tree() {
    let rules = Rewriters::new([rename!("a" => "b"), rename!("b" => "c")]);
    let wide = term("f", (0..5000).map(|_| term("a", [])).collect::<Vec<_>>());
    rules.run(&wide).unwrap();
    assert_eq!(rules.trace.borrow().len(), 10_000);
    assert_eq!(rules.visits.borrow().len(), 15_001);
    let error = rewrite(&wide, true, &rules, Some(3)).err().unwrap();
    assert!(matches!(error, RewriteError::Budget { budget: 3, .. }), "{error}");
}
