// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Scan plans.

use std::collections::HashMap;
use std::fmt;

use prost::Message;

use super::types::{read_field, write_field};
use super::{CodecError, ExprCodec, Sizes, read, wire};
use crate::plan::operators::{
    Concat, Eval, Filter, ListPack, Pack, RowIdx, SegmentScan, Take, Unknown, UnknownData,
};
use crate::plan::{Children, Plan, PlanRef, PlanVTable, Shape};

/// The version of the format.
const VERSION: u32 = 1;

type Decode = fn(&[u8], Shape, Children, &ExprCodec) -> Result<PlanRef, CodecError>;

/// Writes and reads plans with a fixed set of operators.
#[derive(Clone)]
pub struct PlanCodec {
    operators: HashMap<&'static str, Decode>,
    expressions: ExprCodec,
}

impl PlanCodec {
    /// A codec of no operator; expressions go by this codec.
    pub fn empty(expressions: ExprCodec) -> Self {
        Self { operators: HashMap::new(), expressions }
    }

    /// Adds an operator; replaces one of the same id.
    #[must_use]
    pub fn with_operator<V: PlanVTable>(mut self) -> Self {
        let decode: Decode = |metadata, shape, children, expressions| {
            let data = V::decode(metadata, expressions)?;
            Ok(Plan::<V>::try_from_parts(shape, &data, children)?.into())
        };
        self.operators.insert(V::ID.as_str(), decode);
        self
    }

    /// A codec of the operators in [`crate::plan::operators`].
    pub fn with_expressions(expressions: ExprCodec) -> Self {
        Self::empty(expressions)
            .with_operator::<Concat>()
            .with_operator::<Eval>()
            .with_operator::<Filter>()
            .with_operator::<ListPack>()
            .with_operator::<Pack>()
            .with_operator::<RowIdx>()
            .with_operator::<SegmentScan>()
            .with_operator::<Take>()
    }

    /// The plan as bytes. Children that aren't made yet are made.
    ///
    /// # Errors
    /// When a child can't be made, an operator has no codec, or the plan is too large.
    pub fn encode(&self, plan: &PlanRef) -> Result<Vec<u8>, CodecError> {
        let (mut nodes, mut sizes) = (Vec::new(), Sizes::default());
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        let mut stack = vec![(plan, false)];
        while let Some((node, entered)) = stack.pop() {
            if numbers.contains_key(&node.address()) {
                continue;
            }
            let children = (0..node.children().len()).map(|child| node.child(child));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            if !entered {
                stack.push((node, true));
                stack.extend(children.into_iter().rev().map(|child| (child, false)));
                continue;
            }
            let children: Vec<u32> =
                children.iter().filter_map(|child| numbers.get(&child.address()).copied()).collect();
            sizes.push(&children)?;
            numbers.insert(node.address(), u32::try_from(nodes.len()).map_err(|_| CodecError::TooLarge)?);
            nodes.push(self.encode_node(node, children)?);
        }
        Ok(wire::Plan { version: VERSION, nodes }.encode_to_vec())
    }

    fn encode_node(&self, plan: &PlanRef, children: Vec<u32>) -> Result<wire::PlanNode, CodecError> {
        let (operator, metadata) = match plan.as_opt::<Unknown>() {
            Some(UnknownData { operator, metadata, .. }) => (operator.clone(), Some(metadata.clone())),
            None => (plan.id().as_str().to_owned(), plan.encode(&self.expressions)?),
        };
        let Shape { field, rows, filtered } = plan.shape();
        let Some(metadata) = metadata else { return Err(CodecError::Operator(operator)) };
        let field = Some(write_field(field)?);
        Ok(wire::PlanNode { operator, field, rows: *rows, filtered: *filtered, children, metadata })
    }

    /// The plan that these bytes are, which may be anything. Operators that aren't known are kept, see
    /// [`Unknown`].
    ///
    /// # Errors
    /// When they are no plan.
    pub fn decode(&self, bytes: &[u8]) -> Result<PlanRef, CodecError> {
        let wire::Plan { version, nodes } = read(bytes)?;
        if version != VERSION {
            return Err(CodecError::Version(version));
        }
        let (mut plans, mut sizes) = (Vec::<PlanRef>::new(), Sizes::default());
        for wire::PlanNode { operator, field, rows, filtered, children, metadata } in nodes {
            sizes.push(&children)?;
            let children = children.into_iter().filter_map(|child| plans.get(child as usize).cloned());
            let children: Vec<PlanRef> = children.collect();
            let shape = Shape { field: read_field(field)?, rows, filtered };
            let plan = match self.operators.get(operator.as_str()) {
                Some(decode) => decode(&metadata, shape.clone(), children.clone().into(), &self.expressions),
                None => Err(CodecError::Operator(operator.clone())),
            };
            plans.push(match plan {
                Err(CodecError::Operator(_) | CodecError::Function(_) | CodecError::Foreign) => {
                    Unknown::keep(operator, metadata, shape, children)?
                }
                plan => plan?,
            });
        }
        plans.pop().ok_or(CodecError::Malformed("no plan"))
    }
}

impl Default for PlanCodec {
    fn default() -> Self {
        Self::with_expressions(ExprCodec::default())
    }
}

impl fmt::Debug for PlanCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operators: Vec<_> = self.operators.keys().collect();
        operators.sort_unstable();
        f.debug_struct("PlanCodec")
            .field("operators", &operators)
            .field("expressions", &self.expressions)
            .finish()
    }
}
