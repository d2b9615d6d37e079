// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pushed-down plans over random nested columns, against rows evaluated one by one.
//!
//! A column is made twice: as rows, plain Rust values, and as a plan with arrays, where what is hidden (values
//! below a NULL, elements of a NULL list, dictionary values without a code) is there and may fail. The
//! oracle looks at rows alone, in the order SQL reads: it shares no code with expressions, kernels or plans.
//!
//! Errors go by the policy: where the oracle fails an answer is allowed, where it answers nothing may fail.

mod column;
mod oracle;
mod term;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Field, Fields};
use datafusion_common::ScalarValue;
use proptest::prelude::*;

use self::column::{Column, Store, columns};
use self::oracle::{Value, evaluate};
use self::term::{Term, terms};
use super::*;
use crate::codec::PlanCodec;
use crate::optimizer::PlanOptimizer;
use crate::plan::memory::Memory;
use crate::plan::{FilterPlan, RowIdxPlan};

/// What an array holds, as plain values.
fn values(array: &ArrayRef) -> Vec<Value> {
    let value = |row| Value::of(&ScalarValue::try_from_array(array, row).unwrap());
    (0..array.len()).map(value).collect()
}

/// The rows of columns side by side, as a plan.
fn table(columns: &[Column], rows: usize) -> (PlanRef, Memory) {
    let mut store = Store::default();
    let plans: Vec<PlanRef> = columns.iter().map(|column| column.plan(&mut store)).collect();
    let named = |(i, plan): (usize, &PlanRef)| plan.field().as_ref().clone().with_name(format!("c{i}"));
    let fields: Fields = plans.iter().enumerate().map(named).collect();
    (PackPlan::try_new(fields, rows as u64, plans.into()).unwrap().into(), store.memory)
}

/// What the oracle says of each row: `None` where it fails.
fn expected(term: &Term, columns: &[Column], rows: usize) -> Vec<Option<Value>> {
    let row = |row: usize| columns.iter().map(|column| column.rows()[row].clone()).collect::<Vec<_>>();
    (0..rows).map(|at| evaluate(term, &row(at))).collect()
}

fn check(plan: &PlanRef, memory: &Memory, expected: &[Option<Value>]) -> Result<(), TestCaseError> {
    // Constants are evaluated, and may fail, if there are no rows too.
    let fails = expected.is_empty() || expected.iter().any(Option::is_none);
    match memory.run(plan) {
        Ok(array) => {
            prop_assert_eq!(array.len(), expected.len());
            for (row, (value, expected)) in values(&array).iter().zip(expected).enumerate() {
                if let Some(expected) = expected {
                    prop_assert_eq!(value, expected, "row {} of {:?}", row, plan);
                }
            }
        }
        Err(error) => prop_assert!(fails, "{error} where the rows have values: {plan:?}"),
    }
    Ok(())
}

fn cases() -> impl Strategy<Value = (Vec<Column>, usize, Term)> {
    (0..20usize).prop_flat_map(|rows| (columns(rows), Just(rows))).prop_flat_map(|(columns, rows)| {
        let types: Vec<_> = columns.iter().map(Column::kind).collect();
        (Just(columns), Just(rows), terms(&types))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pushed_down_plans_give_what_rows_give((columns, rows, term) in cases()) {
        let (table, memory) = table(&columns, rows);
        let expression = term.bind(&BoundExpression::root(Arc::clone(table.field())));
        let expected = expected(&term, &columns, rows);
        let plan = ExpressionScanPlan::try_new(expression, table).unwrap();
        let pushed = PushdownSession::default().optimize(&plan).unwrap();
        prop_assert_eq!(pushed.field().data_type(), plan.as_plan().field().data_type());
        prop_assert!(plan.as_plan().field().is_nullable() || !pushed.field().is_nullable());
        check(&pushed, &memory, &expected)?;
        // To the fixpoint of all rules, and once more by way of bytes.
        let optimizer = PlanOptimizer::default();
        let pushed = optimizer.optimize(&pushed).unwrap();
        check(&pushed, &memory, &expected)?;
        prop_assert!(optimizer.optimize(&pushed).unwrap().ptr_eq(&pushed), "{:?}", pushed);
        let bytes = PlanCodec::default().encode(&pushed).unwrap();
        check(&PlanCodec::default().decode(&bytes).unwrap(), &memory, &expected)?;
        // The unpushed plan obeys the oracle too.
        check(plan.as_plan(), &memory, &expected)?;
    }

    /// The numbers of the rows, beside what is computed for them, where a predicate is TRUE.
    #[test]
    fn rows_stay_rows((columns, rows, term) in cases(), cut in any::<bool>()) {
        let mut store = Store::default();
        let mut plans: Vec<PlanRef> = columns.iter().map(|column| column.plan(&mut store)).collect();
        plans.push(RowIdxPlan::try_new(1000, rows as u64).unwrap().into());
        let named = |(i, plan): (usize, &PlanRef)| plan.field().as_ref().clone().with_name(format!("c{i}"));
        let fields: Fields = plans.iter().enumerate().map(named).collect();
        let table: PlanRef = PackPlan::try_new(fields, rows as u64, plans.into()).unwrap().into();
        let root = BoundExpression::root(Arc::clone(table.field()));
        let expected = expected(&term, &columns, rows);
        let predicate = IsNull::of(term.bind(&root), cut).unwrap();
        let filtered: PlanRef = FilterPlan::try_new(&predicate, table).unwrap().into();
        let numbers = GetItem::of(root, columns.len()).unwrap();
        let fields = Fields::from(vec![Field::new("row", DataType::UInt64, false)]);
        let numbers = PackFn::of(fields, vec![numbers]).unwrap();
        let plan: PlanRef = ExpressionScanPlan::try_new(numbers, filtered).unwrap().into();
        let after = PlanOptimizer::default().optimize(&plan).unwrap();
        if rows > 0 && expected.iter().all(Option::is_some) {
            let kept = |(_, value): &(usize, &Option<Value>)| (**value != Some(Value::Null)) == cut;
            let kept = expected.iter().enumerate().filter(kept);
            let kept = kept.map(|(row, _)| Value::Struct(vec![Value::Int(1000 + row as i64)]));
            let kept: Vec<_> = kept.collect();
            prop_assert_eq!(values(&store.memory.run(&after).unwrap()), kept.clone());
            prop_assert_eq!(values(&store.memory.run(&plan).unwrap()), kept);
        }
    }
}
