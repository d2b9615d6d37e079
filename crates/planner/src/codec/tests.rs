// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What is written is read again; what is damaged is an error.

use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use datafusion_common::ScalarValue;
use proptest::prelude::*;
use prost::Message;
use rstest::rstest;

use super::*;
use crate::expr::BoundExpression;
use crate::expr::functions::*;
use crate::index::FragmentCol;
use crate::optimizer::{PlanOptimizer, Position};
use crate::plan::operators::{PackData, Unknown};
use crate::plan::{
    Children, ConcatPlan, ExpressionScanPlan, FilterPlan, ListPackPlan, PackPlan, PlanRef, RowIdxPlan,
    SegmentId, SegmentScanPlan, TakePlan,
};

fn segment(column: usize, data_type: DataType, nullable: bool, rows: u64) -> PlanRef {
    let field = Field::new("v", data_type, nullable);
    let field =
        field.with_metadata([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())].into());
    let segment = SegmentId::new(3, FragmentCol(column)).field(2).and_then(|s| s.field(0)).unwrap();
    SegmentScanPlan::new(segment, Arc::new(field), rows).into()
}

/// A plan with every operator.
fn table() -> PlanRef {
    let text = TakePlan::try_new(segment(0, DataType::Int8, true, 9), segment(1, DataType::Utf8, false, 3));
    let text: PlanRef = text.unwrap().with_null_as_last().unwrap().unwrap().into();
    let pair = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let children = vec![segment(2, DataType::Int64, true, 9), segment(3, DataType::Boolean, false, 9)];
    let pair = Arc::new(Field::new("s", DataType::Struct(pair), true));
    let pair: PlanRef = PackPlan::of(pair, 9, PackData { masked: true }, children.into()).unwrap().into();
    let item = Arc::new(Field::new("item", DataType::Utf8, false));
    let list = Arc::new(Field::new("l", DataType::LargeList(item), false));
    let children = vec![segment(4, DataType::Utf8, false, 90), segment(5, DataType::Int64, false, 10)];
    let list: PlanRef = ListPackPlan::try_new(list, 9, children.into()).unwrap().into();
    let int: FieldRef = Arc::new(Field::new("n", DataType::Int64, true));
    let pieces = vec![segment(6, DataType::Int64, true, 4), segment(7, DataType::Int64, false, 5)];
    let number: PlanRef = ConcatPlan::try_new(int, pieces.into()).unwrap().into();
    let columns: Vec<PlanRef> =
        vec![RowIdxPlan::try_new(7, 9).unwrap().into(), text, pair, list, number.clone(), number];
    let fields: Fields = columns
        .iter()
        .enumerate()
        .map(|(i, c)| c.field().as_ref().clone().with_name(format!("c{i}")))
        .collect();
    PackPlan::try_new(fields, 9, columns.into()).unwrap().into()
}

fn constant(value: impl Into<ScalarValue>) -> BoundExpression {
    BoundExpression::literal(value.into())
}

/// An expression with every function, over `table`.
fn predicate(table: &PlanRef) -> BoundExpression {
    let root = BoundExpression::root(Arc::clone(table.field()));
    let column = |field| GetItem::of(root.clone(), field).unwrap();
    let (text, n) = (column(1), column(4));
    let like = LikeOptions { negated: true, case_insensitive: true };
    let words = StringArray::from(vec![Some("b"), None, Some("a")]);
    let numbers = Int64Array::from_iter_values(0..100);
    let set = |values| Arc::new(ValueSet::try_new(&values).unwrap());
    let sum = Arithmetic::of(ArithmeticOp::Sub, n.clone(), constant(1i64)).unwrap();
    let length = Cast::of(ListLength::of(column(3)).unwrap(), DataType::Int64).unwrap();
    let small = Compare::of(CompareOp::LtEq, sum.clone(), constant(5i64)).unwrap();
    let case = Case::of(None, [(small.clone(), sum)], Some(length)).unwrap();
    let masked = Mask::of(case, IsNull::of(column(2), true).unwrap()).unwrap();
    let packed = Pack::of(vec![Field::new("p", DataType::Int64, true)].into(), vec![masked]).unwrap();
    let slot = Arc::new(Field::new("slot", DataType::Int64, false));
    let slot = BoundExpression::try_new(crate::expr::ExprKind::Param(3, slot), Vec::new()).unwrap();
    And::of([
        Like::of(like, text.clone(), constant("%x%")).unwrap(),
        InSet::of(text, set(Arc::new(words) as _), true).unwrap(),
        InSet::of(n, set(Arc::new(numbers) as _), false).unwrap(),
        Or::of([Not::of(small.clone()).unwrap(), small]).unwrap(),
        Compare::of(CompareOp::IsDistinctFrom, GetItem::of(packed, 0).unwrap(), slot).unwrap(),
    ])
    .unwrap()
}

