// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Why a plan can't be made.

use arrow::datatypes::DataType;
use datafusion_common::DataFusionError;

use super::PlanId;
use crate::expr::BindError;

/// Why a plan can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An operator was given another number of children than it takes.
    #[error("{operator} takes {expected} children, not {actual}")]
    Arity {
        /// The operator.
        operator: PlanId,
        /// How many it takes.
        expected: usize,
        /// How many it got.
        actual: usize,
    },
    /// A value has another type than its reader expects, or is nullable where that isn't allowed.
    #[error("{what}: {} expected, not {}", nullable(.expected), nullable(.actual))]
    Type {
        /// Whose value it is.
        what: String,
        /// The type expected, and whether NULL is.
        expected: (DataType, bool),
        /// The type found, and whether it may be NULL.
        actual: (DataType, bool),
    },
    /// A value has another number of rows than its reader expects.
    #[error("{what}: {expected} rows expected, not {actual}")]
    Rows {
        /// Whose value it is.
        what: String,
        /// How many are expected.
        expected: u64,
        /// How many there are.
        actual: u64,
    },
    /// A value may lack rows that its reader expects.
    #[error("{what}: all rows expected, not those that pass a filter")]
    Filtered {
        /// Whose value it is.
        what: String,
    },
    /// An operator can't have this type of value.
    #[error("{operator} can't make a value of type {data_type}: {detail}")]
    Unsupported {
        /// The operator.
        operator: PlanId,
        /// The type.
        data_type: DataType,
        /// Why not, in words.
        detail: &'static str,
    },
    /// A plan has no child of this number.
    #[error("child {child} of a plan with {children} children")]
    NoSuchChild {
        /// The number asked for.
        child: usize,
        /// How many there are.
        children: usize,
    },
    /// An expression doesn't fit together.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The source of a lazy child couldn't make it.
    #[error("{0}")]
    Source(Box<dyn std::error::Error + Send + Sync>),
}

impl From<PlanError> for DataFusionError {
    fn from(error: PlanError) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

/// A type as messages and trees print it: with a `?` when the value may be NULL.
pub(super) fn nullable((data_type, nullable): &(DataType, bool)) -> String {
    format!("{data_type}{}", if *nullable { "?" } else { "" })
}
