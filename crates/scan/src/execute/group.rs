// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Conjuncts over the same columns, as one: the columns are then decoded, and dictionaries asked, once for all.

use std::collections::BTreeSet;

use trommel_planner::expr::functions::{And, GetItem};
use trommel_planner::expr::{BindError, BoundExpression};

/// The conjuncts with those over the same columns put together, in the place of the first of them.
///
/// None is moved across one that can fail, and that one stays alone: it must not see rows that an earlier
/// conjunct removes.
///
/// # Errors
/// When a conjunct isn't boolean.
pub fn group_by_columns(conjuncts: &[BoundExpression]) -> Result<Vec<BoundExpression>, BindError> {
    let mut groups: Vec<(Option<BTreeSet<usize>>, Vec<BoundExpression>)> = Vec::new();
    let mut movable_from = 0;
    for conjunct in conjuncts {
        let alone = conjunct.can_fail() || conjunct.is_volatile();
        let columns = if alone { None } else { columns(conjunct) };
        let known =
            groups.iter().skip(movable_from).position(|group| columns.is_some() && group.0 == columns);
        match known {
            Some(at) => groups[movable_from + at].1.push(conjunct.clone()),
            None => groups.push((columns, vec![conjunct.clone()])),
        }
        if alone {
            movable_from = groups.len();
        }
    }
    let joined = groups.into_iter().map(|(_, mut group)| match group.len() {
        1 => Ok(group.remove(0)),
        _ => And::of(group),
    });
    joined.collect()
}

/// The columns of the table that an expression reads; `None` when it reads the table itself.
fn columns(expr: &BoundExpression) -> Option<BTreeSet<usize>> {
    let (mut columns, mut stack) = (BTreeSet::new(), vec![expr]);
    while let Some(expr) = stack.pop() {
        let of_root = expr.children().first().is_some_and(BoundExpression::is_root);
        match expr.as_opt::<GetItem>() {
            Some(item) if of_root => _ = columns.insert(*item),
            _ if expr.is_root() => return None,
            _ => stack.extend(expr.children()),
        }
    }
    Some(columns)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};
    use rstest::rstest;
    use trommel_planner::expr::functions::{Cast, Compare, CompareOp, IsNull};

    use super::*;

    fn column(name: char) -> BoundExpression {
        let field = |name: char| Field::new(name, DataType::Int64, true);
        let root = Field::new_struct("table", vec![field('a'), field('b'), field('c')], false);
        GetItem::of(BoundExpression::root(Arc::new(root)), name as usize - 'a' as usize).unwrap()
    }

    /// A conjunct over a column, or over two; in upper case it can fail.
    fn conjunct(name: &str) -> BoundExpression {
        let (first, last) = (name.chars().next().unwrap(), name.chars().last().unwrap());
        let fails = first.is_uppercase();
        let [first, last] = [first, last].map(|c| column(c.to_ascii_lowercase()));
        match (fails, name.len()) {
            (true, _) => {
                let narrow = Cast::of(first, DataType::Int8).unwrap();
                Compare::of(CompareOp::Gt, narrow, BoundExpression::literal(5i8.into())).unwrap()
            }
            (_, 1) => IsNull::of(first, true).unwrap(),
            _ => Compare::of(CompareOp::Lt, first, last).unwrap(),
        }
    }

    #[rstest]
    #[case::nothing("", "")]
    #[case::other_columns("a b", "a b")]
    #[case::same_column("a b a", "aa b")]
    #[case::same_two_columns("ab c ba ab", "ababab c")]
    #[case::one_of_two_is_another_set("ab a", "ab a")]
    #[case::none_crosses_one_that_can_fail("a B a a", "a B aa")]
    #[case::that_one_stays_alone("A a A", "A a A")]
    fn grouped(#[case] conjuncts: &str, #[case] expect: &str) {
        let conjuncts: Vec<_> = conjuncts.split_whitespace().map(conjunct).collect();
        let name = |group: &BoundExpression| {
            let mut read = String::new();
            let mut stack = vec![group];
            while let Some(expr) = stack.pop() {
                match expr.as_opt::<GetItem>() {
                    Some(item) => read.push((b'a' + *item as u8) as char),
                    None => stack.extend(expr.children()),
                }
            }
            let mut read: Vec<_> = read.chars().collect();
            read.sort_unstable();
            let read: String = read.into_iter().collect();
            if group.can_fail() { read.to_uppercase() } else { read }
        };
        let sorted = |text: &str| {
            let mut letters: Vec<_> = text.chars().collect();
            letters.sort_unstable();
            letters.into_iter().collect::<String>()
        };
        let got: Vec<_> = group_by_columns(&conjuncts).unwrap().iter().map(name).collect();
        assert_eq!(got, expect.split_whitespace().map(sorted).collect::<Vec<_>>());
    }
}
