// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Sessions for every way the tests run a table.
//!
//! A [`Mode`] names one cell of the test matrix and builds its session; its `Display` is the list of words by which
//! reports and exception lists speak of it.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use datafusion::config::ConfigOptions;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_trommel::{TrommelSessionExt, TrommelTableFactory};

/// The scan under test: the word of `STORED AS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Trommel.
    Trommel,
    /// DataFusion's own scan, which shows that a harness works and which answers it gets wrong.
    Parquet,
}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trommel => "TROMMEL",
            Self::Parquet => "PARQUET",
        })
    }
}

impl FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> anyhow::Result<Self> {
        match word.to_ascii_uppercase().as_str() {
            "TROMMEL" => Ok(Self::Trommel),
            "PARQUET" => Ok(Self::Parquet),
            _ => anyhow::bail!("unknown format `{word}`: use TROMMEL or PARQUET"),
        }
    }
}

/// Which operators hand filters down while a query runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicFilters {
    /// Hash joins.
    pub join: bool,
    /// `ORDER BY … LIMIT`.
    pub topk: bool,
    /// `min` and `max`.
    pub aggregate: bool,
}

impl DynamicFilters {
    /// Every operator hands its filter down: DataFusion's default.
    pub const ON: Self = Self { join: true, topk: true, aggregate: true };
    /// No operator does.
    pub const OFF: Self = Self { join: false, topk: false, aggregate: false };

    fn set(self, options: &mut ConfigOptions) {
        options.optimizer.enable_dynamic_filter_pushdown = self != Self::OFF;
        options.optimizer.enable_join_dynamic_filter_pushdown = self.join;
        options.optimizer.enable_topk_dynamic_filter_pushdown = self.topk;
        options.optimizer.enable_aggregate_dynamic_filter_pushdown = self.aggregate;
    }
}

/// One way of running a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// The scan under test.
    pub format: Format,
    /// Whether the session holds the rule that links dynamic filters to their producers; else only the table format
    /// is registered, as by `SessionStateBuilder::with_table_factory`.
    pub linked: bool,
    /// `target_partitions`.
    pub partitions: usize,
    /// `batch_size`; `None` is DataFusion's default.
    pub batch_size: Option<usize>,
    /// Which operators hand filters down.
    pub dynamic_filters: DynamicFilters,
    /// Whether every hash join hashes both sides instead of collecting a small build side.
    pub partitioned_joins: bool,
}

impl Mode {
    /// `format` in a linked session with `partitions` target partitions and DataFusion's defaults otherwise.
    pub fn new(format: Format, partitions: usize) -> Self {
        Self {
            format,
            linked: true,
            partitions,
            batch_size: None,
            dynamic_filters: DynamicFilters::ON,
            partitioned_joins: false,
        }
    }

    /// A fresh session in this mode.
    pub fn session(&self) -> SessionContext {
        SessionContext::new_with_state(self.state())
    }

    fn state(&self) -> SessionState {
        let builder = SessionStateBuilder::new().with_config(self.config()).with_default_features();
        match (self.format, self.linked) {
            (Format::Parquet, _) => builder.build(),
            (Format::Trommel, true) => builder.with_trommel().build(),
            (Format::Trommel, false) => builder
                .with_table_factory("TROMMEL".to_owned(), Arc::new(TrommelTableFactory::default()))
                .build(),
        }
    }

    fn config(&self) -> SessionConfig {
        let mut config = SessionConfig::new().with_target_partitions(self.partitions);
        if let Some(rows) = self.batch_size {
            config = config.with_batch_size(rows);
        }
        let options = config.options_mut();
        self.dynamic_filters.set(options);
        if self.partitioned_joins {
            options.optimizer.hash_join_single_partition_threshold = 0;
            options.optimizer.hash_join_single_partition_threshold_rows = 0;
        }
        config
    }

    /// The words of this mode, as its `Display` prints them.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![
            self.format.to_string(),
            if self.linked { "linked" } else { "plain" }.to_owned(),
            format!("partitions={}", self.partitions),
        ];
        words.extend(self.batch_size.map(|rows| format!("batch_size={rows}")));
        let DynamicFilters { join, topk, aggregate } = self.dynamic_filters;
        for (on, word) in
            [(join, "no-join-filter"), (topk, "no-topk-filter"), (aggregate, "no-aggregate-filter")]
        {
            if !on {
                words.push(word.to_owned());
            }
        }
        if self.partitioned_joins {
            words.push("partitioned-joins".to_owned());
        }
        words
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_sets_what_it_says() {
        let mode = Mode {
            linked: false,
            batch_size: Some(7),
            dynamic_filters: DynamicFilters { join: false, ..DynamicFilters::ON },
            partitioned_joins: true,
            ..Mode::new(Format::Trommel, 3)
        };
        let state = mode.session().state();
        let options = state.config().options();
        assert_eq!(options.execution.target_partitions, 3);
        assert_eq!(state.config().batch_size(), 7);
        assert!(!options.optimizer.enable_join_dynamic_filter_pushdown);
        assert!(options.optimizer.enable_topk_dynamic_filter_pushdown);
        assert!(options.optimizer.enable_aggregate_dynamic_filter_pushdown);
        assert_eq!(options.optimizer.hash_join_single_partition_threshold_rows, 0);
        assert_eq!(
            mode.to_string(),
            "TROMMEL plain partitions=3 batch_size=7 no-join-filter partitioned-joins"
        );
    }

    #[test]
    fn an_unknown_format_is_named() {
        let error = "orc".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "unknown format `orc`: use TROMMEL or PARQUET");
    }
}
