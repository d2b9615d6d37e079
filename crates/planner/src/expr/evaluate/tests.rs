// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random expressions over random rows, against an evaluator that takes one row at a time.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{StringArray, StructArray};
use arrow::datatypes::{Field, Fields};
use proptest::prelude::*;

use super::*;
use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, CastOptions, Compare, CompareOp, InSet, InSetOptions, IsNull,
    Like, LikeOptions, Not, Or, ValueSet,
};

const FIELDS: [(&str, DataType); 7] = [
    ("i", DataType::Int64),
    ("j", DataType::Int64),
    ("f", DataType::Float64),
    ("g", DataType::Float64),
    ("s", DataType::Utf8),
    ("p", DataType::Boolean),
    ("q", DataType::Boolean),
];
const INTS: [i64; 7] = [0, 1, 2, 7, -7, i64::MAX, i64::MIN];
const FLOATS: [f64; 9] =
    [0.0, -0.0, 1.5, 7.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
const STRINGS: [&str; 6] = ["", "7", "-7", "ab", "aXb", "a%b"];
const PATTERNS: [&str; 5] = ["a%b", "%", "a_b", "7", ""];

/// A value of the naive evaluator.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}
use Value::{Bool, Float, Int, Null, Text};

impl Value {
    /// SQL order; −0.0 folded, then total.
    fn compare(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int(a), Int(b)) => a.cmp(b),
            (Float(a), Float(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            _ => panic!("{self:?} against {other:?}"),
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Bool(b) => Some(*b),
            Null => None,
            other => panic!("{other:?} is no truth value"),
        }
    }

    fn of(value: &ScalarValue) -> Value {
        match value {
            ScalarValue::Boolean(Some(v)) => Bool(*v),
            ScalarValue::Int64(Some(v)) => Int(*v),
            ScalarValue::Float64(Some(v)) => Float(*v),
            ScalarValue::Utf8(Some(v)) => Text(v.clone()),
            null if null.is_null() => Null,
            other => panic!("{other}"),
        }
    }
}

/// Why a row has no value.
#[derive(Debug, PartialEq)]
struct Failed;

/// The value of one row; arguments left to right, and only as far as they matter.
fn naive(expr: &BoundExpression, row: &[Value]) -> Result<Value, Failed> {
    let args = expr.children();
    let arg = |i: usize| naive(&args[i], row);
    if let Some(value) = expr.as_literal() {
        return Ok(Value::of(value));
    }
    if let Some(field) = expr.as_opt::<GetItem>() {
        return Ok(row[*field].clone());
    }
    if let Some(op) = expr.as_opt::<Arithmetic>() {
        return Ok(match (op, arg(0)?, arg(1)?) {
            (_, Null, _) | (_, _, Null) => Null,
            (ArithmeticOp::Add, Int(a), Int(b)) => Int(a.wrapping_add(b)),
            (ArithmeticOp::Sub, Int(a), Int(b)) => Int(a.wrapping_sub(b)),
            (ArithmeticOp::Mul, Int(a), Int(b)) => Int(a.wrapping_mul(b)),
            (op, a, b) => panic!("{a:?} {op} {b:?}"),
        });
    }
    if let Some(op) = expr.as_opt::<Compare>() {
        return Ok(compare(*op, &arg(0)?, &arg(1)?));
    }
    if expr.as_opt::<And>().is_some() {
        return connect(args, row, false);
    }
    if expr.as_opt::<Or>().is_some() {
        return connect(args, row, true);
    }
    if expr.as_opt::<Not>().is_some() {
        return Ok(arg(0)?.truth().map_or(Null, |b| Bool(!b)));
    }
    if let Some(negated) = expr.as_opt::<IsNull>() {
        return Ok(Bool((arg(0)? == Null) != *negated));
    }
    if let Some(InSetOptions { set, negated }) = expr.as_opt::<InSet>() {
        let needle = arg(0)?;
        if set.is_empty() && !set.has_null() {
            return Ok(Bool(*negated));
        }
        let mut values = (0..set.len()).map(|i| ScalarValue::try_from_array(set.values(), i).unwrap());
        return Ok(match needle != Null && values.any(|v| Value::of(&v).compare(&needle).is_eq()) {
            true => Bool(!negated),
            false if needle == Null || set.has_null() => Null,
            false => Bool(*negated),
        });
    }
    if let Some(options) = expr.as_opt::<Like>() {
        let (Text(text), Text(pattern)) = (arg(0)?, arg(1)?) else { return Ok(Null) };
        let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
        return Ok(Bool(like(&text, &pattern) != options.negated));
    }
    if let Some(options) = expr.as_opt::<Cast>() {
        return match arg(0)? {
            Null => Ok(Null),
            Text(text) => match text.parse() {
                Ok(value) => Ok(Int(value)),
                Err(_) if options.try_cast => Ok(Null),
                Err(_) => Err(Failed),
            },
            other => panic!("cast of {other:?}"),
        };
    }
    let shape = *expr.as_opt::<Case>().expect("all functions are covered");
    let operand = if shape.operand { Some(arg(0)?) } else { None };
    for arm in 0..shape.arms {
        let taken = match &operand {
            Some(Null) => false,
            // In total order, unlike `=`.
            Some(operand) => match (operand, arg(shape.when(arm))?) {
                (_, Null) => false,
                (Float(a), Float(b)) => a.total_cmp(&b).is_eq(),
                (a, b) => a.compare(&b).is_eq(),
            },
            None => arg(shape.when(arm))?.truth() == Some(true),
        };
        if taken {
            return arg(shape.when(arm) + 1);
        }
    }
    shape.otherwise().map_or(Ok(Null), arg)
}

fn compare(op: CompareOp, a: &Value, b: &Value) -> Value {
    let both = *a != Null && *b != Null;
    let alike = if both { a.compare(b).is_eq() } else { *a == Null && *b == Null };
    match op {
        CompareOp::IsDistinctFrom => Bool(!alike),
        CompareOp::IsNotDistinctFrom => Bool(alike),
        _ if !both => Null,
        CompareOp::Eq => Bool(alike),
        CompareOp::NotEq => Bool(!alike),
        CompareOp::Lt => Bool(a.compare(b).is_lt()),
        CompareOp::LtEq => Bool(a.compare(b).is_le()),
        CompareOp::Gt => Bool(a.compare(b).is_gt()),
        CompareOp::GtEq => Bool(a.compare(b).is_ge()),
    }
}

fn connect(args: &[BoundExpression], row: &[Value], absorbing: bool) -> Result<Value, Failed> {
    let mut sofar = Bool(!absorbing);
    for arg in args {
        match naive(arg, row)?.truth() {
            Some(value) if value == absorbing => return Ok(Bool(absorbing)),
            Some(_) => {}
            None => sofar = Null,
        }
    }
    Ok(sofar)
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skip| like(&text[skip..], rest)),
        Some(('_', rest)) => !text.is_empty() && like(&text[1..], rest),
        Some((c, rest)) => text.first() == Some(c) && like(&text[1..], rest),
    }
}

