// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Scan plans: what has to be read and computed for one scan of one source, as a tree of operators.
//!
//! A plan describes work over a row domain and does none of it: making and rewriting plans reads no
//! data. Operators are named for what they compute, never for the storage they came from; only a lazy
//! child list may know its source (see [`Children`]).
//!
//! | operator | value for each row | children |
//! |---|---|---|
//! | [`SegmentScan`](operators::SegmentScan) | a column of one row group, decoded | |
//! | [`Concat`](operators::Concat) | the children's rows, one child after the other | any number |
//! | [`Pack`](operators::Pack) | a struct | one for each field |
//! | [`RowIdx`](operators::RowIdx) | the row's number | |
//! | [`Eval`](operators::Eval) | an expression over the child's value | one |
//!
//! A [`PlanRef`] is a node whose common fields are plain fields; what belongs to an operator alone is
//! behind [`PlanVTable`] and is reached by a checked downcast ([`Plan`]).

mod children;
mod display;
mod error;
mod node;
pub mod operators;
mod vtable;

pub(crate) use children::fits;
pub use children::{Children, Shape};
pub use display::TreeDisplay;
pub use error::PlanError;
pub use node::{Plan, PlanRef};
pub use operators::{ConcatPlan, ExpressionScanPlan, PackPlan, RowIdxPlan, SegmentScanPlan};
pub use vtable::{PlanId, PlanVTable};

use crate::index::FragmentCol;

/// A top-level column of one row group: what a plan reads in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId {
    /// The row group, counted in the file.
    pub row_group: usize,
    /// The column; all its leaves when it is nested.
    pub column: FragmentCol,
}
