// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A table to write expressions over, and short names for their parts.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, StructArray, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::ScalarValue;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, Compare, CompareOp, GetItem, InSet, IsNull, Like, LikeOptions,
    Not, Or, ValueSet,
};
use crate::expr::{Args, BindError, BoundExpression, ExprKind, Facts, FnId, Nulls, Printer, ScalarFnVTable};
use crate::optimizer::{ExpressionOptimizer, Position};

/// The columns of the table. Those ending in `n` are nullable.
pub fn columns() -> Fields {
    let point =
        Fields::from(vec![Field::new("xn", DataType::Int32, true), Field::new("y", DataType::Int32, false)]);
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    Fields::from(vec![
        Field::new("i", DataType::Int32, false),
        Field::new("in", DataType::Int32, true),
        Field::new("ln", DataType::Int64, true),
        Field::new("f", DataType::Float64, false),
        Field::new("fn", DataType::Float64, true),
        Field::new("s", DataType::Utf8, false),
        Field::new("sn", DataType::Utf8, true),
        Field::new("sn2n", DataType::Utf8, true),
        Field::new("un", DataType::UInt8, true),
        Field::new("vn", DataType::Utf8View, true),
        Field::new("dayn", DataType::Date32, true),
        Field::new("msn", DataType::Date64, true),
        Field::new("decn", DataType::Decimal128(10, 2), true),
        Field::new("b", DataType::Boolean, false),
        Field::new("bn", DataType::Boolean, true),
        Field::new("dn", dictionary, true),
        Field::new("pn", DataType::Struct(point.clone()), true),
        Field::new("qn", DataType::Struct(point), true),
    ])
}

pub fn root() -> BoundExpression {
    let field: FieldRef = Arc::new(Field::new("table", DataType::Struct(columns()), false));
    BoundExpression::try_new(ExprKind::Root(field), vec![]).unwrap()
}

pub fn column(name: &str) -> BoundExpression {
    GetItem::of(root(), columns().find(name).unwrap().0).unwrap()
}

pub fn lit(value: impl Into<ScalarValue>) -> BoundExpression {
    BoundExpression::literal(value.into())
}

pub fn boolean(value: impl Into<Option<bool>>) -> BoundExpression {
    lit(ScalarValue::Boolean(value.into()))
}

pub fn compare(left: BoundExpression, op: CompareOp, right: BoundExpression) -> BoundExpression {
    Compare::of(op, left, right).unwrap()
}

pub fn arithmetic(left: BoundExpression, op: ArithmeticOp, right: BoundExpression) -> BoundExpression {
    Arithmetic::of(op, left, right).unwrap()
}

/// A value of the type of the column `decn`.
pub fn decimal(unscaled: i128) -> ScalarValue {
    ScalarValue::Decimal128(Some(unscaled), 10, 2)
}

/// A comparison of a column with a constant.
pub fn is(name: &str, op: CompareOp, value: impl Into<ScalarValue>) -> BoundExpression {
    compare(column(name), op, lit(value))
}

pub fn and<const N: usize>(terms: [BoundExpression; N]) -> BoundExpression {
    BoundExpression::call::<And>((), terms.into()).unwrap()
}

pub fn or<const N: usize>(terms: [BoundExpression; N]) -> BoundExpression {
    BoundExpression::call::<Or>((), terms.into()).unwrap()
}

pub fn not(arg: BoundExpression) -> BoundExpression {
    Not::of(arg).unwrap()
}

pub fn is_null(arg: BoundExpression) -> BoundExpression {
    IsNull::of(arg, false).unwrap()
}

pub fn is_not_null(arg: BoundExpression) -> BoundExpression {
    IsNull::of(arg, true).unwrap()
}

pub fn cast(arg: BoundExpression, to: DataType) -> BoundExpression {
    Cast::of(arg, to).unwrap()
}

/// `CAST(sn AS Int32) = value`, which fails for some strings.
pub fn fallible(value: i32) -> BoundExpression {
    compare(cast(column("sn"), DataType::Int32), CompareOp::Eq, lit(value))
}

