// Licensed under the Apache License, Version 2.0. See LICENSE.

//! All that is shown of a location. Its JSON is what `--json` prints.

use std::collections::BTreeMap;

use serde::Serialize;
use trommel_planner::pruning::Level;
use trommel_scan::fragment::OpenFragment;

use super::files::{Found, FoundFile};
use super::leaves::{Leaf, Source, leaves};
use super::reasons;
use super::storage::Storage;
use super::zones::{Value, Zone, is_paged, zones};

/// Which columns' zones to show one by one.
#[derive(Debug, Clone, Default)]
pub struct Detail {
    /// The columns, by name.
    pub columns: Vec<String>,
    /// Whether to show pages where there are any, instead of row groups.
    pub pages: bool,
}

/// What there is at a location.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The location, as given but for secrets.
    pub location: String,
    /// Why the files are no table together, if they aren't though each can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// The files, in order of their paths.
    pub files: Vec<FileReport>,
}

/// A file.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// Its path, or its URL.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// What it holds, or what is wrong with it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a file holds, or what is wrong with it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It can be read.
    Readable(Contents),
    /// It can't.
    Damaged {
        /// What is wrong.
        error: String,
    },
}

/// What a file holds.
#[derive(Debug, Serialize)]
pub struct Contents {
    /// How many rows it has.
    pub rows: u64,
    /// How many row groups.
    pub row_groups: usize,
    /// What wrote it.
    pub created_by: Option<String>,
    /// Its columns, structs taken apart.
    pub columns: Vec<Column>,
}

/// A column of a file, or of all files.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// Its names from outside in, with dots.
    pub name: String,
    /// Its type in the table.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Where its values come from.
    pub source: Source,
    /// How it is stored, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// How many NULLs it has, if that is known of every zone.
    pub nulls: Option<u64>,
    /// No value of the zones with known bounds is below.
    pub lower: Option<Value>,
    /// Whether it is known to occur.
    pub lower_is_exact: bool,
    /// No value of the zones with known bounds is above.
    pub upper: Option<Value>,
    /// Whether it is known to occur.
    pub upper_is_exact: bool,
    /// How many row groups it has.
    pub row_groups: usize,
    /// How many pages of it are zones.
    pub page_zones: usize,
    /// How many row groups aren't divided into pages, and why.
    pub without_pages: BTreeMap<&'static str, usize>,
    /// How many row groups something is unknown of, and why.
    pub unknown: BTreeMap<&'static str, usize>,
    /// How many pages something is unknown of, and why.
    pub unknown_pages: BTreeMap<&'static str, usize>,
    /// Its zones, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<Zone>>,
}

impl Report {
    /// What the files hold.
    pub fn new(location: &str, found: &Found, detail: &Detail) -> Self {
        let files = found.files.iter().map(|file| FileReport::new(&found.root, file, detail)).collect();
        Self { location: location.to_owned(), conflict: found.conflict.clone(), files }
    }

    /// Whether any file can be read.
    pub fn is_readable(&self) -> bool {
        self.files.iter().any(|file| matches!(file.outcome, Outcome::Readable(_)))
    }

    /// Whether a file can't be read, or the files are no table together.
    pub fn has_errors(&self) -> bool {
        self.conflict.is_some()
            || self.files.iter().any(|file| matches!(file.outcome, Outcome::Damaged { .. }))
    }

    /// The columns of all files that can be read.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.files.iter().filter_map(FileReport::contents).flat_map(|contents| &contents.columns)
    }

    /// The columns of all files as those of one.
    pub fn merged(&self) -> Vec<Column> {
        let mut merged: Vec<Column> = Vec::new();
        for column in self.columns() {
            let same = |known: &&mut Column| known.name == column.name && known.data_type == column.data_type;
            match merged.iter_mut().find(same) {
                Some(known) => known.merge(column),
                None => merged.push(column.clone()),
            }
        }
        merged
    }
}

impl FileReport {
    fn new(root: &str, file: &FoundFile, detail: &Detail) -> Self {
        let location = file.fragment.location.as_ref();
        let outcome = match &file.outcome {
            Ok(open) => Outcome::Readable(Contents::new(open, detail)),
            Err(error) => {
                let error = error.to_string();
                // The path is told once, with its store.
                let told = error.strip_prefix(location).map(|rest| rest.trim_start_matches([':', ' ']));
                Outcome::Damaged { error: told.unwrap_or(&error).to_owned() }
            }
        };
        Self { path: format!("{root}{location}"), bytes: file.fragment.version.size, outcome }
    }

