// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random well-typed expressions over the table, and random rows of it.

use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray, new_null_array};
use arrow::compute::cast as cast_array;
use arrow::datatypes::{DataType, Fields};
use datafusion_common::ScalarValue;

use super::support::*;
use crate::expr::BoundExpression;
use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, CastOptions, Compare, CompareOp, GetItem, InSet, IsNull, Like,
    LikeOptions, Or, Pack, ValueSet,
};

/// A source of randomness with a seed (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        (1..items.len()).for_each(|i| items.swap(i, self.below(i + 1)));
    }
}

/// Values of a type that are likely to meet, and its extremes.
fn pool(data_type: &DataType) -> Vec<ScalarValue> {
    let floats = [0.0, -0.0, 1.0, 2.0, 3.5, -1.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN];
    let strings = ["", "a", "ab", "a%", "b", "1", "2", "x_", "\u{10ffff}", "ab\nc"];
    let integers = [0, 1, 2, 3, 4, -1, i64::from(i32::MAX), i64::from(i32::MIN)];
    match data_type {
        DataType::Int32 => integers.iter().map(|v| ScalarValue::Int32(Some(*v as i32))).collect(),
        DataType::Int64 => {
            let beyond = [i64::MAX, i64::MIN, 1 << 40];
            integers.iter().chain(&beyond).map(|v| ScalarValue::Int64(Some(*v))).collect()
        }
        DataType::Float64 => floats.iter().map(|v| ScalarValue::Float64(Some(*v))).collect(),
        DataType::Utf8 => strings.iter().map(|v| ScalarValue::from(*v)).collect(),
        DataType::Utf8View => strings.iter().map(|v| ScalarValue::Utf8View(Some((*v).to_owned()))).collect(),
        DataType::UInt8 => [0, 1, 2, 3, u8::MAX].map(|v| ScalarValue::UInt8(Some(v))).to_vec(),
        DataType::Date32 => [0, 1, 2, -1, i32::MIN].map(|v| ScalarValue::Date32(Some(v))).to_vec(),
        DataType::Date64 => {
            [0, 1, 86_400_000, 172_800_000, -86_400_000].map(|v| ScalarValue::Date64(Some(v))).to_vec()
        }
        DataType::Decimal128(p, s) => {
            [0, 1, 100, 200, -100].map(|v| ScalarValue::Decimal128(Some(v), *p, *s)).to_vec()
        }
        DataType::Boolean => [true, false].map(ScalarValue::from).to_vec(),
        other => panic!("no values of {other}"),
    }
}

/// Rows of the table.
pub fn rows(random: &mut Random, count: usize) -> ArrayRef {
    fn values(random: &mut Random, fields: &Fields, count: usize) -> Vec<ArrayRef> {
        let column = |field: &Arc<arrow::datatypes::Field>| {
            let null = |random: &mut Random| field.is_nullable() && random.one_in(4);
            match field.data_type() {
                DataType::Struct(inner) => {
                    let structs = StructArray::new(inner.clone(), values(random, inner, count), None);
                    let all: ArrayRef = Arc::new(structs);
                    let nothing = new_null_array(field.data_type(), 1);
                    let source: Vec<_> =
                        (0..count).map(|i| if null(random) { (1, 0) } else { (0, i) }).collect();
                    arrow::compute::interleave(&[&all, &nothing], &source).unwrap()
                }
                data_type => {
                    let plain = match data_type {
                        DataType::Dictionary(_, values) => values,
                        other => other,
                    };
                    let (pool, nothing) = (pool(plain), ScalarValue::try_new_null(plain).unwrap());
                    let drawn = (0..count).map(|_| match null(random) {
                        true => nothing.clone(),
                        false => random.pick(&pool),
                    });
                    let array = ScalarValue::iter_to_array(drawn.collect::<Vec<_>>()).unwrap();
                    cast_array(&array, data_type).unwrap()
                }
            }
        };
        fields.iter().map(column).collect()
    }
    let fields = columns();
    let values = values(random, &fields, count);
    Arc::new(StructArray::new(fields, values, None))
}

const TYPES: [DataType; 10] = [
    DataType::Int32,
    DataType::Int64,
    DataType::Float64,
    DataType::Utf8,
    DataType::Int32,
    DataType::Utf8View,
    DataType::UInt8,
    DataType::Date64,
    DataType::Decimal128(10, 2),
    DataType::Boolean,
];

