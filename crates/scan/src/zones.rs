// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Zone statistics from row groups and page indexes, with every rule of distrust.

use std::sync::Arc;

use trommel_planner::pruning::{ColumnPath, Level, ZoneColumn, ZoneSource};

use crate::adapt::Adaptation;
use crate::metadata::FragmentMetadata;

/// The zones of one fragment, as columns of the table.
#[derive(Debug)]
pub struct FragmentZones {
    _metadata: Arc<FragmentMetadata>,
    _adaptation: Arc<Adaptation>,
}

impl FragmentZones {
    /// The zones of the file with this metadata. Nothing is converted before it is asked for.
    pub fn new(metadata: Arc<FragmentMetadata>, adaptation: Arc<Adaptation>) -> Self {
        Self { _metadata: metadata, _adaptation: adaptation }
    }
}

impl ZoneSource for FragmentZones {
    fn zones(&self, _column: &ColumnPath, _level: Level) -> Option<Arc<ZoneColumn>> {
        None
    }
}
