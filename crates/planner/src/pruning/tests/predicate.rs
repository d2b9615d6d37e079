// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Predicates that know both how they are bound and what they are for a row.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::{Result, ScalarValue, not_impl_err};
use proptest::prelude::*;

use super::model::{COLUMNS, Kind, Table, Val, column, scalar};
use crate::expr::functions::{
    And, Case, Cast, CastOptions, Compare, CompareOp, InSet, IsNull, Like, LikeOptions, Not, Or, ValueSet,
};
use crate::expr::{BoundExpression, ExprKind, Facts, Foreign};

/// A column, or a cast of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Of(pub usize, pub bool);

impl Of {
    fn kind(self) -> Kind {
        COLUMNS[self.0]
    }

    /// What the column is cast to, in this model.
    fn target(self) -> Option<DataType> {
        let to = match self.kind() {
            Kind::Int32 => DataType::Float64,
            Kind::Int64 => DataType::Int8,
            Kind::Nested => DataType::Int64,
            Kind::Date => DataType::Timestamp(TimeUnit::Millisecond, None),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Second, None),
            Kind::Decimal => DataType::Decimal128(2, 1),
            Kind::Text => DataType::Utf8,
            Kind::Dictionary => DataType::Utf8View,
            Kind::Float64 | Kind::Bool => return None,
        };
        Some(to).filter(|_| self.1)
    }

    pub fn data_type(self) -> DataType {
        self.target().unwrap_or(self.kind().data_type())
    }

    pub fn bound(self) -> BoundExpression {
        match self.target() {
            Some(to) => {
                BoundExpression::call::<Cast>(CastOptions { to, try_cast: true }, vec![column(self.0)])
                    .unwrap()
            }
            None => column(self.0),
        }
    }

    pub fn value(self, table: &Table, row: usize) -> Option<Val> {
        self.cast(table.columns[self.0][row].clone()?)
    }

    fn cast(self, value: Val) -> Option<Val> {
        let fits = |v: i64, limit: std::ops::RangeInclusive<i64>| limit.contains(&v).then_some(Val::Int(v));
        match (self.target().and(Some(self.kind())), value) {
            (Some(Kind::Int32), Val::Int(v)) => Some(Val::Float(v as f64)),
            (Some(Kind::Int64), Val::Int(v)) => fits(v, -128..=127),
            (Some(Kind::Date), Val::Int(v)) => Some(Val::Int(v * 86_400_000)),
            (Some(Kind::Timestamp), Val::Int(v)) => Some(Val::Int(v / 1000)),
            // To one digit after the point, half away from zero, two digits in all.
            (Some(Kind::Decimal), Val::Int(v)) => fits((v.abs() + 5) / 10 * v.signum(), -99..=99),
            (_, value) => Some(value),
        }
    }

    /// Constants near the values.
    fn constants(self) -> BoxedStrategy<Option<Val>> {
        let value = self.kind().values().prop_map(move |v| self.cast(v));
        prop_oneof![1 => Just(None), 12 => value].boxed()
    }
}

#[derive(Debug, Clone)]
pub enum Pred {
    Literal(Option<bool>),
    /// Operand, operator, constant; the operands swapped; the constant a parameter.
    Compare(Of, CompareOp, Option<Val>, bool, bool),
    In(Of, Vec<Option<Val>>, bool),
    IsNull(Of, bool),
    Column(usize),
    Like(Of, String, bool),
    /// What no zone knows, by row.
    Opaque(u8),
    And(Vec<Pred>),
    Or(Vec<Pred>),
    Not(Box<Pred>),
    Is(Box<Pred>, CompareOp, Option<bool>, bool),
    NullTest(Box<Pred>, bool),
    Case(Vec<(Pred, Pred)>, Option<Box<Pred>>),
    /// A CASE over the values of a column.
    Switch(Of, Vec<(Option<Val>, Pred)>, Option<Box<Pred>>),
    /// A CASE over a hash, as a partitioned join has it.
    Routed(Vec<Pred>),
}

