// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which columns the tables of one scenario have.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::kind::Kind;

/// The most columns a table has of [`Kind::MORE`].
const MOST: usize = 4;

/// The columns of a scenario's tables besides `id`.
#[derive(Debug, Clone)]
pub struct Kinds(Arc<[Kind]>);

impl Kinds {
    /// A strategy: every core column, and in all but `tame` scenarios a few more.
    pub fn strategy(tame: bool) -> BoxedStrategy<Self> {
        let of = |more: Vec<Kind>| Self(Kind::CORE.into_iter().chain(more).collect());
        if tame {
            return Just(of(Vec::new())).boxed();
        }
        subsequence(Kind::MORE.to_vec(), 0..=MOST).prop_map(of).boxed()
    }

    /// All of them.
    pub fn all(&self) -> &[Kind] {
        &self.0
    }

    /// All but `id`, by name, separated by commas.
    pub fn names(&self) -> String {
        self.0.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
    }

    /// All of them and `id`, by name, separated by commas.
    pub fn columns(&self) -> String {
        format!("id, {}", self.names())
    }

    /// Those whose values have an order.
    pub fn ordered(&self) -> Vec<Kind> {
        self.0.iter().copied().filter(|kind| !kind.is_nested()).collect()
    }

    /// The nested ones.
    pub fn nested(&self) -> Vec<Kind> {
        self.0.iter().copied().filter(|kind| kind.is_nested()).collect()
    }

    /// One of those whose values have an order; the less common ones as often as the core.
    pub fn one(&self) -> BoxedStrategy<Kind> {
        self.one_of(|_| true)
    }

    /// One of those whose values have an order and for which `fits` holds.
    pub fn one_of(&self, fits: impl Fn(Kind) -> bool) -> BoxedStrategy<Kind> {
        let (core, more): (Vec<_>, Vec<_>) =
            self.ordered().into_iter().filter(|kind| fits(*kind)).partition(|kind| Kind::CORE.contains(kind));
        if more.is_empty() {
            return select(core).boxed();
        }
        prop_oneof![2 => select(core), 1 => select(more)].boxed()
    }

    /// So many different key columns of a join. Float keys meet ±0.0, for which DataFusion hands down a wrong filter.
    pub fn keys(&self, number: usize, tame: bool) -> BoxedStrategy<Vec<Kind>> {
        if number == 1 {
            return self.one_of(|kind| !(tame && kind.is_float())).prop_map(|kind| vec![kind]).boxed();
        }
        let kinds: Vec<Kind> = self.ordered().into_iter().filter(|kind| !(tame && kind.is_float())).collect();
        subsequence(kinds, number).boxed()
    }
}
