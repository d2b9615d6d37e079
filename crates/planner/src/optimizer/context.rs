// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a rule may know besides the node it looks at.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::Arc;

use datafusion_common::HashMap;

use super::Trace;

/// What an expression's value is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// The value itself is wanted.
    Value,
    /// Only rows where it is TRUE are wanted: NULL and FALSE are alike.
    Filter,
}

/// How an optimizer works.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OptimizerConfig {
    /// How many rules may fire in one run; `max(1024, 16 × nodes)` when absent.
    pub budget: Option<usize>,
}

/// Values that a session holds for its rules, one of each type.
#[derive(Clone, Default)]
pub(super) struct Values(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Values {
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

/// What a rule may know besides the node it looks at: how its value is used, the optimizer's
/// configuration, and what its session holds. There are no arrays here and no way to execute anything.
pub struct RewriteContext<'a> {
    pub(super) position: Position,
    pub(super) config: &'a OptimizerConfig,
    pub(super) values: &'a Values,
    pub(super) rule: &'static str,
    pub(super) trace: Option<&'a RefCell<Trace>>,
}

impl RewriteContext<'_> {
    /// What the node's value is used for.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether NULL and FALSE are alike here.
    pub fn is_filter(&self) -> bool {
        self.position == Position::Filter
    }

    /// The optimizer's configuration.
    pub fn config(&self) -> &OptimizerConfig {
        self.config
    }

    /// The value of this type that the session was given, if it was.
    pub fn value<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.values.get()
    }

    /// Leaves a note in the trace, when there is one: why the rule declined, say.
    pub fn note(&self, text: impl FnOnce() -> String) {
        if let Some(trace) = self.trace {
            trace.borrow_mut().note(self.rule, text());
        }
    }
}
