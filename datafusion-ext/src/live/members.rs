// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Opaque membership tests turned into maps: one bit for each value that a column may have.
//!
//! Beyond some 150 keys a hash join hands down a look-up in its hash table, which takes 50 to 100 ns a row and
//! hides its keys; in the partitioned mode it is one for each partition, behind a hash of the key. But all
//! that such a conjunct depends on is one column, and where that is an integer or a date with few possible
//! values beside the rows to ask, it is asked once for each value (and for NULL), and each row is one bit.
//!
//! Values beyond those that were asked are kept, so that a map never drops a row that the conjunct wouldn't.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, Int64Array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, MutableBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use trommel_planner::expr::functions::{Compare, CompareOp, GetItem};
use trommel_planner::expr::{BoundExpression, ExprKind, Facts, Foreign, Input, Nulls, evaluate_predicate};
use trommel_planner::index::TableCol;

/// No map has more values than this, half a megabyte of bits.
const MOST_VALUES: u64 = 1 << 22;
/// There must be so many rows to a value: asking one takes as long as the look-ups of many rows in a map, and
/// a filter that isn't worth asking rows has been turned into a map for nothing.
const ROWS_PER_VALUE: u64 = 16;
/// How many values are asked at a time.
const STEP: i64 = 1 << 16;

/// The same conjunct over a map of values, where it is opaque and a map is worth its making.
///
/// `range` gives the least and the greatest value of a column, as far as known; `rows` is how many rows there
/// are to ask.
pub fn mapped(
    conjunct: &BoundExpression,
    rows: u64,
    range: impl Fn(TableCol) -> Option<RangeInclusive<i64>>,
) -> Option<BoundExpression> {
    if !conjunct.any(|node| matches!(node.kind(), ExprKind::Foreign(_))) {
        return None;
    }
    let mut column = None;
    let over_column = over(conjunct, &mut column)?;
    let (column, read) = column?;
    let data_type = read.field().data_type();
    if !(data_type.is_integer() || matches!(data_type, DataType::Date32)) {
        return None;
    }
    let range = range(TableCol(column))?;
    if range.is_empty() {
        return None;
    }
    let values = range.end().checked_sub(*range.start())?.unsigned_abs().checked_add(1)?;
    if values > MOST_VALUES.min(rows / ROWS_PER_VALUE) {
        return None;
    }
    let members = Members::ask(&over_column, read.field(), range)?;
    BoundExpression::try_new(ExprKind::Foreign(Arc::new(members)), vec![read]).ok()
}

/// The values of a column that conjuncts leave, as far as they compare it with constants.
pub fn bounds(conjuncts: &[BoundExpression], column: TableCol) -> RangeInclusive<i64> {
    let (mut first, mut last) = (i64::MIN, i64::MAX);
    for conjunct in conjuncts {
        let Some(op) = conjunct.as_opt::<Compare>() else { continue };
        let [left, right] = conjunct.children() else { continue };
        let is_column = left.as_opt::<GetItem>() == Some(&column.0)
            && left.children().first().is_some_and(BoundExpression::is_root);
        let value = right.as_literal().and_then(|value| value.cast_to(&DataType::Int64).ok());
        let (true, Some(ScalarValue::Int64(Some(value)))) = (is_column, value) else { continue };
        match op {
            CompareOp::Gt | CompareOp::GtEq => first = first.max(value),
            CompareOp::Lt | CompareOp::LtEq => last = last.min(value),
            CompareOp::Eq => (first, last) = (first.max(value), last.min(value)),
            _ => {}
        }
    }
    first..=last
}

/// The expression with the one column that it reads as its root, and that column; `None` when it reads
/// anything else.
fn over(expr: &BoundExpression, column: &mut Option<(usize, BoundExpression)>) -> Option<BoundExpression> {
    if let Some(item) = expr.as_opt::<GetItem>()
        && expr.children().first().is_some_and(BoundExpression::is_root)
    {
        let (known, _) = column.get_or_insert_with(|| (*item, expr.clone()));
        return (known == item).then(|| BoundExpression::root(FieldRef::clone(expr.field())));
    }
    if expr.is_root() || matches!(expr.kind(), ExprKind::Param(..)) {
        return None;
    }
    if expr.children().is_empty() {
        return Some(expr.clone());
    }
    let children = expr.children().iter().map(|child| over(child, column)).collect::<Option<_>>()?;
    expr.with_children(children).ok()
}

