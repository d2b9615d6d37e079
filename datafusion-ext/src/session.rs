// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One call that installs Trommel in a session.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;

use crate::table::TrommelTableFactory;
use crate::{FetchTopKRows, LinkDynamicFilters};

/// Installs Trommel in a session under construction.
pub trait TrommelSessionExt {
    /// Adds the `TROMMEL` table format (`CREATE EXTERNAL TABLE … STORED AS TROMMEL`) and two physical rules:
    /// one that lets a TopK fetch wide columns for its winners alone, before dynamic filters are handed down,
    /// and one that links these to Trommel's scans, after all rules the session has.
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
        let rules = &mut self.physical_optimizers().get_or_insert_default().rules;
        let (fetch, link) = (FetchTopKRows::default(), LinkDynamicFilters::default());
        // A builder made from a session that has a rule already must not run it twice.
        if !has(rules, fetch.name()) {
            let hands_down = rules.iter().rposition(|rule| rule.name() == HANDS_DOWN_DYNAMIC_FILTERS);
            rules.insert(hands_down.unwrap_or(rules.len()), Arc::new(fetch));
        }
        let has_link = has(rules, link.name())
            || self.physical_optimizer_rules().as_ref().is_some_and(|rules| has(rules, link.name()));
        let session = self.with_table_factory("TROMMEL".to_owned(), Arc::new(TrommelTableFactory::default()));
        if has_link { session } else { session.with_physical_optimizer_rule(Arc::new(link)) }
    }
}

fn has(rules: &[Rule], name: &str) -> bool {
    rules.iter().any(|rule| rule.name() == name)
}

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rule of DataFusion before which plans must have got their last shape.
const HANDS_DOWN_DYNAMIC_FILTERS: &str = "FilterPushdown(Post)";

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

    fn rules(builder: SessionStateBuilder) -> Vec<String> {
        builder.build().physical_optimizers().iter().map(|rule| rule.name().to_owned()).collect()
    }

    /// The default rules with one of ours before the last but one, which hands down dynamic filters, and one
    /// after them.
    fn expected() -> Vec<String> {
        let defaults = PhysicalOptimizer::default();
        let mut names: Vec<_> = defaults.rules.iter().map(|rule| rule.name().to_owned()).collect();
        names.insert(names.len() - 2, "FetchTopKRows".to_owned());
        names.push("LinkDynamicFilters".to_owned());
        names
    }

    #[test]
    fn rules_come_where_they_must() {
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
