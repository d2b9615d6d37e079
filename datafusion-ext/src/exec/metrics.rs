// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a scan counts, under the names that tools for DataFusion's Parquet scan already read.

use std::time::Duration;

use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, PruningMetrics, Time,
};
use trommel_scan::io::IoCounters;

/// The metrics of one partition of a scan.
///
/// A *page* here is a cell of the finest page grid among the columns that the scan reads: the smallest
/// piece it can leave out.
#[derive(Debug)]
pub struct ScanMetrics {
    /// Rows and batches put out, and time.
    pub baseline: BaselineMetrics,
    /// Row groups left out by static filters, or not.
    pub row_groups_static: PruningMetrics,
    /// Row groups that passed the static filters but were left out by live ones.
    pub row_groups_live: Count,
    /// Pages left out by static filters, or not.
    pub pages_static: PruningMetrics,
    /// Pages that passed the static filters but were left out by live ones.
    pub pages_live: Count,
    /// Pages in which every row satisfies the static filters, so that none was evaluated.
    pub pages_proven: Count,
    /// Rows that statistics left open and Bloom filters excluded.
    pub rows_bloom: Count,
    /// Morsels read.
    pub morsels: Count,
    /// Rows decoded, in the column of which most were.
    pub rows_decoded: Count,
    /// Rows that evaluating static filters dropped.
    pub rows_dropped: Count,
    /// Rows that evaluating live filters dropped.
    pub rows_dropped_live: Count,
    /// Rows that passed all filters that they were asked.
    pub rows_matched: Count,
    /// Morsels of which the rows were asked a live filter.
    pub morsels_asked_live: Count,
    /// Bytes of footers and page indexes that planning read; 0 where all were cached.
    pub metadata_bytes: Count,
    /// Bytes read, footers aside.
    pub bytes_scanned: Count,
    /// Requests made to the store, footers aside.
    pub requests: Count,
    /// Times a filter couldn't be evaluated over zones.
    pub errors: Count,
    /// Time spent judging zones.
    pub judging: Time,
    /// Time from claiming a morsel to having its rows.
    pub reading: Time,
}

impl ScanMetrics {
    /// Registers the metrics of a partition.
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        let pruning = |name: &'static str| MetricBuilder::new(set).pruning_metrics(name, partition);
        Self {
            baseline: BaselineMetrics::new(set, partition),
            row_groups_static: pruning("row_groups_pruned_statistics"),
            row_groups_live: counter("row_groups_pruned_dynamic_filter"),
            pages_static: pruning("page_index_pages_pruned"),
            pages_live: counter("page_index_pages_pruned_dynamic_filter"),
            pages_proven: counter("page_index_pages_fully_matched"),
            rows_bloom: counter("rows_pruned_bloom_filter"),
            morsels: counter("morsels"),
            rows_decoded: counter("rows_decoded"),
            rows_dropped: counter("pushdown_rows_pruned"),
            rows_dropped_live: counter("rows_dropped_dynamic_filter"),
            rows_matched: counter("pushdown_rows_matched"),
            morsels_asked_live: counter("morsels_filtered_dynamic_filter"),
            metadata_bytes: counter("metadata_bytes"),
            bytes_scanned: counter("bytes_scanned"),
            requests: counter("requests"),
            errors: counter("predicate_evaluation_errors"),
            judging: MetricBuilder::new(set).subset_time("statistics_eval_time", partition),
            reading: MetricBuilder::new(set).subset_time("time_elapsed_scanning_total", partition),
        }
    }

    /// Adds one morsel's filtering and fetching: how long it took, and what was asked of the store.
    pub fn add_read(&self, elapsed: Duration, io: &IoCounters) {
        self.bytes_scanned.add(io.bytes() as usize);
        self.requests.add(io.requests() as usize);
        self.reading.add_duration(elapsed);
        self.baseline.elapsed_compute().add_duration(elapsed.saturating_sub(io.waited()));
    }

    /// Adds the decoding of output rows.
    pub fn add_decoding(&self, elapsed: Duration) {
        self.reading.add_duration(elapsed);
        self.baseline.elapsed_compute().add_duration(elapsed);
    }

    /// Adds what reading footers took.
    pub fn add_planning(&self, io: &IoCounters) {
        self.metadata_bytes.add(io.bytes() as usize);
    }
}
