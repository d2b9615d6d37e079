// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The types between, through which a cast goes that arrow 59.3 would get wrong in one go.
//!
//! | cast | what arrow does | goes through |
//! |---|---|---|
//! | `Date64` to micro- or nanoseconds | multiplies, unchecked | a timestamp in milliseconds |
//! | `Time64` to `Time32`, `Time64` to nanoseconds | multiplies and narrows, unchecked | integers and durations |
//! | dates and times to a dictionary of others | keeps the number, whatever the unit | the dictionary's values |
//!
//! All others that only change units are checked, or can't overflow: dates of 32 bits, timestamps,
//! durations, `Time32` to `Time64`.

use std::sync::Arc;

use DataType::*;
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};

/// The types to cast to one after the other before the cast to `to`, so that no step goes wrong unseen.
pub(super) fn steps(from: &DataType, to: &DataType) -> Vec<DataType> {
    (0..count(from, to)).map(|n| step(from, to, n)).collect()
}

/// The steps of a value that isn't nested.
fn of_leaf(from: &DataType, to: &DataType) -> Vec<DataType> {
    let values = value(to);
    let mut steps = match (value(from), values) {
        (Date64, Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _)) => {
            vec![Timestamp(TimeUnit::Millisecond, None)]
        }
        (Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond)) => {
            vec![Int64, Duration(TimeUnit::Microsecond), Duration(TimeUnit::Nanosecond), Int64]
        }
        (Time64(from), Time32(to)) => vec![Int64, Duration(*from), Duration(*to), Int64, Int32],
        _ => Vec::new(),
    };
    let entries_are_cast = matches!(from, Dictionary(..)) && steps.is_empty();
    if values != to && values != from && values.is_temporal() && !entries_are_cast {
        steps.push(values.clone());
    }
    steps
}

/// How many steps the longest way of a leaf takes.
fn count(from: &DataType, to: &DataType) -> usize {
    match (from, to) {
        (Struct(from), Struct(to)) => pairs(from, to).map(|(_, f, t)| count(f, t)).max().unwrap_or(0),
        _ => match (item(from), item(to)) {
            (Some(from), Some(to)) => count(from, to),
            _ => of_leaf(from, to).len(),
        },
    }
}

/// The type after step `n`; leaves whose way is shorter have come to its end.
fn step(from: &DataType, to: &DataType, n: usize) -> DataType {
    let next = |field: &Arc<Field>, to: &DataType| {
        Arc::new(Field::new(field.name(), step(field.data_type(), to, n), field.is_nullable()))
    };
    match (from, to, item(to)) {
        (Struct(from), Struct(to), _) => {
            Struct(pairs(from, to).map(|(field, _, to)| next(field, to)).collect())
        }
        (List(field), _, Some(to)) => List(next(field, to)),
        (LargeList(field), _, Some(to)) => LargeList(next(field, to)),
        (FixedSizeList(field, n), _, Some(to)) => FixedSizeList(next(field, to), *n),
        (Map(field, sorted), _, Some(to)) => Map(next(field, to), *sorted),
        _ => of_leaf(from, to).into_iter().take(n + 1).next_back().unwrap_or_else(|| from.clone()),
    }
}

/// The fields of two structs that go together, and their types: by name, or by position where the two
/// share no name, as the entries of maps may.
fn pairs<'a>(
    from: &'a Fields,
    to: &'a Fields,
) -> impl Iterator<Item = (&'a Arc<Field>, &'a DataType, &'a DataType)> {
    let by_name = from.iter().any(|field| to.find(field.name()).is_some());
    from.iter().enumerate().filter_map(move |(at, field)| {
        let other = if by_name { to.find(field.name())?.1 } else { to.get(at)? };
        Some((field, field.data_type(), other.data_type()))
    })
}

/// The type of the items of a list or of the entries of a map.
fn item(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        List(field) | LargeList(field) | FixedSizeList(field, _) | Map(field, _) => Some(field.data_type()),
        _ => None,
    }
}

/// The type of a dictionary's values; other types as they are.
fn value(data_type: &DataType) -> &DataType {
    match data_type {
        Dictionary(_, values) => value(values),
        other => other,
    }
}
