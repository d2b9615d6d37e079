// Licensed under the Apache License, Version 2.0. See LICENSE.

//! An operator that isn't known here.

use std::fmt;

use crate::plan::{Children, Plan, PlanError, PlanId, PlanRef, PlanVTable, Shape};

/// What stands for an operator that isn't known: it keeps what was written of it, and is written again as it
/// was. Nothing goes through it, and it can't be run.
#[derive(Debug)]
pub struct Unknown;

/// What was written of an operator that isn't known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownData {
    /// The operator's id.
    pub operator: String,
    /// What it holds, as it was written.
    pub metadata: Vec<u8>,
    /// The shapes of its children.
    children: Vec<Shape>,
}

impl PlanVTable for Unknown {
    type Data = UnknownData;

    const ID: PlanId = PlanId::new("trommel.unknown");

    fn with_children(data: &UnknownData, _: &Shape, children: &Children) -> Result<UnknownData, PlanError> {
        let (expected, actual) = (data.children.len(), children.len());
        if expected != actual {
            return Err(PlanError::Arity { operator: Self::ID, expected, actual });
        }
        for (child, wanted) in children.shapes().iter().zip(&data.children) {
            child.check_fits(wanted, || format!("a child of {}", data.operator))?;
        }
        Ok(data.clone())
    }

    fn child_name(_: &UnknownData, _: &Shape, child: usize) -> String {
        child.to_string()
    }

    fn fmt(data: &UnknownData, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown({})", data.operator)
    }
}

impl Unknown {
    /// The node of an operator that isn't known.
    pub(crate) fn keep(
        operator: String,
        metadata: Vec<u8>,
        shape: Shape,
        children: Vec<PlanRef>,
    ) -> Result<PlanRef, PlanError> {
        let shapes = children.iter().map(|child| child.shape().clone()).collect();
        let data = UnknownData { operator, metadata, children: shapes };
        Ok(Plan::<Self>::try_from_parts(shape, &data, children.into())?.into())
    }
}
