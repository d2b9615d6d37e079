// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Lowering and execution of a real file, against its rows.

mod claims;
mod fixture;

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, UInt64Array, new_empty_array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion_common::ScalarValue;
use futures::executor::block_on;
use insta::assert_snapshot;
use object_store::ObjectStoreExt as _;
use proptest::prelude::*;
use rstest::rstest;
use trommel_planner::codec::{ExprCodec, PlanCodec};
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{And, Cast, Compare, CompareOp, GetItem, IsNull, Or};
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::plan::RowIdxPlan;

use self::fixture::{COLUMNS, Fixture, ROWS, Row, row};
use super::*;
use crate::explain::explain_plan;
use crate::lower::{self, lower, table_field};

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| block_on(Fixture::new()));

fn number(name: &str) -> usize {
    COLUMNS.iter().position(|c| *c == name).unwrap()
}

fn column(name: &str) -> BoundExpression {
    let table = BoundExpression::root(table_field(FIXTURE.table()));
    GetItem::of(table, number(name)).unwrap()
}

fn compare(op: CompareOp, left: BoundExpression, value: impl Into<ScalarValue>) -> BoundExpression {
    let value = value.into().cast_to(left.field().data_type()).unwrap();
    Compare::of(op, left, BoundExpression::literal(value)).unwrap()
}

/// What a predicate is for a row: true or not, or an error.
type Truth = fn(&Row) -> Option<bool>;

/// A predicate as an expression and as a Rust function, which gives `None` where the expression fails.
fn predicate(name: &str) -> (BoundExpression, Truth) {
    let text_number = || Cast::of(column("text"), DataType::Int64).unwrap();
    let or_null = |e: BoundExpression, op| compare(op, e, 40i64);
    match name {
        "k > 120" => (compare(CompareOp::Gt, column("k"), 120i64), |r| Some(r.k.is_some_and(|k| k > 120))),
        "wide > 40" => (or_null(column("wide"), CompareOp::Gt), |r| Some(r.wide.is_some_and(|w| w > 40))),
        "k > wide" => (Compare::of(CompareOp::Gt, column("k"), column("wide")).unwrap(), |r| {
            Some(r.k.zip(r.wide).is_some_and(|(k, w)| k > w))
        }),
        "dict = red" => (compare(CompareOp::Eq, column("dict"), "red"), |r| Some(r.dict == Some("red"))),
        "nest.x < 9" => (compare(CompareOp::Lt, GetItem::of(column("nest"), 0).unwrap(), 9i64), |r| {
            Some(r.x.is_some_and(|x| x < 9))
        }),
        "nest.y = y20" => (compare(CompareOp::Eq, GetItem::of(column("nest"), 1).unwrap(), "y20"), |r| {
            Some(r.y == Some(20))
        }),
        "nest.y = y20 or nest.x < 3" => {
            let x = compare(CompareOp::Lt, GetItem::of(column("nest"), 0).unwrap(), 3i64);
            (Or::of([predicate("nest.y = y20").0, x]).unwrap(), |r| {
                Some(r.y == Some(20) || r.x.is_some_and(|x| x < 3))
            })
        }
        "nest is null or nest.x < 9" => {
            let null = IsNull::of(column("nest"), false).unwrap();
            (Or::of([null, predicate("nest.x < 9").0]).unwrap(), |r| {
                Some(r.y.is_none() || r.x.is_some_and(|x| x < 9))
            })
        }
        "list is not null" => (IsNull::of(column("list"), true).unwrap(), |r| Some(r.list)),
        "missing is null" => (IsNull::of(column("missing"), false).unwrap(), |_| Some(true)),
        "missing = 40" => (or_null(column("missing"), CompareOp::Eq), |_| Some(false)),
        "part = north" => (compare(CompareOp::Eq, column("part"), "north"), |_| Some(true)),
        "text <> bad" => (compare(CompareOp::NotEq, column("text"), "bad"), |r| Some(r.number.is_some())),
        "text::int < 40" => (or_null(text_number(), CompareOp::Lt), |r| r.number.map(|n| n < 40)),
        "text <> bad and text::int < 40" => {
            let guard = compare(CompareOp::NotEq, column("text"), "bad");
            let number = or_null(text_number(), CompareOp::Lt);
            (And::of([guard, number]).unwrap(), |r| Some(r.number.is_some_and(|n| n < 40)))
        }
        name => panic!("no predicate {name}"),
    }
}