const OPERATORS: [CompareOp; 10] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
    CompareOp::Eq,
    CompareOp::Lt,
    CompareOp::IsDistinctFrom,
    CompareOp::IsNotDistinctFrom,
];

/// A constant of a type.
fn constant(random: &mut Random, data_type: &DataType) -> BoundExpression {
    match random.one_in(8) {
        true => lit(ScalarValue::try_new_null(data_type).unwrap()),
        false => lit(random.pick(&pool(data_type))),
    }
}

/// A column of a type, or a field of one.
fn leaf(random: &mut Random, data_type: &DataType) -> BoundExpression {
    if data_type == &DataType::Int32 && random.one_in(4) {
        return GetItem::of(column(random.pick(&["pn", "qn"])), random.below(2)).unwrap();
    }
    column(random.pick(match data_type {
        DataType::Int32 => &["i", "in"],
        DataType::Int64 => &["ln"],
        DataType::Float64 => &["f", "fn"],
        DataType::Utf8 => &["s", "sn", "sn2n"],
        DataType::Utf8View => &["vn"],
        DataType::UInt8 => &["un"],
        DataType::Date32 => &["dayn"],
        DataType::Date64 => &["msn"],
        DataType::Decimal128(..) => &["decn"],
        _ => &["b", "bn"],
    }))
}

fn case_of(random: &mut Random, data_type: &DataType, depth: usize) -> BoundExpression {
    let operand_type = random.pick(&TYPES);
    let operand = random.one_in(3).then(|| value(random, &operand_type, depth - 1));
    let mut arms = Vec::new();
    for _ in 0..1 + random.below(3) {
        let when = match (&operand, random.one_in(8)) {
            (Some(_), true) => value(random, &operand_type, depth - 1),
            (Some(_), _) => lit(random.pick(&pool(&operand_type))),
            (None, true) => constant(random, &DataType::Boolean),
            (None, false) => predicate(random, depth - 1),
        };
        let then = match random.below(3) {
            0 => constant(random, data_type),
            _ => value(random, data_type, depth - 1),
        };
        arms.push((when, then));
    }
    // Often the shapes that mean something simpler.
    if let (None, [(when, then), ..], true) = (&operand, &mut arms[..], random.one_in(4)) {
        let negated = random.one_in(2);
        let of = leaf(random, data_type);
        let null = lit(ScalarValue::try_new_null(data_type).unwrap());
        *when = IsNull::of(of.clone(), negated).unwrap();
        *then = if negated { of.clone() } else { null.clone() };
        return Case::of(None, [arms.swap_remove(0)], Some(if negated { null } else { of })).unwrap();
    }
    let otherwise = match random.below(4) {
        0 => None,
        1 => Some(value(random, data_type, depth - 1)),
        2 => Some(arms[0].1.clone()),
        _ => Some(constant(random, data_type)),
    };
    Case::of(operand, arms, otherwise).unwrap()
}

/// A value of a type.
pub fn value(random: &mut Random, data_type: &DataType, depth: usize) -> BoundExpression {
    if data_type == &DataType::Boolean && depth > 0 {
        return predicate(random, depth);
    }
    if depth == 0 {
        return if random.one_in(4) { constant(random, data_type) } else { leaf(random, data_type) };
    }
    match random.below(8) {
        0 => case_of(random, data_type, depth),
        1 => {
            let fields = Fields::from(vec![
                arrow::datatypes::Field::new("a", data_type.clone(), true),
                arrow::datatypes::Field::new("b", DataType::Int32, true),
            ]);
            let values =
                vec![value(random, data_type, depth - 1), value(random, &DataType::Int32, depth - 1)];
            GetItem::of(Pack::of(fields, values).unwrap(), 0).unwrap()
        }
        4 if data_type.is_integer() => sum(random, data_type, depth - 1),
        2 | 3 => {
            let from = random.pick(&TYPES);
            let options = CastOptions { to: data_type.clone(), try_cast: random.one_in(3) };
            let of = value(random, &from, depth - 1);
            BoundExpression::call::<Cast>(options, vec![of]).unwrap_or_else(|_| leaf(random, data_type))
        }
        _ => leaf(random, data_type),
    }
}