fn plan() -> PlanRef {
    let table = table();
    let filter = FilterPlan::try_new(&predicate(&table), table.clone()).unwrap();
    let root = BoundExpression::root(Arc::clone(table.field()));
    ExpressionScanPlan::try_new(GetItem::of(root, 5).unwrap(), filter.into()).unwrap().into()
}

#[test]
fn plans_survive() {
    let codec = PlanCodec::default();
    let optimized = PlanOptimizer::default().optimize(&plan()).unwrap();
    for plan in [table(), plan(), optimized] {
        let bytes = codec.encode(&plan).unwrap();
        let again = codec.decode(&bytes).unwrap();
        assert_eq!(format!("{again:?}"), format!("{plan:?}"));
        assert_eq!(again.shape(), plan.shape());
        assert_eq!(codec.encode(&again).unwrap(), bytes);
    }
}

#[test]
fn what_is_shared_stays_shared() {
    let again = PlanCodec::default().decode(&PlanCodec::default().encode(&table()).unwrap()).unwrap();
    assert!(again.child(4).unwrap().ptr_eq(again.child(5).unwrap()));
}

#[test]
fn lazy_children_are_written_as_they_are_when_made() {
    let made = segment(0, DataType::Int64, false, 4);
    let lazy = made.clone();
    let children = Children::lazy(vec![made.shape().clone()], move |_| Ok(lazy.clone()));
    let field = Arc::clone(made.field());
    let lazy: PlanRef = ConcatPlan::try_new(Arc::clone(&field), children).unwrap().into();
    let eager: PlanRef = ConcatPlan::try_new(field, vec![made].into()).unwrap().into();
    let codec = PlanCodec::default();
    assert_eq!(codec.encode(&lazy).unwrap(), codec.encode(&eager).unwrap());
}

#[test]
fn expressions_survive() {
    let codec = ExprCodec::default();
    let expression = predicate(&table());
    let again = codec.decode(&codec.encode(&expression).unwrap()).unwrap();
    assert_eq!(again, expression);
    let optimizer = crate::optimizer::ExpressionOptimizer::default();
    let optimized = optimizer.optimize(&expression, Position::Filter).unwrap();
    assert_eq!(codec.decode(&codec.encode(&optimized).unwrap()).unwrap(), optimized);
}

#[rstest]
#[case(ScalarValue::Null)]
#[case(ScalarValue::Utf8View(Some("a view of some length".to_owned())))]
#[case(ScalarValue::Float64(Some(-0.0)))]
#[case(ScalarValue::Decimal256(None, 50, -3))]
#[case(ScalarValue::TimestampNanosecond(Some(7), Some("+01:00".into())))]
#[case(ScalarValue::Time32Millisecond(Some(7)))]
#[case(ScalarValue::DurationSecond(None))]
#[case(ScalarValue::FixedSizeBinary(3, Some(vec![1, 2, 3])))]
#[case(ScalarValue::Dictionary(Box::new(DataType::Int8), Box::new(ScalarValue::from("d"))))]
#[case(ScalarValue::List(ScalarValue::new_list(&[ScalarValue::from(1i32), ScalarValue::Int32(None)], &DataType::Int32, true)))]
#[case(ScalarValue::try_new_null(&nested()).unwrap())]
fn constants_survive(#[case] value: ScalarValue) {
    let codec = ExprCodec::default();
    let literal = constant(value);
    assert_eq!(codec.decode(&codec.encode(&literal).unwrap()).unwrap(), literal);
}

fn nested() -> DataType {
    let list = |of: DataType| DataType::List(Arc::new(Field::new("item", of, true)));
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let key = DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::LargeUtf8));
    DataType::Struct(vec![Field::new("a", list(list(time)), true), Field::new("b", key, false)].into())
}