const PREDICATES: [&str; 15] = [
    "k > 120",
    "wide > 40",
    "k > wide",
    "dict = red",
    "nest.x < 9",
    "nest.y = y20",
    "nest.y = y20 or nest.x < 3",
    "nest is null or nest.x < 9",
    "list is not null",
    "missing is null",
    "missing = 40",
    "part = north",
    "text <> bad",
    "text::int < 40",
    "text <> bad and text::int < 40",
];

fn read(
    fixture: &Fixture,
    projection: &[usize],
    conjuncts: &[BoundExpression],
    rows: &RowRanges<FragmentRows>,
    proven: &RowRanges<FragmentRows>,
) -> Result<Output, ScanError> {
    let projection: Vec<_> = projection.iter().map(|c| path(*c)).collect();
    let extra = [lower::Extra::RowNumber(FIRST)];
    let wanted = lower::Output { columns: &projection, extra: &extra };
    let plan = ReadPlan::new(&fixture.fragment, wanted, &counted(conjuncts))?;
    let morsel = Morsel { rows, proven, live: &[], at_once: rows.range_count().is_multiple_of(2) };
    let mut output =
        collect(block_on(read_morsel(&fixture.fragment, &plan, morsel, &fixture.io, STEP))?, &plan)?;
    output.numbers = output.columns.pop();
    Ok(output)
}

/// What there is to put out: the table's columns, then the fields of `nest`.
fn path(number: usize) -> ColumnPath {
    match number.checked_sub(COLUMNS.len()) {
        None => TableCol(number).into(),
        Some(field) => ColumnPath {
            fields: [field as u32].into_iter().collect(),
            ..TableCol(COLUMNS.iter().position(|name| *name == "nest").unwrap()).into()
        },
    }
}

/// What that holds; where `nest` is NULL, so are its fields.
fn expected(number: usize) -> &'static ArrayRef {
    match path(number) {
        ColumnPath { column, fields } if fields.is_empty() => &FIXTURE.expected[column.0],
        ColumnPath { column, fields } => FIXTURE.expected[column.0].as_struct().column(fields[0] as usize),
    }
}

/// The number of the fragment's first row.
const FIRST: u64 = 1000;

fn columns(columns: &[ColumnPath]) -> lower::Output<'_> {
    lower::Output { columns, extra: &[] }
}

/// How many output rows are asked for at a time.
const STEP: usize = 30;

fn counted(conjuncts: &[BoundExpression]) -> Vec<(BoundExpression, Arc<StepCounts>)> {
    conjuncts.iter().map(|conjunct| (conjunct.clone(), Arc::default())).collect()
}

/// All output of a morsel.
#[derive(Debug)]
struct Output {
    columns: Vec<ArrayRef>,
    /// The numbers of the rows, where they were asked for.
    numbers: Option<ArrayRef>,
    rows: u64,
    rows_decoded: u64,
}

fn collect(mut batches: MorselBatches, plan: &ReadPlan) -> Result<Output, ScanError> {
    let mut columns: Vec<_> = plan
        .projection()
        .children()
        .shapes()
        .iter()
        .map(|s| vec![new_empty_array(s.field.data_type())])
        .collect();
    let (rows, rows_decoded, mut seen) = (batches.rows(), batches.rows_decoded(), 0);
    while let Some(batch) = batches.next(STEP)? {
        assert!(batch.rows > 0 && batch.rows <= STEP);
        assert!(batch.columns.iter().all(|column| column.len() == batch.rows));
        seen += batch.rows as u64;
        columns.iter_mut().zip(batch.columns).for_each(|(all, more)| all.push(more));
    }
    assert_eq!(seen, rows);
    let whole =
        |parts: &Vec<ArrayRef>| concat(&parts.iter().map(|p| p.as_ref()).collect::<Vec<_>>()).unwrap();
    Ok(Output { columns: columns.iter().map(whole).collect(), numbers: None, rows, rows_decoded })
}

