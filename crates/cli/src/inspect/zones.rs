// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The zones of a column, as pruning sees them.

use std::fmt;
use std::ops::Range;

use arrow::array::Array;
use arrow::util::display::array_value_to_string;
use datafusion::common::ScalarValue;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use serde::{Serialize, Serializer};
use trommel_planner::pruning::{Bound, Level, ZoneColumn, ZoneSource};
use trommel_scan::fragment::OpenFragment;
use trommel_scan::metadata::FragmentMetadata;

use super::leaves::Leaf;
use super::reasons;

/// A value of a column, printed as queries print it and in JSON a number where it is one.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Value(pub ScalarValue);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_array().ok().and_then(|array| array_value_to_string(&array, 0).ok());
        f.write_str(&text.unwrap_or_else(|| self.0.to_string()))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            ScalarValue::Boolean(Some(value)) => serializer.serialize_bool(*value),
            ScalarValue::Float32(Some(value)) if value.is_finite() => serializer.serialize_f32(*value),
            ScalarValue::Float64(Some(value)) if value.is_finite() => serializer.serialize_f64(*value),
            value if value.data_type().is_integer() => match value.to_string().parse::<i64>() {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.collect_str(self),
            },
            _ => serializer.collect_str(self),
        }
    }
}

/// A zone of one column.
#[derive(Debug, Clone, Serialize)]
pub struct Zone {
    /// The row group it lies in.
    pub row_group: usize,
    /// Its number among the pages of the row group; `None` where it is the whole row group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<usize>,
    /// Its first row in the file.
    pub first_row: u64,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them are NULL.
    pub nulls: Option<u64>,
    /// How many of them are NaN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nans: Option<u64>,
    /// No value is below.
    pub lower: Option<Value>,
    /// Whether the lower bound is known to occur.
    pub lower_is_exact: bool,
    /// No value is above.
    pub upper: Option<Value>,
    /// Whether the upper bound is known to occur.
    pub upper_is_exact: bool,
    /// What is unknown of it, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<&'static str>,
}

/// The zones of a column at a level.
pub fn zones(file: &OpenFragment, leaf: &Leaf, level: Level) -> Vec<Zone> {
    let metadata = &file.metadata;
    let column = leaf.path.as_ref().and_then(|path| file.zones.zones(path, level));
    let Some(column) = column else {
        let unknown = |(row_group, rows): (usize, &Range<u64>)| {
            let mut zone = empty(row_group, rows.clone());
            zone.unknown =
                vec![leaf.parquet.map_or(reasons::IN_A_LIST, |leaf| {
                    reasons::no_bounds(metadata.parquet(), row_group, leaf)
                })];
            zone
        };
        return metadata.row_groups().iter().enumerate().map(unknown).collect();
    };
    let mut zones: Vec<Zone> = Vec::with_capacity(column.len());
    for at in 0..column.len() {
        let rows = column.rows(at);
        // At the level of row groups, zones are row groups, empty ones among them.
        let row_group = match level {
            Level::Page => metadata.row_groups().partition_point(|group| group.end <= rows.start),
            _ => at,
        };
        let is_page =
            level == Level::Page && leaf.parquet.is_some_and(|leaf| is_paged(metadata, row_group, leaf));
        let page = is_page.then(|| match zones.last() {
            Some(last) if last.row_group == row_group => last.page.map_or(0, |page| page + 1),
            _ => 0,
        });
        let mut zone = known(&column, at, row_group);
        zone.page = page;
        if let Some(leaf) = leaf.parquet {
            zone.explain(metadata, leaf);
        }
        zones.push(zone);
    }
    zones
}

/// Whether the pages of a chunk are zones.
pub fn is_paged(metadata: &FragmentMetadata, row_group: usize, leaf: usize) -> bool {
    let index = || metadata.parquet().column_index()?.get(row_group)?.get(leaf);
    let (Some(index), Some(locations)) = (index(), metadata.page_locations(row_group, leaf)) else {
        return false;
    };
    !matches!(index, ColumnIndexMetaData::NONE)
        && index.num_pages() == locations.len() as u64
        && metadata.parquet().file_metadata().schema_descr().column(leaf).max_rep_level() == 0
}

fn empty(row_group: usize, rows: Range<u64>) -> Zone {
    Zone {
        row_group,
        page: None,
        first_row: rows.start,
        rows: rows.end - rows.start,
        nulls: None,
        nans: None,
        lower: None,
        lower_is_exact: false,
        upper: None,
        upper_is_exact: false,
        unknown: Vec::new(),
    }
}

fn known(column: &ZoneColumn, at: usize, row_group: usize) -> Zone {
    let value = |bound: Option<&Bound>| {
        let bound = bound.filter(|bound| bound.values.is_valid(at))?;
        ScalarValue::try_from_array(&bound.values, at).ok().map(Value)
    };
    let is_exact = |bound: Option<&Bound>| bound.is_some_and(|b| b.values.is_valid(at) && b.exact.value(at));
    let is_float = column.data_type().is_floating();
    Zone {
        nulls: column.null_count(at),
        nans: column.nans().filter(|nans| is_float && nans.is_valid(at)).map(|nans| nans.value(at)),
        lower: value(column.lower()),
        lower_is_exact: is_exact(column.lower()),
        upper: value(column.upper()),
        upper_is_exact: is_exact(column.upper()),
        ..empty(row_group, column.rows(at))
    }
}

impl Zone {
    /// Tells what is unknown. Zones without values need no bounds.
    fn explain(&mut self, metadata: &FragmentMetadata, leaf: usize) {
        let parquet = metadata.parquet();
        if self.rows == 0 {
            return;
        }
        if self.nulls != Some(self.rows) && (self.lower.is_none() || self.upper.is_none()) {
            self.unknown.push(match self.page {
                Some(_) => reasons::NO_PAGE_BOUNDS,
                None => reasons::no_bounds(parquet, self.row_group, leaf),
            });
        }
        if self.nulls.is_none() {
            let why = match self.page {
                Some(_) => "no count of NULLs",
                None => reasons::no_nulls(parquet, self.row_group, leaf),
            };
            if !self.unknown.contains(&why) {
                self.unknown.push(why);
            }
        }
    }
}
