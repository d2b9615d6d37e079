// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Tests of one operand against constants, for rules that put several of them together.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::kernels::cmp;
use arrow::datatypes::DataType;
use datafusion_common::{HashMap, Result, ScalarValue, internal_datafusion_err};

use crate::expr::BoundExpression;
use crate::expr::functions::{Compare, CompareOp, InSet, InSetOptions, ValueSet};
use crate::floats::{fold_zero, is_float};

/// A test of one operand against constants. Its value is NULL where the operand is, and only there, unless
/// it is a set with NULL.
pub(super) enum Test<'a> {
    /// A comparison with a value, by any operator but IS [NOT] DISTINCT FROM.
    Compare(CompareOp, &'a ScalarValue),
    /// IN a set, or NOT IN.
    In { set: &'a Arc<ValueSet>, negated: bool },
}

/// A term that is a [`Test`] of an operand that can be moved: it can't fail, isn't volatile, and its values
/// are compared alike by comparisons and by sets.
pub(super) struct OperandTest<'a> {
    pub term: &'a BoundExpression,
    /// The position of the term.
    pub position: usize,
    pub operand: &'a BoundExpression,
    pub test: Test<'a>,
}

impl<'a> OperandTest<'a> {
    fn of(position: usize, term: &'a BoundExpression) -> Option<Self> {
        let operand = term.children().first()?;
        let data_type = operand.field().data_type();
        if operand.can_fail() || operand.is_volatile() || !compares_as_sets_do(data_type) {
            return None;
        }
        let test = match (term.as_opt::<Compare>(), term.as_opt::<InSet>()) {
            (Some(op), _) if !op.is_distinct() => {
                let value = term.children().get(1)?.as_literal()?;
                let comparable = !value.is_null() && &value.data_type() == plain(data_type);
                comparable.then_some(Test::Compare(*op, value))?
            }
            (_, Some(InSetOptions { set, negated })) => Test::In { set, negated: *negated },
            _ => return None,
        };
        Some(Self { term, position, operand, test })
    }
}

/// The tests among the terms that `wanted` takes, those of one operand together, in the order of their
/// first appearance.
pub(super) fn by_operand<'a>(
    terms: &'a [BoundExpression],
    wanted: impl Fn(&Test<'_>) -> bool,
) -> Vec<Vec<OperandTest<'a>>> {
    let mut groups: Vec<Vec<OperandTest<'a>>> = Vec::new();
    let mut number_of: HashMap<&BoundExpression, usize> = HashMap::default();
    for (position, term) in terms.iter().enumerate() {
        let Some(test) = OperandTest::of(position, term).filter(|t| wanted(&t.test)) else { continue };
        let number = *number_of.entry(test.operand).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups
}