/// A predicate over one column of integers, asked already.
struct Members {
    source: String,
    fields: [FieldRef; 1],
    field: FieldRef,
    first: i64,
    /// Whether the predicate keeps each value from the first on.
    kept: BooleanBuffer,
    null: bool,
}

impl Members {
    /// Asks `predicate`, over a root with this field, for each of the values; `None` where it fails for one.
    fn ask(predicate: &BoundExpression, field: &FieldRef, values: RangeInclusive<i64>) -> Option<Self> {
        let ask = |array: &ArrayRef| {
            // Of exactly the column's type: look-ups answer differently on another.
            let array = cast(array, field.data_type()).ok()?;
            if array.logical_null_count() > 0 && !field.is_nullable() {
                return Some(BooleanBuffer::new_unset(array.len()));
            }
            let kept = evaluate_predicate(predicate, Input { root: &array, params: &[] }).ok()?;
            Some(match kept.nulls() {
                Some(nulls) => kept.values() & nulls.inner(),
                None => kept.values().clone(),
            })
        };
        let (first, last) = values.into_inner();
        let mut bits = BooleanBufferBuilder::new((last - first + 1) as usize);
        let mut start = first;
        while start <= last {
            let end = last.min(start.saturating_add(STEP - 1));
            bits.append_buffer(&ask(&(Arc::new(Int64Array::from_iter_values(start..=end)) as ArrayRef))?);
            start = end.checked_add(1)?;
        }
        let null = ask(&new_null_array(field.data_type(), 1))?.value(0);
        Some(Self {
            source: predicate.to_string(),
            fields: [FieldRef::clone(field)],
            field: Arc::new(Field::new("members", DataType::Boolean, false)),
            first,
            kept: bits.finish(),
            null,
        })
    }
}

impl Members {
    /// Where the bits are: no other map's are there while this one lives.
    fn place(&self) -> usize {
        self.kept.values().as_ptr() as usize
    }
}

impl Foreign for Members {
    fn inputs(&self) -> &[FieldRef] {
        &self.fields
    }

    fn field(&self) -> &FieldRef {
        &self.field
    }

    fn evaluate(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let [input] = inputs else { return internal_err!("{} inputs of a map of values", inputs.len()) };
        let values = cast(input, &DataType::Int64)?;
        let values = values.as_primitive::<Int64Type>();
        let is_kept = |value: i64| {
            let at = value.wrapping_sub(self.first) as u64;
            at >= self.kept.len() as u64 || self.kept.value(at as usize)
        };
        let bits = MutableBuffer::collect_bool(rows, |row| is_kept(values.values()[row]));
        let bits = BooleanBuffer::new(bits.into(), 0, rows);
        let bits = match values.nulls() {
            Some(nulls) if self.null => &bits | &!nulls.inner(),
            Some(nulls) => &bits & nulls.inner(),
            None => bits,
        };
        Ok(Arc::new(BooleanArray::new(bits, None)))
    }

    fn facts(&self) -> Facts {
        Facts::infallible(Nulls::Other)
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.place(), self.first).hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "map of {}", self.source)
    }
}

impl fmt::Debug for Members {
    /// Tells maps apart by where their bits are: look-ups in two hash tables may read the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} from {} on, at {:#x}", self.first, self.place())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use rstest::rstest;
    use trommel_planner::expr::functions::Not;

    use super::*;

    /// A predicate that hides what it asks: whether a value is a multiple of three, or NULL.
    #[derive(Debug)]
    struct Hidden([FieldRef; 1], FieldRef);

