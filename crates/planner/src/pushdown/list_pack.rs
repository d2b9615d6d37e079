// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernels of [`ListPack`]: lengths and NULLs need no elements.

use std::sync::Arc;

use super::pack::{lower_is_null, validity_of_root};
use super::traverse::replace;
use super::{ChildSet, Kernels, NodeKey};
use crate::expr::BoundExpression;
use crate::expr::functions::{IsNull, ListLength};
use crate::plan::PlanRef;
use crate::plan::operators::ListPack;

pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels
        .with_annotate::<ListPack>(NodeKey::call::<IsNull>(), |node, plan| {
            validity_of_root(node).and(validity(plan)).map(ChildSet::one)
        })
        .with_lower::<ListPack>(NodeKey::call::<IsNull>(), |node, plan, child| {
            lower_is_null(node, plan, child, validity(plan)?)
        })
        .with_annotate::<ListPack>(NodeKey::call::<ListLength>(), |node, plan| {
            let of_root = node.children().iter().all(BoundExpression::is_root);
            of_root.then(|| ChildSet::from_iter([ListPack::OFFSETS].into_iter().chain(validity(plan))))
        })
        // *e over list_pack(elements, …) → e over lists of nothing; requires that e needs no elements.*
        .with_reshape::<ListPack>(|expression, plan, needed| {
            let needed = needed();
            if needed.contains(ListPack::ELEMENTS) || !needed.contains(ListPack::OFFSETS) {
                return Ok(None);
            }
            let bare = plan.downcast::<ListPack>().map(|lists| lists.without_elements());
            let Some(bare) = bare.transpose()?.flatten() else { return Ok(None) };
            let root = BoundExpression::root(Arc::clone(bare.field()));
            let expression = replace(expression, |node| node.is_root().then(|| root.clone()))?;
            Ok(Some((expression, bare)))
        })
}

/// The child that says where a list isn't NULL.
fn validity(plan: &PlanRef) -> Option<usize> {
    plan.field().is_nullable().then_some(ListPack::VALIDITY)
}
