// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Zone statistics from row groups and page indexes, with every rule of distrust.
//!
//! | what a file may say | what is made of it |
//! |---|---|
//! | no statistics, no null count, a negative one, more NULLs than rows | unknown |
//! | statistics of a repeated leaf | unknown: they count levels, not rows |
//! | bounds without a column order, or deprecated ones | used for signed numbers alone |
//! | bounds of an unknown column order, of INT96, of intervals | unknown |
//! | a NaN as a bound, a lower bound above the upper one | both bounds unknown |
//! | a zero as a float's bound | −0.0 below, +0.0 above |
//! | a bound that isn't a value of the type (length, UTF-8, range) | unknown |
//! | a truncated decimal | unknown |
//! | page bounds of strings and binaries | bounds, but not exact: they may be truncated |
//! | a page of NULLs only | no bounds, as many NULLs as rows |
//! | pages that don't fit the page locations, or locations out of order | the row group is one zone |

mod bloom;
mod bounds;
mod trust;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::gt;
use arrow::compute::{cast, nullif};
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use parking_lot::Mutex;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use trommel_planner::floats;
use trommel_planner::index::ColumnPath;
use trommel_planner::pruning::{Bound, Level, ZoneColumn, ZoneSource};

pub use self::bloom::{BloomId, FragmentBlooms};
use self::bounds::{RawZone, page_zone, row_group_zone, to_arrow};
use self::trust::Trust;
use crate::adapt::{Adaptation, ColumnSource, keeps_order};
use crate::metadata::{FragmentMetadata, collect_leaves};

/// How many rows a zone of row numbers has.
const NUMBERED_ROWS: usize = 1024;

/// The zones of a column, or that nothing is known of it.
type Known = Option<Arc<ZoneColumn>>;

/// The zones of one fragment, as columns of the table.
///
/// At [`Level::RowGroup`] the n-th zone is the n-th row group, empty ones included. Nothing is known at
/// [`Level::Fragment`] but of columns that are constant. Columns with lists in them have no zones.
#[derive(Debug)]
pub struct FragmentZones {
    metadata: Arc<FragmentMetadata>,
    adaptation: Arc<Adaptation>,
    /// What was asked for already.
    known: Mutex<HashMap<(ColumnPath, Level), Known>>,
}

impl FragmentZones {
    /// The zones of the file with this metadata. Nothing is converted before it is asked for.
    pub fn new(metadata: Arc<FragmentMetadata>, adaptation: Arc<Adaptation>) -> Self {
        Self { metadata, adaptation, known: Mutex::default() }
    }

    fn make(&self, path: &ColumnPath, level: Level) -> Known {
        let table = self.adaptation.table().fields().get(path.column.0)?;
        match (self.adaptation.source(path.column)?, level) {
            (ColumnSource::Constant(value), _) => {
                let mut data_type = table.data_type();
                for field in &path.fields {
                    data_type = struct_field(data_type, *field)?.1;
                }
                // Of constants only NULLs have fields.
                let value = match path.fields.is_empty() {
                    true => value.clone(),
                    false if value.is_null() => ScalarValue::try_from(data_type).ok()?,
                    false => return None,
                };
                self.constant(&value, data_type, level).map(Arc::new)
            }
            (ColumnSource::RowNumbers, _) => self.row_numbers(table.data_type(), level).map(Arc::new),
            (_, Level::Fragment) => None,
            (ColumnSource::File { column, .. }, _) => {
                let (mut to, mut leaf) = (table.data_type(), self.metadata.leaves(*column).start);
                let mut from = self.metadata.schema().fields().get(column.0)?.data_type();
                for field in &path.fields {
                    let (name, field_type) = struct_field(to, *field)?;
                    to = field_type;
                    let DataType::Struct(fields) = from else { return None };
                    let Some(at) = fields.iter().position(|f| f.name() == name) else {
                        return self.constant(&ScalarValue::try_from(to).ok()?, to, level).map(Arc::new);
                    };
                    let mut before = Vec::new();
                    fields[..at].iter().for_each(|f| collect_leaves(f.data_type(), &mut before));
                    leaf += before.len();
                    from = fields[at].data_type();
                }
                if from.is_nested() {
                    return None;
                }
                let which = (leaf, to.clone(), level);
                self.metadata.leaf_zones(which, || self.leaf(leaf, from, to, level))
            }
        }
    }

