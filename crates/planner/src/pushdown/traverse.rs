// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Walking expressions without recursion; equal subtrees are visited once.

use std::collections::HashMap;

use crate::expr::{BindError, BoundExpression};

/// Values of expression nodes; equal nodes have one value.
pub(super) type Values<T> = HashMap<BoundExpression, T>;

/// Computes a value for every node of `expression` from the values of its children, and adds it to `done`.
///
/// `enter` sees a node before its children; when it gives a value, they aren't visited on its behalf.
pub(super) fn fold<T, E>(
    expression: &BoundExpression,
    done: &mut Values<T>,
    mut enter: impl FnMut(&BoundExpression) -> Result<Option<T>, E>,
    mut leave: impl FnMut(&BoundExpression, Vec<&T>) -> Result<T, E>,
) -> Result<(), E> {
    let mut stack = vec![(expression, false)];
    while let Some((node, entered)) = stack.pop() {
        if done.contains_key(node) {
            continue;
        }
        let value = match entered {
            true => Some(leave(node, node.children().iter().filter_map(|c| done.get(c)).collect())?),
            false => enter(node)?,
        };
        match value {
            Some(value) => {
                done.insert(node.clone(), value);
            }
            None => {
                stack.push((node, true));
                stack.extend(node.children().iter().rev().map(|c| (c, false)));
            }
        }
    }
    Ok(())
}

/// `expression` with every node replaced for which `replacement` gives another, from the top down.
pub(super) fn replace(
    expression: &BoundExpression,
    mut replacement: impl FnMut(&BoundExpression) -> Option<BoundExpression>,
) -> Result<BoundExpression, BindError> {
    let mut done = Values::new();
    fold(
        expression,
        &mut done,
        |node| Ok(replacement(node)),
        |node, children| node.with_children(children.into_iter().cloned().collect()),
    )?;
    Ok(done.remove(expression).unwrap_or_else(|| expression.clone()))
}
