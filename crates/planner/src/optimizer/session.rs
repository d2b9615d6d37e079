// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The registry of a session's rules.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use datafusion_common::HashMap;

use super::context::Values;
use super::rule::Typed;
use super::{ExprRewriteRule, ExpressionOptimizer, OptimizerConfig, TypedExprRewriteRule, rules};
use crate::expr::{ExprKind, FOREIGN, FnId, ScalarFnVTable};

/// The rules of a session, in the order they are tried: those registered for the function at the root of
/// an expression, then the fallback rules, which are tried at every call.
///
/// [`Default`] installs the built-in rules. Registering changes later [snapshots](Self::snapshot) only.
#[derive(Debug, Default)]
pub struct ExpressionOptimizerSession {
    registered: RwLock<Arc<Registered>>,
}

/// What is registered; immutable once shared.
#[derive(Clone)]
pub(super) struct Registered {
    by_function: HashMap<FnId, Vec<Arc<dyn ExprRewriteRule>>>,
    fallback: Vec<Arc<dyn ExprRewriteRule>>,
    pub config: OptimizerConfig,
    pub values: Values,
}

impl Registered {
    /// The rules for a node of this kind, in order.
    pub fn rules(&self, kind: &ExprKind) -> impl Iterator<Item = &dyn ExprRewriteRule> {
        let (function, fallback) = match kind {
            ExprKind::Call(function) => (Some(function.id()), &self.fallback[..]),
            ExprKind::Foreign(_) => (Some(FOREIGN), &[][..]),
            _ => (None, &[][..]),
        };
        let own = function.and_then(|function| self.by_function.get(&function));
        own.map_or(&[][..], Vec::as_slice).iter().chain(fallback).map(|rule| &**rule)
    }

    /// The names of all rules, each with the function at whose calls it is tried.
    pub fn names(&self) -> Vec<(Option<FnId>, &'static str)> {
        let mut functions: Vec<_> = self.by_function.iter().collect();
        functions.sort_unstable_by_key(|(function, _)| **function);
        let own = functions.into_iter().flat_map(|(f, rules)| rules.iter().map(|r| (Some(*f), r.name())));
        own.chain(self.fallback.iter().map(|rule| (None, rule.name()))).collect()
    }

    fn empty() -> Self {
        Self {
            by_function: HashMap::default(),
            fallback: Vec::new(),
            config: OptimizerConfig::default(),
            values: Values::default(),
        }
    }
}

impl Default for Registered {
    fn default() -> Self {
        let session = ExpressionOptimizerSession::empty();
        rules::BUILT_IN.iter().for_each(|install| {
            install(&session);
        });
        Self::clone(&session.registered())
    }
}

impl ExpressionOptimizerSession {
    /// A session without rules.
    pub fn empty() -> Self {
        Self { registered: RwLock::new(Arc::new(Registered::empty())) }
    }

    /// Adds a rule for calls of `V`, to be tried after those registered before it.
    pub fn register<V: ScalarFnVTable>(&self, rule: impl TypedExprRewriteRule<V>) -> &Self {
        self.register_erased(V::ID, Typed::<V, _>::new(rule))
    }

    /// Adds a rule for calls of the function with this id, whatever its vtable; or for nodes of another
    /// engine, whose id is [`FOREIGN`].
    pub fn register_erased(&self, function: FnId, rule: impl ExprRewriteRule) -> &Self {
        self.change(|r| r.by_function.entry(function).or_default().push(Arc::new(rule)))
    }

    /// Adds a rule that is tried at every call, after the rules of its function.
    pub fn register_fallback(&self, rule: impl ExprRewriteRule) -> &Self {
        self.change(|r| r.fallback.push(Arc::new(rule)))
    }

    /// Sets how optimizers work.
    pub fn configure(&self, config: OptimizerConfig) -> &Self {
        self.change(|r| r.config = config)
    }

    /// Gives rules a value to ask their context for. A value of the same type is replaced.
    pub fn provide<T: Any + Send + Sync>(&self, value: T) -> &Self {
        self.change(|r| r.values.insert(value))
    }

    /// The optimizer with the rules as they are now. It is immutable and cheap to clone.
    pub fn snapshot(&self) -> ExpressionOptimizer {
        ExpressionOptimizer::new(self.registered())
    }

    fn registered(&self) -> Arc<Registered> {
        // Changes are made to a copy that is put back whole, so a poisoned lock is as good as any.
        Arc::clone(&self.registered.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Registered)) -> &Self {
        let mut registered = self.registered.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut registered));
        drop(registered);
        self
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("by_function", &self.by_function)
            .field("fallback", &self.fallback)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
