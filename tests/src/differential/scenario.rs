// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One iteration: a table in files, a build side, a session and queries.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::kinds::Kinds;
use super::layout::Layout;
use super::order::{self, Order};
use super::query::{Grammar, Query};
use super::table::Table;
use crate::session::{DynamicFilters, Format, Mode};

/// What one iteration runs.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The rows of `t`.
    pub table: Table,
    /// The order its files are in and say they are in, if any.
    pub order: Option<Order>,
    /// How its files are written: one file each.
    pub layouts: Vec<Layout>,
    /// Whether its files are in folders that tell the values of a partition column, `part`.
    pub has_partitions: bool,
    /// What decides which columns some files lack or have in a narrower type; nothing has changed if absent.
    pub evolution: Option<u64>,
    /// When the scan evaluates live filters for each row: the option's words.
    pub live_row_filters: &'static str,
    /// The rows of `u`.
    pub build: Table,
    /// How the file of `u` is written; it stays in memory if absent.
    pub build_layout: Option<Layout>,
    /// The session.
    pub mode: Mode,
    /// Whether DataFusion's own scan is asked too.
    pub ask_stock: bool,
    /// The queries.
    pub queries: Vec<Query>,
}

/// How many queries a scenario has.
const QUERIES: usize = 3;

impl Scenario {
    /// A strategy for scenarios on `format`. `tame` ones leave out what DataFusion's own scan is known to get wrong.
    pub fn strategy(format: Format, tame: bool) -> BoxedStrategy<Self> {
        let shape = Kinds::strategy(tame).prop_flat_map(move |kinds| {
            let order = order::strategy(&kinds);
            let has_partitions = seldom(!tame, 0.2);
            (order, has_partitions).prop_map(move |(order, has_partitions)| Grammar {
                kinds: kinds.clone(),
                has_partitions,
                tame,
                order,
            })
        });
        shape.prop_flat_map(move |grammar| Self::over(format, &grammar)).boxed()
    }

    fn over(format: Format, grammar: &Grammar) -> BoxedStrategy<Self> {
        let Grammar { ref kinds, has_partitions, tame, order } = *grammar;
        let rows = prop_oneof![1 => 0usize..4, 12 => 4usize..400].boxed();
        let few = prop_oneof![1 => Just(0usize), 12 => 1usize..25].boxed();
        let tables = (
            Table::strategy(kinds, rows, tame),
            vec(Layout::strategy(), 1..5),
            Table::strategy(kinds, few, tame),
            proptest::option::weighted(0.5, Layout::strategy()),
        );
        let has_changed = seldom(!tame && order.is_none(), 0.3);
        let evolution = (has_changed, any::<u64>().no_shrink());
        let evolution = evolution.prop_map(|(has_changed, seed)| has_changed.then_some(seed));
        let live_row_filters =
            prop_oneof![2 => Just("when_it_pays"), 2 => Just("always"), 1 => Just("never")];
        let ask_stock = proptest::bool::weighted(0.25);
        let session = (mode(format), live_row_filters, ask_stock);
        (tables, evolution, session, vec(grammar.query(), QUERIES))
            .prop_map(move |((table, layouts, build, build_layout), evolution, session, queries)| {
                let (mode, live_row_filters, ask_stock) = session;
                Self {
                    table,
                    order,
                    layouts,
                    has_partitions,
                    evolution,
                    live_row_filters,
                    build,
                    build_layout,
                    mode,
                    ask_stock,
                    queries,
                }
            })
            .boxed()
    }

    /// Everything this scenario has, in words to count: axes of the mode, of the layouts, types, shapes and forms.
    pub fn words(&self) -> Vec<String> {
        let DynamicFilters { join, topk, aggregate } = self.mode.dynamic_filters;
        let axes = [
            ("mode/linked", self.mode.linked),
            ("mode/partitioned-joins", self.mode.partitioned_joins),
            ("mode/split-files", self.mode.split_files),
            ("mode/join-filter", join),
            ("mode/topk-filter", topk),
            ("mode/aggregate-filter", aggregate),
            ("table/partition-column", self.has_partitions),
            ("table/changed-schema", self.evolution.is_some()),
            ("table/build-side-on-disk", self.build_layout.is_some()),
        ];
        let mut words: Vec<String> =
            axes.iter().map(|(axis, on)| format!("{axis}={}", on_off(*on))).collect();
        words.push(format!("mode/partitions={}", self.mode.partitions));
        words.push(format!(
            "mode/batch_size={}",
            self.mode.batch_size.map_or("default".to_owned(), |n| n.to_string())
        ));
        words.push(format!("mode/live_row_filters={}", self.live_row_filters));
        words.push(format!("files={}", self.layouts.len()));
        words.extend(order::words(self.order.as_ref()));
        words.extend(self.layouts.iter().flat_map(Layout::words));
        for column in &self.table.columns {
            words.push(format!("type={:?}", column.kind));
            words.push(format!("arrangement={:?}", column.arrangement));
        }
        for query in &self.queries {
            words.push(format!("shape={}", query.shape));
            words.extend(query.forms.iter().map(|form| format!("predicate={form}")));
        }
        words
    }
}

/// Now and then where it is possible at all.
fn seldom(possible: bool, probability: f64) -> BoxedStrategy<bool> {
    if possible { proptest::bool::weighted(probability).boxed() } else { Just(false).boxed() }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn mode(format: Format) -> impl Strategy<Value = Mode> {
    let batch_size = prop_oneof![2 => Just(None), 1 => Just(Some(7)), 1 => Just(Some(1))];
    let switch = proptest::bool::weighted(0.75);
    let filters =
        (switch, switch, switch).prop_map(|(join, topk, aggregate)| DynamicFilters { join, topk, aggregate });
    (any::<bool>(), select(&[1usize, 3, 8][..]), batch_size, filters, any::<bool>(), any::<bool>()).prop_map(
        move |(linked, partitions, batch_size, dynamic_filters, partitioned_joins, split_files)| Mode {
            format,
            linked,
            partitions,
            batch_size,
            dynamic_filters,
            partitioned_joins,
            split_files,
        },
    )
}
