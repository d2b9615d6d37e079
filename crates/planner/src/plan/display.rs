// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Printing a plan as a tree.

use std::fmt;

use arrow::datatypes::DataType;

use super::PlanRef;
use super::error::nullable;

/// Prints a plan and what has been made of its children, one node a line; printing makes nothing.
#[derive(Clone, Copy)]
pub struct TreeDisplay<'a> {
    plan: &'a PlanRef,
}

impl<'a> TreeDisplay<'a> {
    pub(super) fn new(plan: &'a PlanRef) -> Self {
        Self { plan }
    }
}

impl fmt::Display for TreeDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_node(self.plan, 0, f)
    }
}

fn write_node(plan: &PlanRef, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{plan}: ")?;
    match plan.field().data_type() {
        // A struct's fields are what its children say.
        DataType::Struct(fields) => {
            write!(f, "struct of {}{}", fields.len(), if plan.field().is_nullable() { "?" } else { "" })?;
        }
        data_type => f.write_str(&nullable(&(data_type.clone(), plan.field().is_nullable())))?,
    }
    let some = if plan.shape().filtered { "some of " } else { "" };
    write!(f, " × {some}{}", plan.rows())?;
    let indent = |f: &mut fmt::Formatter<'_>| write!(f, "\n{:1$}", "", 2 * (depth + 1));
    let mut child = 0;
    while child < plan.children().len() {
        indent(f)?;
        match plan.children().made(child) {
            Some(made) => {
                write!(f, "{} = ", plan.child_name(child))?;
                write_node(made, depth + 1, f)?;
                child += 1;
            }
            None => {
                let from = child;
                while child < plan.children().len() && plan.children().made(child).is_none() {
                    child += 1;
                }
                f.write_str(&plan.child_name(from))?;
                if child - from > 1 {
                    write!(f, " … {}", plan.child_name(child - 1))?;
                }
                f.write_str(" not made yet")?;
            }
        }
    }
    Ok(())
}
