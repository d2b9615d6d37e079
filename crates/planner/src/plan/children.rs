// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Children of a plan node, made when they are first looked at.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::datatypes::{Field, FieldRef};

use super::{PlanError, PlanRef};

/// What is known of a plan's value without making the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The field of the value. Its name is a label and means nothing.
    pub field: FieldRef,
    /// How many rows the value has; of a filtered one, how many it was chosen from.
    pub rows: u64,
    /// Whether only some of the rows may be there, which can't be told without reading.
    pub filtered: bool,
}

impl Shape {
    /// The shape of a value with this field and this many rows.
    pub fn new(field: FieldRef, rows: u64) -> Self {
        Self { field, rows, filtered: false }
    }

    /// The shape of a value with this field for the same rows.
    #[must_use]
    pub fn with_field(&self, field: FieldRef) -> Self {
        Self { field, ..*self }
    }

    /// Checks that a value of this shape can stand where one of shape `wanted` is expected: the same
    /// type, as many rows, and NULL only if NULL is expected. Filtered rows don't stand for all of them.
    pub(crate) fn check_fits(&self, wanted: &Shape, what: impl FnOnce() -> String) -> Result<(), PlanError> {
        if !fits(&self.field, &wanted.field) {
            let describe = |field: &Field| (field.data_type().clone(), field.is_nullable());
            let (expected, actual) = (describe(&wanted.field), describe(&self.field));
            return Err(PlanError::Type { what: what(), expected, actual });
        }
        if self.rows != wanted.rows {
            return Err(PlanError::Rows { what: what(), expected: wanted.rows, actual: self.rows });
        }
        if self.filtered && !wanted.filtered {
            return Err(PlanError::Filtered { what: what() });
        }
        Ok(())
    }
}

/// Whether a value with this field can stand where one with the field `wanted` is expected.
pub(crate) fn fits(field: &Field, wanted: &Field) -> bool {
    field.data_type() == wanted.data_type() && (wanted.is_nullable() || !field.is_nullable())
}

/// The children of a plan node.
///
/// The shape of every child is known from the start; the child itself may be made on first access. It
/// is then made once, whoever asks and on whichever thread. A failure is not kept: the next access
/// tries again. Cheap to clone; clones share what has been made.
#[derive(Clone)]
pub struct Children(Arc<Inner>);

struct Inner {
    shapes: Box<[Shape]>,
    slots: Box<[Slot]>,
    make: Option<Box<Make>>,
}

type Make = dyn Fn(usize) -> Result<PlanRef, PlanError> + Send + Sync;

#[derive(Default)]
struct Slot {
    plan: OnceLock<PlanRef>,
    making: Mutex<()>,
}

impl Children {
    /// No children.
    pub fn none() -> Self {
        Self::from(Vec::new())
    }

    /// Children of these shapes, each made by `make` (given its position) when it is first looked at.
    pub fn lazy(
        shapes: impl Into<Vec<Shape>>,
        make: impl Fn(usize) -> Result<PlanRef, PlanError> + Send + Sync + 'static,
    ) -> Self {
        let shapes = shapes.into().into_boxed_slice();
        let slots = shapes.iter().map(|_| Slot::default()).collect();
        Self(Arc::new(Inner { shapes, slots, make: Some(Box::new(make)) }))
    }

    /// These children, each put through `map` when it is first looked at; their new field is `field`,
    /// and rows stay rows.
    pub fn map(
        &self,
        field: &FieldRef,
        map: impl Fn(&PlanRef) -> Result<PlanRef, PlanError> + Send + Sync + 'static,
    ) -> Self {
        let shapes: Vec<_> = self.shapes().iter().map(|s| s.with_field(Arc::clone(field))).collect();
        let source = self.clone();
        Self::lazy(shapes, move |child| map(source.get(child)?))
    }

    /// Children of other nodes, in this order. Those that are made are taken as they are, the others stay
    /// unmade and are made where they come from.
    pub fn pick(sources: Vec<(Children, usize)>) -> Result<Self, PlanError> {
        let (mut shapes, mut slots) = (Vec::with_capacity(sources.len()), Vec::with_capacity(sources.len()));
        for (children, child) in &sources {
            let no_such_child = PlanError::NoSuchChild { child: *child, children: children.len() };
            shapes.push(children.shapes().get(*child).ok_or(no_such_child)?.clone());
            let plan = children.made(*child).cloned().map_or_else(OnceLock::new, OnceLock::from);
            slots.push(Slot { plan, making: Mutex::default() });
        }
        let make: Box<Make> = Box::new(move |child| match sources.get(child) {
            Some((children, child)) => children.get(*child).cloned(),
            None => Err(PlanError::NoSuchChild { child, children: sources.len() }),
        });
        Ok(Self(Arc::new(Inner { shapes: shapes.into(), slots: slots.into(), make: Some(make) })))
    }

