// Licensed under the Apache License, Version 2.0. See LICENSE.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{BooleanArray, Int32Array, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Int32Type;
use datafusion_common::exec_err;
use rstest::rstest;

use super::*;
use crate::expr::functions::{And, Compare, CompareOp, Like, LikeOptions};
use crate::expr::{Facts, Foreign};
use crate::index::ColumnPath;
use crate::pruning::{Bound, Level, PrunePredicate, Verdicts, ZoneColumn, ZoneSource};
use crate::rows::RowRanges;

/// Whether a number is a key, as a join's hash table tells: NULL never is.
#[derive(Debug)]
struct Lookup {
    keys: Vec<i32>,
    fields: [FieldRef; 2],
    volatile: bool,
    asked: AtomicUsize,
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lookup")
    }
}

impl Foreign for Lookup {
    fn inputs(&self) -> &[FieldRef] {
        &self.fields[..1]
    }

    fn field(&self) -> &FieldRef {
        &self.fields[1]
    }

    fn evaluate(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        if inputs[0].data_type() != self.fields[0].data_type() {
            return exec_err!("{} looked up", inputs[0].data_type());
        }
        self.asked.fetch_add(rows, Ordering::Relaxed);
        let found = |value: Option<i32>| value.is_some_and(|value| self.keys.contains(&value));
        Ok(Arc::new(
            inputs[0].as_primitive::<Int32Type>().iter().map(|v| Some(found(v))).collect::<BooleanArray>(),
        ))
    }

