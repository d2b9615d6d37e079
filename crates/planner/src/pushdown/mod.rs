// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Expression pushdown: evaluating an expression as close to the data as a plan allows.
//!
//! An [`ExpressionScanPlan`] holds an expression over a child plan. [`PushdownSession::optimize`] moves
//! parts of the expression below the child, in three phases, and goes on in each of the child's children:
//!
//! 1. *Annotate*: which of the child's children does each node of the expression need?
//! 2. *Partition and group*: cut the maximal parts that need exactly one of them; what is left over is
//!    the *combination*, in which a cut is a reference to a group's result.
//! 3. *Lower*: rewrite each group, as one packed expression, from the plan's scope into its child's.
//!
//! What phases 1 and 3 know of functions and operators is in open registries, see [`Kernels`]. A third is
//! asked before phase 1: for another form of the expression and the plan, together, that lets more go down
//! ([`ReshapeKernel`]). A part without a kernel, or whose lowering fails, stays above. Two rules concern
//! evaluation itself:
//!
//! - a part that can fail and that is evaluated for some rows only (an arm of CASE, the right side of
//!   AND) is not cut out from under its guard, as it would then see rows it was guarded against;
//! - a volatile part isn't moved.
//!
//! | over | an expression goes |
//! |---|---|
//! | [`Pack`] | to the fields it reads, in parts; where the struct may be NULL, factored first |
//! | [`Take`] | to the values, where it can't fail and there are fewer of them than codes |
//! | [`ListPack`] | to the validity; lengths do without the elements |
//! | [`Filter`] | to the input, as far as it costs less than nothing |
//! | [`SegmentScan`] of structs | to the fields it reads, each a segment of its own |
//! | [`Concat`] | whole, into each child when that child is looked at |
//! | [`Eval`] | into one with the expression there |
//!
//! Nothing is pushed into other operators without children. Everything keeps types, rows and their order.
//! The work is linear in the size of the expression, without recursion over it.
//!
//! [`ExpressionScanPlan`]: crate::plan::ExpressionScanPlan
//! [`Concat`]: crate::plan::operators::Concat
//! [`Eval`]: crate::plan::operators::Eval
//! [`Filter`]: crate::plan::operators::Filter
//! [`ListPack`]: crate::plan::operators::ListPack
//! [`Pack`]: crate::plan::operators::Pack
//! [`SegmentScan`]: crate::plan::operators::SegmentScan
//! [`Take`]: crate::plan::operators::Take

mod annotate;
mod filter;
mod kernels;
mod list_pack;
mod lower;
mod pack;
mod partition;
mod segment;
mod session;
mod take;
#[cfg(test)]
mod tests;
mod traverse;

pub use kernels::{AnnotateKernel, ChildSet, Kernels, LowerKernel, NodeKey, ReshapeKernel, Reshaped};
pub use session::PushdownSession;
