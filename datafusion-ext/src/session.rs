// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One call that installs Trommel in a session.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use crate::LinkDynamicFilters;
use crate::table::TrommelTableFactory;

/// Installs Trommel in a session under construction.
pub trait TrommelSessionExt {
    /// Adds the `TROMMEL` table format (`CREATE EXTERNAL TABLE … STORED AS TROMMEL`), and the physical rule
    /// that links dynamic filters to Trommel's scans, after all rules the session has.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> datafusion::error::Result<()> {
    /// use datafusion::execution::SessionStateBuilder;
    /// use datafusion::prelude::SessionContext;
    /// use datafusion_trommel::TrommelSessionExt;
    ///
    /// let state = SessionStateBuilder::new_with_default_features().with_trommel().build();
    /// let context = SessionContext::new_with_state(state);
    /// context
    ///     .sql("CREATE EXTERNAL TABLE sales (day DATE, price DOUBLE) STORED AS TROMMEL LOCATION 'data/sales/'")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn with_trommel(self) -> Self;
}

impl TrommelSessionExt for SessionStateBuilder {
    fn with_trommel(mut self) -> Self {
        let link: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::new(LinkDynamicFilters::default());
        // A builder made from a session that has the rule already must not run it twice.
        let has_rule = self
            .physical_optimizers()
            .iter()
            .flat_map(|optimizer| &optimizer.rules)
            .any(|rule| rule.name() == link.name())
            || self.physical_optimizer_rules().iter().flatten().any(|rule| rule.name() == link.name());
        let session = self.with_table_factory("TROMMEL".to_owned(), Arc::new(TrommelTableFactory::default()));
        if has_rule { session } else { session.with_physical_optimizer_rule(link) }
    }
}