    /// A column of the same value in every row.
    fn constant(&self, value: &ScalarValue, data_type: &DataType, level: Level) -> Option<ZoneColumn> {
        let starts = match level {
            Level::Fragment => Arc::from([0, self.metadata.rows()]),
            _ => row_group_starts(self.metadata.row_groups()),
        };
        let zones = ZoneColumn::unknown(data_type.clone(), Arc::clone(&starts));
        let values = value.to_array_of_size(zones.len()).ok()?;
        let is_nan =
            floats::is_float(data_type) && !value.is_null() && floats::load_lower(&values).is_null(0);
        let all_if = |all: bool| -> UInt64Array {
            starts.windows(2).map(|w| if all { w[1] - w[0] } else { 0 }).collect::<Vec<_>>().into()
        };
        let exact = BooleanBuffer::collect_bool(zones.len(), |_| !value.is_null() && !is_nan);
        let zones = zones.with_nulls(all_if(value.is_null())).with_nans(all_if(is_nan));
        Some(with_bounds(zones, floats::load_lower(&values), floats::load_upper(&values), &exact, &exact))
    }

    /// The numbers of the rows.
    fn row_numbers(&self, data_type: &DataType, level: Level) -> Option<ZoneColumn> {
        let starts: Arc<[u64]> = match level {
            Level::Fragment => Arc::from([0, self.metadata.rows()]),
            Level::RowGroup => row_group_starts(self.metadata.row_groups()),
            Level::Page => {
                let steps = self.metadata.row_groups().iter().flat_map(|r| r.clone().step_by(NUMBERED_ROWS));
                steps.chain([self.metadata.rows()]).collect()
            }
        };
        let numbers = |of: fn(&[u64]) -> u64| {
            let numbers = starts.windows(2).map(|w| (w[0] < w[1]).then(|| of(w)));
            cast(&UInt64Array::from_iter(numbers), data_type).ok()
        };
        let (first, last) = (numbers(|zone| zone[0])?, numbers(|zone| zone[1] - 1)?);
        let exact = BooleanBuffer::new_set(first.len());
        let none = UInt64Array::from(vec![0; first.len()]);
        let zones = ZoneColumn::unknown(data_type.clone(), Arc::clone(&starts));
        Some(with_bounds(zones.with_nulls(none.clone()).with_nans(none), first, last, &exact, &exact))
    }

    /// A leaf of type `from` in the file and `to` in the table.
    fn leaf(&self, leaf: usize, from: &DataType, to: &DataType, level: Level) -> Option<ZoneColumn> {
        let parquet = self.metadata.parquet();
        let trust = Trust::of(parquet.file_metadata(), leaf)?;
        let (mut starts, mut raw) = (Vec::new(), Vec::new());
        for (at, rows) in self.metadata.row_groups().iter().enumerate() {
            let pages = (level == Level::Page).then(|| self.pages(at, leaf, rows)).flatten();
            if let Some((index, page_starts)) = pages {
                for (page, start) in page_starts.iter().enumerate() {
                    let end = page_starts.get(page + 1).copied().unwrap_or(rows.end);
                    raw.push(page_zone(index, page, end - start, &trust));
                }
                starts.extend(page_starts);
            } else {
                let statistics = parquet.row_group(at).column(leaf).statistics();
                raw.push(row_group_zone(statistics, rows.end - rows.start, &trust));
                starts.push(rows.start);
            }
        }
        starts.push(self.metadata.rows());
        zone_column(&raw, starts.into(), from, to)
    }

