// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What is known of a function, given the types of its arguments.
//!
//! Rewrites and pushdown ask for facts, never for a function's name. An unsure fact is the cautious one.

use std::ops::BitOr;

/// What is known of a function, given the types of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// When the result is NULL.
    pub nulls: Nulls,
    /// Whether evaluation can fail for some values.
    pub errors: Errors,
    /// Whether two evaluations over the same values may differ.
    pub volatile: bool,
    /// What one evaluation costs.
    pub cost: Cost,
    /// The arguments that are evaluated only for some rows (an arm of CASE, the right side of AND).
    pub guarded: Guarded,
}

impl Facts {
    /// The facts of a function of which nothing is known: it may fail, is dear, and hides its NULLs.
    pub const UNKNOWN: Facts = Facts {
        nulls: Nulls::Other,
        errors: Errors::Possible,
        volatile: false,
        cost: Cost::Expensive,
        guarded: Guarded::NONE,
    };

    /// The facts of a cheap function that never fails, with this null behaviour.
    pub const fn infallible(nulls: Nulls) -> Facts {
        Facts { nulls, errors: Errors::Never, volatile: false, cost: Cost::Cheap, guarded: Guarded::NONE }
    }
}

/// When a function's result is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// NULL whenever an argument is NULL.
    Strict {
        /// NULL *only* when an argument is NULL. Strict functions like `nullif` and `try_cast` lack this.
        null_only_from_null: bool,
    },
    /// Anything else.
    Other,
}

/// Whether a function can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// For no value.
    Never,
    /// For some values, as a division by zero does.
    Possible,
}

impl BitOr for Errors {
    type Output = Errors;

    fn bitor(self, other: Errors) -> Errors {
        if self == Errors::Never { other } else { Errors::Possible }
    }
}

/// What one evaluation costs, next to reading the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Less than handing on the arguments: the result is smaller (`byte_length`, a field of a struct).
    Negative,
    /// About one instruction a row.
    Cheap,
    /// Much more (a pattern match, a regular expression, an unknown function).
    Expensive,
}

/// A set of argument positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarded(u64);

impl Guarded {
    /// No argument.
    pub const NONE: Guarded = Guarded(0);

    /// Every argument from position `first` on.
    pub const fn from(first: u32) -> Guarded {
        Guarded(if first < 64 { u64::MAX << first } else { 1 << 63 })
    }

    /// Whether the argument at `position` is in the set. Positions from 63 on share one bit.
    pub const fn contains(self, position: usize) -> bool {
        self.0 >> (if position < 63 { position } else { 63 }) & 1 == 1
    }
}
