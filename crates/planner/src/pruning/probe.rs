// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What bounds don't decide, asked of the predicate itself.
//!
//! * A zone in which every column has one value is a row: the predicate is evaluated for it. Partition columns and
//!   sorted columns of few values have many such zones.
//! * Of one integer or date column, the predicate is evaluated once for each value that the zones may hold, if
//!   there are few of them beside the rows. Any other zone is then what the values between its bounds give. That is
//!   how a join's hash lookup, which hides its keys, prunes zones.
//!
//! Sound because the columns' values are all that the predicate depends on: a volatile one isn't asked. It gets arrays
//! of exactly the type that its rows have (hash filters answer differently on another). Floats aren't asked about:
//! a zero's sign and a NaN's payload aren't known.

use std::fmt;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, StructArray, UInt64Array, new_null_array,
};
use arrow::compute::kernels::{cmp, zip::zip};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type};
use datafusion_common::{Result, ScalarValue};

use super::Truth;
use super::compile::MAX_DEPTH;
use super::domain::Domain;
use super::known::cast;
use super::mapping::truth_of;
use super::operand::{Operands, is_ordered};
use super::words::{self, Words};
use crate::expr::functions::GetItem;
use crate::expr::{BoundExpression, ExprKind, Input, evaluate_predicate};
use crate::floats::is_float;

/// How many columns a predicate may read.
const MOST_COLUMNS: usize = 8;

/// How many values a predicate is evaluated for at once.
const MOST_VALUES: u64 = 1 << 16;

/// A value costs this many rows to evaluate the predicate for, at the least: what it may save is reading them.
const ROWS_PER_VALUE: u64 = 16;

/// A predicate over a few columns, by itself.
pub(super) struct Probe {
    /// Over the struct of the columns.
    expr: BoundExpression,
    fields: Fields,
    columns: Vec<usize>,
    /// Whether values of parameters don't come into it.
    is_fixed: bool,
    /// The values that were evaluated last.
    map: Mutex<Option<Arc<Map>>>,
}

impl Probe {
    /// The probe of a predicate over the table's struct; `None` when it is volatile, or reads no columns, too many or
    /// such that can't be probed.
    pub fn of(predicate: &BoundExpression, operands: &mut Operands) -> Option<Self> {
        let mut paths = Vec::new();
        (!predicate.is_volatile()).then_some(())?;
        collect(predicate, &mut paths, 0)?;
        (!paths.is_empty()).then_some(())?;
        let columns = paths.iter().map(|path| operands.number(path)).collect::<Option<Vec<_>>>()?;
        let field = |(i, path): (usize, &BoundExpression)| {
            Field::new(format!("c{i}"), path.field().data_type().clone(), path.field().is_nullable())
        };
        let fields: Fields = paths.iter().enumerate().map(field).collect();
        let root = Field::new("columns", DataType::Struct(fields.clone()), false);
        let expr = rebuilt(predicate, &paths, &BoundExpression::root(Arc::new(root)))?;
        let is_fixed = !predicate.any(|node| matches!(node.kind(), ExprKind::Param(..)));
        Some(Self { expr, fields, columns, is_fixed, map: Mutex::default() })
    }

    /// The columns, as numbers of operands.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The live zones in which the predicate may be one of `set`; one domain per column, all over one grid.
    ///
    /// # Errors
    /// When the predicate can't be evaluated for some value.
    pub fn may(
        &self,
        domains: &[&Domain],
        set: Truth,
        live: &[u64],
        params: &[ScalarValue],
    ) -> Result<Words> {
        let [domain] = domains else { return self.by_rows(domains, set, live, params) };
        let constant = domain.constant(live)?;
        let null = if words::is_empty(&words::and(live, &domain.nulls)) {
            Truth::NONE
        } else {
            self.of_null(params)?
        };
        let mut found = if null.meets(set) { words::and(live, &domain.nulls) } else { vec![0; live.len()] };
        let of_values = self.by_rows(domains, set, &words::minus(&constant, &found), params)?;
        words::add(&mut found, &of_values);
        let varied = words::minus(&words::minus(&words::and(live, &domain.values), &constant), &found);
        words::add(&mut found, &if self.is_fixed { self.by_values(domain, set, &varied)? } else { varied });
        Ok(found)
    }