    impl Hidden {
        fn of(arg: BoundExpression) -> BoundExpression {
            let field = Arc::new(Field::new("hidden", DataType::Boolean, true));
            let hidden = Self([FieldRef::clone(arg.field())], field);
            BoundExpression::try_new(ExprKind::Foreign(Arc::new(hidden)), vec![arg]).unwrap()
        }
    }

    impl fmt::Display for Hidden {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("hidden")
        }
    }

    impl Foreign for Hidden {
        fn inputs(&self) -> &[FieldRef] {
            &self.0
        }

        fn field(&self) -> &FieldRef {
            &self.1
        }

        fn evaluate(&self, inputs: &[ArrayRef], _rows: usize) -> Result<ArrayRef> {
            assert_eq!(inputs[0].data_type(), self.0[0].data_type(), "the column's own type");
            let values = cast(&inputs[0], &DataType::Int64)?;
            let keeps = |value: Option<i64>| value.is_none_or(|value| value % 3 == 0);
            Ok(Arc::new(
                values.as_primitive::<Int64Type>().iter().map(|v| Some(keeps(v))).collect::<BooleanArray>(),
            ))
        }

        fn facts(&self) -> Facts {
            Facts::infallible(Nulls::Other)
        }

        fn fingerprint(&self) -> u64 {
            1
        }
    }

    fn column(name: &str) -> BoundExpression {
        let field = |name, data_type| Field::new(name, data_type, true);
        let fields = vec![field("n", DataType::Int32), field("s", DataType::Utf8)];
        let at = fields.iter().position(|f| f.name() == name).unwrap();
        let root = Field::new("table", DataType::Struct(fields.into()), false);
        GetItem::of(BoundExpression::root(Arc::new(root)), at).unwrap()
    }

    #[rstest]
    #[case::plain(Hidden::of(column("n")), 400, Some(-10..=10), true)]
    #[case::below_something_else(Not::of(Hidden::of(column("n"))).unwrap(), 400, Some(-10..=10), true)]
    #[case::too_many_values_for_the_rows(Hidden::of(column("n")), 300, Some(-10..=10), false)]
    #[case::unknown_values(Hidden::of(column("n")), 400, None, false)]
    #[case::no_values(Hidden::of(column("n")), 400, Some(RangeInclusive::new(1, 0)), false)]
    #[case::every_number(Hidden::of(column("n")), 400, Some(i64::MIN..=i64::MAX), false)]
    #[case::not_opaque(Compare::of(CompareOp::Gt, column("n"), BoundExpression::literal(5i32.into())).unwrap(), 400, Some(-10..=10), false)]
    fn what_is_mapped(
        #[case] conjunct: BoundExpression,
        #[case] rows: u64,
        #[case] range: Option<RangeInclusive<i64>>,
        #[case] expect: bool,
    ) {
        let map = mapped(&conjunct, rows, |column| range.clone().filter(|_| column == TableCol(0)));
        assert_eq!(map.is_some(), expect);
        let Some(map) = map else { return };
        // Beyond what was asked a map keeps all.
        let values: ArrayRef = Arc::new(Int32Array::from_iter((-12..13).map(Some).chain([None])));
        let over = |expr: &BoundExpression| {
            let expr = over(expr, &mut None).unwrap();
            evaluate_predicate(&expr, Input { root: &values, params: &[] }).unwrap()
        };
        let (got, wanted) = (over(&map), over(&conjunct));
        for (at, value) in values.as_primitive::<arrow::datatypes::Int32Type>().iter().enumerate() {
            let asked = value.is_none_or(|value| (-10..=10).contains(&value));
            assert_eq!(got.value(at), !asked || wanted.value(at), "{value:?}");
        }
    }

    #[test]
    fn bounds_beside_a_conjunct() {
        let n =
            |op, value: i32| Compare::of(op, column("n"), BoundExpression::literal(value.into())).unwrap();
        let conjuncts = [n(CompareOp::GtEq, 3), n(CompareOp::LtEq, 9), n(CompareOp::NotEq, 5)];
        assert_eq!(bounds(&conjuncts, TableCol(0)), 3..=9);
        assert_eq!(bounds(&conjuncts, TableCol(1)), i64::MIN..=i64::MAX);
    }
}
