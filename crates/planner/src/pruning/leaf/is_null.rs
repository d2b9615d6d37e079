// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `x IS [NOT] NULL`.
//!
//! Sound because it never asks for bounds: a value is never NULL, and NULL always is. What is left to know,
//! whether a zone has NULLs and whether it has anything else, is in its domain.

use datafusion_common::Result;

use super::{Split, Test};
use crate::pruning::Truth;
use crate::pruning::domain::Bounds;

/// `IS NULL`, or negated `IS NOT NULL`.
#[derive(Debug, Clone, Copy)]
pub(in crate::pruning) struct NullTest {
    /// `IS NOT NULL`.
    pub negated: bool,
}

impl Test for NullTest {
    fn split(&self, bounds: &Bounds) -> Result<Split> {
        let truth = |holds: bool| Truth::of(holds, !holds);
        Ok(Split::constant(bounds.len, truth(self.negated), truth(!self.negated)))
    }
}