    /// The live zones whose only row's values, NULLs aside if there are other values, give one of `set`, and the
    /// zones with more than one such row.
    fn by_rows(
        &self,
        domains: &[&Domain],
        set: Truth,
        live: &[u64],
        params: &[ScalarValue],
    ) -> Result<Words> {
        let certain = |live: Words, domain: &&Domain| -> Result<Words> {
            let null = words::minus(&words::and(&live, &domain.nulls), &domain.values);
            let constant = domain.constant(&live)?;
            // A NULL beside a value is another row, which a predicate of one column is asked about separately.
            let constant = if domains.len() > 1 { words::minus(&constant, &domain.nulls) } else { constant };
            Ok(words::zip(&null, &constant, |a, b| a | b))
        };
        let constant = domains.iter().try_fold(live.to_vec(), certain)?;
        let mut found = words::minus(live, &constant);
        let zones = words::numbers(&constant);
        if !zones.is_empty() {
            let columns = domains.iter().zip(&self.fields).map(|(domain, field)| at(domain, &zones, field));
            let truths = self.evaluate(columns.collect::<Result<_>>()?, params)?;
            for (row, zone) in zones.iter().enumerate() {
                if truth(&truths, row).meets(set) {
                    words::set_range(&mut found, *zone as usize, *zone as usize + 1);
                }
            }
        }
        Ok(found)
    }

    /// What the predicate of one column is for NULL; none for a column that has no NULLs, whatever its statistics
    /// say.
    fn of_null(&self, params: &[ScalarValue]) -> Result<Truth> {
        let field = &self.fields[0];
        if !field.is_nullable() {
            return Ok(Truth::NONE);
        }
        Ok(truth(&self.evaluate(vec![new_null_array(field.data_type(), 1)], params)?, 0))
    }

    /// The live zones in which some value between the bounds may give one of `set`.
    fn by_values(&self, domain: &Domain, set: Truth, live: &[u64]) -> Result<Words> {
        let Some((lower, upper)) = integers(domain)? else { return Ok(live.to_vec()) };
        let width = |zone: usize| upper.value(zone).abs_diff(lower.value(zone));
        let narrow = words::select_each(live, |zone| {
            lower.is_valid(zone) && upper.is_valid(zone) && width(zone) < MOST_VALUES
        });
        let (mut least, mut most, mut rows) = (i64::MAX, i64::MIN, 0);
        let starts = domain.grid.starts();
        words::for_each(&narrow, |zone| {
            (least, most) = (least.min(lower.value(zone)), most.max(upper.value(zone)));
            rows += starts[zone + 1] - starts[zone];
        });
        if words::is_empty(&narrow) || most.abs_diff(least) >= MOST_VALUES.min(rows / ROWS_PER_VALUE) {
            return Ok(live.to_vec());
        }
        let map = self.map(least, most)?;
        let found = words::select_each(&narrow, |zone| map.any(lower.value(zone), upper.value(zone), set));
        Ok(words::zip(&words::minus(live, &narrow), &found, |a, b| a | b))
    }

    /// What the predicate is for each value from `least` to `most`.
    fn map(&self, least: i64, most: i64) -> Result<Arc<Map>> {
        // Nothing is left half done that a panic could have interrupted.
        let mut known = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = known.as_ref().filter(|map| map.least <= least && most <= map.most()) {
            return Ok(Arc::clone(map));
        }
        let field = &self.fields[0];
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(least..=most));
        let values = match field.data_type() {
            DataType::Date32 => cast(&cast(&values, &DataType::Int32)?, field.data_type())?,
            data_type => cast(&values, data_type)?,
        };
        let map = Arc::new(Map::of(least, &self.evaluate(vec![values], &[])?));
        *known = Some(Arc::clone(&map));
        Ok(map)
    }

    fn evaluate(&self, columns: Vec<ArrayRef>, params: &[ScalarValue]) -> Result<BooleanArray> {
        let root: ArrayRef = Arc::new(StructArray::try_new(self.fields.clone(), columns, None)?);
        evaluate_predicate(&self.expr, Input { root: &root, params })
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Probe({})", self.expr)
    }
}

