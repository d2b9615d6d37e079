// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as a scan plan: what is read of them can be printed, pushed down, optimized and written, and is read again
//! as the same.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use trommel_planner::codec::PlanCodec;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{
    And, Arithmetic, ArithmeticOp, Case, Cast, Compare, CompareOp, GetItem, InSet, IsNull, Like, LikeOptions,
    ListLength, Mask, Not, Or, Pack, ValueSet,
};
use trommel_planner::index::FragmentCol;
use trommel_planner::optimizer::PlanOptimizer;
use trommel_planner::plan::operators::PackData;
use trommel_planner::plan::{
    ConcatPlan, ExpressionScanPlan, FilterPlan, ListPackPlan, PackPlan, PlanRef, RowIdxPlan, SegmentId,
    SegmentScanPlan, TakePlan,
};
use trommel_planner::pushdown::PushdownSession;

static CODEC: LazyLock<PlanCodec> = LazyLock::new(PlanCodec::default);

pub fn run(data: &[u8]) {
    let Ok(plan) = CODEC.decode(data) else { return };
    assert!(!plan.tree().to_string().is_empty());
    let bytes = CODEC.encode(&plan).expect("what was read can be written");
    let again = CODEC.decode(&bytes).expect("what was written can be read");
    assert_eq!(CODEC.encode(&again).ok(), Some(bytes), "{again} is {plan}");
    assert_eq!(again.shape(), plan.shape());
    let pushed = plan.downcast().map(|eval| PushdownSession::default().optimize(&eval));
    for plan in [Some(plan), pushed.and_then(Result::ok)].into_iter().flatten() {
        if let Ok(optimized) = PlanOptimizer::default().optimize(&plan) {
            assert_eq!(optimized.rows(), plan.rows(), "{optimized} was {plan}");
            assert_eq!(optimized.field().data_type(), plan.field().data_type(), "{optimized} was {plan}");
            // It may be too large now; what is written can be read.
            if let Ok(bytes) = CODEC.encode(&optimized) {
                CODEC.decode(&bytes).expect("what was written can be read");
            }
        }
    }
}

fn segment(column: usize, data_type: DataType, nullable: bool, rows: u64) -> PlanRef {
    let field = Arc::new(Field::new("v", data_type, nullable));
    SegmentScanPlan::new(SegmentId::new(1, FragmentCol(column)), field, rows).into()
}

/// A plan with every operator but those over expressions.
fn table() -> PlanRef {
    let text = TakePlan::try_new(segment(0, DataType::Int8, true, 9), segment(1, DataType::Utf8, false, 3));
    let pair = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let children = vec![segment(2, DataType::Int64, true, 9), segment(3, DataType::Boolean, false, 9)];
    let pair = Arc::new(Field::new("s", DataType::Struct(pair), true));
    let pair = PackPlan::of(pair, 9, PackData { masked: true }, children.into()).unwrap();
    let item = Arc::new(Field::new("item", DataType::Utf8, false));
    let list = Arc::new(Field::new("l", DataType::LargeList(item), false));
    let children = vec![segment(4, DataType::Utf8, false, 90), segment(5, DataType::Int64, false, 10)];
    let list = ListPackPlan::try_new(list, 9, children.into()).unwrap();
    let int: FieldRef = Arc::new(Field::new("n", DataType::Int64, true));
    let pieces = vec![segment(6, DataType::Int64, true, 4), segment(7, DataType::Int64, false, 5)];
    let number = ConcatPlan::try_new(int, pieces.into()).unwrap();
    let columns: Vec<PlanRef> = vec![
        RowIdxPlan::try_new(7, 9).unwrap().into(),
        text.unwrap().into(),
        pair.into(),
        list.into(),
        number.into(),
    ];
    let named = |(i, column): (usize, &PlanRef)| column.field().as_ref().clone().with_name(format!("c{i}"));
    let fields: Fields = columns.iter().enumerate().map(named).collect();
    PackPlan::try_new(fields, 9, columns.into()).unwrap().into()
}

/// An expression with every function, over the table.
pub fn predicate() -> BoundExpression {
    let root = BoundExpression::root(Arc::clone(table().field()));
    let column = |field| GetItem::of(root.clone(), field).unwrap();
    let (text, n) = (column(1), column(4));
    let constant = |value: i64| BoundExpression::literal(value.into());
    let like = LikeOptions { negated: true, case_insensitive: true };
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a")]));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..9));
    let set = |values| Arc::new(ValueSet::try_new(values).unwrap());
    let sum = Arithmetic::of(ArithmeticOp::Sub, n.clone(), constant(1)).unwrap();
    let length = Cast::of(ListLength::of(column(3)).unwrap(), DataType::Int64).unwrap();
    let small = Compare::of(CompareOp::LtEq, sum.clone(), constant(5)).unwrap();
    let case = Case::of(None, [(small.clone(), sum)], Some(length)).unwrap();
    let masked = Mask::of(case, IsNull::of(column(2), true).unwrap()).unwrap();
    let packed = Pack::of(vec![Field::new("p", DataType::Int64, true)].into(), vec![masked]).unwrap();
    And::of([
        Like::of(like, text.clone(), BoundExpression::literal("%x%".into())).unwrap(),
        InSet::of(text, set(&words), true).unwrap(),
        InSet::of(n, set(&numbers), false).unwrap(),
        Or::of([Not::of(small.clone()).unwrap(), small]).unwrap(),
        Compare::of(CompareOp::IsDistinctFrom, GetItem::of(packed, 0).unwrap(), constant(3)).unwrap(),
        Compare::of(CompareOp::Lt, constant(1), constant(2)).unwrap(),
    ])
    .unwrap()
}

pub fn seeds() -> Vec<Vec<u8>> {
    let filter = FilterPlan::try_new(&predicate(), table()).unwrap();
    let eval = ExpressionScanPlan::try_new(predicate(), table()).unwrap();
    let plans: [PlanRef; 4] = [table(), filter.into(), eval.into(), segment(0, DataType::Int64, true, 4)];
    plans.iter().map(|plan| CODEC.encode(plan).unwrap()).collect()
}
