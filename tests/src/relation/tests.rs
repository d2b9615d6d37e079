// Licensed under the Apache License, Version 2.0. See LICENSE.

use rstest::rstest;

use super::*;

fn number(value: i64) -> ScalarValue {
    ScalarValue::Int64(Some(value))
}

fn answer(rows: Vec<Row>) -> Answer {
    let types = rows.first().map(|row| row.iter().map(ScalarValue::data_type).collect());
    Answer { types: types.unwrap_or_default(), rows }
}

/// An answer of integer columns.
fn ints<const N: usize>(rows: &[[i64; N]]) -> Answer {
    let rows = rows.iter().map(|row| row.iter().copied().map(number).collect()).collect();
    Answer { types: vec![DataType::Int64; N], rows }
}

/// An answer of one integer column and, as sort keys, floats and integers.
fn floats(rows: &[(i64, f64, i64)]) -> Answer {
    let row = |(id, x, y): &(i64, f64, i64)| vec![number(*id), ScalarValue::Float64(Some(*x)), number(*y)];
    answer(rows.iter().map(row).collect())
}

fn holds(relation: &Relation, full: &Answer, actual: &Answer) -> bool {
    relation.check::<String, String>(&Ok(full.clone()), &Ok(actual.clone())).is_ok()
}

#[rstest]
#[case::any_order(&[[1], [2], [2]], &[[2], [1], [2]], true)]
#[case::a_row_missing(&[[1], [2], [2]], &[[1], [2]], false)]
#[case::a_row_too_many(&[[1]], &[[1], [1]], false)]
#[case::another_row(&[[1], [2]], &[[1], [3]], false)]
#[case::other_multiplicities(&[[1], [1], [2]], &[[1], [2], [2]], false)]
#[case::both_empty(&[], &[], true)]
fn a_multiset(#[case] full: &[[i64; 1]], #[case] actual: &[[i64; 1]], #[case] right: bool) {
    assert_eq!(holds(&Relation::default(), &ints(full), &ints(actual)), right);
}

// Rows are (id, key): 10 and 11 tie, as do 20 and 21.
const ORDERED: [[i64; 2]; 5] = [[10, 1], [11, 1], [20, 2], [21, 2], [30, 3]];

#[rstest]
#[case::as_given(None, &[10, 11, 20, 21, 30], true)]
#[case::ties_swapped(None, &[11, 10, 21, 20, 30], true)]
#[case::out_of_order(None, &[10, 20, 11, 21, 30], false)]
#[case::limit_in_a_tie(Some((0, 3)), &[11, 10, 21], true)]
#[case::limit_takes_a_tie_twice(Some((0, 3)), &[11, 11, 21], false)]
#[case::limit_skips_a_smaller_row(Some((0, 3)), &[10, 20, 21], false)]
#[case::limit_too_short(Some((0, 3)), &[10, 11], false)]
#[case::limit_too_long(Some((0, 3)), &[10, 11, 20, 21], false)]
#[case::offset_in_a_tie(Some((1, 2)), &[10, 20], true)]
#[case::offset_in_a_tie_other(Some((1, 2)), &[11, 21], true)]
#[case::offset_ignored(Some((1, 2)), &[10, 11], false)]
#[case::offset_behind_the_end(Some((9, 2)), &[], true)]
#[case::limit_zero(Some((0, 0)), &[], true)]
fn an_order(#[case] window: Option<(usize, usize)>, #[case] ids: &[i64], #[case] right: bool) {
    let window = window.map(|(skip, fetch)| Window { skip, fetch });
    let relation = Relation { keys: 1, window, ..Relation::default() };
    let actual = ints(&ids.iter().map(|id| [*id]).collect::<Vec<_>>());
    assert_eq!(holds(&relation, &ints(&ORDERED), &actual), right);
}

#[rstest]
#[case::any_two(&[[3], [1]], true)]
#[case::one_twice(&[[1], [1]], false)]
#[case::a_stranger(&[[1], [9]], false)]
#[case::too_few(&[[1]], false)]
#[case::too_many(&[[1], [2], [3]], false)]
fn a_limit_without_order(#[case] actual: &[[i64; 1]], #[case] right: bool) {
    let relation = Relation { window: Some(Window { skip: 0, fetch: 2 }), ..Relation::default() };
    assert_eq!(holds(&relation, &ints(&[[1], [2], [3], [4]]), &ints(actual)), right);
}

// Rows are (id, x, y), ordered by x and y as a full sort does: −0.0 before +0.0.
const ZEROS: [(i64, f64, i64); 5] = [(1, -1.0, 0), (2, -0.0, 5), (3, 0.0, 1), (4, 0.0, 7), (5, 1.0, 0)];