    /// The page index of a chunk, and the fragment row at which each page starts; `None` when there is
    /// none to rely on.
    fn pages(
        &self,
        row_group: usize,
        leaf: usize,
        rows: &Range<u64>,
    ) -> Option<(&ColumnIndexMetaData, Vec<u64>)> {
        let index = self.metadata.parquet().column_index()?.get(row_group)?.get(leaf)?;
        let locations = self.metadata.page_locations(row_group, leaf)?;
        if matches!(index, ColumnIndexMetaData::NONE) || index.num_pages() != locations.len() as u64 {
            return None;
        }
        let start = |first: i64| Some(rows.start + u64::try_from(first).ok()?);
        Some((index, locations.iter().map(|page| start(page.first_row_index)).collect::<Option<_>>()?))
    }
}

impl ZoneSource for FragmentZones {
    fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        let key = (column.clone(), level);
        if let Some(known) = self.known.lock().get(&key) {
            return known.clone();
        }
        // Not under the lock: two who ask at once may both convert, and get equal zones.
        let zones = self.make(column, level);
        self.known.lock().entry(key).or_insert(zones).clone()
    }
}

/// The name and type of a struct type's field.
fn struct_field(data_type: &DataType, field: u32) -> Option<(&str, &DataType)> {
    let DataType::Struct(fields) = data_type else { return None };
    fields.get(field as usize).map(|f| (f.name().as_str(), f.data_type()))
}

fn row_group_starts(row_groups: &[Range<u64>]) -> Arc<[u64]> {
    let end = row_groups.last().map_or(0, |r| r.end);
    row_groups.iter().map(|r| r.start).chain([end]).collect()
}

/// What a file says of a leaf's zones, as zones of a table column.
fn zone_column(
    raw: &[RawZone<'_>],
    starts: Arc<[u64]>,
    from: &DataType,
    to: &DataType,
) -> Option<ZoneColumn> {
    let nulls: UInt64Array = raw.iter().map(|zone| zone.nulls).collect();
    let mut zones = ZoneColumn::unknown(to.clone(), starts).with_nulls(nulls);
    if !floats::is_float(from) {
        zones = zones.with_nans(vec![0; raw.len()].into());
    }
    if !keeps_order(from, to) {
        return Some(zones);
    }
    let convert = |bounds: Vec<_>| cast(&to_arrow(&bounds, from)?, to).ok();
    let lower = convert(raw.iter().map(|zone| zone.lower).collect());
    let upper = convert(raw.iter().map(|zone| zone.upper).collect());
    let (Some(lower), Some(upper)) = (lower, upper) else { return Some(zones) };
    let (lower, upper) = (floats::load_lower(&lower), floats::load_upper(&upper));
    let Some((lower, upper)) = without_crossed(&lower, &upper) else { return Some(zones) };
    let exact_lower = BooleanBuffer::collect_bool(raw.len(), |zone| raw[zone].lower_is_exact);
    let exact_upper = BooleanBuffer::collect_bool(raw.len(), |zone| raw[zone].upper_is_exact);
    Some(with_bounds(zones, lower, upper, &exact_lower, &exact_upper))
}

/// The bounds without those of zones whose lower bound is above the upper one: neither can be believed.
fn without_crossed(lower: &ArrayRef, upper: &ArrayRef) -> Option<(ArrayRef, ArrayRef)> {
    let crossed = gt(lower, upper).ok()?;
    Some((nullif(lower, &crossed).ok()?, nullif(upper, &crossed).ok()?))
}

fn with_bounds(
    zones: ZoneColumn,
    lower: ArrayRef,
    upper: ArrayRef,
    exact_lower: &BooleanBuffer,
    exact_upper: &BooleanBuffer,
) -> ZoneColumn {
    let known = |values: ArrayRef, exact: &BooleanBuffer| {
        let exact = match values.logical_nulls() {
            Some(nulls) => exact & nulls.inner(),
            None => exact.clone(),
        };
        Bound { values, exact }
    };
    zones.with_lower(known(lower, exact_lower)).with_upper(known(upper, exact_upper))
}

#[cfg(test)]
mod tests;
