// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A function that counts the rows it is evaluated for.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_expr_common::columnar_value::ColumnarValue;

use crate::expr::{Args, BindError, BoundExpression, Cost, Facts, FnId, Nulls, Printer, ScalarFnVTable};

/// What a count adds up, and how NULL is dealt with.
#[derive(Debug, Clone, Default)]
pub struct Count {
    rows: Arc<AtomicUsize>,
    /// The length of NULL, if it isn't NULL.
    of_null: Option<i64>,
}

impl Count {
    pub fn of_null(length: i64) -> Self {
        Self { of_null: Some(length), ..Self::default() }
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::SeqCst)
    }

    /// The length of a string.
    pub fn length(&self, of: BoundExpression) -> BoundExpression {
        BoundExpression::call::<ByteLength>(self.clone(), vec![of]).unwrap()
    }
}

impl PartialEq for Count {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows) && self.of_null == other.of_null
    }
}

impl Eq for Count {}

impl Hash for Count {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of_null.hash(state);
    }
}

pub struct ByteLength;

impl ScalarFnVTable for ByteLength {
    type Options = Count;

    const ID: FnId = FnId::new("test.byte_length");

    fn return_field(count: &Count, args: &[FieldRef]) -> Result<FieldRef, BindError> {
        let nullable = args[0].is_nullable() && count.of_null.is_none();
        Ok(Arc::new(Field::new("length", DataType::Int64, nullable)))
    }

    fn facts(count: &Count, _: &[FieldRef]) -> Facts {
        let nulls = match count.of_null {
            None => Nulls::Strict { null_only_from_null: true },
            Some(_) => Nulls::Other,
        };
        Facts { cost: Cost::Negative, ..Facts::infallible(nulls) }
    }

    fn evaluate(count: &Count, args: &mut dyn Args, rows: usize) -> Result<ColumnarValue> {
        count.rows.fetch_add(rows, Ordering::SeqCst);
        let strings = args.value(0)?.into_array_of_size(rows)?;
        let length = |text: Option<&str>| text.map(|text| text.len() as i64).or(count.of_null);
        let lengths: Int64Array = strings.as_string::<i32>().iter().map(length).collect();
        assert_eq!(lengths.len(), rows);
        Ok(ColumnarValue::Array(Arc::new(lengths)))
    }

    fn fmt<'a>(count: &Count, args: &'a [BoundExpression], out: &mut Printer<'a>) -> fmt::Result {
        out.write_str(if count.of_null.is_some() { "length_or(" } else { "byte_length(" })?;
        out.argument(&args[0])?;
        out.write_str(")")
    }
}
