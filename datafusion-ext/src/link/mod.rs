// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The rule that tells each scan the origin of its live filters.

/// The rule that tells each scan the origin of its live filters.
#[derive(Debug, Default)]
pub struct LinkDynamicFilters {}

impl datafusion::physical_optimizer::PhysicalOptimizerRule for LinkDynamicFilters {
    fn optimize(
        &self,
        plan: std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        _config: &datafusion::config::ConfigOptions,
    ) -> datafusion::common::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
        Ok(plan)
    }

    fn name(&self) -> &str {
        "LinkDynamicFilters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
