// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Phase 2: cutting an expression into one group for each child of a plan, and a combination.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::annotate::{Annotation, annotate};
use super::lower::Lowering;
use super::traverse::replace;
use super::{ChildSet, Kernels};
use crate::expr::functions::{GetItem, Pack};
use crate::expr::{BindError, BoundExpression};
use crate::plan::{PlanError, PlanRef};

/// An expression over a plan, taken apart: what is read, by scope.
#[derive(Debug)]
pub(super) struct Partition {
    pub groups: Vec<Group>,
}

/// Parts of an expression that are evaluated together.
#[derive(Debug)]
pub(super) struct Group {
    /// Where they are evaluated.
    pub scope: Scope,
    /// What the combination calls their result.
    pub name: String,
    /// The parts as they were in the plan's scope.
    pub cuts: Vec<BoundExpression>,
    /// The parts in their own scope, as one expression: a struct of them when there are several.
    pub lowered: BoundExpression,
}

/// Where a group is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Scope {
    /// Over a child of the plan.
    Child(usize),
    /// Over the plan itself: for roots that couldn't be lowered.
    Plan,
}

/// The parts found so far, with their lowered forms, in the order in which they were found.
type Cuts = BTreeMap<Scope, Vec<(BoundExpression, BoundExpression)>>;

impl Partition {
    /// Takes `expression` over `plan` apart.
    ///
    /// # Errors
    /// When a group's parts can't be packed, which means that a kernel broke its contract.
    pub fn new(expression: &BoundExpression, plan: &PlanRef, kernels: &Kernels) -> Result<Self, PlanError> {
        let group = |(scope, parts): (Scope, Vec<(BoundExpression, BoundExpression)>)| {
            let (cuts, parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let lowered = pack(&cuts, parts)?;
            let name = match scope {
                Scope::Child(child) => format!("@{}", plan.child_name(child)),
                Scope::Plan => "@$".to_owned(),
            };
            Ok(Group { scope, name, cuts, lowered })
        };
        let groups = cut(expression, plan, kernels).into_iter().map(group);
        Ok(Self { groups: groups.collect::<Result<_, BindError>>()? })
    }

    /// The fields of the groups' results, which have the fields given, and `expression` with every part
    /// replaced by a reference to its group's result: over that result, or over a struct of the results when
    /// there are several.
    ///
    /// # Errors
    /// When it can't be bound, which means that a kernel broke its contract.
    pub fn combine<'f>(
        &self,
        expression: &BoundExpression,
        results: impl IntoIterator<Item = &'f FieldRef>,
    ) -> Result<(Fields, BoundExpression), BindError> {
        let named = |(group, field): (&Group, &FieldRef)| field.as_ref().clone().with_name(&group.name);
        let fields: Fields = self.groups.iter().zip(results).map(named).collect();
        let root = BoundExpression::root(match self.groups.as_slice() {
            [_] => Arc::clone(&fields[0]),
            _ => Arc::new(Field::new_struct("", fields.clone(), false)),
        });
        let mut references = HashMap::new();
        for (i, group) in self.groups.iter().enumerate() {
            let result = match self.groups.as_slice() {
                [_] => root.clone(),
                _ => GetItem::of(root.clone(), i)?,
            };
            for (part, cut) in group.cuts.iter().enumerate() {
                let reference = match group.cuts.len() {
                    1 => result.clone(),
                    _ => GetItem::of(result.clone(), part)?,
                };
                references.insert(cut, reference);
            }
        }
        let combination = replace(expression, |node| references.get(node).cloned())?;
        Ok((fields, combination))
    }

    /// Whether all that is left to do is to put the plan's children side by side, as they are.
    pub fn is_all_children(&self, children: usize) -> bool {
        self.groups.len() == children && self.groups.iter().all(|group| group.lowered.is_root())
    }
}

/// Finds the maximal parts that need one child and can be lowered into it.
///
/// A node that isn't such a part is entered; a root that is reached this way is a part of the plan's own
/// scope.
fn cut(expression: &BoundExpression, plan: &PlanRef, kernels: &Kernels) -> Cuts {
    let annotations = annotate(expression, plan, kernels);
    let mut lowerings = HashMap::new();
    let mut cuts = Cuts::new();
    let (mut taken, mut seen) = (HashSet::new(), HashSet::new());
    let mut stack = vec![(expression, false)];
    while let Some((node, guarded)) = stack.pop() {
        // A part that is taken is evaluated for all rows anyway, guarded here or not.
        if taken.contains(node) || !seen.insert((node, guarded)) {
            continue;
        }
        let part = match annotations.get(node).and_then(|a| eligible(a, guarded)) {
            Some(child) => {
                let lowering = lowerings.entry(child).or_insert_with(|| Lowering::new(plan, child, kernels));
                lowering.lower(node).map(|lowered| (Scope::Child(child), lowered))
            }
            None => None,
        };
        match part.or_else(|| node.is_root().then(|| (Scope::Plan, node.clone()))) {
            Some((scope, lowered)) => {
                taken.insert(node);
                cuts.entry(scope).or_default().push((node.clone(), lowered));
            }
            None => {
                let guards = node.facts().guarded;
                let children = node.children().iter().enumerate().rev();
                stack.extend(children.map(|(i, child)| (child, guarded || guards.contains(i))));
            }
        }
    }
    cuts
}

/// The child into which a node may be pushed.
fn eligible(annotation: &Annotation, guarded: bool) -> Option<usize> {
    let hoisting_could_fail = guarded && annotation.can_fail;
    ChildSet::single(&annotation.children).filter(|_| !annotation.volatile && !hoisting_could_fail)
}

/// The expression of a group's result: the part itself, or a struct of the parts.
fn pack(cuts: &[BoundExpression], mut lowered: Vec<BoundExpression>) -> Result<BoundExpression, BindError> {
    if lowered.len() == 1 {
        return Ok(lowered.remove(0));
    }
    let of = |part: &BoundExpression| part.children().first().cloned();
    if let Some(root) = lowered.first().and_then(of)
        && is_whole(&lowered)
    {
        return Ok(root);
    }
    let named = |(i, cut): (usize, &BoundExpression)| cut.field().as_ref().clone().with_name(i.to_string());
    let fields: Fields = cuts.iter().enumerate().map(named).collect();
    Pack::of(fields, lowered)
}

/// Whether the parts are the root, or all fields of a root that is a struct, in order: as they are read, it
/// doesn't matter whether the struct is NULL or they are.
pub(super) fn is_whole(parts: &[BoundExpression]) -> bool {
    let field_of = |(i, part): (usize, &BoundExpression)| {
        part.as_opt::<GetItem>() == Some(&i) && part.children().iter().all(BoundExpression::is_root)
    };
    match parts {
        // One part stands for itself: a field isn't its struct.
        [part] => part.is_root(),
        [part, ..] => match part.children().first().map(|root| root.field()) {
            Some(root) => {
                matches!(root.data_type(), DataType::Struct(fields) if fields.len() == parts.len())
                    && parts.iter().enumerate().all(field_of)
            }
            None => false,
        },
        [] => false,
    }
}