/// Terms, with the tests of some groups replaced: the new ones stand where the first of the old ones did,
/// so what comes after is guarded no less than before.
pub(super) fn replaced(
    terms: &[BoundExpression],
    groups: Vec<(Vec<OperandTest<'_>>, Vec<BoundExpression>)>,
) -> Vec<BoundExpression> {
    let mut places: Vec<_> = terms.iter().map(|term| vec![term.clone()]).collect();
    for (group, replacement) in groups {
        group.iter().for_each(|test| places[test.position].clear());
        if let Some(first) = group.first() {
            places[first.position] = replacement;
        }
    }
    places.into_iter().flatten().collect()
}

/// Whether values of the type are ordered, and comparisons and sets agree on which of them are equal.
///
/// Nested values are compared in total order but looked for in SQL order; so are dictionaries of floats.
pub(super) fn compares_as_sets_do(data_type: &DataType) -> bool {
    let float_dictionary = matches!(data_type, DataType::Dictionary(_, values) if is_float(values));
    !data_type.is_nested()
        && !float_dictionary
        && !matches!(plain(data_type), DataType::Null | DataType::Interval(_) | DataType::RunEndEncoded(..))
}

/// The type of a dictionary's values; other types as they are.
pub(super) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// One end of a range.
#[derive(Clone)]
pub(super) struct End {
    /// The value, −0.0 folded.
    value: ScalarValue,
    op: CompareOp,
    /// The comparison that says so.
    pub term: BoundExpression,
}

impl End {
    pub fn new(op: CompareOp, value: &ScalarValue, term: &BoundExpression) -> Self {
        Self { value: fold_zero(value), op, term: term.clone() }
    }

    fn is_upper(&self) -> bool {
        matches!(self.op, CompareOp::Lt | CompareOp::LtEq)
    }

    fn is_inclusive(&self) -> bool {
        matches!(self.op, CompareOp::LtEq | CompareOp::GtEq)
    }

    /// The same end with or without its value.
    pub fn with_inclusive(&self, inclusive: bool) -> Result<Self> {
        let op = match (self.is_upper(), inclusive) {
            (true, true) => CompareOp::LtEq,
            (true, false) => CompareOp::Lt,
            (false, true) => CompareOp::GtEq,
            (false, false) => CompareOp::Gt,
        };
        let term = self.compare(op)?;
        Ok(Self { op, term, ..self.clone() })
    }

    /// The operand's comparison with the end's value by another operator.
    pub fn compare(&self, op: CompareOp) -> Result<BoundExpression> {
        BoundExpression::call::<Compare>(op, self.term.children().to_vec())
            .map_err(|error| datafusion_common::DataFusionError::External(Box::new(error)))
    }

    /// Which of the values are inside.
    pub fn holds(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.compared(self.op, values)
    }

    /// Which of the values are the end's own.
    pub fn equals(&self, values: &ArrayRef) -> Result<BooleanArray> {
        self.compared(CompareOp::Eq, values)
    }

    fn compared(&self, op: CompareOp, values: &ArrayRef) -> Result<BooleanArray> {
        let value = self.value.to_scalar()?;
        Ok(match op {
            CompareOp::Lt => cmp::lt(values, &value)?,
            CompareOp::LtEq => cmp::lt_eq(values, &value)?,
            CompareOp::Gt => cmp::gt(values, &value)?,
            CompareOp::GtEq => cmp::gt_eq(values, &value)?,
            _ => cmp::eq(values, &value)?,
        })
    }

    /// How the end's value compares with another's: with zeros folded, total order is SQL order.
    fn order(&self, other: &Self) -> Result<Ordering> {
        let order = self.value.partial_cmp(&other.value);
        order.ok_or_else(|| internal_datafusion_err!("{} and {} have no order", self.value, other.value))
    }

    /// Of two ends of one kind, the one that lets fewer values in.
    pub fn tighter(self, other: Self) -> Result<Self> {
        Ok(match self.order(&other)? {
            Ordering::Equal if self.is_inclusive() => other,
            Ordering::Equal => self,
            Ordering::Less if self.is_upper() => self,
            Ordering::Greater if !self.is_upper() => self,
            _ => other,
        })
    }

    /// Of two ends of one kind, the one that lets more values in.
    pub fn wider(self, other: Self) -> Result<Self> {
        Ok(match self.order(&other)? {
            Ordering::Equal if self.is_inclusive() => self,
            Ordering::Equal => other,
            Ordering::Greater if self.is_upper() => self,
            Ordering::Less if !self.is_upper() => self,
            _ => other,
        })
    }

    /// Whether a range from this end up to `high` holds no value whatever the type; and whether just one.
    pub fn range_to(&self, high: &Self) -> Result<Range> {
        Ok(match self.order(high)? {
            Ordering::Less => Range::Many,
            Ordering::Equal if self.is_inclusive() && high.is_inclusive() => Range::One,
            _ => Range::Empty,
        })
    }
}

/// How many values a range holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Range {
    Empty,
    One,
    /// For all we know.
    Many,
}
