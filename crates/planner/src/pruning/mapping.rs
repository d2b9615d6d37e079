// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Functions of one boolean expression: NOT, `IS [NOT] NULL`, and comparisons with a boolean constant.
//!
//! `p IS NOT TRUE` arrives as `p IS DISTINCT FROM true`, `p IS FALSE` as `p IS NOT DISTINCT FROM false`. Each is
//! a table of what TRUE, FALSE and NULL become. So whether it may give one of some truth values is the
//! question whether its argument may be one of those that become them.

use std::cmp::Ordering;

use datafusion_common::{Result, ScalarValue, exec_err};

use super::Truth;
use super::judge::param;
use crate::expr::functions::CompareOp;

/// A function of one boolean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    /// `NOT p`
    Not,
    /// `p IS NULL`, or negated `p IS NOT NULL`
    IsNull {
        /// `IS NOT NULL`
        negated: bool,
    },
    /// `p op constant`
    Compare(CompareOp, Option<bool>),
    /// `p op ?slot`
    CompareParam(CompareOp, u16),
}

impl Mapping {
    /// The comparison with a constant; `None` when that isn't a boolean.
    pub fn compare(op: CompareOp, value: &ScalarValue) -> Option<Self> {
        boolean(value).ok().map(|value| Self::Compare(op, value))
    }

    /// What TRUE, FALSE and NULL become.
    ///
    /// # Errors
    /// When a parameter slot has no boolean value.
    pub fn table(self, params: &[ScalarValue]) -> Result<Table> {
        let truth = |holds| Truth::of(holds, !holds);
        Ok(Table(match self {
            Self::Not => [Truth::FALSE, Truth::TRUE, Truth::NULL],
            Self::IsNull { negated } => [truth(negated), truth(negated), truth(!negated)],
            Self::Compare(op, value) => [Some(true), Some(false), None].map(|p| compare(op, p, value)),
            Self::CompareParam(op, slot) => {
                return Self::Compare(op, boolean(param(slot, params)?)?).table(params);
            }
        }))
    }
}

/// What TRUE, FALSE and NULL become, each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Table([Truth; 3]);

impl Table {
    fn rows(self) -> impl Iterator<Item = (Truth, Truth)> {
        Truth::ANY.values().zip(self.0)
    }

    /// What the values in a set become.
    pub fn of(self, set: Truth) -> Truth {
        let images = self.rows().filter(|(from, _)| from.meets(set)).map(|(_, to)| to);
        images.fold(Truth::NONE, Truth::or_else)
    }

    /// The values that become one of a set.
    pub fn preimage(self, set: Truth) -> Truth {
        self.rows().filter(|(_, to)| to.meets(set)).map(|(from, _)| from).fold(Truth::NONE, Truth::or_else)
    }
}

/// A boolean or NULL.
///
/// # Errors
/// When the value is of another type.
pub(super) fn boolean(value: &ScalarValue) -> Result<Option<bool>> {
    match value {
        ScalarValue::Boolean(value) => Ok(*value),
        value if value.is_null() => Ok(None),
        value => exec_err!("{value} is not a boolean"),
    }
}

/// The truth of a boolean or NULL.
pub(super) fn truth_of(value: Option<bool>) -> Truth {
    value.map_or(Truth::NULL, |value| Truth::of(value, !value))
}

fn compare(op: CompareOp, left: Option<bool>, right: Option<bool>) -> Truth {
    use CompareOp::*;
    let test: fn(Ordering) -> bool = match op {
        Eq => Ordering::is_eq,
        NotEq => Ordering::is_ne,
        Lt => Ordering::is_lt,
        LtEq => Ordering::is_le,
        Gt => Ordering::is_gt,
        GtEq => Ordering::is_ge,
        IsDistinctFrom => return truth_of(Some(left != right)),
        IsNotDistinctFrom => return truth_of(Some(left == right)),
    };
    truth_of(left.zip(right).map(|(left, right)| test(left.cmp(&right))))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const T: Truth = Truth::TRUE;
    const F: Truth = Truth::FALSE;
    const N: Truth = Truth::NULL;

    #[rstest]
    #[case::not(Mapping::Not, [F, T, N])]
    #[case::is_null(Mapping::IsNull { negated: false }, [F, F, T])]
    #[case::is_not_null(Mapping::IsNull { negated: true }, [T, T, F])]
    #[case::is_true(Mapping::Compare(CompareOp::IsNotDistinctFrom, Some(true)), [T, F, F])]
    #[case::is_not_true(Mapping::Compare(CompareOp::IsDistinctFrom, Some(true)), [F, T, T])]
    #[case::is_false(Mapping::Compare(CompareOp::IsNotDistinctFrom, Some(false)), [F, T, F])]
    #[case::is_unknown(Mapping::Compare(CompareOp::IsNotDistinctFrom, None), [F, F, T])]
    #[case::equals_true(Mapping::Compare(CompareOp::Eq, Some(true)), [T, F, N])]
    #[case::less_than_true(Mapping::Compare(CompareOp::Lt, Some(true)), [F, T, N])]
    #[case::at_least_false(Mapping::Compare(CompareOp::GtEq, Some(false)), [T, T, N])]
    #[case::equals_null(Mapping::Compare(CompareOp::NotEq, None), [N, N, N])]
    #[case::parameter(Mapping::CompareParam(CompareOp::Eq, 0), [F, T, N])]
    fn tables(#[case] mapping: Mapping, #[case] expect: [Truth; 3]) {
        let table = mapping.table(&[ScalarValue::Boolean(Some(false))]).unwrap();
        assert_eq!(table, Table(expect));
        for (from, to) in Truth::ANY.values().zip(expect) {
            assert_eq!(table.of(from), to);
            for target in Truth::ANY.values() {
                assert_eq!(table.preimage(target).meets(from), to == target);
            }
        }
    }

    #[test]
    fn a_missing_or_mistyped_parameter_is_an_error() {
        let mapping = Mapping::CompareParam(CompareOp::Eq, 0);
        assert!(mapping.table(&[]).is_err());
        assert!(mapping.table(&[ScalarValue::Int32(Some(1))]).is_err());
    }
}
