// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bound expressions.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use prost::Message;

use super::arrays::{read_scalar, write_scalar};
use super::functions::FnCodec;
use super::types::{read_field, write_field};
use super::{CodecError, Sizes, read, wire};
use crate::expr::functions::{
    And, Arithmetic, Case, Cast, Compare, GetItem, InSet, IsNull, Like, ListLength, Mask, Not, Or, Pack,
};
use crate::expr::{BoundExpression, ExprKind, FnRef, Foreign};

/// Writes and reads what belongs to another engine.
pub trait ForeignCodec: fmt::Debug + Send + Sync {
    /// The node as bytes.
    ///
    /// # Errors
    /// When it has no codec.
    fn encode(&self, foreign: &dyn Foreign) -> Result<Vec<u8>, CodecError>;

    /// The node that these bytes are, which may be anything.
    ///
    /// # Errors
    /// When they are none.
    fn decode(&self, bytes: &[u8]) -> Result<Arc<dyn Foreign>, CodecError>;
}

/// Writes and reads bound expressions with a fixed set of functions.
#[derive(Clone)]
pub struct ExprCodec {
    functions: HashMap<&'static str, Options>,
    foreign: Option<Arc<dyn ForeignCodec>>,
}

type Encoded = Result<Vec<u8>, CodecError>;

/// [`FnCodec`], its function erased.
#[derive(Clone, Copy)]
struct Options {
    /// `None` for another function of the same id.
    encode: fn(&FnRef) -> Option<Encoded>,
    decode: fn(&[u8]) -> Result<FnRef, CodecError>,
}

impl ExprCodec {
    /// A codec of no function.
    pub fn empty() -> Self {
        Self { functions: HashMap::new(), foreign: None }
    }

    /// Adds a function; replaces one of the same id.
    #[must_use]
    pub fn with_function<V: FnCodec>(mut self) -> Self {
        let options = Options {
            encode: |function| function.as_opt::<V>().map(V::encode),
            decode: |bytes| V::decode(bytes).map(FnRef::new::<V>),
        };
        self.functions.insert(V::ID.as_str(), options);
        self
    }

    /// Sets what writes and reads nodes of another engine.
    #[must_use]
    pub fn with_foreign(self, foreign: Arc<dyn ForeignCodec>) -> Self {
        Self { foreign: Some(foreign), ..self }
    }

    /// The expression as bytes.
    ///
    /// # Errors
    /// When something in it has no codec, or it is too large.
    pub fn encode(&self, expression: &BoundExpression) -> Result<Vec<u8>, CodecError> {
        let (mut nodes, mut sizes) = (Vec::new(), Sizes::default());
        let mut numbers: HashMap<BoundExpression, u32> = HashMap::new();
        let mut stack = vec![(expression, false)];
        while let Some((node, entered)) = stack.pop() {
            if numbers.contains_key(node) {
                continue;
            }
            if !entered {
                stack.push((node, true));
                stack.extend(node.children().iter().rev().map(|child| (child, false)));
                continue;
            }
            let children: Vec<u32> = node.children().iter().filter_map(|c| numbers.get(c).copied()).collect();
            sizes.push(&children)?;
            numbers.insert(node.clone(), u32::try_from(nodes.len()).map_err(|_| CodecError::TooLarge)?);
            nodes.push(wire::ExprNode { kind: Some(self.encode_kind(node.kind())?), children });
        }
        Ok(wire::Expression { nodes }.encode_to_vec())
    }

    fn encode_kind(&self, kind: &ExprKind) -> Result<wire::ExprKind, CodecError> {
        Ok(match kind {
            ExprKind::Root(field) => wire::ExprKind::Root(write_field(field)?),
            ExprKind::Literal(value) => wire::ExprKind::Literal(write_scalar(value)?),
            ExprKind::Param(slot, field) => wire::ExprKind::Param(wire::Param {
                slot: u32::from(*slot),
                field: Some(write_field(field)?),
            }),
            ExprKind::Call(function) => {
                let id = function.id().as_str();
                let options = self.functions.get(id).and_then(|options| (options.encode)(function));
                let options = options.ok_or_else(|| CodecError::Function(id.to_owned()))??;
                wire::ExprKind::Call(wire::Call { function: id.to_owned(), options })
            }
            ExprKind::Foreign(foreign) => {
                let codec = self.foreign.as_ref().ok_or(CodecError::Foreign)?;
                wire::ExprKind::Foreign(codec.encode(foreign.as_ref())?)
            }
        })
    }

    /// The expression that these bytes are, which may be anything.
    ///
    /// # Errors
    /// When they are no expression, or one with a function that isn't known.
    pub fn decode(&self, bytes: &[u8]) -> Result<BoundExpression, CodecError> {
        let (mut nodes, mut sizes) = (Vec::<BoundExpression>::new(), Sizes::default());
        for wire::ExprNode { kind, children } in read::<wire::Expression>(bytes)?.nodes {
            sizes.push(&children)?;
            let kind = self.decode_kind(kind.ok_or(CodecError::Malformed("a node of no kind"))?)?;
            let children = children.into_iter().filter_map(|child| nodes.get(child as usize).cloned());
            nodes.push(BoundExpression::try_new(kind, children.collect())?);
        }
        nodes.pop().ok_or(CodecError::Malformed("no expression"))
    }

    fn decode_kind(&self, kind: wire::ExprKind) -> Result<ExprKind, CodecError> {
        Ok(match kind {
            wire::ExprKind::Root(field) => ExprKind::Root(read_field(Some(field))?),
            wire::ExprKind::Literal(value) => ExprKind::Literal(read_scalar(value)?),
            wire::ExprKind::Param(wire::Param { slot, field }) => {
                let slot = u16::try_from(slot).map_err(|_| CodecError::TooLarge)?;
                ExprKind::Param(slot, read_field(field)?)
            }
            wire::ExprKind::Call(wire::Call { function, options }) => {
                match self.functions.get(function.as_str()) {
                    Some(codec) => ExprKind::Call((codec.decode)(&options)?),
                    None => return Err(CodecError::Function(function)),
                }
            }
            wire::ExprKind::Foreign(bytes) => {
                ExprKind::Foreign(self.foreign.as_ref().ok_or(CodecError::Foreign)?.decode(&bytes)?)
            }
        })
    }
}

impl Default for ExprCodec {
    /// A codec of the functions in [`crate::expr::functions`].
    fn default() -> Self {
        Self::empty()
            .with_function::<And>()
            .with_function::<Or>()
            .with_function::<Not>()
            .with_function::<Arithmetic>()
            .with_function::<Case>()
            .with_function::<Cast>()
            .with_function::<Compare>()
            .with_function::<GetItem>()
            .with_function::<InSet>()
            .with_function::<IsNull>()
            .with_function::<Like>()
            .with_function::<ListLength>()
            .with_function::<Mask>()
            .with_function::<Pack>()
    }
}

impl fmt::Debug for ExprCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut functions: Vec<_> = self.functions.keys().collect();
        functions.sort_unstable();
        f.debug_struct("ExprCodec").field("functions", &functions).field("foreign", &self.foreign).finish()
    }
}
