// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernels of [`Pack`]: a field of the struct is a child.

use std::sync::Arc;

use super::{ChildSet, Kernels, NodeKey};
use crate::expr::BoundExpression;
use crate::expr::functions::GetItem;
use crate::plan::operators::Pack;

/// *`get_item($, i)` over a pack → `$` over child `i`; requires a pack that is never NULL (all are, as
/// yet): under a validity child the field would be NULL wherever the struct is.*
pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels
        .with_annotate::<Pack>(NodeKey::call::<GetItem>(), |node, _| {
            Some(ChildSet::one(field_of_root(node)?))
        })
        .with_lower::<Pack>(NodeKey::call::<GetItem>(), |node, plan, child| {
            let field = field_of_root(node)?;
            let shape = plan.children().shapes().get(child)?;
            (field == child).then(|| BoundExpression::root(Arc::clone(&shape.field)))
        })
}

/// Which field of the root a node reads, if it reads just that.
fn field_of_root(node: &BoundExpression) -> Option<usize> {
    let reads_root = node.children().iter().all(BoundExpression::is_root);
    node.as_opt::<GetItem>().copied().filter(|_| reads_root)
}