    /// How many children there are.
    pub fn len(&self) -> usize {
        self.0.shapes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.shapes.is_empty()
    }

    /// The shapes of the children, made or not.
    pub fn shapes(&self) -> &[Shape] {
        &self.0.shapes
    }

    /// A child, which is made now if it wasn't.
    ///
    /// # Errors
    /// When there is no such child, it can't be made, or it comes out in another shape than announced.
    pub fn get(&self, child: usize) -> Result<&PlanRef, PlanError> {
        let no_such_child = PlanError::NoSuchChild { child, children: self.len() };
        let (Some(slot), Some(shape)) = (self.0.slots.get(child), self.0.shapes.get(child)) else {
            return Err(no_such_child);
        };
        if let Some(plan) = slot.plan.get() {
            return Ok(plan);
        }
        // A maker that panicked left nothing half done, so a poisoned lock is as good as any.
        let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = slot.plan.get() {
            return Ok(plan);
        }
        let plan = self.0.make.as_ref().ok_or(no_such_child)?(child)?;
        plan.shape().check_fits(shape, || format!("lazy child {child}"))?;
        Ok(slot.plan.get_or_init(|| plan))
    }

    /// A child, if it has been made.
    pub fn made(&self, child: usize) -> Option<&PlanRef> {
        self.0.slots.get(child)?.plan.get()
    }
}

impl From<Vec<PlanRef>> for Children {
    fn from(plans: Vec<PlanRef>) -> Self {
        let shapes = plans.iter().map(|p| p.shape().clone()).collect();
        let slots = plans.into_iter().map(|p| Slot { plan: p.into(), making: Mutex::default() }).collect();
        Self(Arc::new(Inner { shapes, slots, make: None }))
    }
}

impl fmt::Debug for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = (0..self.len()).filter(|c| self.made(*c).is_some()).count();
        write!(f, "{} children, {made} made", self.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::datatypes::DataType;

    use super::*;
    use crate::index::FragmentCol;
    use crate::plan::{SegmentId, SegmentScanPlan};

    fn shape(rows: u64) -> Shape {
        Shape::new(Arc::new(Field::new("a", DataType::Int64, true)), rows)
    }

    fn segment(row_group: usize, rows: u64) -> PlanRef {
        let segment = SegmentId::new(row_group, FragmentCol(0));
        SegmentScanPlan::new(segment, Arc::clone(&shape(0).field), rows).into()
    }

    #[test]
    fn a_child_is_made_once_by_whoever_comes_first() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let children = Children::lazy(vec![shape(7), shape(7)], move |child| {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
            Ok(segment(child, 7))
        });
        assert!(format!("{children:?}").ends_with("0 made"));
        assert_eq!(made.load(Ordering::SeqCst), 0);
        let plans: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| children.get(1).cloned().unwrap())).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert!(plans.iter().all(|p| p.ptr_eq(&plans[0])));
        assert!(children.clone().made(1).is_some());
        assert!(children.made(0).is_none());
    }

    #[test]
    fn a_failure_is_tried_again() {
        let tries = AtomicUsize::new(0);
        let children =
            Children::lazy(vec![shape(7)], move |child| match tries.fetch_add(1, Ordering::SeqCst) {
                0 => Err(PlanError::Source("not now".into())),
                1 => panic!("worse"),
                _ => Ok(segment(child, 7)),
            });
        assert_eq!(children.get(0).unwrap_err().to_string(), "not now");
        let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| children.get(0).is_ok()));
        assert!(again.is_err());
        assert_eq!(children.get(0).unwrap().rows(), 7);
        assert!(children.get(1).is_err());
    }

    #[test]
    fn a_child_of_another_shape_is_an_error() {
        let children = Children::lazy(vec![shape(7)], |child| Ok(segment(child, 8)));
        assert_eq!(children.get(0).unwrap_err().to_string(), "lazy child 0: 7 rows expected, not 8");
        assert!(children.made(0).is_none());
    }

    #[test]
    fn mapping_makes_nothing() {
        let source = Children::lazy(vec![shape(7), shape(3)], |child| Ok(segment(child, [7, 3][child])));
        let mapped = source.map(&shape(0).field, |plan| Ok(plan.clone()));
        assert_eq!(mapped.shapes(), source.shapes());
        assert!(source.made(0).is_none() && source.made(1).is_none());
        assert!(mapped.get(1).unwrap().ptr_eq(source.made(1).unwrap()));
        assert!(source.made(0).is_none());
    }
}
