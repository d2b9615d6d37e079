// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The value of a plan for the selected rows of a morsel.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, StructArray, new_empty_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate, concat};
use arrow::datatypes::DataType;
use datafusion_common::{DataFusionError, exec_err, internal_datafusion_err};
use object_store::path::Path;
use trommel_planner::expr::{Input, evaluate};
use trommel_planner::plan::operators::{Concat, ConcatData, Eval, Pack, SegmentScan};
use trommel_planner::plan::{PlanRef, SegmentId};
use trommel_planner::rows::{MorselRows, Selection};

use super::needs::{Need, Needs, children_of};
use super::{Morsel, Segments, plan_error};
use crate::ScanError;
use crate::guard::unless_it_panics;

/// Evaluates plans over one morsel, whose segments it decodes when they are first looked at, and keeps.
pub(super) struct Evaluator<'a> {
    path: &'a Path,
    morsel: Morsel<'a>,
    needs: &'a Needs,
    segments: &'a dyn Segments,
    decoded: HashMap<SegmentId, ArrayRef>,
    rows_decoded: BTreeMap<usize, u64>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of plans over the morsel that `needs` was made for.
    pub fn new(path: &'a Path, morsel: Morsel<'a>, needs: &'a Needs, segments: &'a dyn Segments) -> Self {
        Self { path, morsel, needs, segments, decoded: HashMap::new(), rows_decoded: BTreeMap::new() }
    }

    /// A plan's value for the selected rows of the morsel, in order.
    pub fn evaluate(
        &mut self,
        plan: &PlanRef,
        selected: &Selection<MorselRows>,
    ) -> Result<ArrayRef, ScanError> {
        let all = selected.count() == selected.len();
        let selected = Selected { bits: (!all).then(|| selected.to_bits()), filters: HashMap::new() };
        Pass { evaluator: self, selected }.plan(plan, 0)
    }

    /// For how many rows something has been decoded.
    pub fn rows_decoded(&self) -> u64 {
        self.rows_decoded.values().sum()
    }

    /// The rows of a segment that the morsel needs, decoded once.
    fn segment(
        &mut self,
        segment: &SegmentId,
        plan: &PlanRef,
        group: &Range<u64>,
    ) -> Result<ArrayRef, ScanError> {
        if let Some(array) = self.decoded.get(segment) {
            return Ok(Arc::clone(array));
        }
        let rows = self.needs.rows_in_group(self.needs.need(segment), group);
        let array = self.segments.decode(segment, &rows)?;
        let malformed = |detail| ScanError::Malformed { path: self.path.clone(), detail };
        let field = plan.field();
        if array.len() as u64 != rows.len() || array.data_type() != field.data_type() {
            return Err(malformed(format!(
                "{plan} gave {} values of type {} for {} of type {}",
                array.len(),
                array.data_type(),
                rows.len(),
                field.data_type()
            )));
        }
        if !field.is_nullable() && array.null_count() > 0 {
            return Err(malformed(format!(
                "column \"{}\" is declared NOT NULL, but has NULLs in row group {}",
                field.name(),
                segment.row_group
            )));
        }
        let decoded = self.rows_decoded.entry(segment.row_group).or_default();
        *decoded = rows.len().max(*decoded);
        self.decoded.insert(*segment, Arc::clone(&array));
        Ok(array)
    }
}

/// The rows of the morsel that a plan is evaluated for.
struct Selected {
    /// One bit for each row of the morsel; `None` when all are selected.
    bits: Option<BooleanBuffer>,
    /// Filters of decoded arrays by row group and need; `None` where nothing is filtered out.
    filters: HashMap<(usize, Need), Option<FilterPredicate>>,
}

/// One evaluation: a walk over a plan with one selection.
struct Pass<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    selected: Selected,
}

impl Pass<'_, '_> {
    /// The value of a plan whose rows start at fragment row `start`.
    fn plan(&mut self, plan: &PlanRef, start: u64) -> Result<ArrayRef, ScanError> {
        let rows = start..start + plan.rows();
        let count = self.count(&rows);
        if count == 0 {
            return Ok(new_empty_array(plan.field().data_type()));
        }
        if let Some(segment) = plan.as_opt::<SegmentScan>() {
            let array = self.evaluator.segment(segment, plan, &rows)?;
            return self.filter(&array, segment, &rows);
        }
        if let Some(data) = plan.as_opt::<Concat>() {
            return self.concat(plan, data, start);
        }
        if plan.as_opt::<Pack>().is_some() {
            return self.pack(plan, start, count);
        }
        if let Some(eval) = plan.as_opt::<Eval>() {
            let root = self.plan(self.child(plan, 0)?, start)?;
            let input = Input { root: &root, params: self.evaluator.morsel.params };
            let value = evaluate(&eval.expression, input).and_then(|v| v.into_array_of_size(count));
            return value.map_err(|e| self.error(e));
        }
        Err(self.error(internal_datafusion_err!("can't run {}", plan.id())))
    }

