// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rules for scan plans, and the ordered set of them.
//!
//! A rule replaces a node by another of the same value: the same type, rows, order of rows, NULLs and
//! errors. What it may look at are the node and what has been made of the nodes below. Field and number of
//! rows are checked in every build.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::RewriteError;
use super::driver::{self, Fired, Rules};
use super::label;
use crate::plan::operators::{Concat, Eval, Filter};
use crate::plan::operators::{ConcatOfConcat, FilterByConstant, FilterOfConcat, PushDown};
use crate::plan::{Plan, PlanError, PlanId, PlanRef, PlanVTable};

/// A rule that rewrites nodes of the operator `V`.
pub trait PlanRewriteRule<V: PlanVTable>: fmt::Debug + Send + Sync + 'static {
    /// The rule's name in errors.
    fn name(&self) -> &'static str;

    /// What becomes of a node, whose children are settled as far as they are made; `None` when the rule
    /// doesn't apply.
    ///
    /// # Errors
    /// When a plan can't be made.
    fn rewrite(&self, node: &Plan<V>) -> Result<Option<PlanRef>, PlanError>;
}

/// A rule with its operator erased. It declines nodes of another vtable, even one with the same id.
trait DynRule: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn rewrite(&self, node: &PlanRef) -> Result<Option<PlanRef>, PlanError>;
}

struct Typed<V, R> {
    rule: R,
    operator: PhantomData<fn() -> V>,
}

impl<V: PlanVTable, R: PlanRewriteRule<V>> DynRule for Typed<V, R> {
    fn name(&self) -> &'static str {
        self.rule.name()
    }

    fn rewrite(&self, node: &PlanRef) -> Result<Option<PlanRef>, PlanError> {
        node.downcast::<V>().map_or(Ok(None), |node| self.rule.rewrite(&node))
    }
}

impl<V, R: fmt::Debug> fmt::Debug for Typed<V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)
    }
}

/// Rules for plans, in the order in which those of an operator are tried. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PlanOptimizer {
    rules: HashMap<PlanId, Vec<Arc<dyn DynRule>>>,
}

impl PlanOptimizer {
    /// No rules.
    pub fn empty() -> Self {
        Self { rules: HashMap::new() }
    }

    /// Adds a rule for nodes of `V`, to be tried after those added before it.
    #[must_use]
    pub fn with_rule<V: PlanVTable>(mut self, rule: impl PlanRewriteRule<V>) -> Self {
        let rule = Arc::new(Typed::<V, _> { rule, operator: PhantomData });
        self.rules.entry(V::ID).or_default().push(rule);
        self
    }

    /// The plan, rewritten until no rule fires; the very same node when none does.
    ///
    /// # Errors
    /// When a rule fails or breaks its contract. The plan is then as good as it was.
    pub fn optimize(&self, plan: &PlanRef) -> Result<PlanRef, RewriteError> {
        driver::rewrite(plan, (), self, None)
    }
}

impl Default for PlanOptimizer {
    /// The rules of the operators in [`crate::plan::operators`].
    fn default() -> Self {
        Self::empty()
            .with_rule::<Concat>(ConcatOfConcat)
            .with_rule::<Filter>(FilterByConstant)
            .with_rule::<Filter>(FilterOfConcat)
            .with_rule::<Eval>(PushDown::default())
    }
}

impl Rules<PlanRef> for PlanOptimizer {
    fn concern(&self, node: &PlanRef, (): ()) -> bool {
        self.rules.contains_key(&node.id())
    }

    fn rewrite(&self, node: &PlanRef, (): ()) -> Result<Option<Fired<PlanRef>>, RewriteError> {
        for rule in self.rules.get(&node.id()).into_iter().flatten() {
            match rule.rewrite(node) {
                Ok(None) => {}
                Ok(Some(replacement)) => return Ok(Some(Fired { rule: rule.name(), replacement })),
                Err(source) => {
                    let (rule, root, source) = (rule.name(), label(node), Box::new(source));
                    return Err(RewriteError::Rule { rule, root, source });
                }
            }
        }
        Ok(None)
    }
}
