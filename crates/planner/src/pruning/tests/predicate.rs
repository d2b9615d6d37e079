// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Predicates that know both how they are bound and what they are for a row.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int32Type, TimeUnit};
use datafusion_common::{Result, ScalarValue, exec_err, not_impl_err};
use proptest::prelude::*;

use super::model::{COLUMNS, Kind, Table, Val, column, scalar};
use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, CastOptions, Compare, CompareOp, InSet, IsNull, Like,
    LikeOptions, Not, Or, Pack, ValueSet,
};
use crate::expr::{BoundExpression, ExprKind, Facts, Foreign, Monotone};

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
    pub fn constants(self) -> BoxedStrategy<Option<Val>> {
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
    /// Operand, pattern, negated, without regard to case.
    Like(Of, String, bool, bool),
    /// A comparison of two operands.
    Pair(Of, CompareOp, Of),
    /// A comparison of a sum, a difference or a product.
    Sum(Sum, CompareOp, Option<Val>),
    /// A comparison of a function of another engine.
    Mapped(Mapped, Of, CompareOp, Option<Val>),
    /// Operands, tuples, negated.
    Tuple(Vec<Of>, Vec<Vec<Option<Val>>>, bool),
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

/// A term of a sum: an operand or a constant, which may be a parameter.
#[derive(Debug, Clone)]
pub enum Item {
    Of(Of),
    Constant(Option<Val>, bool),
}

/// Two terms of one type, at least one of them an operand.
#[derive(Debug, Clone)]
pub struct Sum(pub ArithmeticOp, pub Kind, pub [Item; 2]);

impl Sum {
    fn bind(&self, params: &mut Vec<ScalarValue>) -> BoundExpression {
        let bind = |item: &Item, params: &mut Vec<ScalarValue>| match item {
            Item::Of(of) => of.bound(),
            Item::Constant(value, as_param) => {
                constant(scalar(&self.1.data_type(), value.as_ref()), *as_param, params)
            }
        };
        let terms = [bind(&self.2[0], params), bind(&self.2[1], params)];
        let [left, right] = terms;
        Arithmetic::of(self.0, left, right).unwrap()
    }

    fn terms(&self, table: &Table, row: usize) -> [Option<Val>; 2] {
        self.2.each_ref().map(|item| match item {
            Item::Of(of) => of.value(table, row),
            Item::Constant(value, _) => value.clone(),
        })
    }

    fn wraps(&self, table: &Table, row: usize) -> bool {
        let [Some(Val::Int(a)), Some(Val::Int(b))] = self.terms(table, row) else { return false };
        let (a, b) = (i128::from(a), i128::from(b));
        let exact = match self.0 {
            ArithmeticOp::Add => a + b,
            ArithmeticOp::Sub => a - b,
            ArithmeticOp::Mul => a * b,
        };
        match self.1 {
            Kind::Int32 => i32::try_from(exact).is_err(),
            _ => i64::try_from(exact).is_err(),
        }
    }

    fn value(&self, table: &Table, row: usize) -> Option<Val> {
        let [left, right] = self.terms(table, row);
        let float: fn(f64, f64) -> f64 = match self.0 {
            ArithmeticOp::Add => |a, b| a + b,
            ArithmeticOp::Sub => |a, b| a - b,
            ArithmeticOp::Mul => |a, b| a * b,
        };
        let int: fn(i64, i64) -> i64 = match self.0 {
            ArithmeticOp::Add => i64::wrapping_add,
            ArithmeticOp::Sub => i64::wrapping_sub,
            ArithmeticOp::Mul => i64::wrapping_mul,
        };
        Some(match (left?, right?) {
            (Val::Float(a), Val::Float(b)) => Val::Float(float(a, b)),
            (Val::Int(a), Val::Int(b)) if self.1 == Kind::Int32 => Val::Int(i64::from(int(a, b) as i32)),
            (Val::Int(a), Val::Int(b)) => Val::Int(int(a, b)),
            (a, b) => panic!("{a:?} with {b:?}"),
        })
    }
}

/// A function of another engine, of 32-bit integers. All fail for 4 and above.
#[derive(Debug, Clone, Copy)]
pub enum Mapped {
    /// Rounded down.
    Half,
    /// Wraps.
    Negative,
    /// Fails for the least integer.
    Absolute,
}

impl Mapped {
    /// The value, or what it would be if the function didn't fail.
    fn of(self, value: i32) -> i32 {
        match self {
            Mapped::Half => value.div_euclid(2),
            Mapped::Negative => value.wrapping_neg(),
            Mapped::Absolute => value.wrapping_abs(),
        }
    }

    fn bound(self, of: BoundExpression) -> BoundExpression {
        let fields = [of.field(), of.field()].map(Arc::clone);
        BoundExpression::try_new(ExprKind::Foreign(Arc::new(OfEngine(self, fields))), vec![of]).unwrap()
    }
}

/// A function with its input's and its result's fields.
#[derive(Debug)]
struct OfEngine(Mapped, [FieldRef; 2]);

impl fmt::Display for OfEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Foreign for OfEngine {
    fn inputs(&self) -> &[FieldRef] {
        &self.1[..1]
    }

    fn field(&self) -> &FieldRef {
        &self.1[1]
    }

    fn evaluate(&self, inputs: &[ArrayRef], _rows: usize) -> Result<ArrayRef> {
        let each = |value| match value {
            4.. => exec_err!("{:?} of {value}", self.0),
            i32::MIN if matches!(self.0, Mapped::Absolute) => exec_err!("{:?} of {value}", self.0),
            value => Ok(self.0.of(value)),
        };
        let values = inputs[0].as_primitive::<Int32Type>().iter().map(|value| value.map(each).transpose());
        Ok(Arc::new(values.collect::<Result<Int32Array>>()?))
    }

    fn facts(&self) -> Facts {
        Facts::UNKNOWN
    }

    fn monotone(&self) -> Option<Monotone> {
        Some(match self.0 {
            Mapped::Half => Monotone::Increasing,
            Mapped::Negative => Monotone::Decreasing,
            Mapped::Absolute => Monotone::AwayFromZero,
        })
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// A constant, or a parameter of that value.
fn constant(value: ScalarValue, as_param: bool, params: &mut Vec<ScalarValue>) -> BoundExpression {
    if !as_param {
        return BoundExpression::literal(value);
    }
    let field = Arc::new(Field::new("parameter", value.data_type(), true));
    let slot = params.len() as u16;
    params.push(value);
    BoundExpression::try_new(ExprKind::Param(slot, field), vec![]).unwrap()
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
        // What it is for a row has nothing to do with the row's values.
        Facts { volatile: true, ..Facts::UNKNOWN }
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
        match self {
            Pred::Literal(value) => BoundExpression::literal(ScalarValue::Boolean(*value)),
            Pred::Compare(of, op, value, swapped, as_param) => {
                let constant = constant(literal(*of, value), *as_param, params);
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
            Pred::Pair(left, op, right) => Compare::of(*op, left.bound(), right.bound()).unwrap(),
            Pred::Sum(sum, op, value) => {
                let sum = sum.bind(params);
                let value = scalar(sum.field().data_type(), value.as_ref());
                Compare::of(*op, sum, BoundExpression::literal(value)).unwrap()
            }
            Pred::Mapped(mapped, of, op, value) => {
                let value = BoundExpression::literal(literal(*of, value));
                Compare::of(*op, mapped.bound(of.bound()), value).unwrap()
            }
            Pred::Tuple(of, tuples, negated) => {
                let plain = |of: &Of| super::super::operand::plain(&of.data_type()).clone();
                let fields = |data_type: &dyn Fn(&Of) -> DataType| -> Fields {
                    let fields = of.iter().enumerate();
                    fields.map(|(i, of)| Field::new(format!("c{i}"), data_type(of), true)).collect()
                };
                let columns = of.iter().enumerate().map(|(i, of)| {
                    let values = tuples.iter().map(|tuple| scalar(&plain(of), tuple[i].as_ref()));
                    ScalarValue::iter_to_array(values).unwrap()
                });
                let tuples: ArrayRef = Arc::new(StructArray::new(fields(&plain), columns.collect(), None));
                let terms = of.iter().map(|of| of.bound()).collect();
                let needle = Pack::of(fields(&|of| of.data_type()), terms).unwrap();
                InSet::of(needle, Arc::new(ValueSet::try_new(&tuples).unwrap()), *negated).unwrap()
            }
            Pred::Like(of, pattern, negated, case_insensitive) => {
                let options = LikeOptions { negated: *negated, case_insensitive: *case_insensitive };
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
                let constant = constant(ScalarValue::Boolean(*value), *as_param, params);
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

    /// The columns that it reads.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.visit(&mut |of| columns.push(of));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn visit(&self, column: &mut dyn FnMut(usize)) {
        match self {
            Pred::Literal(_) | Pred::Opaque(_) => {}
            Pred::Column(index) => column(*index),
            Pred::Compare(of, ..) | Pred::In(of, ..) | Pred::IsNull(of, _) => column(of.0),
            Pred::Like(of, ..) | Pred::Mapped(_, of, ..) => column(of.0),
            Pred::Pair(a, _, b) => [a, b].into_iter().for_each(|of| column(of.0)),
            Pred::Tuple(of, ..) => of.iter().for_each(|of| column(of.0)),
            Pred::Sum(Sum(_, _, terms), ..) => terms.iter().for_each(|term| {
                if let Item::Of(of) = term {
                    column(of.0);
                }
            }),
            Pred::And(terms) | Pred::Or(terms) | Pred::Routed(terms) => {
                terms.iter().for_each(|term| term.visit(column));
            }
            Pred::Not(pred) | Pred::Is(pred, ..) | Pred::NullTest(pred, _) => pred.visit(column),
            Pred::Case(arms, otherwise) => {
                arms.iter().for_each(|(when, then)| [when, then].into_iter().for_each(|p| p.visit(column)));
                otherwise.iter().for_each(|pred| pred.visit(column));
            }
            Pred::Switch(of, arms, otherwise) => {
                column(of.0);
                arms.iter().for_each(|(_, then)| then.visit(column));
                otherwise.iter().for_each(|pred| pred.visit(column));
            }
        }
    }

    /// Whether every part is defined for a row: no sum wraps or is NaN, no function fails.
    pub fn is_defined(&self, table: &Table, row: usize) -> bool {
        match self {
            // The sign of a NaN depends on the machine.
            Pred::Sum(sum, ..) => {
                sum.value(table, row).is_none_or(|value| !value.is_nan() && !sum.wraps(table, row))
            }
            Pred::Mapped(_, of, ..) => match of.value(table, row) {
                Some(Val::Int(v)) => v < 4 && v != i64::from(i32::MIN),
                _ => true,
            },
            _ => true,
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
            Pred::Pair(left, op, right) => {
                compare(*op, left.value(table, row).as_ref(), right.value(table, row).as_ref(), Val::order)
            }
            Pred::Sum(sum, op, value) => {
                compare(*op, sum.value(table, row).as_ref(), value.as_ref(), Val::order)
            }
            Pred::Mapped(mapped, of, op, value) => {
                let mapped = of.value(table, row).map(|v| match v {
                    Val::Int(v) => Val::Int(i64::from(mapped.of(v as i32))),
                    v => panic!("{mapped:?} of {v:?}"),
                });
                compare(*op, mapped.as_ref(), value.as_ref(), Val::order)
            }
            Pred::Tuple(of, tuples, negated) => {
                let values: Vec<_> = of.iter().map(|of| of.value(table, row)).collect();
                let same = |a: &Option<Val>, b: &Option<Val>| match (a, b) {
                    (Some(a), Some(b)) => a.order(b).is_eq(),
                    (a, b) => a.is_none() && b.is_none(),
                };
                let found = tuples.iter().any(|tuple| tuple.iter().zip(&values).all(|(a, b)| same(a, b)));
                Some(found != *negated)
            }
            Pred::Like(of, pattern, negated, case_insensitive) => {
                let Val::Str(value) = of.value(table, row)? else { panic!("LIKE of no string") };
                let chars = |text: &str| match case_insensitive {
                    // The Kelvin sign and the long s have no other ways to be written here.
                    true => text.to_lowercase().replace('ſ', "s").chars().collect::<Vec<_>>(),
                    false => text.chars().collect(),
                };
                let (value, pattern) = (chars(&value), chars(pattern));
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

/// Comparisons of two operands of one type.
pub fn pairs() -> BoxedStrategy<Pred> {
    let of = |index| Of(index, false);
    let operands = prop::sample::select(vec![
        (of(0), of(7)),
        (of(7), of(0)),
        (of(2), of(2)),
        (of(2), Of(0, true)),
        (of(1), Of(7, true)),
        (of(0), of(0)),
        (Of(3, true), of(8)),
    ]);
    (operands, ops()).prop_map(|((left, right), op)| Pred::Pair(left, op, right)).boxed()
}

/// Comparisons of sums, differences and products.
pub fn sums() -> BoxedStrategy<Pred> {
    let far = |limit: i64| prop_oneof![6 => -5i64..=5, 1 => prop::sample::select(vec![limit, -limit])];
    let int = |kind, limit| (Just(kind), far(limit).prop_map(Val::Int), far(limit).prop_map(Val::Int));
    let float = || Kind::Float64.values();
    let terms = prop_oneof![
        3 => (prop::sample::select(vec![0usize, 7]).prop_map(Some), int(Kind::Int32, i64::from(i32::MAX))),
        1 => (Just(Some(1)), int(Kind::Int64, i64::MAX)),
        2 => (Just(None), int(Kind::Int32, i64::from(i32::MAX))),
        1 => (Just(Some(2)), (Just(Kind::Float64), float(), float())),
        1 => (Just(Some(5)), (Just(Kind::Decimal), (-9i64..9).prop_map(Val::Int), (-99i64..99).prop_map(Val::Int))),
    ];
    let arithmetic = prop::sample::select(vec![ArithmeticOp::Add, ArithmeticOp::Sub, ArithmeticOp::Mul]);
    (terms, arithmetic, ops(), any::<(bool, bool)>(), prop::bool::weighted(0.05))
        .prop_map(|((column, (kind, term, value)), arithmetic, op, (swapped, param), null)| {
            let of = |index| Item::Of(Of(index, false));
            let mut terms = match column {
                Some(column) => [of(column), Item::Constant(Some(term).filter(|_| !null), param)],
                None => [of(0), of(7)],
            };
            if swapped {
                terms.reverse();
            }
            Pred::Sum(Sum(arithmetic, kind, terms), op, Some(value))
        })
        .boxed()
}

/// Comparisons of functions of another engine.
pub fn mapped() -> BoxedStrategy<Pred> {
    let functions = prop::sample::select(vec![Mapped::Half, Mapped::Negative, Mapped::Absolute]);
    let operands = prop::sample::select(vec![Of(0, false), Of(7, false)]);
    (functions, operands, ops(), -4i64..5)
        .prop_map(|(mapped, of, op, value)| Pred::Mapped(mapped, of, op, Some(Val::Int(value))))
        .boxed()
}

/// Tuples of two operands among others.
pub fn tuples() -> BoxedStrategy<Pred> {
    let operands = prop::sample::select(vec![
        [Of(0, false), Of(3, false)],
        [Of(1, false), Of(2, false)],
        [Of(7, false), Of(8, false)],
    ]);
    operands
        .prop_flat_map(|of| {
            let tuple = of.map(Of::constants).to_vec();
            (prop::collection::vec(tuple, 1..5), any::<bool>())
                .prop_map(move |(tuples, negated)| Pred::Tuple(of.to_vec(), tuples, negated))
        })
        .boxed()
}

/// Comparisons with constants of operands that are cast, or not.
pub fn comparisons(casts: bool) -> BoxedStrategy<Pred> {
    let operands = (0..COLUMNS.len()).prop_map(move |index| Of(index, casts));
    operands
        .prop_flat_map(|of| {
            (ops(), of.constants(), any::<bool>(), any::<bool>())
                .prop_map(move |(op, value, swapped, param)| Pred::Compare(of, op, value, swapped, param))
        })
        .boxed()
}

/// Tests whether an operand is in a list.
pub fn among() -> BoxedStrategy<Pred> {
    operands()
        .prop_flat_map(|of| {
            let values = prop::collection::vec(of.constants(), 1..5);
            let values = values.prop_filter("NULL alone", |values| values.iter().any(Option::is_some));
            (values, any::<bool>()).prop_map(move |(values, negated)| Pred::In(of, values, negated))
        })
        .boxed()
}

/// Matches of patterns.
pub fn likes() -> BoxedStrategy<Pred> {
    let text = prop::sample::select(vec![Of(3, false), Of(3, true), Of(8, true)]);
    let patterns = prop::sample::select(
        &["", "%", "a%", "ab%", "ab", "a\\%", "a\\_%", "_b", "a%c", "%b", "ž%", "\u{10ffff}%", "a%%", "ab\\"]
            [..],
    );
    (text, patterns, any::<bool>(), any::<bool>())
        .prop_map(|(of, p, negated, any_case)| Pred::Like(of, p.to_owned(), negated, any_case))
        .boxed()
}

/// Tests for NULL.
pub fn null_tests() -> BoxedStrategy<Pred> {
    (operands(), any::<bool>()).prop_map(|(of, negated)| Pred::IsNull(of, negated)).boxed()
}

/// Predicates without parts.
pub fn leaves() -> BoxedStrategy<Pred> {
    prop_oneof![
        5 => comparisons(false),
        3 => comparisons(true),
        4 => among(),
        2 => null_tests(),
        2 => likes(),
        2 => pairs(),
        3 => sums(),
        1 => mapped(),
        1 => tuples(),
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