#[test]
fn an_unknown_operator_is_kept_as_it_is() {
    let (old, plan) = (PlanCodec::empty(ExprCodec::empty()), plan());
    let bytes = PlanCodec::default().encode(&plan).unwrap();
    let kept = old.decode(&bytes).unwrap();
    assert_eq!(kept.to_string(), "unknown(trommel.eval)");
    assert_eq!(old.encode(&kept).unwrap(), bytes);
    // Rules don't touch it.
    assert!(PlanOptimizer::default().optimize(&kept).unwrap().ptr_eq(&kept));
    // A function that isn't known makes its operator unknown, and no other.
    let older = PlanCodec::with_expressions(ExprCodec::empty().with_function::<GetItem>());
    let kept = older.decode(&bytes).unwrap();
    assert_eq!(kept.to_string(), "eval($.c5)");
    assert_eq!(kept.child(0).unwrap().child(1).unwrap().to_string(), "unknown(trommel.eval)");
    assert_eq!(older.encode(&kept).unwrap(), bytes);
    assert_eq!(
        PlanCodec::default().decode(&older.encode(&kept).unwrap()).unwrap().tree().to_string(),
        plan.tree().to_string()
    );
}

#[test]
fn an_unknown_operator_keeps_the_shapes_of_its_children() {
    let bytes = PlanCodec::default().encode(&segment(0, DataType::Int64, false, 4)).unwrap();
    let kept = PlanCodec::empty(ExprCodec::empty()).decode(&bytes).unwrap();
    assert!(kept.as_opt::<Unknown>().is_some());
    assert!(kept.with_children(vec![table()].into()).is_err());
}

#[test]
fn too_deep_and_too_large_is_an_error() {
    let list = (0..40).fold(DataType::Int8, |of, _| DataType::List(Arc::new(Field::new("item", of, true))));
    assert!(matches!(types::write_type(&list), Err(CodecError::TooLarge)));
    let codec = ExprCodec::default();
    let deep = (0..1000).fold(constant(true), |of, _| Not::of(of).unwrap());
    assert!(matches!(codec.encode(&deep), Err(CodecError::TooLarge)));
    // As small as they are, written by hand.
    let not = |child| wire::ExprNode {
        kind: Some(wire::ExprKind::Call(wire::Call {
            function: "trommel.and".to_owned(),
            options: Vec::new(),
        })),
        children: vec![child, child],
    };
    let bytes = codec.encode(&constant(true)).unwrap();
    let mut wide: wire::Expression = read(&bytes).unwrap();
    wide.nodes.extend((0..100).map(not));
    assert!(matches!(codec.decode(&wide.encode_to_vec()), Err(CodecError::TooLarge)));
    let field = types::write_field(&Field::new("", DataType::Int8, false)).unwrap();
    let nested = (0..100).fold(field, |of, _| wire::Field {
        data_type: Some(wire::DataType { kind: 41, fields: vec![of], ..Default::default() }),
        ..Default::default()
    });
    let root = wire::ExprNode { kind: Some(wire::ExprKind::Root(nested)), children: Vec::new() };
    let bytes = wire::Expression { nodes: vec![root] }.encode_to_vec();
    assert!(matches!(codec.decode(&bytes), Err(CodecError::Wire(_))));
}

/// A NULL of such a type would take gigabytes.
#[rstest]
#[case::of_bytes(DataType::FixedSizeBinary(i32::MAX))]
#[case::of_lists((0..4).fold(DataType::Int8, |of, _| DataType::FixedSizeList(Arc::new(Field::new("item", of, true)), 1000)))]
fn too_wide_is_an_error(#[case] wide: DataType) {
    let codec = ExprCodec::default();
    let cast = Cast::of(constant(ScalarValue::Null), wide.clone()).unwrap();
    assert!(matches!(codec.encode(&cast), Err(CodecError::TooLarge)));
    let narrow = |of: &DataType| types::write_type(of).unwrap();
    let wide = match wide {
        DataType::FixedSizeBinary(size) => {
            wire::DataType { numbers: vec![i64::from(size)], ..narrow(&DataType::FixedSizeBinary(1)) }
        }
        _ => (0..4).fold(narrow(&DataType::Int8), |of, _| wire::DataType {
            kind: 43,
            numbers: vec![1000],
            fields: vec![wire::Field { data_type: Some(of), ..Default::default() }],
            ..Default::default()
        }),
    };
    assert!(matches!(types::read_type(Some(wide)), Err(CodecError::TooLarge)));
}

/// A change of some bytes.
#[derive(Debug, Clone)]
enum Damage {
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Cut(usize),
}