/// Choices read off a tape, so that shrinking the tape shrinks what is made from it.
struct Tape<'a>(std::slice::Iter<'a, u8>);

impl Tape<'_> {
    fn choose(&mut self, below: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % below
    }

    fn of<T: Clone>(&mut self, pool: &[T]) -> T {
        pool[self.choose(pool.len())].clone()
    }

    fn maybe<T: Clone>(&mut self, pool: &[T]) -> Option<T> {
        (self.choose(5) > 0).then(|| self.of(pool))
    }

    fn constant(&mut self, data_type: &DataType) -> ScalarValue {
        match data_type {
            DataType::Int64 => ScalarValue::Int64(self.maybe(&INTS)),
            DataType::Float64 => ScalarValue::Float64(self.maybe(&FLOATS)),
            DataType::Utf8 => ScalarValue::Utf8(self.maybe(&STRINGS).map(str::to_owned)),
            _ => ScalarValue::Boolean(self.maybe(&[true, false])),
        }
    }

    fn leaf(&mut self, data_type: &DataType) -> BoundExpression {
        let columns: Vec<usize> = (0..FIELDS.len()).filter(|c| FIELDS[*c].1 == *data_type).collect();
        match self.choose(3) {
            0 => BoundExpression::literal(self.constant(data_type)),
            _ => GetItem::of(root(), self.of(&columns)).unwrap(),
        }
    }

    fn value_type(&mut self) -> DataType {
        self.of(&[DataType::Int64, DataType::Float64, DataType::Utf8, DataType::Boolean])
    }

    fn expression(&mut self, data_type: &DataType, depth: usize) -> BoundExpression {
        if depth == 0 {
            return self.leaf(data_type);
        }
        match (self.choose(4), data_type) {
            (0, _) => self.leaf(data_type),
            (1, _) => self.case(data_type, depth - 1),
            // Not of floats: which NaN a sum of two NaNs is, is up to the machine.
            (2, DataType::Int64) => {
                let op = self.of(&[ArithmeticOp::Add, ArithmeticOp::Sub, ArithmeticOp::Mul]);
                let (left, right) =
                    (self.expression(data_type, depth - 1), self.expression(data_type, depth - 1));
                Arithmetic::of(op, left, right).unwrap()
            }
            (_, DataType::Int64) => {
                let options = CastOptions { to: DataType::Int64, try_cast: self.choose(2) == 0 };
                BoundExpression::call::<Cast>(options, vec![self.expression(&DataType::Utf8, depth - 1)])
                    .unwrap()
            }
            (_, DataType::Boolean) => self.predicate(depth - 1),
            _ => self.leaf(data_type),
        }
    }

    fn predicate(&mut self, depth: usize) -> BoundExpression {
        let boolean = DataType::Boolean;
        match self.choose(7) {
            0 => Not::of(self.expression(&boolean, depth)).unwrap(),
            1 => {
                let data_type = self.value_type();
                IsNull::of(self.expression(&data_type, depth), self.choose(2) == 0).unwrap()
            }
            2 => {
                let data_type = self.value_type();
                let values = (0..self.choose(9)).map(|_| self.constant(&data_type)).collect::<Vec<_>>();
                let set = ValueSet::from_scalars(values)
                    .unwrap()
                    .unwrap_or_else(|| ValueSet::try_new(&new_null_array(&data_type, 0)).unwrap());
                InSet::of(self.expression(&data_type, depth), Arc::new(set), self.choose(2) == 0).unwrap()
            }
            3 => {
                let options = LikeOptions { negated: self.choose(2) == 0, case_insensitive: false };
                let pattern = BoundExpression::literal(ScalarValue::from(self.of(&PATTERNS)));
                Like::of(options, self.expression(&DataType::Utf8, depth), pattern).unwrap()
            }
            4 => {
                let op = self.of(&[
                    CompareOp::Eq,
                    CompareOp::NotEq,
                    CompareOp::Lt,
                    CompareOp::LtEq,
                    CompareOp::Gt,
                    CompareOp::GtEq,
                    CompareOp::IsDistinctFrom,
                    CompareOp::IsNotDistinctFrom,
                ]);
                let data_type = self.value_type();
                Compare::of(op, self.expression(&data_type, depth), self.expression(&data_type, depth))
                    .unwrap()
            }
            n => {
                let terms: Vec<_> =
                    (0..2 + self.choose(3)).map(|_| self.expression(&boolean, depth)).collect();
                if n == 5 { And::of(terms).unwrap() } else { Or::of(terms).unwrap() }
            }
        }
    }

    fn case(&mut self, data_type: &DataType, depth: usize) -> BoundExpression {
        let operand_type = (self.choose(2) == 0).then(|| self.value_type());
        let when_type = operand_type.clone().unwrap_or(DataType::Boolean);
        let operand = operand_type.map(|t| self.expression(&t, depth));
        let arms: Vec<_> = (0..1 + self.choose(3))
            .map(|_| (self.expression(&when_type, depth), self.expression(data_type, depth)))
            .collect();
        let otherwise = (self.choose(2) == 0).then(|| self.expression(data_type, depth));
        Case::of(operand, arms, otherwise).unwrap()
    }
}