    fn concat(&mut self, plan: &PlanRef, data: &ConcatData, start: u64) -> Result<ArrayRef, ScanError> {
        let mut arrays = Vec::new();
        for (child, start) in children_of(plan, data, start, self.evaluator.morsel.rows) {
            let rows = plan.children().shapes()[child].rows;
            if self.count(&(start..start + rows)) > 0 {
                arrays.push(self.plan(self.child(plan, child)?, start)?);
            }
        }
        match arrays.as_slice() {
            [array] => Ok(Arc::clone(array)),
            arrays => {
                let arrays: Vec<&dyn Array> = arrays.iter().map(|a| a.as_ref()).collect();
                concatenated(&arrays).map_err(|e| self.error(e))
            }
        }
    }

    fn pack(&mut self, plan: &PlanRef, start: u64, count: usize) -> Result<ArrayRef, ScanError> {
        let DataType::Struct(fields) = plan.field().data_type() else {
            return Err(self.error(internal_datafusion_err!("a pack of type {}", plan.field().data_type())));
        };
        let columns = (0..plan.children().len())
            .map(|child| self.plan(self.child(plan, child)?, start))
            .collect::<Result<Vec<_>, _>>()?;
        let packed = StructArray::try_new_with_length(fields.clone(), columns, None, count);
        Ok(Arc::new(packed.map_err(|e| self.error(e))?))
    }

    /// How many rows are selected among these fragment rows.
    fn count(&self, rows: &Range<u64>) -> usize {
        let positions = self.positions(rows);
        match &self.selected.bits {
            None => positions.len(),
            Some(bits) => bits.slice(positions.start, positions.len()).count_set_bits(),
        }
    }

    /// Where the morsel's rows among these fragment rows lie in the morsel.
    fn positions(&self, rows: &Range<u64>) -> Range<usize> {
        let morsel = self.evaluator.morsel.rows;
        morsel.rank(rows.start) as usize..morsel.rank(rows.end) as usize
    }

    /// The selected ones among a segment's decoded rows.
    fn filter(
        &mut self,
        array: &ArrayRef,
        segment: &SegmentId,
        group: &Range<u64>,
    ) -> Result<ArrayRef, ScanError> {
        let need = self.evaluator.needs.need(segment);
        let key = (segment.row_group, need);
        if !self.selected.filters.contains_key(&key) {
            let filter = self.filter_of(need, group);
            self.selected.filters.insert(key, filter);
        }
        match self.selected.filters.get(&key) {
            Some(Some(filter)) => filter.filter(array).map_err(|e| self.error(e)),
            _ => Ok(Arc::clone(array)),
        }
    }

    /// The filter from what is decoded of a row group for a need to what is selected.
    fn filter_of(&self, need: Need, group: &Range<u64>) -> Option<FilterPredicate> {
        let positions = self.positions(group);
        let bits = self.selected.bits.as_ref()?;
        let keep = match need {
            Need::Output => bits.slice(positions.start, positions.len()),
            Need::Filter => {
                let range = positions.start as u64..positions.end as u64;
                let decoded = self.evaluator.needs.unproven_in_morsel().clip(&range);
                let mut keep = BooleanBufferBuilder::new(decoded.len() as usize);
                decoded.iter().for_each(|r| {
                    keep.append_buffer(&bits.slice(r.start as usize, (r.end - r.start) as usize));
                });
                keep.finish()
            }
        };
        let all = keep.count_set_bits() == keep.len();
        (!all).then(|| FilterBuilder::new(&BooleanArray::new(keep, None)).optimize().build())
    }

    fn child<'p>(&self, plan: &'p PlanRef, child: usize) -> Result<&'p PlanRef, ScanError> {
        plan.child(child).map_err(|e| self.error(e))
    }

    fn error(&self, error: impl Into<DataFusionError>) -> ScanError {
        plan_error(self.evaluator.path, error)
    }
}

/// Arrays of one type, one after the other.
///
/// An error when their dictionaries have more values together than the keys can tell apart.
fn concatenated(arrays: &[&dyn Array]) -> Result<ArrayRef, DataFusionError> {
    // arrow panics where it can't merge the dictionaries (`dictionaries_that_overflow_are_an_error`).
    match unless_it_panics(|| concat(arrays)) {
        Some(array) => Ok(array?),
        None => exec_err!("dictionaries of row groups have too many values together"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{DictionaryArray, FixedSizeBinaryArray, Int8Array, StringArray};
    use rstest::rstest;

    use super::*;

    fn strings(n: Range<u8>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(n.map(|i| i.to_string())))
    }

    fn binaries(n: Range<u8>) -> ArrayRef {
        Arc::new(FixedSizeBinaryArray::try_from_iter(n.map(|i| [i])).unwrap())
    }

    #[rstest]
    #[case::strings(strings)]
    #[case::binaries(binaries)]
    fn dictionaries_that_overflow_are_an_error(#[case] values: fn(Range<u8>) -> ArrayRef) {
        let dictionary = |n: Range<u8>| {
            let keys = Int8Array::from_iter_values(0..n.len() as i8);
            DictionaryArray::new(keys, values(n))
        };
        let (a, b, c) = (dictionary(0..100), dictionary(100..200), dictionary(200..210));
        assert_eq!(concatenated(&[&a, &c]).unwrap().len(), 110);
        concatenated(&[&a, &b]).unwrap_err();
    }
}
