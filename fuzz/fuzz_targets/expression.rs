// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any expression over any rows: what the optimizer makes of it has the same value for each row, and no new error.

#![no_main]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, ScalarValue};
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use trommel_planner::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, CastOptions, Compare, CompareOp, GetItem, InSet, IsNull, Like,
    LikeOptions, Not, Or, ValueSet,
};
use trommel_planner::expr::{BoundExpression, Input, evaluate};
use trommel_planner::optimizer::{ExpressionOptimizer, Position};
use trommel_planner::pruning::PrunePredicate;

const TYPES: [DataType; 7] = [
    DataType::Int8,
    DataType::Int32,
    DataType::Int64,
    DataType::Float64,
    DataType::Utf8,
    DataType::Date32,
    DataType::Boolean,
];
const DEPTH: usize = 4;
const ROWS: usize = 4;

/// An expression over a table with a column of each type, twice: one that is never NULL, one that may be.
#[derive(Debug)]
struct Question {
    expression: BoundExpression,
    table: ArrayRef,
}

impl<'a> Arbitrary<'a> for Question {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let table = table(bytes)?;
        let data_type = bytes.choose(&TYPES)?.clone();
        Ok(Self { expression: expression(bytes, &data_type, DEPTH)?, table })
    }
}

fn fields() -> Fields {
    let column = |at: usize| Field::new(format!("c{at}"), TYPES[at / 2].clone(), at % 2 == 1);
    (0..TYPES.len() * 2).map(column).collect()
}

fn table(bytes: &mut Unstructured<'_>) -> arbitrary::Result<ArrayRef> {
    let mut columns = Vec::new();
    for field in &fields() {
        let mut values = Vec::with_capacity(ROWS);
        for _ in 0..ROWS {
            values.push(scalar(bytes, field.data_type(), field.is_nullable())?);
        }
        columns.push(ScalarValue::iter_to_array(values).expect("values of one type"));
    }
    Ok(Arc::new(StructArray::new(fields(), columns, None)))
}

fn scalar(bytes: &mut Unstructured<'_>, data_type: &DataType, nullable: bool) -> arbitrary::Result<ScalarValue> {
    if nullable && bytes.ratio(1, 4)? {
        return Ok(ScalarValue::try_new_null(data_type).expect("a type with NULL"));
    }
    Ok(match data_type {
        DataType::Int8 => ScalarValue::Int8(Some(bytes.arbitrary()?)),
        DataType::Int32 => ScalarValue::Int32(Some(integer(bytes)? as i32)),
        DataType::Int64 => ScalarValue::Int64(Some(integer(bytes)?)),
        DataType::Float64 => {
            let special = [0.0, -0.0, 1.0, f64::NAN, -f64::NAN, f64::INFINITY];
            let value = if bytes.ratio(2, 3)? { *bytes.choose(&special)? } else { bytes.arbitrary()? };
            ScalarValue::Float64(Some(value))
        }
        DataType::Utf8 => {
            let text: &str = bytes.arbitrary()?;
            ScalarValue::from(text.chars().take(6).collect::<String>())
        }
        DataType::Date32 => ScalarValue::Date32(Some(integer(bytes)? as i32)),
        _ => ScalarValue::Boolean(Some(bytes.arbitrary()?)),
    })
}

/// Mostly small, so that values meet.
fn integer(bytes: &mut Unstructured<'_>) -> arbitrary::Result<i64> {
    Ok(if bytes.ratio(3, 4)? { i64::from(bytes.arbitrary::<i8>()? % 4) } else { bytes.arbitrary()? })
}

fn expression(
    bytes: &mut Unstructured<'_>,
    data_type: &DataType,
    depth: usize,
) -> arbitrary::Result<BoundExpression> {
    if depth == 0 || bytes.is_empty() {
        return leaf(bytes, data_type);
    }
    let below = depth - 1;
    if data_type == &DataType::Boolean {
        return predicate(bytes, below);
    }
    Ok(match bytes.int_in_range(0..=4)? {
        0 | 1 => leaf(bytes, data_type)?,
        2 => {
            let options = CastOptions { to: data_type.clone(), try_cast: bytes.arbitrary()? };
            let from = bytes.choose(&TYPES)?.clone();
            let arg = expression(bytes, &from, below)?;
            match BoundExpression::call::<Cast>(options, vec![arg]) {
                Ok(cast) => cast,
                Err(_) => leaf(bytes, data_type)?,
            }
        }
        3 => case(bytes, data_type, below)?,
        _ => {
            let op = *bytes.choose(&[ArithmeticOp::Add, ArithmeticOp::Sub, ArithmeticOp::Mul])?;
            let (left, right) = (expression(bytes, data_type, below)?, expression(bytes, data_type, below)?);
            match Arithmetic::of(op, left, right) {
                Ok(sum) if sum.field().data_type() == data_type => sum,
                _ => leaf(bytes, data_type)?,
            }
        }
    })
}

fn leaf(bytes: &mut Unstructured<'_>, data_type: &DataType) -> arbitrary::Result<BoundExpression> {
    if bytes.arbitrary()? {
        return Ok(BoundExpression::literal(scalar(bytes, data_type, true)?));
    }
    let at = TYPES.iter().position(|other| other == data_type).expect("one of the types");
    let root = Arc::new(Field::new("table", DataType::Struct(fields()), false));
    let column = at * 2 + usize::from(bytes.arbitrary::<bool>()?);
    Ok(GetItem::of(BoundExpression::root(root), column).expect("a column"))
}

