// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Plans and expressions as bytes.
//!
//! The bytes are protocol buffers: a list of nodes, children before parents, in which a child is a number.
//! So depth needs no recursion, and what is shared stays shared. Operators and functions go by their stable
//! ids; what they hold is theirs to write and read ([`PlanVTable::encode`](crate::plan::PlanVTable::encode),
//! [`FnCodec`]).
//!
//! Bytes from elsewhere are not trusted: lengths, numbers, types, depth and size are checked before they are
//! used, and everything that is made is made by a validating constructor. An operator that isn't known, or
//! whose expression uses a function that isn't, becomes an [`Unknown`](crate::plan::operators::Unknown), which
//! keeps its bytes and is written as it was read.

mod arrays;
mod error;
mod expression;
mod functions;
mod plan;
#[cfg(test)]
mod tests;
mod types;
mod wire;

pub use error::CodecError;
pub use expression::{ExprCodec, ForeignCodec};
pub use functions::FnCodec;
pub use plan::PlanCodec;

use prost::Message;

/// How deep a tree may be.
const MAX_DEPTH: u32 = 256;

/// How many nodes a tree may have, shared ones counted each time they occur.
const MAX_NODES: u64 = 1 << 20;

/// Reads a message.
pub(crate) fn read<M: Message + Default>(bytes: &[u8]) -> Result<M, CodecError> {
    Ok(M::decode(bytes)?)
}

/// The size of trees, node by node.
#[derive(Debug, Default)]
struct Sizes(Vec<(u32, u64)>);

impl Sizes {
    /// Takes note of the next node, whose children come before it.
    ///
    /// An error when they don't, or the tree grows too deep or too large.
    fn push(&mut self, children: &[u32]) -> Result<(), CodecError> {
        let (mut depth, mut nodes) = (0, 1u64);
        for child in children {
            let (below, more) = *self
                .0
                .get(*child as usize)
                .ok_or(CodecError::Malformed("a child that isn't before its parent"))?;
            (depth, nodes) = (depth.max(below + 1), nodes.saturating_add(more));
        }
        if depth > MAX_DEPTH || nodes > MAX_NODES {
            return Err(CodecError::TooLarge);
        }
        self.0.push((depth, nodes));
        Ok(())
    }
}
