// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x IS [NOT] NULL`.
//!
//! Sound because it never asks for bounds: a value is never NULL, and NULL always is. What is left to know,
//! whether a zone has NULLs and whether it has anything else, is in its domain.

use datafusion_common::Result;

use super::{Ask, Outcomes, Test};
use crate::pruning::Truth;
use crate::pruning::known::Bounds;
use crate::pruning::words::Words;

/// `IS NULL`, or negated `IS NOT NULL`.
#[derive(Debug, Clone, Copy)]
pub(in crate::pruning) struct NullTest {
    /// `IS NOT NULL`.
    pub negated: bool,
}

impl Test for NullTest {
    fn outcomes(&self) -> Outcomes {
        let truth = |holds: bool| Truth::of(holds, !holds);
        Outcomes { on_hold: truth(self.negated), on_fail: truth(self.negated), on_null: truth(!self.negated) }
    }

    fn may(&self, _ask: Ask, _bounds: &Bounds, live: &[u64]) -> Result<Words> {
        Ok(live.to_vec())
    }
}