fn case(bytes: &mut Unstructured<'_>, data_type: &DataType, depth: usize) -> arbitrary::Result<BoundExpression> {
    let mut arms = Vec::new();
    for _ in 0..bytes.int_in_range(1..=3)? {
        arms.push((expression(bytes, &DataType::Boolean, depth)?, expression(bytes, data_type, depth)?));
    }
    let otherwise = bytes.arbitrary::<bool>()?.then(|| expression(bytes, data_type, depth)).transpose()?;
    Ok(Case::of(None, arms, otherwise).expect("arms of one type"))
}

fn predicate(bytes: &mut Unstructured<'_>, depth: usize) -> arbitrary::Result<BoundExpression> {
    let operators = [
        CompareOp::Eq,
        CompareOp::NotEq,
        CompareOp::Lt,
        CompareOp::LtEq,
        CompareOp::Gt,
        CompareOp::GtEq,
        CompareOp::IsDistinctFrom,
        CompareOp::IsNotDistinctFrom,
    ];
    let operand_type = bytes.choose(&TYPES)?.clone();
    let predicate = match bytes.int_in_range(0..=7)? {
        0 | 1 => {
            let mut terms = Vec::new();
            for _ in 0..bytes.int_in_range(2..=4)? {
                terms.push(expression(bytes, &DataType::Boolean, depth)?);
            }
            if bytes.arbitrary()? { And::of(terms) } else { Or::of(terms) }
        }
        2 => Not::of(expression(bytes, &DataType::Boolean, depth)?),
        3 => IsNull::of(expression(bytes, &operand_type, depth)?, bytes.arbitrary()?),
        4 => {
            let mut values = Vec::new();
            for _ in 0..bytes.int_in_range(1..=4)? {
                values.push(scalar(bytes, &operand_type, true)?);
            }
            let values = ScalarValue::iter_to_array(values).expect("values of one type");
            let set = Arc::new(ValueSet::try_new(&values).expect("a set"));
            InSet::of(expression(bytes, &operand_type, depth)?, set, bytes.arbitrary()?)
        }
        5 => {
            let pattern = scalar(bytes, &DataType::Utf8, true)?;
            let options = LikeOptions { negated: bytes.arbitrary()?, case_insensitive: bytes.arbitrary()? };
            let value = expression(bytes, &DataType::Utf8, depth)?;
            Like::of(options, value, BoundExpression::literal(pattern))
        }
        6 => case(bytes, &DataType::Boolean, depth).map(Ok)?,
        _ => {
            let op = *bytes.choose(&operators)?;
            let left = expression(bytes, &operand_type, depth)?;
            Compare::of(op, left, expression(bytes, &operand_type, depth)?)
        }
    };
    match predicate {
        Ok(predicate) => Ok(predicate),
        Err(_) => leaf(bytes, &DataType::Boolean),
    }
}

fn values(expression: &BoundExpression, table: &ArrayRef) -> Result<Vec<ScalarValue>> {
    let array = evaluate(expression, Input { root: table, params: &[] })?.into_array_of_size(table.len())?;
    assert_eq!(array.data_type(), expression.field().data_type(), "{expression}");
    (0..array.len()).map(|row| ScalarValue::try_from_array(&array, row)).collect()
}

thread_local! {
    static OPTIMIZER: ExpressionOptimizer = ExpressionOptimizer::default();
}

fuzz_target!(|question: Question| {
    let Question { expression, table } = question;
    let is_boolean = expression.field().data_type() == &DataType::Boolean;
    if is_boolean {
        PrunePredicate::compile(&expression);
    }
    for position in [Position::Value, Position::Filter] {
        if position == Position::Filter && !is_boolean {
            continue;
        }
        let optimized = OPTIMIZER.with(|optimizer| optimizer.optimize(&expression, position));
        let optimized = optimized.unwrap_or_else(|error| panic!("{expression}: {error}"));
        let counts = |value: &ScalarValue| match position {
            Position::Filter => ScalarValue::from(value == &ScalarValue::from(true)),
            _ => value.clone(),
        };
        let mut all_well = true;
        for row in 0..table.len() {
            let one = table.slice(row, 1);
            let Ok(before) = values(&expression, &one) else {
                all_well = false;
                continue;
            };
            let after = values(&optimized, &one).unwrap_or_else(|e| panic!("{expression} became {optimized}: {e}"));
            let (before, after) = (counts(&before[0]), counts(&after[0]));
            assert_eq!(before, after, "{expression} became {optimized}, row {row}");
        }
        // What fails for no row alone doesn't for all of them either.
        if all_well {
            let after = values(&optimized, &table);
            let after = after.unwrap_or_else(|e| panic!("{expression} became {optimized}, all rows: {e}"));
            let before = values(&expression, &table).expect("it fails for no row");
            let counted = |values: &[ScalarValue]| values.iter().map(counts).collect::<Vec<_>>();
            assert_eq!(counted(&before), counted(&after), "{expression} became {optimized}");
        }
    }
});
