// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the iterations met, and whether that is enough: a generator that never reaches a shape proves nothing of it.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::kind::Kind;
use super::query::{FORMS, LIMIT_INSIDE_SHAPES, ORDER_SHAPES, SHAPES};

/// How often each word came up.
#[derive(Debug, Default)]
pub struct Coverage(BTreeMap<String, usize>);

impl Coverage {
    /// Counts `words`.
    pub fn note(&mut self, words: impl IntoIterator<Item = String>) {
        for word in words {
            *self.0.entry(word).or_default() += 1;
        }
    }

    /// What must be drawn but was so less than `least` times.
    pub fn missing_drawn(&self, tame: bool, least: usize) -> Vec<String> {
        self.missing(drawn(tame), least)
    }

    /// What must come of running but did so less than `least` times: answers with rows of every shape, and on Trommel
    /// whatever makes its scans skip.
    pub fn missing_met(&self, tame: bool, least: usize) -> Vec<String> {
        let answers = shapes(tame).into_iter().map(|shape| format!("answer={shape}: rows"));
        let done = self.missing_done(least);
        self.missing(answers.collect(), least).into_iter().chain(done.into_iter().filter(|_| !tame)).collect()
    }

    /// What Trommel's scans must have done but did less than `least` times.
    pub fn missing_done(&self, least: usize) -> Vec<String> {
        self.missing(DONE.map(str::to_owned).to_vec(), least)
    }

    fn missing(&self, words: Vec<String>, least: usize) -> Vec<String> {
        let count = |word: &String| self.0.get(word).copied().unwrap_or(0);
        let short = words.into_iter().filter(|word| count(word) < least);
        short.map(|word| format!("{word}: {} times, {least} are asked", count(&word))).collect()
    }
}

/// One line a word.
impl Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, count) in &self.0 {
            writeln!(f, "{count:7} {word}")?;
        }
        Ok(())
    }
}

/// What Trommel's scans must have done: left out row groups and pages by either kind of filter, proven pages, promised
/// an order.
const DONE: [&str; 7] = [
    "metric=row_groups_pruned_statistics",
    "metric=row_groups_pruned_dynamic_filter",
    "metric=page_index_pages_pruned",
    "metric=page_index_pages_pruned_dynamic_filter",
    "metric=page_index_pages_fully_matched",
    "promised-order=one",
    "promised-order=several",
];

/// Every shape.
fn shapes(tame: bool) -> Vec<&'static str> {
    let mut shapes = [SHAPES.as_slice(), &ORDER_SHAPES].concat();
    if !tame {
        shapes.extend(LIMIT_INSIDE_SHAPES);
    }
    shapes
}

/// Every axis at each of its values, every shape, every form of predicate, every type.
fn drawn(tame: bool) -> Vec<String> {
    let switches = [
        "mode/linked",
        "mode/partitioned-joins",
        "mode/split-files",
        "mode/join-filter",
        "mode/topk-filter",
        "mode/aggregate-filter",
        "layout/page-index",
        "layout/statistics",
        "layout/short-bounds",
        "layout/bloom",
        "layout/version-2",
        "table/build-side-on-disk",
    ];
    let wild = ["table/partition-column", "table/changed-schema"];
    let switches = switches.iter().chain(wild.iter().filter(|_| !tame));
    let mut words: Vec<String> =
        switches.flat_map(|axis| ["on", "off"].map(|value| format!("{axis}={value}"))).collect();
    words.extend(["None", "Falling", "Full"].map(|how| format!("layout/dictionary={how}")));
    words.extend(["Plain", "Snappy", "Zstd"].map(|codec| format!("layout/codec={codec}")));
    words.extend([1, 3, 8].map(|partitions| format!("mode/partitions={partitions}")));
    words.extend(["1", "7", "default"].map(|rows| format!("mode/batch_size={rows}")));
    words.extend(["when_it_pays", "always", "never"].map(|when| format!("mode/live_row_filters={when}")));
    words.extend([1, 2, 3, 4].map(|files| format!("files={files}")));
    words.extend(["Clustered", "Random", "Skewed", "Runs"].map(|name| format!("arrangement={name}")));
    let is_wild = |form: &&str| matches!(*form, "nested" | "partition");
    words.extend(FORMS.iter().filter(|form| !tame || !is_wild(form)).map(|form| format!("predicate={form}")));
    let more = Kind::MORE.iter().filter(|_| !tame);
    words.extend(Kind::CORE.iter().chain(more).map(|kind| format!("type={kind:?}")));
    words.extend(
        [
            "order=none",
            "order=declared",
            "order/key=unique",
            "order/key=with ties",
            "order/direction=ascending",
            "order/direction=descending",
            "order/nulls=first",
            "order/nulls=last",
            "order/files=Disjoint",
            "order/files=DisjointButNulls",
            "order/files=Overlapping",
        ]
        .map(str::to_owned),
    );
    words.extend(shapes(tame).into_iter().map(|shape| format!("shape={shape}")));
    words
}
