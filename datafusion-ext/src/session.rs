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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    fn rules(builder: SessionStateBuilder) -> Vec<String> {
        builder.build().physical_optimizers().iter().map(|rule| rule.name().to_owned()).collect()
    }

    /// The default rules, then ours.
    fn expected() -> Vec<String> {
        let defaults = PhysicalOptimizer::default();
        let defaults = defaults.rules.iter().map(|rule| rule.name().to_owned());
        defaults.chain(["LinkDynamicFilters".to_owned()]).collect()
    }

    #[test]
    fn the_rule_comes_last() {
        assert_eq!(rules(SessionStateBuilder::new().with_trommel()), expected());
        assert_eq!(rules(SessionStateBuilder::new().with_trommel().with_default_features()), expected());
    }

    #[test]
    fn installing_twice_is_installing_once() {
        assert_eq!(rules(SessionStateBuilder::new().with_trommel().with_trommel()), expected());
        let existing = SessionStateBuilder::new().with_trommel().build();
        assert_eq!(rules(SessionStateBuilder::new_from_existing(existing).with_trommel()), expected());
    }

    #[test]
    fn other_formats_stay() {
        let state = SessionStateBuilder::new_with_default_features().with_trommel().build();
        for format in ["TROMMEL", "PARQUET", "CSV"] {
            assert!(state.table_factories().contains_key(format), "{format}");
        }
    }
}
