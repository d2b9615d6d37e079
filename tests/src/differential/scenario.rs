// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One iteration: a table in files, a build side, a session and queries.

use std::fmt::{self, Display};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::layout::Layout;
use super::query::Query;
use super::table::Table;
use crate::session::{DynamicFilters, Format, Mode};

/// What one iteration runs.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The rows of `t`.
    pub table: Table,
    /// How its files are written: one file each.
    pub layouts: Vec<Layout>,
    /// The rows of `u`, which stays in memory.
    pub build: Table,
    /// The session.
    pub mode: Mode,
    /// The queries.
    pub queries: Vec<Query>,
}

impl Scenario {
    /// A strategy for scenarios on `format`. `tame` ones leave out what DataFusion's own scan is known to get wrong.
    pub fn strategy(format: Format, tame: bool) -> impl Strategy<Value = Self> {
        (
            Table::strategy(prop_oneof![1 => 0usize..4, 12 => 4usize..400], tame),
            vec(Layout::strategy(), 1..5),
            Table::strategy(prop_oneof![1 => Just(0usize), 12 => 1usize..25], tame),
            mode(format),
            vec(Query::strategy(tame), 2),
        )
            .prop_map(|(table, layouts, build, mode, queries)| Self {
                table,
                layouts,
                build,
                mode,
                queries,
            })
    }

    /// Everything this scenario has, in words to count: axes of the mode, of the layouts, shapes and forms.
    pub fn words(&self) -> Vec<String> {
        let DynamicFilters { join, topk, aggregate } = self.mode.dynamic_filters;
        let axes = [
            ("linked", self.mode.linked),
            ("partitioned-joins", self.mode.partitioned_joins),
            ("join-filter", join),
            ("topk-filter", topk),
            ("aggregate-filter", aggregate),
        ];
        let mut words: Vec<String> =
            axes.iter().map(|(axis, on)| format!("mode/{axis}={}", on_off(*on))).collect();
        words.push(format!("mode/partitions={}", self.mode.partitions));
        words.push(format!(
            "mode/batch_size={}",
            self.mode.batch_size.map_or("default".to_owned(), |n| n.to_string())
        ));
        words.push(format!("files={}", self.layouts.len()));
        words.extend(self.layouts.iter().flat_map(Layout::words));
        for column in &self.table.columns {
            words.push(format!("arrangement={:?}", column.arrangement));
        }
        for query in &self.queries {
            words.push(format!("shape={}", query.shape));
            words.extend(query.forms.iter().map(|form| format!("predicate={form}")));
        }
        words
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn mode(format: Format) -> impl Strategy<Value = Mode> {
    let batch_size = prop_oneof![2 => Just(None), 1 => Just(Some(7)), 1 => Just(Some(1))];
    let switch = proptest::bool::weighted(0.75);
    let filters =
        (switch, switch, switch).prop_map(|(join, topk, aggregate)| DynamicFilters { join, topk, aggregate });
    (any::<bool>(), select(&[1usize, 3, 8][..]), batch_size, filters, any::<bool>()).prop_map(
        move |(linked, partitions, batch_size, dynamic_filters, partitioned_joins)| Mode {
            format,
            linked,
            partitions,
            batch_size,
            dynamic_filters,
            partitioned_joins,
        },
    )
}

impl Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mode: {}", self.mode)?;
        for query in &self.queries {
            writeln!(f, "query: {}\n  full answer: {}", query.sql, query.reference)?;
        }
        for (name, table) in [("t", &self.table), ("u", &self.build)] {
            writeln!(f, "{name}: {} rows, seed {}", table.rows, table.seed)?;
            for column in &table.columns {
                writeln!(f, "  {column:?}")?;
            }
        }
        for (file, layout) in self.layouts.iter().enumerate() {
            writeln!(f, "{file}.parquet: {layout:?}")?;
        }
        Ok(())
    }
}
