// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random expressions over columns of given types.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use proptest::prelude::*;

use super::column::Kind;
use crate::expr::BoundExpression;
use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, Compare, CompareOp, GetItem, IsNull, Like, LikeOptions,
    ListLength, Not, Or,
};

/// An expression.
#[derive(Debug, Clone)]
pub enum Term {
    Column(usize),
    Field(Arc<Term>, usize),
    Int(i64),
    Bool(Option<bool>),
    Add(Arc<Term>, Arc<Term>),
    /// A number as one of eight bits, and as it was again: fails for most.
    Narrow(Arc<Term>),
    /// The number that a text is: fails for some.
    Number(Arc<Term>),
    Less(Arc<Term>, Arc<Term>),
    Differs(Arc<Term>, Arc<Term>),
    StartsWith(Arc<Term>, String),
    IsNull(Arc<Term>, bool),
    Length(Arc<Term>),
    Not(Arc<Term>),
    And(Vec<Term>),
    Or(Vec<Term>),
    Case(Arc<Term>, Arc<Term>, Arc<Term>),
}

impl Term {
    pub fn bind(&self, root: &BoundExpression) -> BoundExpression {
        let bind = |term: &Term| term.bind(root);
        let long = |of: BoundExpression| Cast::of(of, DataType::Int64).unwrap();
        match self {
            Self::Column(number) => GetItem::of(root.clone(), *number),
            Self::Field(of, field) => GetItem::of(bind(of), *field),
            Self::Int(value) => Ok(BoundExpression::literal(ScalarValue::from(*value))),
            Self::Bool(value) => Ok(BoundExpression::literal(ScalarValue::Boolean(*value))),
            Self::Add(a, b) => Arithmetic::of(ArithmeticOp::Add, bind(a), bind(b)),
            Self::Narrow(of) => Ok(long(Cast::of(bind(of), DataType::Int8).unwrap())),
            Self::Number(of) => Ok(long(bind(of))),
            Self::Less(a, b) => Compare::of(CompareOp::Lt, bind(a), bind(b)),
            Self::Differs(a, b) => Compare::of(CompareOp::IsDistinctFrom, bind(a), bind(b)),
            Self::StartsWith(of, prefix) => {
                let pattern = BoundExpression::literal(ScalarValue::from(format!("{prefix}%")));
                Like::of(LikeOptions { negated: false, case_insensitive: false }, bind(of), pattern)
            }
            Self::IsNull(of, negated) => IsNull::of(bind(of), *negated),
            Self::Length(of) => Ok(long(ListLength::of(bind(of)).unwrap())),
            Self::Not(of) => Not::of(bind(of)),
            Self::And(terms) => And::of(terms.iter().map(bind)),
            Self::Or(terms) => Or::of(terms.iter().map(bind)),
            Self::Case(when, then, otherwise) => {
                Case::of(None, [(bind(when), bind(then))], Some(bind(otherwise)))
            }
        }
        .unwrap()
    }
}

/// What can be read of the columns: each with its type, fields of structs included.
fn reads(kinds: &[Kind]) -> Vec<(Term, Kind)> {
    let mut reads: Vec<_> =
        kinds.iter().enumerate().map(|(number, kind)| (Term::Column(number), kind.clone())).collect();
    let mut next = 0;
    while next < reads.len() {
        let (of, kind) = reads[next].clone();
        if let Kind::Struct(fields) = kind {
            let of = Arc::new(of);
            let fields = fields.into_iter().enumerate();
            reads.extend(fields.map(|(field, kind)| (Term::Field(Arc::clone(&of), field), kind)));
        }
        next += 1;
    }
    reads
}

/// Expressions over columns of these types.
pub fn terms(kinds: &[Kind]) -> BoxedStrategy<Term> {
    let reads = reads(kinds);
    let of = |wanted: fn(&Kind) -> bool| -> Vec<Term> {
        reads.iter().filter(|(_, kind)| wanted(kind)).map(|(term, _)| term.clone()).collect()
    };
    let pick = |terms: Vec<Term>, otherwise: Term| match terms.is_empty() {
        true => Just(otherwise).boxed(),
        false => prop::sample::select(terms).boxed(),
    };
    let text = of(|kind| matches!(kind, Kind::Text));
    let list = of(|kind| matches!(kind, Kind::List));
    let all = of(|_| true);
    let mut numbers: Vec<BoxedStrategy<Term>> = vec![
        pick(of(|kind| matches!(kind, Kind::Int)), Term::Int(7)),
        prop_oneof![-3..300i64].prop_map(Term::Int).boxed(),
    ];
    if !text.is_empty() {
        numbers.push(prop::sample::select(text.clone()).prop_map(|of| Term::Number(Arc::new(of))).boxed());
    }
    if !list.is_empty() {
        numbers.push(prop::sample::select(list).prop_map(|of| Term::Length(Arc::new(of))).boxed());
    }
    let mut tests: Vec<BoxedStrategy<Term>> = vec![
        pick(all, Term::Int(1))
            .prop_flat_map(|of| {
                any::<bool>().prop_map(move |negated| Term::IsNull(Arc::new(of.clone()), negated))
            })
            .boxed(),
        any::<Option<bool>>().prop_map(Term::Bool).boxed(),
    ];
    if !text.is_empty() {
        let starts = |of| Term::StartsWith(Arc::new(of), "1".to_owned());
        tests.push(prop::sample::select(text).prop_map(starts).boxed());
    }
    let (numbers, tests) =
        (prop::strategy::Union::new(numbers).boxed(), prop::strategy::Union::new(tests).boxed());
    let (mut number, mut test) = (numbers.clone(), tests.clone());
    for _ in 0..3 {
        let (n, t) = (number.clone().prop_map(Arc::new), test.clone().prop_map(Arc::new));
        let case = |value: BoxedStrategy<Arc<Term>>| {
            (t.clone(), value.clone(), value).prop_map(|(when, then, other)| Term::Case(when, then, other))
        };
        let next_number = prop_oneof![
            2 => numbers.clone(),
            2 => (n.clone(), n.clone()).prop_map(|(a, b)| Term::Add(a, b)),
            1 => n.clone().prop_map(Term::Narrow),
            1 => case(n.clone().boxed()),
        ];
        let some = prop::collection::vec(test.clone(), 2..4);
        let next_test = prop_oneof![
            2 => tests.clone(),
            2 => (n.clone(), n.clone()).prop_map(|(a, b)| Term::Less(a, b)),
            1 => (n.clone(), n.clone()).prop_map(|(a, b)| Term::Differs(a, b)),
            1 => (n.clone(), any::<bool>()).prop_map(|(of, negated)| Term::IsNull(of, negated)),
            1 => t.clone().prop_map(Term::Not),
            2 => some.clone().prop_map(Term::And),
            1 => some.prop_map(Term::Or),
            1 => case(t.clone().boxed()),
        ];
        (number, test) = (next_number.boxed(), next_test.boxed());
    }
    prop_oneof![
        number,
        test,
        prop::sample::select(reads.into_iter().map(|(term, _)| term).collect::<Vec<_>>())
    ]
    .boxed()
}