/// An expression that only another engine knows.
#[derive(Debug)]
pub struct Elsewhere(pub &'static str, pub FieldRef);

impl Elsewhere {
    pub fn bound(name: &'static str, data_type: DataType) -> BoundExpression {
        let foreign = Self(name, Arc::new(Field::new(name, data_type, true)));
        BoundExpression::try_new(ExprKind::Foreign(Arc::new(foreign)), vec![]).unwrap()
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Foreign for Elsewhere {
    fn inputs(&self) -> &[FieldRef] {
        &[]
    }

    fn field(&self) -> &FieldRef {
        &self.1
    }

    fn evaluate(&self, _inputs: &[ArrayRef], _rows: usize) -> Result<ArrayRef> {
        not_impl_err!("never evaluated")
    }

    fn facts(&self) -> Facts {
        Facts::UNKNOWN
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

impl Pred {
    /// The predicate as bound; its parameters are pushed to `params`.
    pub fn bind(&self, params: &mut Vec<ScalarValue>) -> BoundExpression {
        let literal = |of: Of, value: &Option<Val>| scalar(&of.data_type(), value.as_ref());
        let boxed = |pred: &Option<Box<Pred>>, params: &mut Vec<_>| pred.as_ref().map(|p| p.bind(params));
        let mut constant = |value: ScalarValue, as_param: bool| {
            if !as_param {
                return BoundExpression::literal(value);
            }
            let field = Arc::new(Field::new("parameter", value.data_type(), true));
            let slot = params.len() as u16;
            params.push(value);
            BoundExpression::try_new(ExprKind::Param(slot, field), vec![]).unwrap()
        };
        match self {
            Pred::Literal(value) => BoundExpression::literal(ScalarValue::Boolean(*value)),
            Pred::Compare(of, op, value, swapped, as_param) => {
                let constant = constant(literal(*of, value), *as_param);
                match swapped {
                    true => Compare::of(op.swap(), constant, of.bound()),
                    false => Compare::of(*op, of.bound(), constant),
                }
                .unwrap()
            }
            Pred::In(of, values, negated) => {
                let data_type = super::super::operand::plain(&of.data_type()).clone();
                let values = values.iter().map(|v| scalar(&data_type, v.as_ref()));
                let set = ValueSet::from_scalars(values).unwrap().unwrap();
                InSet::of(of.bound(), Arc::new(set), *negated).unwrap()
            }
            Pred::IsNull(of, negated) => IsNull::of(of.bound(), *negated).unwrap(),
            Pred::Column(index) => column(*index),
            Pred::Like(of, pattern, negated) => {
                let options = LikeOptions { negated: *negated, case_insensitive: false };
                let data_type = of.data_type();
                let pattern =
                    scalar(super::super::operand::plain(&data_type), Some(&Val::Str(pattern.clone())));
                BoundExpression::call::<Like>(options, vec![of.bound(), BoundExpression::literal(pattern)])
                    .unwrap()
            }
            Pred::Opaque(_) => Elsewhere::bound("opaque", DataType::Boolean),
            Pred::And(terms) => And::of(terms.iter().map(|t| t.bind(params))).unwrap(),
            Pred::Or(terms) => Or::of(terms.iter().map(|t| t.bind(params))).unwrap(),
            Pred::Not(pred) => Not::of(pred.bind(params)).unwrap(),
            Pred::Is(pred, op, value, as_param) => {
                let constant = constant(ScalarValue::Boolean(*value), *as_param);
                Compare::of(*op, pred.bind(params), constant).unwrap()
            }
            Pred::NullTest(pred, negated) => IsNull::of(pred.bind(params), *negated).unwrap(),
            Pred::Case(arms, otherwise) => {
                let arms: Vec<_> = arms.iter().map(|(w, t)| (w.bind(params), t.bind(params))).collect();
                Case::of(None, arms, boxed(otherwise, params)).unwrap()
            }
            Pred::Switch(of, arms, otherwise) => {
                let when = |value: &Option<Val>| BoundExpression::literal(literal(*of, value));
                let arms: Vec<_> = arms.iter().map(|(w, t)| (when(w), t.bind(params))).collect();
                Case::of(Some(of.bound()), arms, boxed(otherwise, params)).unwrap()
            }
            Pred::Routed(partitions) => {
                let when = |i: usize| BoundExpression::literal(ScalarValue::Int64(Some(i as i64)));
                let arms: Vec<_> =
                    partitions.iter().enumerate().map(|(i, p)| (when(i), p.bind(params))).collect();
                let otherwise = BoundExpression::literal(ScalarValue::Boolean(Some(false)));
                Case::of(Some(Elsewhere::bound("hash % n", DataType::Int64)), arms, Some(otherwise)).unwrap()
            }
        }
    }

    /// What the predicate is for a row.
    pub fn eval(&self, table: &Table, row: usize) -> Option<bool> {
        let eval = |pred: &Pred| pred.eval(table, row);
        match self {
            Pred::Literal(value) => *value,
            Pred::Compare(of, op, value, ..) => {
                compare(*op, of.value(table, row).as_ref(), value.as_ref(), Val::order)
            }
            Pred::In(of, values, negated) => {
                let value = of.value(table, row)?;
                let found = values.iter().flatten().any(|v| v.order(&value).is_eq());
                (found || values.iter().all(Option::is_some)).then_some(found != *negated)
            }
            Pred::IsNull(of, negated) => Some(of.value(table, row).is_none() != *negated),
            Pred::Column(index) => match table.columns[*index][row] {
                Some(Val::Bool(value)) => Some(value),
                _ => None,
            },
            Pred::Like(of, pattern, negated) => {
                let Val::Str(value) = of.value(table, row)? else { panic!("LIKE of no string") };
                let (value, pattern): (Vec<_>, Vec<_>) = (value.chars().collect(), pattern.chars().collect());
                Some(like(&value, &pattern) != *negated)
            }
            Pred::Opaque(seed) => [None, Some(true), Some(false)][(usize::from(*seed) + row) % 3],
            Pred::And(terms) => kleene_and(terms.iter().map(eval)),
            Pred::Or(terms) => kleene_and(terms.iter().map(|t| eval(t).map(|v| !v))).map(|v| !v),
            Pred::Not(pred) => eval(pred).map(|v| !v),
            Pred::Is(pred, op, value, _) => compare(*op, eval(pred).as_ref(), value.as_ref(), bool::cmp),
            Pred::NullTest(pred, negated) => Some(eval(pred).is_none() != *negated),
            Pred::Case(arms, otherwise) => match arms.iter().find(|(when, _)| eval(when) == Some(true)) {
                Some((_, then)) => eval(then),
                None => otherwise.as_deref().and_then(eval),
            },
            Pred::Switch(of, arms, otherwise) => {
                let value = of.value(table, row);
                // Not the `=` of SQL: zeros differ here.
                let same = |a: &Val, b: &Val| match (a, b) {
                    (Val::Float(a), Val::Float(b)) => a.total_cmp(b).is_eq(),
                    (a, b) => a.order(b).is_eq(),
                };
                let matches =
                    |when: &Option<Val>| when.as_ref().zip(value.as_ref()).is_some_and(|(a, b)| same(a, b));
                match arms.iter().find(|(when, _)| matches(when)) {
                    Some((_, then)) => eval(then),
                    None => otherwise.as_deref().and_then(eval),
                }
            }
            Pred::Routed(partitions) => match partitions.get(row % (partitions.len() + 1)) {
                Some(partition) => eval(partition),
                None => Some(false),
            },
        }
    }
}

fn compare<T>(op: CompareOp, a: Option<&T>, b: Option<&T>, order: fn(&T, &T) -> Ordering) -> Option<bool> {
    let order = a.zip(b).map(|(a, b)| order(a, b));
    let same = order.map_or(a.is_none() && b.is_none(), Ordering::is_eq);
    match op {
        CompareOp::Eq => order.map(Ordering::is_eq),
        CompareOp::NotEq => order.map(Ordering::is_ne),
        CompareOp::Lt => order.map(Ordering::is_lt),
        CompareOp::LtEq => order.map(Ordering::is_le),
        CompareOp::Gt => order.map(Ordering::is_gt),
        CompareOp::GtEq => order.map(Ordering::is_ge),
        CompareOp::IsDistinctFrom => Some(!same),
        CompareOp::IsNotDistinctFrom => Some(same),
    }
}

fn kleene_and(mut terms: impl Iterator<Item = Option<bool>> + Clone) -> Option<bool> {
    if terms.clone().any(|t| t == Some(false)) {
        return Some(false);
    }
    terms.all(|t| t.is_some()).then_some(true)
}

fn like(value: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => value.is_empty(),
        ['%', rest @ ..] => (0..=value.len()).any(|skip| like(&value[skip..], rest)),
        ['_', rest @ ..] => !value.is_empty() && like(&value[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => value.first() == Some(c) && like(&value[1..], rest),
    }
}

pub const OPS: [CompareOp; 8] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
    CompareOp::IsDistinctFrom,
    CompareOp::IsNotDistinctFrom,
];

fn ops() -> impl Strategy<Value = CompareOp> {
    prop::sample::select(&OPS[..])
}

fn operands() -> impl Strategy<Value = Of> {
    (0..COLUMNS.len(), prop::bool::weighted(0.3)).prop_map(|(index, cast)| Of(index, cast))
}

/// Predicates without parts.
pub fn leaves() -> BoxedStrategy<Pred> {
    let text = prop::sample::select(vec![Of(3, false), Of(3, true), Of(8, true)]);
    let patterns = prop::sample::select(
        &["", "%", "a%", "ab%", "ab", "a\\%", "a\\_%", "_b", "a%c", "%b", "ž%", "\u{10ffff}%", "a%%", "ab\\"]
            [..],
    );
    let compare = operands().prop_flat_map(|of| {
        (ops(), of.constants(), any::<bool>(), any::<bool>())
            .prop_map(move |(op, value, swapped, param)| Pred::Compare(of, op, value, swapped, param))
    });
    let among = operands().prop_flat_map(|of| {
        let values = prop::collection::vec(of.constants(), 1..5);
        (values.prop_filter("NULL alone", |values| values.iter().any(Option::is_some)), any::<bool>())
            .prop_map(move |(values, negated)| Pred::In(of, values, negated))
    });
    prop_oneof![
        8 => compare,
        4 => among,
        2 => (operands(), any::<bool>()).prop_map(|(of, negated)| Pred::IsNull(of, negated)),
        2 => (text, patterns, any::<bool>()).prop_map(|(of, p, negated)| Pred::Like(of, p.to_owned(), negated)),
        1 => Just(Pred::Column(6)),
        1 => any::<Option<bool>>().prop_map(Pred::Literal),
        1 => any::<u8>().prop_map(Pred::Opaque),
    ]
    .boxed()
}

/// Predicates of every family, nested.
pub fn predicates() -> impl Strategy<Value = Pred> {
    leaves().prop_recursive(4, 24, 4, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..4);
        let otherwise = prop::option::of(inner.clone().prop_map(Box::new));
        let arms = prop::collection::vec((inner.clone(), inner.clone()), 1..3);
        let switch = (operands(), prop::collection::vec(inner.clone(), 1..3), otherwise.clone())
            .prop_flat_map(|(of, thens, otherwise)| {
                prop::collection::vec(of.constants(), thens.len()).prop_map(move |whens| {
                    let arms = whens.into_iter().zip(thens.clone()).collect();
                    Pred::Switch(of, arms, otherwise.clone())
                })
            });
        prop_oneof![
            3 => some().prop_map(Pred::And),
            3 => some().prop_map(Pred::Or),
            2 => inner.clone().prop_map(|p| Pred::Not(Box::new(p))),
            2 => (inner.clone(), ops(), any::<Option<bool>>(), any::<bool>())
                .prop_map(|(p, op, value, param)| Pred::Is(Box::new(p), op, value, param)),
            1 => (inner.clone(), any::<bool>()).prop_map(|(p, n)| Pred::NullTest(Box::new(p), n)),
            2 => (arms, otherwise).prop_map(|(arms, otherwise)| Pred::Case(arms, otherwise)),
            1 => switch,
            1 => some().prop_map(Pred::Routed),
        ]
    })
}