pub fn set<T: Into<ScalarValue>>(values: impl IntoIterator<Item = T>) -> Arc<ValueSet> {
    Arc::new(ValueSet::from_scalars(values.into_iter().map(Into::into)).unwrap().unwrap())
}

pub fn in_set<T: Into<ScalarValue>>(
    arg: BoundExpression,
    values: impl IntoIterator<Item = T>,
) -> BoundExpression {
    InSet::of(arg, set(values), false).unwrap()
}

pub fn not_in_set<T: Into<ScalarValue>>(
    arg: BoundExpression,
    values: impl IntoIterator<Item = T>,
) -> BoundExpression {
    InSet::of(arg, set(values), true).unwrap()
}

pub fn empty_set() -> Arc<ValueSet> {
    Arc::new(ValueSet::try_new(&new_empty_array(&DataType::Int32)).unwrap())
}

/// The slot of a live filter, for an integer.
pub fn param(slot: u16) -> BoundExpression {
    let field = Arc::new(Field::new("slot", DataType::Int32, false));
    BoundExpression::try_new(ExprKind::Param(slot, field), vec![]).unwrap()
}

pub fn cast_to_int(name: &str) -> BoundExpression {
    cast(column(name), DataType::Int32)
}

fn match_of(name: &str, pattern: &str, negated: bool, case_insensitive: bool) -> BoundExpression {
    Like::of(LikeOptions { negated, case_insensitive }, column(name), lit(pattern)).unwrap()
}

pub fn like(name: &str, pattern: &str) -> BoundExpression {
    match_of(name, pattern, false, false)
}

pub fn not_like(name: &str, pattern: &str) -> BoundExpression {
    match_of(name, pattern, true, false)
}

pub fn ilike(name: &str, pattern: &str) -> BoundExpression {
    match_of(name, pattern, false, true)
}

pub fn case<const N: usize>(
    operand: Option<BoundExpression>,
    arms: [(BoundExpression, BoundExpression); N],
    otherwise: Option<BoundExpression>,
) -> BoundExpression {
    Case::of(operand, arms, otherwise).unwrap()
}

/// A value of the columns `pn` and `qn`.
pub fn point(x: Option<i32>, y: i32) -> ScalarValue {
    let (_, field) = columns().find("pn").map(|(i, f)| (i, Arc::clone(f))).unwrap();
    let DataType::Struct(fields) = field.data_type() else { panic!("{field}") };
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![x])), Arc::new(Int32Array::from(vec![y]))];
    ScalarValue::Struct(Arc::new(StructArray::new(fields.clone(), columns, None)))
}

/// A boolean that may be another each time.
pub fn volatile() -> BoundExpression {
    struct Coin;
    impl ScalarFnVTable for Coin {
        type Options = ();
        const ID: FnId = FnId::new("test.coin");
        fn return_field(_: &(), _: &[FieldRef]) -> Result<FieldRef, BindError> {
            Ok(Arc::new(Field::new("coin", DataType::Boolean, true)))
        }
        fn facts(_: &(), _: &[FieldRef]) -> Facts {
            Facts { volatile: true, ..Facts::infallible(Nulls::Other) }
        }
        fn evaluate(_: &(), _: &mut dyn Args, _: usize) -> datafusion_common::Result<ColumnarValue> {
            Ok(ColumnarValue::Scalar(ScalarValue::from(true)))
        }
        fn fmt<'a>(_: &(), _: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
            out.write_str("coin()")
        }
    }
    BoundExpression::call::<Coin>((), vec![]).unwrap()
}

thread_local! {
    static BUILT_IN: ExpressionOptimizer = ExpressionOptimizer::default();
}

/// What the built-in rules make of an expression, the names of those that fired before it.
pub fn optimized(expression: &BoundExpression, position: Position) -> String {
    BUILT_IN.with(|optimizer| {
        let (result, trace) = optimizer.optimize_traced(expression, position);
        let result = result.unwrap();
        let again = optimizer.optimize(&result, position).unwrap();
        assert!(again.ptr_eq(&result), "{result} became {again}");
        let mut rules: Vec<_> = trace.fired().collect();
        rules.dedup();
        match rules.is_empty() {
            true => "unchanged".to_owned(),
            false => format!("{}: {result}", rules.join(", ")),
        }
    })
}