    fn facts(&self) -> Facts {
        Facts { volatile: self.volatile, ..Facts::UNKNOWN }
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

fn lookup(keys: &[i32], volatile: bool) -> Arc<Lookup> {
    let field = |name, data_type| Arc::new(Field::new(name, data_type, true));
    let fields = [field("key", DataType::Int32), field("found", DataType::Boolean)];
    Arc::new(Lookup { keys: keys.to_vec(), fields, volatile, asked: AtomicUsize::new(0) })
}

fn column() -> BoundExpression {
    let fields: Fields = vec![Field::new("key", DataType::Int32, true)].into();
    let root = Field::new("table", DataType::Struct(fields), false);
    GetItem::of(BoundExpression::root(Arc::new(root)), 0).unwrap()
}

fn compiled(lookup: &Arc<Lookup>) -> PrunePredicate {
    let foreign = ExprKind::Foreign(Arc::clone(lookup) as _);
    PrunePredicate::compile(&BoundExpression::try_new(foreign, vec![column()]).unwrap())
}

struct Zones(Arc<ZoneColumn>);

impl ZoneSource for Zones {
    fn zones(&self, _: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        (level == Level::Page).then(|| Arc::clone(&self.0))
    }
}

/// Zones of so many rows each, by bounds and number of NULLs.
fn zones(rows: u64, zones: &[(Option<i32>, Option<i32>, u64)]) -> Zones {
    let starts: Vec<u64> = (0..=zones.len() as u64).map(|zone| zone * rows).collect();
    let bound = |values: Int32Array| Bound {
        exact: BooleanBuffer::new_unset(values.len()),
        values: Arc::new(values),
    };
    let column = ZoneColumn::unknown(DataType::Int32, starts.into())
        .with_lower(bound(zones.iter().map(|(lower, ..)| *lower).collect()))
        .with_upper(bound(zones.iter().map(|(_, upper, _)| *upper).collect()))
        .with_nulls(zones.iter().map(|(_, _, nulls)| Some(*nulls)).collect());
    Zones(Arc::new(column))
}

fn judge(compiled: &PrunePredicate, zones: &Zones, rows: u64) -> (Vec<u64>, Vec<u64>, usize) {
    let all = RowRanges::all(zones.0.starts().last().copied().unwrap_or(0));
    let Verdicts { may, all, errors } = compiled.judge(zones, &all, &[]);
    let numbers = |ranges: RowRanges<_>| ranges.iter().flat_map(|r| r.start / rows..r.end / rows).collect();
    (numbers(may), numbers(all), errors)
}

#[test]
fn a_lookup_prunes_the_zones_without_keys() {
    let lookup = lookup(&[3, 4, 5, 90], false);
    let compiled = compiled(&lookup);
    let zones = zones(
        1000,
        &[
            (Some(0), Some(2), 0),
            (Some(2), Some(3), 0),
            (Some(3), Some(5), 0),
            (Some(3), Some(5), 7),
            (Some(6), Some(89), 0),
            (Some(4), Some(4), 0),
            (Some(6), Some(6), 9),
            (None, None, 1000),
            (Some(91), None, 0),
        ],
    );
    assert_eq!(judge(&compiled, &zones, 1000), (vec![1, 2, 3, 5, 8], vec![2, 5], 0));
    // Values 0 to 89 and NULL, and two zones of one value and one of none, the latter twice: there TRUE is out.
    assert!(lookup.asked.load(Ordering::Relaxed) <= 91 + 6);
    let before = lookup.asked.load(Ordering::Relaxed);
    assert_eq!(judge(&compiled, &zones, 1000).0, [1, 2, 3, 5, 8]);
    assert!(lookup.asked.load(Ordering::Relaxed) - before <= 6, "values are asked about once");
}

#[rstest]
#[case::few_rows(10, &[(Some(0), Some(99), 0)])]
#[case::many_values(1 << 30, &[(Some(0), Some(1 << 17), 0)])]
#[case::unknown(1 << 30, &[(None, Some(0), 0)])]
fn values_too_many_are_not_asked_about(#[case] rows: u64, #[case] of: &[(Option<i32>, Option<i32>, u64)]) {
    let lookup = lookup(&[-1], false);
    assert_eq!(judge(&compiled(&lookup), &zones(rows, of), rows).0, [0]);
    assert_eq!(lookup.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn a_volatile_predicate_is_not_asked() {
    assert!(!compiled(&lookup(&[1], true)).can_prune());
}

/// Bounds that stand beside a lookup leave it fewer zones, and so fewer values.
#[test]
fn a_lookup_is_asked_about_what_its_bounds_leave() {
    let lookup = lookup(&[1_000_003], false);
    let foreign = ExprKind::Foreign(Arc::clone(&lookup) as _);
    let foreign = BoundExpression::try_new(foreign, vec![column()]).unwrap();
    let is = |op, value: i32| Compare::of(op, column(), BoundExpression::literal(value.into())).unwrap();
    let all = And::of([is(CompareOp::GtEq, 1_000_003), is(CompareOp::LtEq, 1_000_003), foreign]).unwrap();
    let far = (0..100).map(|i| (Some(i * 100_000), Some(i * 100_000 + 5), 0)).collect::<Vec<_>>();
    let found = judge(&PrunePredicate::compile(&all), &zones(1000, &far), 1000);
    assert_eq!((found.0, found.2), (vec![10], 0));
    assert!(lookup.asked.load(Ordering::Relaxed) <= 7);
}

#[test]
fn an_error_keeps_the_zone() {
    let field = |name, data_type| Arc::new(Field::new(name, data_type, true));
    let fields = [field("key", DataType::Int32), field("found", DataType::Boolean)];
    let broken = Lookup { keys: vec![], fields, volatile: false, asked: AtomicUsize::new(0) };
    let foreign = ExprKind::Foreign(Arc::new(Failing(broken)) as _);
    let compiled = PrunePredicate::compile(&BoundExpression::try_new(foreign, vec![column()]).unwrap());
    let (may, all, errors) =
        judge(&compiled, &zones(1000, &[(Some(1), Some(1), 0), (Some(1), Some(9), 0)]), 1000);
    assert_eq!((may, all), (vec![0, 1], vec![]));
    assert!(errors > 0);
}

#[derive(Debug)]
struct Failing(Lookup);

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failing")
    }
}

impl Foreign for Failing {
    fn inputs(&self) -> &[FieldRef] {
        self.0.inputs()
    }

    fn field(&self) -> &FieldRef {
        self.0.field()
    }

    fn evaluate(&self, _inputs: &[ArrayRef], _rows: usize) -> Result<ArrayRef> {
        exec_err!("it always fails")
    }

    fn facts(&self) -> Facts {
        Facts::UNKNOWN
    }

    fn fingerprint(&self) -> u64 {
        1
    }
}

/// Two columns of one value each are a row, unless one holds NULLs too.
#[rstest]
#[case::one_row(0, (1, 1))]
#[case::with_a_null(1, (1, 0))]
fn columns_of_one_value_are_a_row(#[case] nulls: u64, #[case] expect: (usize, usize)) {
    let fields: Fields = ["s", "p"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec().into();
    let root = BoundExpression::root(Arc::new(Field::new("table", DataType::Struct(fields), false)));
    let [s, p] = [0, 1].map(|column| GetItem::of(root.clone(), column).unwrap());
    let like = Like::of(LikeOptions { negated: false, case_insensitive: false }, s, p).unwrap();

    struct Texts(u64);
    impl ZoneSource for Texts {
        fn zones(&self, column: &ColumnPath, _: Level) -> Option<Arc<ZoneColumn>> {
            let (text, nulls) = if column.column.0 == 0 { ("abc", self.0) } else { ("a%", 0) };
            let values: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let bound = || Bound { exact: BooleanBuffer::new_unset(1), values: Arc::clone(&values) };
            let zones = ZoneColumn::unknown(DataType::Utf8, vec![0, 2].into());
            Some(Arc::new(zones.with_lower(bound()).with_upper(bound()).with_nulls(vec![nulls].into())))
        }
    }
    let verdicts = PrunePredicate::compile(&like).judge(&Texts(nulls), &RowRanges::all(2), &[]);
    assert_eq!((verdicts.may.range_count(), verdicts.all.range_count()), expect);
}