fn fields() -> Fields {
    FIELDS.iter().map(|(name, t)| Field::new(*name, t.clone(), true)).collect()
}

fn root() -> BoundExpression {
    BoundExpression::root(Arc::new(Field::new("table", DataType::Struct(fields()), false)))
}

fn table(tape: &mut Tape<'_>, rows: usize) -> (ArrayRef, Vec<Vec<Value>>) {
    let values: Vec<Vec<ScalarValue>> =
        FIELDS.iter().map(|(_, t)| (0..rows).map(|_| tape.constant(t)).collect()).collect();
    let columns = values.iter().map(|c| ScalarValue::iter_to_array(c.clone()).unwrap()).collect();
    let naive = (0..rows).map(|row| values.iter().map(|c| Value::of(&c[row])).collect()).collect();
    (Arc::new(StructArray::new(fields(), columns, None)), naive)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Values and errors alike: a part that fails does so only for rows that reach it.
    #[test]
    fn evaluation_agrees_with_one_row_at_a_time(
        choices in prop::collection::vec(any::<u8>(), 0..200),
        values in prop::collection::vec(any::<u8>(), 0..800),
        rows in 1usize..40,
    ) {
        let mut tape = Tape(choices.iter());
        let data_type = tape.value_type();
        let expr = tape.expression(&data_type, 4);
        let (root, values) = table(&mut Tape(values.iter()), rows);
        let expected: Result<Vec<Value>, Failed> = values.iter().map(|row| naive(&expr, row)).collect();
        let actual = evaluate(&expr, Input { root: &root, params: &[] }).and_then(|v| v.into_array_of_size(rows));
        match (expected, actual) {
            (Ok(expected), Ok(actual)) => {
                for (row, expected) in expected.iter().enumerate() {
                    let actual = Value::of(&ScalarValue::try_from_array(&actual, row).unwrap());
                    prop_assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{} row {}", expr, row);
                }
                prop_assert!(expr.field().is_nullable() || actual.null_count() == 0, "{} is not nullable", expr);
            }
            (Err(Failed), Err(_)) => prop_assert!(expr.can_fail(), "{} failed", expr),
            (expected, actual) => prop_assert!(false, "{expr}: {expected:?} against {actual:?}"),
        }
    }
}

