// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `LIKE` and `ILIKE` judged by the bounds of a zone, against the matches of its strings.

#![no_main]

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, StructArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::ScalarValue;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use trommel_planner::expr::functions::{GetItem, Like, LikeOptions};
use trommel_planner::expr::{BoundExpression, Input, evaluate_predicate};
use trommel_planner::pruning::{Bound, ColumnPath, Level, PrunePredicate, ZoneColumn, ZoneSource};
use trommel_planner::rows::RowRanges;

#[derive(Debug, Arbitrary)]
struct Question {
    pattern: String,
    negated: bool,
    case_insensitive: bool,
    /// A zone is sometimes made of what the pattern is made of.
    alike: bool,
    strings: Vec<Option<String>>,
    no_lower: bool,
    no_upper: bool,
    no_nulls: bool,
}

struct Zones(ZoneColumn);

impl ZoneSource for Zones {
    fn zones(&self, _column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        (level == Level::RowGroup).then(|| Arc::new(self.0.clone()))
    }
}

fuzz_target!(|question: Question| {
    let Question { pattern, negated, case_insensitive, alike, mut strings, .. } = question;
    strings.truncate(8);
    if alike {
        let text: String = pattern.chars().filter(|c| !['%', '_', '\\'].contains(c)).collect();
        strings.iter_mut().flatten().for_each(|string| *string = format!("{text}{string}"));
        strings.push(Some(text.to_uppercase()));
    }
    let fields = Fields::from(vec![Field::new("s", DataType::Utf8, true)]);
    let root = Arc::new(Field::new("table", DataType::Struct(fields.clone()), false));
    let column = GetItem::of(BoundExpression::root(root), 0).expect("the column");
    let options = LikeOptions { negated, case_insensitive };
    let Ok(like) = Like::of(options, column, BoundExpression::literal(ScalarValue::from(pattern))) else { return };

    let values = StringArray::from(strings.clone());
    let table: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(values)], None));
    let Ok(matches) = evaluate_predicate(&like, Input { root: &table, params: &[] }) else { return };
    let matching = matches.iter().filter(|matches| *matches == Some(true)).count();

    let bound = |value: Option<&String>| Bound {
        values: Arc::new(StringArray::from(vec![value.map(String::as_str)])),
        exact: BooleanBuffer::new_unset(1),
    };
    let rows = strings.len() as u64;
    let mut zones = ZoneColumn::unknown(DataType::Utf8, Arc::from([0, rows]));
    if !question.no_lower {
        zones = zones.with_lower(bound(strings.iter().flatten().min()));
    }
    if !question.no_upper {
        zones = zones.with_upper(bound(strings.iter().flatten().max()));
    }
    if !question.no_nulls {
        let nulls = strings.iter().filter(|string| string.is_none()).count();
        zones = zones.with_nulls(UInt64Array::from(vec![nulls as u64]));
    }
    let verdicts = PrunePredicate::compile(&like).judge(&Zones(zones), &RowRanges::all(rows), &[]);
    assert!(matching == 0 || verdicts.may.len() == rows, "{matching} match {like}, of {strings:?}");
    assert!(verdicts.all.is_empty() || matching as u64 == rows, "only {matching} match {like}, of {strings:?}");
});
