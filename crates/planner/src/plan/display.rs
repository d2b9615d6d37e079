// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Printing a plan: as a tree, or on one line.

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

/// Prints a plan and what has been made of its children on one line; printing makes nothing.
#[derive(Clone, Copy)]
pub struct LineDisplay<'a> {
    plan: &'a PlanRef,
}

impl<'a> LineDisplay<'a> {
    pub(super) fn new(plan: &'a PlanRef) -> Self {
        Self { plan }
    }
}

impl fmt::Display for LineDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        write!(f, "{plan}")?;
        let children = plan.children();
        if children.is_empty() {
            return Ok(());
        }
        f.write_str(" [")?;
        let mut separator = "";
        for child in 0..children.len() {
            let Some(made) = children.made(child) else { continue };
            write!(f, "{separator}{} = {}", plan.child_name(child), Self::new(made))?;
            separator = ", ";
        }
        let is_whole = (0..children.len()).all(|child| children.made(child).is_some());
        write!(
            f,
            "{}]",
            if is_whole {
                ""
            } else if separator.is_empty() {
                "…"
            } else {
                ", …"
            }
        )
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
