// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Scan plans: what has to be read and computed for one scan of one source, as a tree of operators.
//!
//! A plan describes work over a row domain and does none of it: making and rewriting plans reads no
//! data. Operators are named for what they compute, never for the storage they came from; only a lazy
//! child list may know its source (see [`Children`]).
//!
//! | operator | value for each row | children |
//! |---|---|---|
//! | [`SegmentScan`](operators::SegmentScan) | a column of one row group, or a part of it, decoded | |
//! | [`Concat`](operators::Concat) | the children's rows, one child after the other | any number |
//! | [`Pack`](operators::Pack) | a struct | one for each field, and perhaps its validity |
//! | [`ListPack`](operators::ListPack) | a list or a map | elements, offsets, and perhaps its validity |
//! | [`Take`](operators::Take) | the value at a position | codes, values |
//! | [`Eval`](operators::Eval) | an expression over the child's value | one |
//! | [`Filter`](operators::Filter) | the child's, where a predicate is TRUE | input, predicate |
//! | [`RowIdx`](operators::RowIdx) | the number of the row | |
//!
//! A [`PlanRef`] is a node whose common fields are plain fields; what belongs to an operator alone is
//! behind [`PlanVTable`] and is reached by a checked downcast ([`Plan`]).

mod children;
mod display;
mod error;
#[cfg(test)]
pub(crate) mod memory;
mod node;
pub mod operators;
mod segment;
mod vtable;

pub(crate) use children::fits;
pub use children::{Children, Shape};
pub use display::{LineDisplay, TreeDisplay};
pub use error::PlanError;
pub use node::{Plan, PlanRef};
pub use operators::{
    ConcatPlan, ExpressionScanPlan, FilterPlan, ListPackPlan, PackPlan, RowIdxPlan, SegmentScanPlan, TakePlan,
};
pub use segment::{FieldPath, SegmentId};
pub use vtable::{PlanId, PlanVTable};
