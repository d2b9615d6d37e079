// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Looking into a plan: its Trommel scans and what they counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion_trommel::FilteredReadExec;

/// Trommel's scans in `plan`, the root's first input first.
pub fn scans(plan: &Arc<dyn ExecutionPlan>) -> Vec<&FilteredReadExec> {
    let below = plan.children().into_iter().flat_map(scans);
    plan.downcast_ref::<FilteredReadExec>().into_iter().chain(below).collect()
}

/// What a scan counted so far, over its partitions, by name. Of what is counted as pruned or not, the pruned.
pub fn counts(scan: &FilteredReadExec) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for metric in scan.metrics().iter().flat_map(|metrics| metrics.iter()) {
        let count = match metric.value() {
            MetricValue::PruningMetrics { pruning_metrics, .. } => pruning_metrics.pruned(),
            other => other.as_usize(),
        };
        *counts.entry(metric.value().name().to_owned()).or_default() += count;
    }
    counts
}

/// What all Trommel scans of a plan counted under `name`.
pub fn count(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    scans(plan).into_iter().map(|scan| counts(scan).get(name).copied().unwrap_or(0)).sum()
}
