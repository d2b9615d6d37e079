// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Sets of truth values, one per run of rows.

use std::fmt;

/// The truth values a predicate may take over some rows: a set of TRUE, FALSE and NULL.
///
/// The empty set stands for no rows. Operations are element-wise Kleene logic on the sets, so a result
/// contains every value that some pair of operand values gives (and, the operands being taken as
/// independent, perhaps more).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Truth(u8);

impl Truth {
    /// No value: there are no rows.
    pub const NONE: Truth = Truth(0);
    /// TRUE for every row.
    pub const TRUE: Truth = Truth(1);
    /// FALSE for every row.
    pub const FALSE: Truth = Truth(2);
    /// NULL for every row.
    pub const NULL: Truth = Truth(4);
    /// Nothing is known.
    pub const ANY: Truth = Truth(7);

    /// The values in either set.
    pub const fn or_else(self, other: Truth) -> Truth {
        Truth(self.0 | other.0)
    }

    /// The values in the set, and NULL if `nullable`.
    pub const fn or_null(self, nullable: bool) -> Truth {
        if nullable { self.or_else(Truth::NULL) } else { self }
    }

    /// The set of TRUE if `may_be_true` and of FALSE if `may_be_false`.
    pub const fn of(may_be_true: bool, may_be_false: bool) -> Truth {
        Truth(may_be_true as u8 | (may_be_false as u8) << 1)
    }

    /// Whether some row may be TRUE.
    pub const fn may_be_true(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether some row may be FALSE.
    pub const fn may_be_false(self) -> bool {
        self.0 & 2 != 0
    }

    /// Whether some row may be NULL.
    pub const fn may_be_null(self) -> bool {
        self.0 & 4 != 0
    }

    /// Whether every row is TRUE.
    pub const fn is_all_true(self) -> bool {
        self.0 == 1
    }

    /// Whether the sets have a value in common.
    pub const fn meets(self, other: Truth) -> bool {
        self.0 & other.0 != 0
    }

    /// The values in the set, each as a set of its own.
    pub(super) fn values(self) -> impl Iterator<Item = Truth> {
        [Truth::TRUE, Truth::FALSE, Truth::NULL].into_iter().filter(move |value| self.meets(*value))
    }

    /// NOT of each value.
    pub const fn negate(self) -> Truth {
        Truth(self.0 & 4 | (self.0 & 1) << 1 | (self.0 & 2) >> 1)
    }

    /// AND of each pair of values.
    pub const fn and(self, other: Truth) -> Truth {
        if self.0 == 0 || other.0 == 0 {
            return Truth::NONE;
        }
        let may_be_true = self.may_be_true() && other.may_be_true();
        let may_be_false = self.may_be_false() || other.may_be_false();
        let null = self.may_be_null() && other.0 & 5 != 0 || other.may_be_null() && self.0 & 5 != 0;
        Truth::of(may_be_true, may_be_false).or_null(null)
    }

    /// OR of each pair of values.
    pub const fn or(self, other: Truth) -> Truth {
        self.negate().and(other.negate()).negate()
    }
}

impl fmt::Debug for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(self.may_be_true(), 'T'), (self.may_be_false(), 'F'), (self.may_be_null(), 'N')];
        write!(f, "{{{}}}", names.iter().filter(|(on, _)| *on).map(|(_, c)| *c).collect::<String>())
    }
}

/// The truth sets of a predicate over consecutive runs of rows.
///
/// Runs are sorted and don't overlap; rows outside every run were not judged. Neighbouring runs of the
/// same set are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TruthRuns {
    runs: Vec<(std::ops::Range<u64>, Truth)>,
}

impl TruthRuns {
    /// Appends a run, which must not start before the end of the last one; empty runs are dropped.
    pub fn push(&mut self, rows: std::ops::Range<u64>, truth: Truth) {
        if rows.start >= rows.end {
            return;
        }
        match self.runs.last_mut() {
            Some((last, t)) if *t == truth && last.end == rows.start => last.end = rows.end,
            _ => self.runs.push((rows, truth)),
        }
    }

    /// The runs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (std::ops::Range<u64>, Truth)> + '_ {
        self.runs.iter().cloned()
    }

    /// Both predicates together, over the rows that both judged; borders need not agree.
    #[must_use]
    pub fn zip(&self, other: &Self, f: impl Fn(Truth, Truth) -> Truth) -> Self {
        let (mut out, mut a, mut b) = (Self::default(), 0, 0);
        while let (Some((x, s)), Some((y, t))) = (self.runs.get(a), other.runs.get(b)) {
            out.push(x.start.max(y.start)..x.end.min(y.end), f(*s, *t));
            if x.end <= y.end {
                a += 1;
            } else {
                b += 1;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [(Truth, Option<bool>); 3] =
        [(Truth::TRUE, Some(true)), (Truth::FALSE, Some(false)), (Truth::NULL, None)];

    fn kleene_and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
        match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    fn single(value: Option<bool>) -> Truth {
        VALUES.iter().find(|(_, v)| *v == value).map_or(Truth::NONE, |(t, _)| *t)
    }

    /// All sets: the tables over sets are exactly what the tables over values give.
    #[test]
    fn set_logic_is_kleene_logic_on_every_pair() {
        let values = |set: Truth| VALUES.into_iter().filter(move |(t, _)| set.0 & t.0 != 0).map(|(_, v)| v);
        for a in (0..8).map(Truth) {
            let not = values(a).map(|v| single(v.map(|b| !b))).fold(Truth::NONE, Truth::or_else);
            assert_eq!(a.negate(), not);
            for b in (0..8).map(Truth) {
                let pairs = || values(a).flat_map(|x| values(b).map(move |y| (x, y)));
                let and = pairs().map(|(x, y)| single(kleene_and(x, y))).fold(Truth::NONE, Truth::or_else);
                let or = pairs().map(|(x, y)| single(kleene_and(x.map(|v| !v), y.map(|v| !v)).map(|v| !v)));
                assert_eq!(a.and(b), and, "{a:?} AND {b:?}");
                assert_eq!(a.or(b), or.fold(Truth::NONE, Truth::or_else), "{a:?} OR {b:?}");
            }
        }
    }

    #[test]
    fn runs_with_different_borders_combine_row_by_row() {
        let (mut a, mut b) = (TruthRuns::default(), TruthRuns::default());
        a.push(0..10, Truth::TRUE);
        a.push(10..20, Truth::FALSE);
        b.push(0..5, Truth::ANY);
        b.push(5..15, Truth::TRUE);
        b.push(15..20, Truth::NULL);
        let and: Vec<_> = a.zip(&b, Truth::and).iter().collect();
        assert_eq!(and, [(0..5, Truth::ANY), (5..10, Truth::TRUE), (10..20, Truth::FALSE)]);
    }
}