/// Arithmetic of integers, mostly with a constant.
fn sum(random: &mut Random, data_type: &DataType, depth: usize) -> BoundExpression {
    let op = random.pick(&[ArithmeticOp::Add, ArithmeticOp::Sub, ArithmeticOp::Add, ArithmeticOp::Mul]);
    let narrow = random.one_in(3) && data_type == &DataType::Int64;
    let left = if narrow { cast(column("in"), DataType::Int64) } else { value(random, data_type, depth) };
    let right = if random.one_in(4) { value(random, data_type, depth) } else { constant(random, data_type) };
    let (left, right) = if random.one_in(4) { (right, left) } else { (left, right) };
    Arithmetic::of(op, left, right).unwrap()
}

/// A test of something against constants.
fn test(random: &mut Random, depth: usize) -> BoundExpression {
    let data_type = random.pick(&TYPES[..9]);
    let wider = match data_type {
        DataType::Int64 | DataType::Float64 => Some(leaf(random, &DataType::Int32)),
        DataType::Int32 => Some(column("un")),
        DataType::Utf8 => Some(column("dn")),
        DataType::Utf8View => Some(leaf(random, &DataType::Utf8)),
        DataType::Date64 => Some(column("dayn")),
        _ => None,
    };
    let operand = match (data_type == DataType::Utf8 && random.one_in(3), random.one_in(3)) {
        (true, _) => column("dn"),
        _ if data_type.is_integer() && random.one_in(4) => sum(random, &data_type, 0),
        _ if wider.is_some() && random.one_in(4) => cast(wider.unwrap(), data_type.clone()),
        (false, true) => value(random, &data_type, depth),
        (false, false) => leaf(random, &data_type),
    };
    match random.below(6) {
        0 => IsNull::of(operand, random.one_in(2)).unwrap(),
        1 => {
            let mut values = vec![];
            for _ in 0..random.below(5) {
                values.push(random.pick(&pool(&data_type)));
            }
            if random.one_in(4) || values.is_empty() {
                values.push(ScalarValue::try_new_null(&data_type).unwrap());
            }
            let values = ValueSet::try_new(&ScalarValue::iter_to_array(values).unwrap()).unwrap();
            InSet::of(operand, Arc::new(values), random.one_in(3)).unwrap()
        }
        2 if data_type.is_string() => {
            let patterns = ["ab", "a%", r"a\%", r"a\%%", "%", "_b", "", r"\\%", "%b", "%%", r"ab\"];
            let options = LikeOptions { negated: random.one_in(3), case_insensitive: random.one_in(5) };
            let pattern = ScalarValue::from(random.pick(&patterns)).cast_to(&data_type).unwrap();
            Like::of(options, operand, lit(pattern)).unwrap()
        }
        kind => {
            let other =
                if kind == 5 { value(random, &data_type, depth) } else { constant(random, &data_type) };
            let (left, right) = if random.one_in(4) { (other, operand) } else { (operand, other) };
            Compare::of(random.pick(&OPERATORS), left, right).unwrap()
        }
    }
}

/// A boolean.
pub fn predicate(random: &mut Random, depth: usize) -> BoundExpression {
    if depth == 0 {
        return match random.below(8) {
            0 => constant(random, &DataType::Boolean),
            1 => leaf(random, &DataType::Boolean),
            _ => test(random, 0),
        };
    }
    match random.below(10) {
        0..=5 => {
            let mut terms: Vec<_> = (0..2 + random.below(4)).map(|_| predicate(random, depth - 1)).collect();
            // Terms that have something to do with each other.
            if random.one_in(3) {
                let (any, at) = (random.pick(&terms), random.below(terms.len()));
                terms[at] = match random.below(3) {
                    0 => not(any),
                    1 => BoundExpression::call::<And>((), vec![any, predicate(random, depth - 1)]).unwrap(),
                    _ => BoundExpression::call::<Or>((), vec![predicate(random, depth - 1), any]).unwrap(),
                };
            }
            match random.one_in(2) {
                true => BoundExpression::call::<And>((), terms).unwrap(),
                false => BoundExpression::call::<Or>((), terms).unwrap(),
            }
        }
        6 => not(predicate(random, depth - 1)),
        7 => case_of(random, &DataType::Boolean, depth),
        8 => {
            let left = predicate(random, depth - 1);
            let right = if random.one_in(2) { left.clone() } else { constant(random, &DataType::Boolean) };
            Compare::of(random.pick(&OPERATORS), left, right).unwrap()
        }
        _ => test(random, depth),
    }
}