impl Damage {
    fn of(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len().max(1);
        match *self {
            Self::Set(at, to) => bytes.iter_mut().skip(at % len).take(1).for_each(|byte| *byte = to),
            Self::Insert(at, byte) => bytes.insert(at % len, byte),
            Self::Remove(at, many) => {
                bytes.drain((at % len).min(bytes.len())..(at % len + many).min(bytes.len()));
            }
            Self::Repeat(at, many) => {
                let part = bytes[(at % len).min(bytes.len())..(at % len + many).min(bytes.len())].to_vec();
                bytes.extend(part);
            }
            Self::Cut(at) => bytes.truncate(at % len),
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, to)| Damage::Set(at, to)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        (any::<usize>(), 1..20usize).prop_map(|(at, many)| Damage::Remove(at, many)),
        (any::<usize>(), 1..40usize).prop_map(|(at, many)| Damage::Repeat(at, many)),
        any::<usize>().prop_map(Damage::Cut),
    ]
}

/// Reads a plan that may be anything; what can be read can be printed, optimized and written.
fn use_it(bytes: &[u8]) {
    let codec = PlanCodec::default();
    if let Ok(plan) = codec.decode(bytes) {
        assert!(!plan.tree().to_string().is_empty());
        let _ = PlanOptimizer::default().optimize(&plan).map(|plan| codec.encode(&plan));
        assert!(codec.encode(&plan).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damage_is_an_error_or_another_plan(damage in prop::collection::vec(damage(), 1..4)) {
        let mut bytes = PlanCodec::default().encode(&plan()).unwrap();
        damage.iter().for_each(|damage| damage.of(&mut bytes));
        use_it(&bytes);
    }

    /// Damage below the frame of messages, which would notice most of it.
    #[test]
    fn damage_within_a_node(
        at in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        what in 0..7,
        number in prop_oneof![0..4u64, any::<u64>()],
        damage in prop::collection::vec(damage(), 1..3),
    ) {
        let mut wire: wire::Plan = read(&PlanCodec::default().encode(&plan()).unwrap()).unwrap();
        let other = wire.nodes[other.index(wire.nodes.len())].clone();
        let at = at.index(wire.nodes.len());
        let node = &mut wire.nodes[at];
        match what {
            0 => node.operator = other.operator,
            1 => node.metadata = other.metadata,
            2 => node.rows = number,
            3 => node.field = other.field,
            4 => node.children.iter_mut().for_each(|child| *child = child.wrapping_add(number as u32)),
            5 => node.children.push(number as u32),
            _ => damage.iter().for_each(|damage| damage.of(&mut node.metadata)),
        }
        use_it(&wire.encode_to_vec());
    }

    /// Damage to what constants and types are made of.
    #[test]
    fn damage_within_a_constant(
        at in any::<prop::sample::Index>(),
        kind in 0..50u32,
        number in prop_oneof![-2..70i64, any::<i64>()],
        what in 0..5,
        damage in prop::collection::vec(damage(), 1..3),
    ) {
        let sets = [ScalarValue::from("text"), ScalarValue::from(7i64), ScalarValue::try_new_null(&nested()).unwrap(),
            ScalarValue::Utf8View(Some("a view of some length".to_owned())), ScalarValue::Decimal128(Some(1), 20, 3),
            ScalarValue::Dictionary(Box::new(DataType::Int8), Box::new(ScalarValue::from("d")))];
        let value = sets[at.index(sets.len())].clone();
        let codec = ExprCodec::default();
        let test = IsNull::of(constant(value.clone()), false).unwrap();
        let other = Cast::of(constant(value.clone()), DataType::Utf8).unwrap_or_else(|_| test.clone());
        let same = Compare::of(CompareOp::Eq, constant(value.clone()), constant(value)).unwrap_or(other);
        let mut wire: wire::Expression = read(&codec.encode(&same).unwrap()).unwrap();
        if let Some(wire::ExprKind::Literal(array)) = &mut wire.nodes[0].kind {
            let (data_type, data) = (array.data_type.as_mut().unwrap(), array.data.as_mut().unwrap());
            match what {
                0 => data_type.kind = kind,
                1 => data_type.numbers = vec![number, 2],
                2 => data.len = number as u64,
                3 => data.nulls = Some(number.to_le_bytes()[..(kind as usize % 8)].to_vec()),
                _ => data.buffers.iter_mut().for_each(|buffer| damage.iter().for_each(|d| d.of(buffer))),
            }
        }
        if let Ok(expression) = codec.decode(&wire.encode_to_vec()) {
            assert!(!expression.to_string().is_empty());
            let _ = crate::optimizer::ExpressionOptimizer::default().optimize(&expression, Position::Filter);
        }
    }
}
