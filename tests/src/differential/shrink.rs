// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Making a failing instance smaller: fewer queries, files, rows and columns, plainer layouts and sessions.
//!
//! Every step keeps what still fails in the same way. What a query is made of has been made smaller before, where it was
//! drawn.

use std::time::Instant;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;

use super::instance::Instance;
use super::layout::{Codec, Dictionary, Layout};
use crate::session::{DynamicFilters, Mode};

/// Makes `instance` smaller until the deadline, as long as `fails` holds.
pub fn shrink(instance: Instance, deadline: Instant, fails: impl FnMut(&Instance) -> bool) -> Instance {
    let mut shrinker = Shrinker { best: instance, deadline, fails };
    loop {
        let mut smaller = shrinker.files();
        smaller |= shrinker.rows();
        smaller |= shrinker.plainer();
        smaller |= shrinker.columns();
        if !smaller || Instant::now() > deadline {
            return shrinker.best;
        }
    }
}

struct Shrinker<F> {
    best: Instance,
    deadline: Instant,
    fails: F,
}

impl<F: FnMut(&Instance) -> bool> Shrinker<F> {
    /// Whether a changed copy still fails; then it is the best so far.
    fn attempt(&mut self, change: impl FnOnce(&mut Instance)) -> bool {
        if Instant::now() > self.deadline {
            return false;
        }
        let mut changed = self.best.clone();
        change(&mut changed);
        let fails = (self.fails)(&changed);
        if fails {
            self.best = changed;
        }
        fails
    }

    fn files(&mut self) -> bool {
        let mut smaller = false;
        for number in (0..self.best.files.len()).rev() {
            if self.best.files.len() > 1 {
                smaller |= self.attempt(|instance| {
                    instance.files.remove(number);
                });
            }
        }
        smaller
    }

    /// Leaves out ever smaller runs of rows.
    fn rows(&mut self) -> bool {
        let mut smaller = false;
        for table in 0..=self.best.files.len() {
            let mut run = rows_of(&mut self.best, table).num_rows();
            while run > 0 {
                let mut start = 0;
                while start < rows_of(&mut self.best, table).num_rows() {
                    let left_out = self.attempt(|instance| {
                        let rows = rows_of(instance, table);
                        let kept = (0..rows.num_rows()).filter(|row| !(start..start + run).contains(row));
                        let kept = UInt32Array::from_iter_values(kept.filter_map(|row| row.try_into().ok()));
                        if let Ok(kept) = take_record_batch(rows, &kept) {
                            *rows = kept;
                        }
                    });
                    smaller |= left_out;
                    if !left_out {
                        start += run;
                    }
                }
                run /= 2;
            }
        }
        smaller
    }

    /// Leaves out columns of both tables.
    fn columns(&mut self) -> bool {
        let names = |instance: &Instance| -> Vec<String> {
            let schema = instance.files.first().map(|file| file.rows.schema());
            schema.iter().flat_map(|schema| schema.fields()).map(|field| field.name().clone()).collect()
        };
        let all = names(&self.best);
        let mut smaller = false;
        // Lists of all columns first, or none could go.
        for list in [all.join(", "), "*".to_owned()] {
            let mentioned =
                self.best.queries.iter().any(|query| query.sql.contains(&format!("SELECT {list} ")));
            smaller |= mentioned
                && self.attempt(|instance| {
                    for query in &mut instance.queries {
                        for text in [&mut query.sql, &mut query.reference] {
                            *text = text.replacen(&format!("SELECT {list}"), "SELECT id", 1);
                        }
                    }
                });
        }
        for name in all.iter().filter(|name| *name != "id") {
            smaller |= self.attempt(|instance| {
                for file in &mut instance.files {
                    remove(&mut file.rows, name);
                    file.changes.retain(|(changed, _)| changed != name);
                }
                remove(&mut instance.build, &format!("u{name}"));
            });
        }
        smaller
    }

    /// Takes away what is out of the ordinary, one thing after the other.
    fn plainer(&mut self) -> bool {
        let session: [fn(&mut Mode); 8] = [
            |mode| mode.partitions = 1,
            |mode| mode.linked = true,
            |mode| mode.batch_size = None,
            |mode| mode.partitioned_joins = false,
            |mode| mode.split_files = false,
            |mode| mode.dynamic_filters = DynamicFilters::OFF,
            |mode| mode.dynamic_filters.join = false,
            |mode| mode.dynamic_filters.topk = false,
        ];
        let layout: [fn(&mut Layout); 8] = [
            |layout| *layout = Layout::PLAIN,
            |layout| layout.page_rows = Layout::PLAIN.page_rows,
            |layout| layout.dictionary = Dictionary::None,
            |layout| layout.codec = Codec::Plain,
            |layout| layout.version_2 = false,
            |layout| layout.bloom = false,
            |layout| (layout.page_index, layout.statistics) = (true, true),
            |layout| layout.bound_bytes = Layout::PLAIN.bound_bytes,
        ];
        let other: [fn(&mut Instance); 4] = [
            |instance| instance.build_layout = None,
            |instance| instance.live_row_filters = "when_it_pays",
            |instance| instance.order.clear(),
            |instance| instance.files.iter_mut().for_each(|file| file.partition = None),
        ];
        let mut smaller = false;
        for change in session {
            let mut changed = self.best.mode;
            change(&mut changed);
            smaller |= changed != self.best.mode && self.attempt(|instance| instance.mode = changed);
        }
        for file in 0..self.best.files.len() {
            for change in layout {
                let mut changed = self.best.files[file].layout;
                change(&mut changed);
                let differs = changed != self.best.files[file].layout;
                smaller |= differs && self.attempt(|instance| instance.files[file].layout = changed);
            }
            let has_changed = !self.best.files[file].changes.is_empty();
            smaller |= has_changed && self.attempt(|instance| instance.files[file].changes.clear());
        }
        for change in other {
            let before = (self.best.build_layout, self.best.live_row_filters, self.best.order.len());
            let partitions = self.best.has_partitions();
            let mut changed = self.best.clone();
            change(&mut changed);
            let after = (changed.build_layout, changed.live_row_filters, changed.order.len());
            let differs = before != after || partitions != changed.has_partitions();
            smaller |= differs && self.attempt(|instance| *instance = changed);
        }
        smaller
    }
}

/// The rows of a file of `t`, or, beyond the last, of `u`.
fn rows_of(instance: &mut Instance, table: usize) -> &mut RecordBatch {
    match instance.files.get_mut(table) {
        Some(file) => &mut file.rows,
        None => &mut instance.build,
    }
}

fn remove(rows: &mut RecordBatch, name: &str) {
    let kept = rows
        .schema()
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| field.name() != name)
        .map(|(at, _)| at)
        .collect::<Vec<_>>();
    if let Ok(projected) = rows.project(&kept) {
        *rows = projected;
    }
}