    /// What it holds, if it can be read.
    pub fn contents(&self) -> Option<&Contents> {
        match &self.outcome {
            Outcome::Readable(contents) => Some(contents),
            Outcome::Damaged { .. } => None,
        }
    }
}

impl Contents {
    fn new(file: &OpenFragment, detail: &Detail) -> Self {
        let metadata = &file.metadata;
        Self {
            rows: metadata.rows(),
            row_groups: metadata.row_groups().len(),
            created_by: metadata.parquet().file_metadata().created_by().map(str::to_owned),
            columns: leaves(file).iter().map(|leaf| Column::new(file, leaf, detail)).collect(),
        }
    }
}

impl Column {
    fn new(file: &OpenFragment, leaf: &Leaf, detail: &Detail) -> Self {
        let (metadata, parquet) = (&file.metadata, file.metadata.parquet());
        let row_groups = zones(file, leaf, Level::RowGroup);
        let pages = zones(file, leaf, Level::Page);
        let mut column = Self {
            name: leaf.name.clone(),
            data_type: leaf.data_type.to_string(),
            source: leaf.source,
            storage: leaf.parquet.map(|leaf| Storage::of(parquet, leaf)),
            nulls: row_groups.iter().filter(|zone| zone.rows > 0).map(|zone| zone.nulls).sum(),
            lower: None,
            lower_is_exact: false,
            upper: None,
            upper_is_exact: false,
            row_groups: row_groups.len(),
            page_zones: pages.iter().filter(|zone| zone.page.is_some()).count(),
            without_pages: BTreeMap::new(),
            unknown: BTreeMap::new(),
            unknown_pages: BTreeMap::new(),
            zones: None,
        };
        for zone in &row_groups {
            column.bound(zone.lower.as_ref(), zone.lower_is_exact, zone.upper.as_ref(), zone.upper_is_exact);
            zone.unknown.iter().for_each(|why| *column.unknown.entry(why).or_default() += 1);
        }
        for zone in pages.iter().filter(|zone| zone.page.is_some()) {
            zone.unknown.iter().for_each(|why| *column.unknown_pages.entry(why).or_default() += 1);
        }
        if let Some(leaf) = leaf.parquet {
            let without = (0..row_groups.len()).filter(|group| !is_paged(metadata, *group, leaf));
            for group in without {
                *column.without_pages.entry(reasons::no_pages(parquet, group, leaf)).or_default() += 1;
            }
        }
        if detail.columns.iter().any(|name| column.is_named(name)) {
            column.zones = Some(if detail.pages { pages } else { row_groups });
        }
        column
    }

    /// Whether a name means this column: its own, or that of a column or field around it.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// Widens the bounds.
    fn bound(&mut self, lower: Option<&Value>, lower_exact: bool, upper: Option<&Value>, upper_exact: bool) {
        if let Some(lower) = lower
            && self.lower.as_ref().is_none_or(|known| lower < known)
        {
            (self.lower, self.lower_is_exact) = (Some(lower.clone()), lower_exact);
        }
        if let Some(upper) = upper
            && self.upper.as_ref().is_none_or(|known| upper > known)
        {
            (self.upper, self.upper_is_exact) = (Some(upper.clone()), upper_exact);
        }
    }

    /// Adds the same column of another file.
    fn merge(&mut self, other: &Self) {
        match (&mut self.storage, &other.storage) {
            (Some(storage), Some(other)) => storage.merge(other),
            (None, Some(other)) => {
                self.storage = Some(other.clone());
                self.source = Source::File;
            }
            (_, None) => {}
        }
        self.nulls = self.nulls.zip(other.nulls).map(|(a, b)| a + b);
        self.bound(other.lower.as_ref(), other.lower_is_exact, other.upper.as_ref(), other.upper_is_exact);
        self.row_groups += other.row_groups;
        self.page_zones += other.page_zones;
        for (mine, others) in [
            (&mut self.without_pages, &other.without_pages),
            (&mut self.unknown, &other.unknown),
            (&mut self.unknown_pages, &other.unknown_pages),
        ] {
            others.iter().for_each(|(why, count)| *mine.entry(why).or_default() += count);
        }
    }
}
