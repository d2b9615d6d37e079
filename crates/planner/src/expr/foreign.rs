// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Expressions of another engine, evaluated by that engine.

use std::fmt;

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use datafusion_common::Result;

use super::{Facts, FnId};

/// What stands for a function's id where the root of an expression is a foreign node.
pub const FOREIGN: FnId = FnId::new("trommel.foreign");

/// A subtree of an expression that only its engine understands.
///
/// It is a *maximal* unknown subtree over numbered inputs: the engine evaluates it whole, in one call,
/// so that conditional evaluation inside it (CASE arms, COALESCE) stays conditional. A node with this
/// kind has one child per input.
pub trait Foreign: fmt::Debug + fmt::Display + Send + Sync {
    /// The exact fields of the inputs. Evaluation is given arrays of exactly these types: hash-based
    /// filters answer differently on another string type, so nothing is converted silently.
    fn inputs(&self) -> &[FieldRef];

    /// The field of the result.
    fn field(&self) -> &FieldRef;

    /// The value for each of `rows` rows.
    ///
    /// # Errors
    /// When the engine's evaluation fails for some row.
    fn evaluate(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef>;

    /// What is known of it.
    fn facts(&self) -> Facts;

    /// How the value goes with its only input, if that is known: see [`Monotone`].
    fn monotone(&self) -> Option<Monotone> {
        None
    }

    /// Equal for expressions that are the same; used with [`fmt::Debug`] output to tell them apart.
    fn fingerprint(&self) -> u64;
}

/// How the value of a function of one input goes with it, in SQL order.
///
/// It is NULL for NULL, and NaN for no value but NaN. Where it has a value for two inputs, it has one for all
/// between them; elsewhere it is NULL or fails. A decreasing one may wrap at an end of its type; that is the only
/// exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Monotone {
    /// A greater input never has a lesser value.
    Increasing,
    /// A greater input never has a greater value.
    Decreasing,
    /// Decreasing for negative inputs, increasing for positive ones.
    AwayFromZero,
}
