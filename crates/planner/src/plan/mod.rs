// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Scan plans.

use crate::index::FragmentCol;

/// A top-level column of one row group: what a plan reads in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentId {
    /// The row group, counted in the file.
    pub row_group: usize,
    /// The column; all its leaves when it is nested.
    pub column: FragmentCol,
}
