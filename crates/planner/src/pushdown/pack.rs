// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The kernels of [`Pack`]: a field of the struct is a child, and so is where it is NULL.
//!
//! A field of a struct that may be NULL needs two children, the field's own and the validity, so it has no
//! lowering into one: where the struct is NULL the child has any value, and the field has none. What goes
//! down is a *factorization*: an expression over the children as they are, and over the validity, that
//! masks what is hidden as far up as can be.
//!
//! | over *x* = mask(*a*, *valid*) | is |
//! |---|---|
//! | f(x), f strict | mask(f(a), valid) |
//! | x IS NOT NULL | valid AND a IS NOT NULL |
//! | x IS NULL | NOT valid OR a IS NULL |
//! | f(x), any other f | f(mask(a, valid)) |
//!
//! What is under a mask is guarded by it. So a strict part that can't fail is cut out from under it and goes
//! down to its child, and one that can fail stays, and never sees a hidden value.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::traverse::{Values, fold};
use super::{ChildSet, Kernels, NodeKey, Reshaped};
use crate::expr::functions::{And, GetItem, IsNull, Mask, Not, Or, Pack as PackFn};
use crate::expr::{BindError, BoundExpression, Nulls};
use crate::plan::operators::{Pack, PackData};
use crate::plan::{PackPlan, PlanError, PlanRef};

pub(super) fn install(kernels: Kernels) -> Kernels {
    kernels
        .with_annotate::<Pack>(NodeKey::call::<GetItem>(), |node, plan| {
            let (field, validity) = (field_of_root(node)?, validity(plan));
            Some(ChildSet::from_iter(
                [Some(field), validity.filter(|_| !is_masked(plan))].into_iter().flatten(),
            ))
        })
        .with_annotate::<Pack>(NodeKey::call::<IsNull>(), |node, plan| {
            validity_of_root(node).and(validity(plan)).map(ChildSet::one)
        })
        .with_lower::<Pack>(NodeKey::call::<GetItem>(), lower_field)
        .with_lower::<Pack>(NodeKey::call::<IsNull>(), |node, plan, child| {
            lower_is_null(node, plan, child, validity(plan)?)
        })
        .with_reshape::<Pack>(|expression, plan, _| match plan.downcast() {
            Some(pack) => factor(expression, &pack),
            None => Ok(None),
        })
}

/// The child that says where a pack isn't NULL.
fn validity(plan: &PlanRef) -> Option<usize> {
    plan.downcast::<Pack>()?.validity()
}

fn is_masked(plan: &PlanRef) -> bool {
    plan.as_opt::<Pack>().is_some_and(|PackData { masked }| *masked)
}

/// *`get_item($, i)` over a pack → `$` over child `i`; requires that the pack is never NULL, or that its
/// children are NULL wherever it is.*
fn lower_field(node: &BoundExpression, plan: &PlanRef, child: usize) -> Option<BoundExpression> {
    let field = field_of_root(node)?;
    let as_it_is = validity(plan).is_none() || is_masked(plan);
    let shape = plan.children().shapes().get(child)?;
    (field == child && as_it_is).then(|| BoundExpression::root(Arc::clone(&shape.field)))
}

/// *`is_not_null($)` → `$`, `is_null($)` → `NOT $`, over the validity.*
pub(super) fn lower_is_null(
    node: &BoundExpression,
    plan: &PlanRef,
    child: usize,
    validity: usize,
) -> Option<BoundExpression> {
    let negated = validity_of_root(node).filter(|_| child == validity)?;
    let valid = BoundExpression::root(Arc::clone(&plan.children().shapes().get(child)?.field));
    if negated { Some(valid) } else { Not::of(valid).ok() }
}

/// Which field of the root a node reads, if it reads just that.
fn field_of_root(node: &BoundExpression) -> Option<usize> {
    node.as_opt::<GetItem>().copied().filter(|_| reads_root(node))
}

/// Whether a node tells where the root is NULL (`false`) or isn't (`true`), if it does.
pub(super) fn validity_of_root(node: &BoundExpression) -> Option<bool> {
    node.as_opt::<IsNull>().copied().filter(|_| reads_root(node))
}

fn reads_root(node: &BoundExpression) -> bool {
    node.children().iter().all(BoundExpression::is_root)
}