#[test]
fn a_guarded_cast_sees_only_the_rows_that_reach_it() {
    let column = |i| GetItem::of(root(), i).unwrap();
    let is_number = || {
        Like::of(
            LikeOptions { negated: false, case_insensitive: false },
            column(4),
            BoundExpression::literal(ScalarValue::from("7%")),
        )
        .unwrap()
    };
    let number = || Cast::of(column(4), DataType::Int64).unwrap();
    let equals =
        || Compare::of(CompareOp::Eq, number(), BoundExpression::literal(ScalarValue::from(71i64))).unwrap();
    let texts = StringArray::from(vec![Some("71"), Some("x"), None, Some("72")]);
    let columns: Vec<ArrayRef> = FIELDS
        .iter()
        .map(|(name, t)| if *name == "s" { Arc::new(texts.clone()) } else { new_null_array(t, 4) })
        .collect();
    let root: ArrayRef = Arc::new(StructArray::new(fields(), columns, None));
    let input = Input { root: &root, params: &[] };
    let result = |expr: BoundExpression| evaluate_predicate(&expr, input).unwrap().iter().collect::<Vec<_>>();

    assert!(evaluate(&equals(), input).is_err());
    let guarded = [Some(true), Some(false), None, Some(false)];
    assert_eq!(result(And::of([is_number(), equals()]).unwrap()), guarded);
    let negated = [Some(true), Some(true), None, Some(false)];
    assert_eq!(result(Or::of([Not::of(is_number()).unwrap(), equals()]).unwrap()), negated);
    let case = Case::of(None, [(is_number(), equals())], None).unwrap();
    assert_eq!(result(case), [Some(true), None, None, Some(false)]);
}

#[test]
fn params_are_checked() {
    let field = Arc::new(Field::new("limit", DataType::Int64, true));
    let param = BoundExpression::try_new(ExprKind::Param(0, field), vec![]).unwrap();
    let less = Compare::of(CompareOp::Lt, GetItem::of(root(), 0).unwrap(), param).unwrap();
    assert_eq!(less.to_string(), "$.i < ?0");
    let (root, _) = table(&mut Tape([].iter()), 3);
    let with = |params: &[ScalarValue]| evaluate_predicate(&less, Input { root: &root, params });
    assert!(with(&[ScalarValue::Int64(Some(3))]).is_ok());
    assert!(with(&[ScalarValue::Int32(Some(3))]).is_err());
    assert!(with(&[]).is_err());
}