#[rstest]
#[case::heap_order(Some(2), &[1, 2], true)]
#[case::filter_order(Some(2), &[1, 3], true)]
#[case::neither(Some(2), &[1, 5], false)]
#[case::behind_the_zeros(Some(4), &[1, 3, 2, 4], true)]
#[case::a_zero_left_out(Some(4), &[1, 3, 2, 5], false)]
#[case::without_limit_total_order(None, &[1, 2, 3, 4, 5], true)]
#[case::without_limit_no_tie(None, &[1, 3, 2, 4, 5], false)]
fn signed_zeros_tie_under_a_limit(#[case] limit: Option<usize>, #[case] ids: &[i64], #[case] right: bool) {
    let window = limit.map(|fetch| Window { skip: 0, fetch });
    let relation = Relation { keys: 2, window, ..Relation::default() };
    let actual = ints(&ids.iter().map(|id| [*id]).collect::<Vec<_>>());
    assert_eq!(holds(&relation, &floats(&ZEROS), &actual), right);
}

#[test]
fn zeros_of_one_sign_leave_the_later_keys_their_say() {
    let full = floats(&[(1, 0.0, 1), (2, 0.0, 2)]);
    let relation = Relation { keys: 2, window: Some(Window { skip: 0, fetch: 1 }), ..Relation::default() };
    assert!(holds(&relation, &full, &ints(&[[1]])));
    assert!(!holds(&relation, &full, &ints(&[[2]])));
}

#[rstest]
#[case::the_same(0.0, 0.0, true)]
#[case::other_zero(0.0, -0.0, false)]
#[case::nan(f64::NAN, f64::NAN, true)]
#[case::other_nan(f64::NAN, -f64::NAN, false)]
#[case::last_bit(1.0, 1.0 + f64::EPSILON, false)]
fn values_are_compared_to_the_bit(#[case] full: f64, #[case] actual: f64, #[case] right: bool) {
    let one = |x: f64| answer(vec![vec![ScalarValue::Float64(Some(x))]]);
    assert_eq!(holds(&Relation::default(), &one(full), &one(actual)), right);
}

#[rstest]
#[case::rounded(1.0, 1.0 + f64::EPSILON, 1.0, true)]
#[case::cancelled(0.0, 1e-7, 1e6, true)]
#[case::too_far(0.0, 1e-5, 1e6, false)]
#[case::any_nan(f64::NAN, -f64::NAN, 1.0, true)]
#[case::infinite(f64::INFINITY, f64::INFINITY, 1.0, true)]
#[case::not_infinite(f64::INFINITY, 1.0, 1.0, false)]
fn sums_are_compared_up_to_rounding(
    #[case] full: f64,
    #[case] actual: f64,
    #[case] magnitude: f64,
    #[case] right: bool,
) {
    let one = |x: f64| answer(vec![vec![number(1), ScalarValue::Float64(Some(x))]]);
    let relation = Relation { sums: vec![(1, magnitude)], ..Relation::default() };
    assert_eq!(holds(&relation, &one(full), &one(actual)), right);
    let other_group = answer(vec![vec![number(2), ScalarValue::Float64(Some(full))]]);
    assert!(!holds(&relation, &one(full), &other_group), "only the sum is rounded");
}

#[test]
fn a_null_is_not_a_value() {
    let null = answer(vec![vec![ScalarValue::Int64(None)]]);
    assert!(!holds(&Relation::default(), &null, &ints(&[[0]])));
    assert!(holds(&Relation::default(), &null, &null));
}

#[test]
fn types_count_but_not_how_strings_are_encoded() {
    let one = |value: ScalarValue| {
        let array = value.to_array().unwrap();
        let batch = RecordBatch::try_from_iter([("x", array)]).unwrap();
        Answer::try_new(&batch.schema(), &[batch]).unwrap()
    };
    let utf8 = one(ScalarValue::Utf8(Some("a".into())));
    assert!(holds(&Relation::default(), &utf8, &one(ScalarValue::Utf8View(Some("a".into())))));
    assert!(!holds(&Relation::default(), &utf8, &one(ScalarValue::Utf8View(Some("b".into())))));
    let int = one(ScalarValue::Int64(Some(1)));
    assert!(!holds(&Relation::default(), &int, &one(ScalarValue::Int32(Some(1)))));
}

#[test]
fn errors_may_vanish_but_not_appear() {
    let answer: Result<Answer, String> = Ok(ints(&[[1]]));
    let error: Result<Answer, String> = Err("divide by zero".to_owned());
    assert!(Relation::default().check(&error, &answer).is_ok());
    assert!(Relation::default().check(&error, &error).is_ok());
    let found = Relation::default().check(&answer, &error).unwrap_err().to_string();
    assert_eq!(found, "an error where 1 rows are: divide by zero");
}

#[test]
fn a_finding_names_the_row_and_the_choice() {
    let relation = Relation { keys: 1, ..Relation::default() };
    let error = relation
        .check::<String, String>(&Ok(ints(&ORDERED[..3])), &Ok(ints(&[[10], [12], [20]])))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "row 1 (12) is not (or not as often) among the rows of that rank: (11)×1");
}