fn ranges(rows: impl IntoIterator<Item = usize>) -> RowRanges<FragmentRows> {
    rows.into_iter().map(|i| i as u64..i as u64 + 1).collect()
}

/// The rows that satisfy all predicates, asked in order; `None` when one fails for a row it must see.
fn survivors(rows: &[usize], proven: &[usize], truths: &[Truth]) -> Option<Vec<usize>> {
    let passes = |i: &usize| {
        let mut asked = truths.iter().filter(|_| !proven.contains(i));
        // The first predicate that isn't true decides, be it false or an error.
        asked.find_map(|truth| match truth(&row(*i)) {
            Some(true) => None,
            other => Some(other),
        })
    };
    let passed: Vec<_> = rows.iter().map(|i| (*i, passes(i))).collect();
    let failed = passed.iter().any(|(_, passes)| *passes == Some(None));
    (!failed).then(|| passed.into_iter().filter(|(_, p)| p.is_none()).map(|(i, _)| i).collect())
}

/// Sorted row numbers: a few runs, or many single rows.
fn some_rows() -> impl Strategy<Value = Vec<usize>> {
    let runs = prop::collection::vec((0..ROWS, 1..160usize), 0..4).prop_map(|runs| {
        (0..ROWS).filter(|i| runs.iter().any(|(from, len)| (*from..from + len).contains(i))).collect()
    });
    let singles = (2usize..9, 0..9usize).prop_map(|(n, skip)| (0..ROWS).skip(skip).step_by(n).collect());
    prop_oneof![4 => runs, 1 => singles, 1 => Just((0..ROWS).collect())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn output_is_what_filtering_all_rows_gives(
        rows in some_rows(),
        known in some_rows(),
        predicates in prop::collection::vec(prop::sample::select(PREDICATES.to_vec()), 0..4),
        projection in prop::collection::vec(0..COLUMNS.len() + 2, 0..5),
    ) {
        let (conjuncts, truths): (Vec<_>, Vec<_>) = predicates.iter().map(|p| predicate(p)).unzip();
        // Rows that are known to satisfy the predicates do.
        let satisfied = |i: &usize| truths.iter().all(|t| t(&row(*i)) == Some(true));
        let proven: Vec<_> = known.into_iter().filter(satisfied).collect();
        let output = read(&FIXTURE, &projection, &conjuncts, &ranges(rows.clone()), &ranges(proven.clone()));
        let Some(left) = survivors(&rows, &proven, &truths) else {
            let error = output.unwrap_err().to_string();
            prop_assert!(error.contains("part=north/file.parquet") && error.contains("bad"), "{error}");
            return Ok(());
        };
        let output = output.unwrap();
        prop_assert_eq!(output.rows as usize, left.len());
        prop_assert!(output.rows_decoded as usize <= rows.len());
        prop_assert_eq!(output.columns.len(), projection.len());
        let indices: UInt64Array = left.iter().map(|i| *i as u64).collect();
        let numbers: UInt64Array = left.iter().map(|i| FIRST + *i as u64).collect();
        let given = output.numbers.unwrap();
        prop_assert_eq!(given.as_primitive::<UInt64Type>(), &numbers);
        for (column, values) in projection.iter().zip(&output.columns) {
            prop_assert_eq!(values.data_type(), expected(*column).data_type());
            prop_assert_eq!(values, &take(expected(*column), &indices, None).unwrap(), "{}", path(*column));
        }
    }
}

#[test]
fn a_conjunct_does_not_see_rows_that_an_earlier_one_removed() {
    let (guard, number) = (predicate("text <> bad").0, predicate("text::int < 40").0);
    let (all, none) = (RowRanges::all(ROWS as u64), RowRanges::empty());
    assert!(read(&FIXTURE, &[0], &[guard.clone(), number.clone()], &all, &none).unwrap().rows > 0);
    let error = read(&FIXTURE, &[0], &[number, guard], &all, &none).unwrap_err().to_string();
    assert!(error.contains("file.parquet") && error.contains("bad"), "{error}");
}

/// What needs no segment does no I/O, whatever is asked of it: the file isn't even there.
#[rstest]
#[case::count(&[], &[], ROWS as u64)]
#[case::constants(&["part", "missing"], &[], ROWS as u64)]
#[case::constant_filter(&["part"], &["part = north", "missing is null"], ROWS as u64)]
#[case::never(&["part"], &["part = north", "missing = 40"], 0)]
fn plans_without_segments_read_nothing(#[case] names: &[&str], #[case] filters: &[&str], #[case] rows: u64) {
    let fixture = block_on(Fixture::new());
    block_on(fixture.store.delete(&fixture.fragment.fragment.location)).unwrap();
    let requests = fixture.counters.requests();
    let projection: Vec<_> = names.iter().map(|n| number(n)).collect();
    let conjuncts: Vec<_> = filters.iter().map(|p| predicate(p).0).collect();
    let all = RowRanges::all(ROWS as u64);
    let output = read(&fixture, &projection, &conjuncts, &all, &RowRanges::empty()).unwrap();
    assert_eq!((output.rows, output.rows_decoded, output.columns.len()), (rows, 0, names.len()));
    assert!(output.columns.iter().all(|c| c.len() as u64 == rows));
    assert_eq!(fixture.counters.requests(), requests);
}

/// A filter on a field of a struct reads that leaf of the column, and no other.
#[rstest]
#[case::one("nest.x < 9", &["nest.x"])]
#[case::other("nest.y = y20", &["nest.y"])]
#[case::both("nest.y = y20 or nest.x < 3", &["nest.x", "nest.y"])]
#[case::whole("nest is null or nest.x < 9", &["nest.x", "nest.y"])]
fn bytes_of_a_filter_on_a_field(#[case] filter: &str, #[case] leaves: &[&str]) {
    let fixture = block_on(Fixture::new());
    let before = fixture.counters.bytes();
    let all = RowRanges::all(ROWS as u64);
    let output = read(&fixture, &[], &[predicate(filter).0], &all, &RowRanges::empty()).unwrap();
    let expected = (0..ROWS).filter(|i| predicate(filter).1(&row(*i)) == Some(true)).count();
    assert_eq!(output.rows as usize, expected);
    let chunks = fixture.fragment.metadata.parquet().row_groups().iter().flat_map(|group| group.columns());
    let of_leaves = chunks.filter(|chunk| leaves.contains(&chunk.column_path().string().as_str()));
    let bytes: i64 = of_leaves.map(|chunk| chunk.compressed_size()).sum();
    assert_eq!(fixture.counters.bytes() - before, bytes as u64);
}

/// An output of a field reads that leaf of the column, and no other.
#[rstest]
#[case::x(COLUMNS.len(), "nest.x")]
#[case::y(COLUMNS.len() + 1, "nest.y")]
fn bytes_of_a_field_put_out(#[case] number: usize, #[case] leaf: &str) {
    let fixture = block_on(Fixture::new());
    let before = fixture.counters.bytes();
    let (all, none) = (RowRanges::all(ROWS as u64), RowRanges::empty());
    assert_eq!(read(&fixture, &[number], &[], &all, &none).unwrap().rows, ROWS as u64);
    let chunks = fixture.fragment.metadata.parquet().row_groups().iter().flat_map(|group| group.columns());
    let bytes: i64 = chunks.filter(|c| c.column_path().string() == leaf).map(|c| c.compressed_size()).sum();
    assert_eq!(fixture.counters.bytes() - before, bytes as u64);
}

/// Columns of proven rows are read for the output only, and segments that turn out not to matter aren't
/// decoded.
#[rstest]
#[case::nothing_proven(&["k"], "wide > 40", 0..0, ROWS as u64)]
#[case::all_proven(&[], "list is not null", 0..350, 0)]
#[case::a_row_group_proven(&[], "list is not null", 100..200, 250)]
#[case::output_of_proven_rows(&["k"], "list is not null", 0..350, ROWS as u64)]
#[case::no_survivor(&["k"], "missing = 40", 0..0, 0)]
fn rows_decoded(
    #[case] names: &[&str],
    #[case] filter: &str,
    #[case] proven: Range<u64>,
    #[case] decoded: u64,
) {
    let projection: Vec<_> = names.iter().map(|n| number(n)).collect();
    let (all, proven) = (RowRanges::all(ROWS as u64), RowRanges::single(proven));
    let output = read(&FIXTURE, &projection, &[predicate(filter).0], &all, &proven).unwrap();
    assert_eq!(output.rows_decoded, decoded);
}

#[test]
fn rows_that_the_fragment_lacks_are_an_error() {
    let rows = RowRanges::single(340..351);
    let error = read(&FIXTURE, &[], &[], &rows, &RowRanges::empty()).unwrap_err().to_string();
    assert!(error.contains("file.parquet"), "{error}");
}

/// A column declared NOT NULL may be optional in the file, as long as it has no NULL.
#[rstest]
#[case::no_nulls("text", None)]
#[case::nulls("k", Some("column \"k\" is declared NOT NULL, but has NULLs in row group 1"))]
fn columns_declared_not_null(#[case] name: &str, #[case] error: Option<&str>) {
    let fields = FIXTURE.table().fields().iter().map(|f| match f.name() == name {
        true => f.as_ref().clone().with_nullable(false),
        false => f.as_ref().clone(),
    });
    let table = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let OpenFragment { fragment, metadata, .. } = &FIXTURE.fragment;
    let fragment = OpenFragment::open(Arc::clone(fragment), Arc::clone(metadata), &table, 1).unwrap();
    let plan = ReadPlan::new(&fragment, columns(&[TableCol(number(name)).into()]), &[]).unwrap();
    let (rows, proven) = (RowRanges::single(150..200), RowRanges::empty());
    let morsel = Morsel { rows: &rows, proven: &proven, live: &[], at_once: false };
    let output = block_on(read_morsel(&fragment, &plan, morsel, &FIXTURE.io, STEP));
    let output = output.and_then(|batches| collect(batches, &plan));
    match error {
        None => assert_eq!(output.unwrap().rows, 50),
        Some(error) => assert!(output.unwrap_err().to_string().ends_with(error)),
    }
}

#[test]
fn a_fragment_is_lowered_as_it_is_looked_at() {
    let plan = lower(&FIXTURE.fragment).unwrap();
    assert_snapshot!(plan.tree(), @r"
    pack: struct of 8 × 350
      k … part not made yet
    ");
    for name in ["k", "wide", "missing", "part"] {
        let column = plan.child(number(name)).unwrap();
        if name == "wide" {
            column.child(0).unwrap().child(1).unwrap();
        }
    }
    assert_snapshot!(plan.tree(), @r"
    pack: struct of 8 × 350
      k = concat: Int64? × 350
        0 … 3 not made yet
      wide = eval(CAST($ AS Int64)): Int64? × 350
        input = concat: Int32? × 350
          0 not made yet
          1 = segment_scan(row group 1, column 2): Int32? × 100
          2 … 3 not made yet
      dict … text not made yet
      missing = eval(NULL): Int64? × 350
        input = pack: struct of 0 × 350
      part = eval('north'): Utf8 × 350
        input = pack: struct of 0 × 350
    ");
}

#[test]
fn plans_of_a_scan() {
    let conjuncts = ["wide > 40", "k > wide", "nest.x < 9", "part = north"].map(|p| predicate(p).0);
    let projection = ["wide", "dict", "part"].map(|name| TableCol(number(name)).into());
    let plan = ReadPlan::new(&FIXTURE.fragment, columns(&projection), &counted(&conjuncts)).unwrap();
    let wide = plan.steps()[0].plan();
    wide.child(2).unwrap();
    assert_snapshot!(wide.tree(), @r"
    concat: Boolean? × 350
      0 … 1 not made yet
      2 = eval(CAST($ AS Int64) > 40): Boolean? × 100
        input = segment_scan(row group 2, column 2): Int32? × 100
      3 not made yet
    ");
    assert_snapshot!(plan.steps()[1].plan().tree(), @r"
    eval($.@k > $.@wide): Boolean? × 350
      input = pack: struct of 2 × 350
        @k = concat: Int64? × 350
          0 … 3 not made yet
        @wide = concat: Int64? × 350
          0 … 3 not made yet
    ");
    assert_snapshot!(plan.steps()[2].plan().tree(), @r"
    concat: Boolean? × 350
      0 … 3 not made yet
    ");
    assert_snapshot!(plan.steps()[3].plan().tree(), @r"
    eval('north' = 'north'): Boolean × 350
      input = pack: struct of 0 × 350
    ");
    assert_snapshot!(plan.projection().tree(), @r"
    pack: struct of 3 × 350
      wide = concat: Int64? × 350
        0 … 3 not made yet
      dict = concat: Dictionary(Int32, Utf8)? × 350
        0 … 3 not made yet
      part = eval('north'): Utf8 × 350
        input = pack: struct of 0 × 350
    ");
}

#[test]
fn a_query_explained() {
    let requests = FIXTURE.counters.requests();
    let names = ["k", "part"].map(|name| TableCol(number(name)).into());
    let predicate = And::of(["nest.x < 9", "nest.y = y20"].map(|p| predicate(p).0)).unwrap();
    let explained = explain_plan(&FIXTURE.fragment, &names, Some(&predicate)).unwrap();
    assert_snapshot!(explained, @r"
    before pushdown:
    eval({k: $.k, part: $.part}): struct of 2 × some of 350
      input = filter: struct of 8 × some of 350
        input = pack: struct of 8 × 350
          k = concat: Int64? × 350
            0 = segment_scan(row group 0, column 1): Int64? × 100
            1 … 3 not made yet
          wide = eval(CAST($ AS Int64)): Int64? × 350
            input = concat: Int32? × 350
              0 = segment_scan(row group 0, column 2): Int32? × 100
              1 … 3 not made yet
          dict = concat: Dictionary(Int32, Utf8)? × 350
            0 = segment_scan(row group 0, column 3): Dictionary(Int32, Utf8)? × 100
            1 … 3 not made yet
          nest = concat: struct of 2? × 350
            0 = segment_scan(row group 0, column 0): struct of 2? × 100
            1 … 3 not made yet
          list = concat: List(Int32)? × 350
            0 = segment_scan(row group 0, column 4): List(Int32)? × 100
            1 … 3 not made yet
          text = concat: Utf8View? × 350
            0 = segment_scan(row group 0, column 5): Utf8View? × 100
            1 … 3 not made yet
          missing = eval(NULL): Int64? × 350
            input = pack: struct of 0 × 350
          part = eval('north'): Utf8 × 350
            input = pack: struct of 0 × 350
        predicate = eval(($.nest.x < 9 AND $.nest.y = 'y20')): Boolean? × 350
          input = pack: struct of 8 × 350
            k = concat: Int64? × 350
              0 = segment_scan(row group 0, column 1): Int64? × 100
              1 … 3 not made yet
            wide = eval(CAST($ AS Int64)): Int64? × 350
              input = concat: Int32? × 350
                0 = segment_scan(row group 0, column 2): Int32? × 100
                1 … 3 not made yet
            dict = concat: Dictionary(Int32, Utf8)? × 350
              0 = segment_scan(row group 0, column 3): Dictionary(Int32, Utf8)? × 100
              1 … 3 not made yet
            nest = concat: struct of 2? × 350
              0 = segment_scan(row group 0, column 0): struct of 2? × 100
              1 … 3 not made yet
            list = concat: List(Int32)? × 350
              0 = segment_scan(row group 0, column 4): List(Int32)? × 100
              1 … 3 not made yet
            text = concat: Utf8View? × 350
              0 = segment_scan(row group 0, column 5): Utf8View? × 100
              1 … 3 not made yet
            missing = eval(NULL): Int64? × 350
              input = pack: struct of 0 × 350
            part = eval('north'): Utf8 × 350
              input = pack: struct of 0 × 350

    after pushdown:
    filter: struct of 2 × some of 350
      input = eval({k: $.@k, part: $.@part}): struct of 2 × 350
        input = pack: struct of 2 × 350
          @k = concat: Int64? × 350
            0 = segment_scan(row group 0, column 1): Int64? × 100
            1 … 3 not made yet
          @part = eval('north'): Utf8 × 350
            input = pack: struct of 0 × 350
      predicate = concat: Boolean? × 350
        0 = eval(($.@x AND $.@y)): Boolean? × 100
          input = pack: struct of 2 × 100
            @x = eval($ < 9): Boolean? × 100
              input = segment_scan(row group 0, column 0.0): Int64? × 100
            @y = eval($ = 'y20'): Boolean? × 100
              input = segment_scan(row group 0, column 0.1): Utf8? × 100
        1 … 3 not made yet
    ");
    assert_snapshot!(explained.after.line(), @"filter [input = eval({k: $.@k, part: $.@part}) [input = pack [@k = concat [0 = segment_scan(row group 0, column 1), …], @part = eval('north') [input = pack]]], predicate = concat [0 = eval(($.@x AND $.@y)) [input = pack [@x = eval($ < 9) [input = segment_scan(row group 0, column 0.0)], @y = eval($ = 'y20') [input = segment_scan(row group 0, column 0.1)]]], …]]");
    let all = explain_plan(&FIXTURE.fragment, &names[1..], None).unwrap();
    assert_snapshot!(all.after.tree(), @r"
    eval({part: 'north'}): struct of 1 × 350
      input = pack: struct of 0 × 350
    ");
    assert_eq!(FIXTURE.counters.requests(), requests);
}

#[test]
fn operators_that_no_file_is_lowered_to_are_refused() {
    let rows: PlanRef = RowIdxPlan::try_new(0, ROWS as u64).unwrap().into();
    let bytes = PlanCodec::default().encode(&rows).unwrap();
    let unknown = PlanCodec::empty(ExprCodec::empty()).decode(&bytes).unwrap();
    let OpenFragment { fragment, metadata, segments, .. } = &FIXTURE.fragment;
    let part = &Part::of(&RowRanges::all(ROWS as u64), metadata.row_groups()).next().unwrap();
    let context = Context { path: &fragment.location, segments };
    let error = Prepared::new(&unknown, 0, part, None, context).unwrap_err().to_string();
    assert!(error.contains("can't run unknown(trommel.row_idx)"), "{error}");
}

/// A conjunct on trial drops rows among the first it is asked for, and no others.
#[test]
fn a_conjunct_on_trial_spares_most_rows() {
    use super::filter::split_at;
    let bits: BooleanBuffer = (0..100).map(|at| at % 3 == 0).collect();
    for bits in [None, Some(&bits)] {
        let all: Vec<_> = bits.map_or((0..100).collect(), |bits| bits.set_indices().collect());
        for count in [0, 1, 10, 33, 34, 100, 200] {
            let (asked, spared) = split_at(bits, count, 100);
            let (asked, spared): (Vec<_>, Vec<_>) =
                (asked.unwrap().set_indices().collect(), spared.unwrap().set_indices().collect());
            assert_eq!([asked.clone(), spared].concat(), all);
            assert_eq!(asked.len(), count.min(all.len()));
        }
    }
}
