// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the scans of a plan say they did, whichever engine's they are.

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

/// The times of judging by statistics, by page indexes and by Bloom filters.
const JUDGING: [&str; 3] = ["statistics_eval_time", "page_index_eval_time", "bloom_filter_eval_time"];

/// The scans of one plan together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanCounts {
    /// Rows that were decoded in some column. Where a scan doesn't say: the rows it put out, and those that its
    /// filters dropped.
    pub rows_decoded: u64,
    /// Row groups judged by statistics, and pages judged in those that were left.
    pub zones_considered: u64,
    /// Of these, left out, by whatever filter.
    pub zones_skipped: u64,
    /// Time that judging zones took, in nanoseconds, all partitions together.
    pub judging_ns: u64,
}

impl ScanCounts {
    /// Adds up what the scans at and below `plan` counted.
    pub fn of(plan: &dyn ExecutionPlan) -> Self {
        let mut counts = Self::default();
        counts.add(plan);
        counts
    }

    fn add(&mut self, plan: &dyn ExecutionPlan) {
        let children = plan.children();
        if let Some(metrics) = plan.metrics().filter(|_| children.is_empty()) {
            self.add_scan(&metrics);
        }
        children.iter().for_each(|child| self.add(child.as_ref()));
    }

    fn add_scan(&mut self, metrics: &MetricsSet) {
        let sum = |name: &str| metrics.sum_by_name(name).map(|sum| sum.as_usize() as u64);
        let put_out = metrics.output_rows().unwrap_or(0) as u64;
        let dropped = sum("pushdown_rows_pruned").unwrap_or(0);
        self.rows_decoded += sum("rows_decoded").unwrap_or(put_out + dropped);
        for metric in metrics.iter() {
            match metric.value() {
                MetricValue::PruningMetrics { name, pruning_metrics } => {
                    let (pruned, left) = (pruning_metrics.pruned() as u64, pruning_metrics.matched() as u64);
                    match name.as_ref() {
                        "row_groups_pruned_statistics" | "page_index_pages_pruned" => {
                            self.zones_considered += pruned + left;
                            self.zones_skipped += pruned;
                        }
                        // These judge again what the statistics let pass.
                        "row_groups_pruned_bloom_filter" | "limit_pruned_row_groups" => {
                            self.zones_skipped += pruned;
                        }
                        _ => {}
                    }
                }
                MetricValue::Time { name, time } if JUDGING.contains(&name.as_ref()) => {
                    self.judging_ns += time.value() as u64;
                }
                MetricValue::Count { name, count } if name.ends_with("_pruned_dynamic_filter") => {
                    self.zones_skipped += count.value() as u64;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};

    use super::*;

    #[test]
    fn both_kinds_of_scan_are_understood() {
        let set = ExecutionPlanMetricsSet::new();
        let pruning = |name: &'static str, pruned, left| {
            let metric = MetricBuilder::new(&set).pruning_metrics(name, 0);
            metric.add_pruned(pruned);
            metric.add_matched(left);
        };
        pruning("row_groups_pruned_statistics", 3, 7);
        pruning("page_index_pages_pruned", 20, 50);
        pruning("row_groups_pruned_bloom_filter", 1, 6);
        MetricBuilder::new(&set).counter("page_index_pages_pruned_dynamic_filter", 0).add(30);
        MetricBuilder::new(&set).counter("pushdown_rows_pruned", 0).add(5);
        MetricBuilder::new(&set).output_rows(0).add(10);
        let time = |name: &'static str, ns| {
            MetricBuilder::new(&set).subset_time(name, 0).add_duration(Duration::from_nanos(ns));
        };
        time("statistics_eval_time", 40);
        time("page_index_eval_time", 2);
        time("metadata_load_time", 500);

        let mut counts = ScanCounts::default();
        counts.add_scan(&set.clone_inner());
        let expected =
            ScanCounts { rows_decoded: 15, zones_considered: 80, zones_skipped: 54, judging_ns: 42 };
        assert_eq!(counts, expected);

        MetricBuilder::new(&set).counter("rows_decoded", 0).add(12);
        let mut counts = ScanCounts::default();
        counts.add_scan(&set.clone_inner());
        assert_eq!(counts.rows_decoded, 12);
    }
}
