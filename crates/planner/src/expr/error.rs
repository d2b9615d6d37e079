// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Why an expression can't be built.

use std::fmt;

use arrow::datatypes::DataType;

use super::FnId;

/// Why an expression can't be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// A function was given another number of arguments than it takes.
    #[error("{function} takes {expected} arguments, not {actual}")]
    Arity {
        /// The function.
        function: FnId,
        /// How many it takes, in words.
        expected: String,
        /// How many it got.
        actual: usize,
    },
    /// A function was given an argument of a type it doesn't take.
    #[error("{function}: argument {argument} is {actual}, but it must be {expected}")]
    Type {
        /// The function.
        function: FnId,
        /// The argument, counted from 0.
        argument: usize,
        /// What it must be, in words.
        expected: String,
        /// What it is.
        actual: DataType,
    },
    /// A leaf was given children.
    #[error("{node} is a leaf, but it was given {children} children")]
    Leaf {
        /// The node's kind.
        node: &'static str,
        /// How many children it was given.
        children: usize,
    },
    /// A struct has no field of this number.
    #[error("field {field} of a struct with {fields} fields")]
    NoSuchField {
        /// The number asked for.
        field: usize,
        /// How many there are.
        fields: usize,
    },
    /// A name isn't that of exactly one field.
    #[error("{} called {name}", Called(*found))]
    Name {
        /// The name.
        name: String,
        /// How many fields have it.
        found: usize,
    },
}

struct Called(usize);

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no field is"),
            found => write!(f, "{found} fields are"),
        }
    }
}
