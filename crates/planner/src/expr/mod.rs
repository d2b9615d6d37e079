// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bound expressions: type-checked trees over one root value.
//!
//! An expression has a single input, the *root*: the row of whatever it is evaluated over. Over a table
//! that is a struct of the table's columns, and a column is `get_item($, "a")`; over one column it is
//! that column's value. Moving an expression from a table to a column is then a rewrite of its root
//! reads and of nothing else (see [`crate::pushdown`]).
//!
//! An [`Expression`] with names is bound against a [`Scope`]. Nodes are made only by
//! [`BoundExpression::try_new`], which checks them and derives their field.

mod bind;
mod bound;
mod error;
mod evaluate;
mod expression;
mod facts;
mod foreign;
mod function;
pub mod functions;
mod print;
mod shape;

pub use bind::Scope;
pub use bound::{BoundExpression, ExprKind};
pub use error::BindError;
pub use evaluate::{Input, evaluate, evaluate_predicate};
pub use expression::{Expression, Unbound};
pub use facts::{Cost, Errors, Facts, Guarded, Nulls};
pub use foreign::{FOREIGN, Foreign, Monotone};
pub use function::{Args, FnId, FnRef, ScalarFnVTable};
pub use print::Printer;
pub use shape::Shape;
