// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the iterations met, and whether that is enough: a generator that never reaches a shape proves nothing of it.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::predicate::FORMS;
use super::query::{LIMIT_INSIDE_SHAPES, SHAPES};

/// What Trommel's scans count where zones are judged: rows that live filters leave out, and rows proven.
const JUDGED: [&str; 3] = [
    "row_groups_pruned_dynamic_filter",
    "page_index_pages_pruned_dynamic_filter",
    "page_index_pages_fully_matched",
];

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

    /// The words that must come up but did so less than `least` times.
    pub fn missing(&self, tame: bool, least: usize) -> Vec<String> {
        let count = |word: &String| self.0.get(word).copied().unwrap_or(0);
        let short = required(tame).into_iter().filter(|word| count(word) < least);
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

/// Every axis at each of its values, every shape, with rows in its answer too, every form of predicate, and (where
/// Trommel is tested) every way a zone can be judged.
fn required(tame: bool) -> Vec<String> {
    let switches = ["linked", "partitioned-joins", "join-filter", "topk-filter", "aggregate-filter"];
    let layouts = ["page-index", "dictionary", "statistics", "bloom"];
    let axes = switches.map(|axis| format!("mode/{axis}")).into_iter();
    let axes = axes.chain(layouts.map(|axis| format!("layout/{axis}")));
    let mut words: Vec<String> =
        axes.flat_map(|axis| ["on", "off"].map(|value| format!("{axis}={value}"))).collect();
    words.extend([1, 3, 8].map(|partitions| format!("mode/partitions={partitions}")));
    words.extend(["1", "7", "default"].map(|rows| format!("mode/batch_size={rows}")));
    words.extend([1, 2, 3, 4].map(|files| format!("files={files}")));
    words.extend(["Clustered", "Random", "Skewed", "Runs"].map(|name| format!("arrangement={name}")));
    words.extend(FORMS.map(|form| format!("predicate={form}")));
    let mut shapes = SHAPES.to_vec();
    if !tame {
        shapes.extend(LIMIT_INSIDE_SHAPES);
        words.extend(JUDGED.map(|name| format!("metric={name}")));
    }
    for shape in shapes {
        words.push(format!("shape={shape}"));
        words.push(format!("answer={shape}: rows"));
    }
    words
}
