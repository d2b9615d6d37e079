// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `LIKE` and `ILIKE` judged by what is known of a zone, against the matches of its strings: a zone with a match is read,
//! one said to match wholly does; so do the rewritten predicate and the given one match the same.
//!
//! The first byte says which operator and what is known. Lines follow: the pattern, then the strings, of which `NULL` is
//! NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringArray, StructArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use trommel_planner::expr::functions::{GetItem, Like, LikeOptions};
use trommel_planner::expr::{BoundExpression, Input, evaluate_predicate};
use trommel_planner::index::ColumnPath;
use trommel_planner::optimizer::{ExpressionOptimizer, Position};
use trommel_planner::pruning::{Bound, Level, PrunePredicate, ZoneColumn, ZoneSource};
use trommel_planner::rows::RowRanges;

/// The zone of the only column.
struct Zone(Arc<ZoneColumn>);

impl ZoneSource for Zone {
    fn zones(&self, _column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        (level == Level::RowGroup).then(|| Arc::clone(&self.0))
    }
}

thread_local! {
    static OPTIMIZER: ExpressionOptimizer = ExpressionOptimizer::default();
}

pub fn run(data: &[u8]) {
    let Some((how, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines();
    let pattern = lines.next().unwrap_or_default();
    let strings: Vec<_> = lines.map(|line| (line != "NULL").then_some(line)).take(16).collect();

    let fields = Fields::from(vec![Field::new("s", DataType::Utf8, true)]);
    let root = Arc::new(Field::new("table", DataType::Struct(fields.clone()), false));
    let column = GetItem::of(BoundExpression::root(root), 0).expect("a column");
    let options = LikeOptions { negated: how & 1 > 0, case_insensitive: how & 2 > 0 };
    let like = Like::of(options, column, BoundExpression::literal(pattern.into())).expect("strings");
    let optimized = OPTIMIZER.with(|optimizer| optimizer.optimize(&like, Position::Filter));
    let optimized = optimized.expect("no rule breaks its contract");

    let values: ArrayRef = Arc::new(StringArray::from(strings.clone()));
    let table: ArrayRef = Arc::new(StructArray::new(fields, vec![values], None));
    let matches = |predicate| evaluate_predicate(predicate, Input { root: &table, params: &[] });
    let is_true = |matches: BooleanArray| matches.iter().map(|m| m == Some(true)).collect::<Vec<_>>();
    let Ok(expected) = matches(&like).map(is_true) else { return };
    let found = matches(&optimized).map(is_true).expect("rewriting adds no error");
    assert_eq!(found, expected, "{like} became {optimized}, of {strings:?}");

    let zone = zone(&strings, how >> 2);
    let (rows, matching) = (strings.len() as u64, expected.iter().filter(|m| **m).count() as u64);
    for predicate in [&like, &optimized] {
        let verdicts = PrunePredicate::compile(predicate).judge(&zone, &RowRanges::all(rows), &[]);
        assert!(matching == 0 || verdicts.may.len() == rows, "{matching} match {predicate}, of {strings:?}");
        assert!(verdicts.all.is_empty() || matching == rows, "{matching} match {predicate}, of {strings:?}");
    }
}

/// What the lowest bits say is known of these strings.
fn zone(strings: &[Option<&str>], known: u8) -> Zone {
    let bound = |value: Option<&str>| Bound {
        values: Arc::new(StringArray::from(vec![value])),
        exact: BooleanBuffer::new_unset(1),
    };
    let mut zone = ZoneColumn::unknown(DataType::Utf8, Arc::from([0, strings.len() as u64]));
    if known & 1 == 0 {
        zone = zone.with_lower(bound(strings.iter().flatten().min().copied()));
    }
    if known & 2 == 0 {
        zone = zone.with_upper(bound(strings.iter().flatten().max().copied()));
    }
    if known & 4 == 0 {
        let nulls = strings.iter().filter(|string| string.is_none()).count();
        zone = zone.with_nulls(UInt64Array::from(vec![nulls as u64]));
    }
    Zone(Arc::new(zone))
}

pub fn seeds() -> Vec<Vec<u8>> {
    let seeds = [
        "\0ab%\nabc\nabd",
        "\u{1}a_c\nabc\nNULL",
        "\u{2}Kö%\nkö\n\u{212a}Ö",
        "\u{8}a\\%%\na%b",
        "\u{3}%b\nab",
    ];
    seeds.map(|seed| seed.as_bytes().to_vec()).into()
}
