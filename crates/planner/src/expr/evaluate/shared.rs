// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Subexpressions that occur more than once in an expression, and their values.

use std::cell::RefCell;

use datafusion_common::{HashMap, HashSet};
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::BoundExpression;

/// The subexpressions that occur more than once, and the values of those that were evaluated for all rows.
///
/// Nothing is evaluated for the sake of sharing: a value is kept when it was asked for. Volatile
/// expressions aren't shared, and neither is what only reads: fields of the root.
#[derive(Debug, Default)]
pub(super) struct Shared(RefCell<HashMap<BoundExpression, Option<ColumnarValue>>>);

impl Shared {
    pub fn of(expression: &BoundExpression) -> Self {
        let (mut seen, mut shared) = (HashSet::new(), HashMap::default());
        let mut stack = vec![expression];
        while let Some(node) = stack.pop() {
            if is_read(node) || node.children().is_empty() {
                continue;
            }
            if seen.insert(node) {
                stack.extend(node.children());
            } else if !node.is_volatile() {
                shared.insert(node.clone(), None);
            }
        }
        Self(RefCell::new(shared))
    }

    /// The value of a shared subexpression for all rows, if it is known.
    pub fn get(&self, node: &BoundExpression) -> Option<ColumnarValue> {
        let values = self.0.borrow();
        if values.is_empty() { None } else { values.get(node)?.clone() }
    }

    /// Takes note of a subexpression's value for all rows.
    pub fn put(&self, node: &BoundExpression, value: &ColumnarValue) {
        let mut values = self.0.borrow_mut();
        if !values.is_empty()
            && let Some(known) = values.get_mut(node)
        {
            *known = Some(value.clone());
        }
    }
}

/// Whether the node is a field of the root, however deep.
fn is_read(mut node: &BoundExpression) -> bool {
    while node.as_opt::<super::GetItem>().is_some() {
        node = &node.children()[0];
    }
    node.is_root()
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{ArrayRef, AsArray, BooleanArray};
    use arrow::datatypes::{DataType, Field, FieldRef};
    use datafusion_common::Result;

    use super::*;
    use crate::expr::functions::{And, Not, Or};
    use crate::expr::{Args, BindError, Facts, FnId, Input, Nulls, Printer, ScalarFnVTable, evaluate};

    static EVALUATED: AtomicUsize = AtomicUsize::new(0);

    /// Its argument, but counted; volatile on demand.
    struct Counted;

    impl ScalarFnVTable for Counted {
        type Options = bool;

        const ID: FnId = FnId::new("test.counted");

        fn return_field(_: &bool, args: &[FieldRef]) -> Result<FieldRef, BindError> {
            Ok(Arc::clone(&args[0]))
        }

        fn facts(volatile: &bool, _: &[FieldRef]) -> Facts {
            Facts { volatile: *volatile, ..Facts::infallible(Nulls::Other) }
        }

        fn evaluate(_: &bool, args: &mut dyn Args, _: usize) -> Result<ColumnarValue> {
            EVALUATED.fetch_add(1, Ordering::SeqCst);
            args.value(0)
        }

        fn fmt<'a>(_: &bool, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
            out.joined("", args)
        }
    }

    fn counted(volatile: bool) -> BoundExpression {
        let root = BoundExpression::root(Arc::new(Field::new("value", DataType::Boolean, true)));
        BoundExpression::call::<Counted>(volatile, vec![root]).unwrap()
    }

    /// One test, since the count is shared.
    #[test]
    fn what_occurs_twice_is_evaluated_once() {
        let count = |expression: &BoundExpression| {
            let root: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
            EVALUATED.store(0, Ordering::SeqCst);
            let value = evaluate(expression, Input { root: &root, params: &[] }).unwrap();
            let value = value.into_array_of_size(3).unwrap();
            (EVALUATED.load(Ordering::SeqCst), value.as_boolean().iter().collect::<Vec<_>>())
        };
        let twice = |volatile| {
            let negated = Not::of(counted(volatile)).unwrap();
            Or::of([And::of([counted(volatile), negated]).unwrap(), counted(volatile)]).unwrap()
        };
        let expect = vec![Some(true), Some(false), None];
        assert_eq!(count(&twice(false)), (1, expect.clone()));
        assert_eq!(count(&twice(true)), (3, expect));
        assert_eq!(count(&Not::of(counted(false)).unwrap()).0, 1);
    }
}