/// *e over pack(fields, valid) → its factorization over pack(fields and valid); requires that e reads a
/// field, and that children aren't masked, as then each goes down by itself.*
fn factor(expression: &BoundExpression, plan: &PackPlan) -> Result<Reshaped, PlanError> {
    if plan.masked || !expression.any(|node| field_of_root(node).is_some()) {
        return Ok(None);
    }
    let (Some(validity), Some(open)) = (plan.validity(), plan.without_validity()?) else { return Ok(None) };
    // What doesn't bind over the children stays over the struct.
    let factored = Factoring::new(plan, &open, validity).and_then(|f| f.of(expression));
    Ok(factored.ok().flatten().map(|factored| (factored, open.into())))
}

/// Factors expressions over a struct that may be NULL.
struct Factoring {
    /// The struct of the children, never NULL.
    open: BoundExpression,
    /// Where the struct isn't NULL.
    valid: BoundExpression,
    /// The struct's own type.
    whole: DataType,
}

/// An expression over the children.
#[derive(Clone)]
struct Factored {
    value: BoundExpression,
    /// Whether the value counts only where the struct isn't NULL, and is NULL elsewhere.
    masked: bool,
}

impl Factoring {
    fn new(plan: &PackPlan, open: &PackPlan, validity: usize) -> Result<Self, BindError> {
        let whole = plan.as_plan().field().data_type().clone();
        let open = BoundExpression::root(Arc::clone(open.as_plan().field()));
        Ok(Self { valid: GetItem::of(open.clone(), validity)?, open, whole })
    }

    fn of(&self, expression: &BoundExpression) -> Result<Option<BoundExpression>, BindError> {
        let mut done = Values::new();
        fold(expression, &mut done, |node| self.of_root(node), |node, parts| self.of_node(node, &parts))?;
        done.remove(expression).map(|factored| self.finish(factored)).transpose()
    }

    /// What a node that reads the root alone is.
    fn of_root(&self, node: &BoundExpression) -> Result<Option<Factored>, BindError> {
        if let Some(field) = field_of_root(node) {
            return Ok(Some(Factored { value: GetItem::of(self.open.clone(), field)?, masked: true }));
        }
        if let Some(negated) = validity_of_root(node) {
            let value = if negated { self.valid.clone() } else { Not::of(self.valid.clone())? };
            return Ok(Some(Factored { value, masked: false }));
        }
        match (&self.whole, node.is_root()) {
            (DataType::Struct(fields), true) => {
                let parts = (0..fields.len()).map(|field| GetItem::of(self.open.clone(), field));
                let value = PackFn::of(fields.clone(), parts.collect::<Result<_, _>>()?)?;
                Ok(Some(Factored { value, masked: true }))
            }
            _ => Ok(None),
        }
    }

    fn of_node(&self, node: &BoundExpression, parts: &[&Factored]) -> Result<Factored, BindError> {
        let masked = parts.iter().any(|part| part.masked);
        if masked && !node.is_volatile() {
            if let (Some(negated), [part]) = (node.as_opt::<IsNull>(), parts) {
                return Ok(Factored { value: self.is_null(&part.value, *negated)?, masked: false });
            }
            if matches!(node.facts().nulls, Nulls::Strict { .. }) {
                let values = parts.iter().map(|part| part.value.clone()).collect();
                return Ok(Factored { value: node.with_children(values)?, masked });
            }
        }
        let parts = parts.iter().map(|part| self.finish((*part).clone()));
        let value = node.with_children(parts.collect::<Result<_, _>>()?)?;
        Ok(Factored { value, masked: false })
    }

    /// *mask(a, valid) IS NULL → NOT valid OR a IS NULL*, and its negation.
    fn is_null(&self, value: &BoundExpression, negated: bool) -> Result<BoundExpression, BindError> {
        let null = IsNull::of(value.clone(), negated)?;
        let valid = self.valid.clone();
        match (value.field().is_nullable() || value.can_fail(), negated) {
            (true, true) => And::of([valid, null]),
            (true, false) => Or::of([Not::of(valid)?, null]),
            (false, true) => Ok(valid),
            (false, false) => Not::of(valid),
        }
    }

    fn finish(&self, Factored { value, masked }: Factored) -> Result<BoundExpression, BindError> {
        if masked { Mask::of(value, self.valid.clone()) } else { Ok(value) }
    }
}
