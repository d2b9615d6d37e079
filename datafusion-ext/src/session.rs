// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One call that installs Trommel in a session.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;

use crate::table::TrommelTableFactory;

/// Installs Trommel in a session under construction.
pub trait TrommelSessionExt {
    /// Adds the `TROMMEL` table format (`CREATE EXTERNAL TABLE … STORED AS TROMMEL`) and the physical
    /// rules that link dynamic filters to Trommel's scans.
    #[must_use]
    fn with_trommel(self) -> Self;
}

impl TrommelSessionExt for SessionStateBuilder {
    fn with_trommel(self) -> Self {
        self.with_table_factory("TROMMEL".to_owned(), Arc::new(TrommelTableFactory::default()))
    }
}
