// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rules, typed and erased.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use super::RewriteContext;
use crate::expr::{BoundExpression, ScalarFnVTable};

/// Why a rule failed.
pub type RuleError = Box<dyn Error + Send + Sync>;

/// What a rule made of a node.
pub type RuleResult = Result<Rewrite, RuleError>;

/// What a rule made of a node.
#[derive(Debug)]
pub enum Rewrite {
    /// Nothing: the rule doesn't apply.
    Unchanged,
    /// This, which stands for the node from now on.
    Rewritten(BoundExpression),
}

impl From<Option<BoundExpression>> for Rewrite {
    fn from(replacement: Option<BoundExpression>) -> Self {
        replacement.map_or(Self::Unchanged, Self::Rewritten)
    }
}

/// A rule that rewrites calls of any function. What it must keep is said in the [module](super).
pub trait ExprRewriteRule: fmt::Debug + Send + Sync + 'static {
    /// The rule's name in traces and errors.
    fn name(&self) -> &'static str;

    /// What becomes of a node, whose children are settled already.
    ///
    /// # Errors
    /// When something is wrong with the rule; one that merely doesn't apply says so in its result.
    fn rewrite(&self, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult;
}

/// A rule that rewrites calls of `V`. What it must keep is said in the [module](super).
pub trait TypedExprRewriteRule<V: ScalarFnVTable>: fmt::Debug + Send + Sync + 'static {
    /// The rule's name in traces and errors.
    fn name(&self) -> &'static str;

    /// What becomes of a node, whose children are settled already; `options` are the call's.
    ///
    /// # Errors
    /// When something is wrong with the rule; one that merely doesn't apply says so in its result.
    fn rewrite(&self, options: &V::Options, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult;
}

/// A typed rule, erased. It declines calls of another vtable, even one with the same function id.
pub(super) struct Typed<V, R> {
    rule: R,
    vtable: PhantomData<fn() -> V>,
}

impl<V, R> Typed<V, R> {
    pub fn new(rule: R) -> Self {
        Self { rule, vtable: PhantomData }
    }
}

impl<V: ScalarFnVTable, R: TypedExprRewriteRule<V>> ExprRewriteRule for Typed<V, R> {
    fn name(&self) -> &'static str {
        self.rule.name()
    }

    fn rewrite(&self, node: &BoundExpression, ctx: &RewriteContext<'_>) -> RuleResult {
        match node.as_opt::<V>() {
            Some(options) => self.rule.rewrite(options, node, ctx),
            None => Ok(Rewrite::Unchanged),
        }
    }
}

impl<V, R: fmt::Debug> fmt::Debug for Typed<V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)
    }
}
