// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Why something can't be written or read.

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;

use crate::expr::BindError;
use crate::plan::PlanError;

/// Why a plan or an expression can't be written as bytes, or bytes can't be read as one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes aren't what they should be.
    #[error("malformed: {0}")]
    Malformed(&'static str),
    /// The bytes aren't protocol buffers.
    #[error("malformed: {0}")]
    Wire(#[from] prost::DecodeError),
    /// The tree is too deep, or has too many nodes, or an array has too many values.
    #[error("too deep or too large")]
    TooLarge,
    /// The bytes are of a version that isn't known.
    #[error("version {0} of the format is not known")]
    Version(u32),
    /// A function has no codec.
    #[error("no codec for the function {0}")]
    Function(String),
    /// An operator has no codec.
    #[error("no codec for the operator {0}")]
    Operator(String),
    /// A type of another engine has no codec.
    #[error("no codec for expressions of another engine")]
    Foreign,
    /// Types have no codec.
    #[error("no codec for the type {0}")]
    Type(String),
    /// The expression doesn't fit together.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The plan doesn't fit together.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An array doesn't fit together.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A value can't be made.
    #[error(transparent)]
    Value(#[from] DataFusionError),
}