/// What a predicate is for consecutive integers.
#[derive(Debug)]
struct Map {
    least: i64,
    /// How often each truth value came before each integer, and before what follows the last.
    counts: Vec<[u32; 3]>,
}

impl Map {
    fn of(least: i64, truths: &BooleanArray) -> Self {
        let (mut counts, mut so_far) = (vec![[0; 3]], [0; 3]);
        for row in 0..truths.len() {
            for (count, value) in so_far.iter_mut().zip(Truth::ANY.values()) {
                *count += u32::from(truth(truths, row) == value);
            }
            counts.push(so_far);
        }
        Self { least, counts }
    }

    fn most(&self) -> i64 {
        self.least + (self.counts.len() as i64 - 2)
    }

    /// Whether some value from `lower` to `upper` gives one of `set`.
    fn any(&self, lower: i64, upper: i64, set: Truth) -> bool {
        let at = |value: i64| self.counts[(value - self.least) as usize];
        let (before, after) = (at(lower), at(upper + 1));
        let of_values = Truth::ANY.values().zip(before.iter().zip(&after));
        of_values.filter(|(value, _)| value.meets(set)).any(|(_, (before, after))| before < after)
    }
}

fn truth(truths: &BooleanArray, row: usize) -> Truth {
    truth_of(truths.is_valid(row).then(|| truths.value(row)))
}

/// The columns that a predicate reads, each once; `None` when it reads anything else, or too much.
fn collect(expr: &BoundExpression, paths: &mut Vec<BoundExpression>, depth: usize) -> Option<()> {
    if GetItem::path(expr).is_some() {
        if !paths.contains(expr) {
            let data_type = expr.field().data_type();
            (paths.len() < MOST_COLUMNS && is_ordered(data_type) && !is_float(data_type)).then_some(())?;
            paths.push(expr.clone());
        }
        return Some(());
    }
    (depth < MAX_DEPTH && !expr.is_root()).then_some(())?;
    expr.children().iter().try_for_each(|child| collect(child, paths, depth + 1))
}

/// The predicate over the struct of the columns.
fn rebuilt(
    expr: &BoundExpression,
    paths: &[BoundExpression],
    root: &BoundExpression,
) -> Option<BoundExpression> {
    if let Some(column) = paths.iter().position(|path| path == expr) {
        return GetItem::of(root.clone(), column).ok();
    }
    let children = expr.children().iter().map(|child| rebuilt(child, paths, root));
    expr.with_children(children.collect::<Option<_>>()?).ok()
}

/// The only value of each of these zones.
fn at(domain: &Domain, zones: &[u64], field: &FieldRef) -> Result<ArrayRef> {
    let Some(lower) = &domain.bounds.lower else { return Ok(new_null_array(field.data_type(), zones.len())) };
    let zones = UInt64Array::from(zones.to_vec());
    let values = take(lower, &zones, None)?;
    let is_value = |zone: u64| domain.values[zone as usize / 64] >> (zone % 64) & 1 == 1;
    let is_value: BooleanArray = zones.values().iter().map(|zone| Some(is_value(*zone))).collect();
    cast(&zip(&is_value, &values, &new_null_array(values.data_type(), values.len()))?, field.data_type())
}

/// The bounds as integers, if they are integers or dates.
fn integers(domain: &Domain) -> Result<Option<(Int64Array, Int64Array)>> {
    let (Some(lower), Some(upper)) = (&domain.bounds.lower, &domain.bounds.upper) else { return Ok(None) };
    if !domain.data_type.is_integer() && domain.data_type != DataType::Date32 {
        return Ok(None);
    }
    let wide = |bounds: &ArrayRef| -> Result<Int64Array> {
        Ok(cast(bounds, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    };
    Ok(Some((wide(lower)?, wide(upper)?)))
}

impl Domain {
    /// The live zones with one value, beside NULLs maybe.
    fn constant(&self, live: &[u64]) -> Result<Words> {
        let (Some(lower), Some(upper)) = (&self.bounds.lower, &self.bounds.upper) else {
            return Ok(vec![0; live.len()]);
        };
        let same = cmp::eq(lower, upper)?;
        Ok(words::select_each(&words::and(live, &self.values), |zone| {
            same.is_valid(zone) && same.value(zone)
        }))
    }
}

#[cfg(test)]
mod tests;
