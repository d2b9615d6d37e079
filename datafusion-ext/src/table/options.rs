// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A table's options: typed in code, text in `CREATE EXTERNAL TABLE … OPTIONS (…)`.
//!
//! One list, [`KNOWN`], holds each option's name, meaning and parser; errors and documentation are made from it.

use std::collections::HashMap;
use std::fmt::Write;

use datafusion::catalog::Session;
use datafusion::common::{Result, config_err};

/// What a table can be told about how to list and read its files.
///
/// In SQL each field is an option of its name, bare or with the prefix `trommel.` or `format.`:
/// `OPTIONS ('distrust_statistics' 'true')`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableOptions {
    /// Read every zone a static fact doesn't exclude, whatever the files' statistics say. For files whose
    /// writer got its statistics wrong. Default `false`.
    pub distrust_statistics: bool,
    /// The ending a file's name must have to be read, whatever its case; empty: any. Default `None`: in folders
    /// `.parquet` or `.parq`, while a glob decides alone. A file named by itself is always read.
    pub file_extension: Option<String>,
    /// Whether folders named `k=v` become partition columns where neither columns nor partitions are declared.
    /// Default `None`: as the session's `datafusion.execution.listing_table_factory_infer_partitions` says.
    pub infer_partitions: Option<bool>,
    /// Whether binary columns found in files are read as text, for writers that don't mark text as such. Default
    /// `None`: as the session's `datafusion.execution.parquet.binary_as_string` says.
    pub binary_as_string: Option<bool>,
    /// Whether scans report their live filters to the plan. Hash joins build theirs only for a scan that
    /// does. Default `true`.
    pub report_live_filters: bool,
    /// When live filters are evaluated for each row, besides judging zones. Default
    /// [`WhenItPays`](LiveRowFilters::WhenItPays).
    pub live_row_filters: LiveRowFilters,
    /// When a TopK fetches the columns that it doesn't sort by for its winners alone. Default
    /// [`WhenItPays`](LateFetch::WhenItPays).
    pub late_fetch: LateFetch,
    /// Whether the table has two more columns that say where each row lies: `_fragment`, the path of its file in the
    /// store, and `_row`, its number in the file, from 0. They come before the partition columns; underscores are
    /// added to names that are taken. Default `false`.
    pub row_addresses: bool,
}

/// When a TopK fetches the columns that it doesn't sort by for its winners alone; see
/// [`FetchTopKRows`](crate::FetchTopKRows).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LateFetch {
    /// Where rows picked by chance take less than half of those columns' bytes.
    #[default]
    WhenItPays,
    /// Wherever it can be done.
    Always,
    /// Never.
    Never,
}

/// When live filters are evaluated for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LiveRowFilters {
    /// While what they save, as measured, is more than what they cost.
    #[default]
    WhenItPays,
    /// Always.
    Always,
    /// Never: they only leave out zones.
    Never,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            distrust_statistics: false,
            file_extension: None,
            infer_partitions: None,
            binary_as_string: None,
            report_live_filters: true,
            live_row_filters: LiveRowFilters::default(),
            late_fetch: LateFetch::default(),
            row_addresses: false,
        }
    }
}

/// One option as SQL spells it.
struct Known {
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
    /// Reads the option's text; an error says what was expected.
    set: fn(&mut TableOptions, &str) -> Result<(), &'static str>,
}

const KNOWN: [Known; 8] = [
    Known {
        name: "distrust_statistics",
        default: "false",
        meaning: "read every zone, whatever the files' statistics say",
        set: |options, text| boolean(text).map(|value| options.distrust_statistics = value),
    },
    Known {
        name: "file_extension",
        default: ".parquet or .parq",
        meaning: "the ending of the names of files to read; empty for any",
        set: |options, text| {
            options.file_extension = Some(text.to_owned());
            Ok(())
        },
    },
    Known {
        name: "infer_partitions",
        default: "the session's listing_table_factory_infer_partitions",
        meaning: "make partition columns of undeclared k=v folders",
        set: |options, text| boolean(text).map(|value| options.infer_partitions = Some(value)),
    },
    Known {
        name: "binary_as_string",
        default: "the session's binary_as_string",
        meaning: "read binary columns found in files as text",
        set: |options, text| boolean(text).map(|value| options.binary_as_string = Some(value)),
    },
    Known {
        name: "report_live_filters",
        default: "true",
        meaning: "let joins, TopK sorts and min/max aggregates tell scans what can still matter",
        set: |options, text| boolean(text).map(|value| options.report_live_filters = value),
    },
    Known {
        name: "live_row_filters",
        default: "when_it_pays",
        meaning: "evaluate dynamic filters for each row: when_it_pays, always or never",
        set: |options, text| {
            let values = [LiveRowFilters::WhenItPays, LiveRowFilters::Always, LiveRowFilters::Never];
            when(text, values).map(|value| options.live_row_filters = value)
        },
    },
    Known {
        name: "late_fetch",
        default: "when_it_pays",
        meaning: "let a TopK fetch the columns it doesn't sort by for its winners alone: when_it_pays, always \
                  or never",
        set: |options, text| {
            let values = [LateFetch::WhenItPays, LateFetch::Always, LateFetch::Never];
            when(text, values).map(|value| options.late_fetch = value)
        },
    },
    Known {
        name: "row_addresses",
        default: "false",
        meaning: "add columns _fragment and _row that say in which file each row lies, and where there",
        set: |options, text| boolean(text).map(|value| options.row_addresses = value),
    },
];

/// The value for `when_it_pays`, `always` or `never`.
fn when<T>(text: &str, [when_it_pays, always, never]: [T; 3]) -> Result<T, &'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "when_it_pays" => Ok(when_it_pays),
        "always" => Ok(always),
        "never" => Ok(never),
        _ => Err("when_it_pays, always or never"),
    }
}

fn boolean(text: &str) -> Result<bool, &'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("true or false"),
    }
}

impl TableOptions {
    /// The options of a `CREATE EXTERNAL TABLE` statement.
    ///
    /// Options of another namespace are left to whoever registered it with the session (an object store's
    /// credentials, say), provided the session knows the option.
    ///
    /// # Errors
    /// An unknown option, one given twice under two spellings, or a value that can't be read. An unknown
    /// option's error lists all there are.
    pub fn from_sql(options: &HashMap<String, String>, session: &dyn Session) -> Result<Self> {
        let mut read = Self::default();
        let mut given: Vec<&str> = Vec::new();
        // A map has no order of its own, and which of two errors is told shouldn't change from run to run.
        let mut entries: Vec<_> = options.iter().collect();
        entries.sort();
        for (key, text) in entries {
            let name = match key.split_once('.') {
                Some(("format" | "trommel", name)) => name,
                None => key.as_str(),
                Some((namespace, _)) => {
                    if namespace == "execution" || session.default_table_options().set(key, text).is_err() {
                        return unknown(key);
                    }
                    continue;
                }
            };
            let Some(known) = KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name)) else {
                return unknown(key);
            };
            if given.contains(&known.name) {
                return config_err!("option \"{}\" is given twice", known.name);
            }
            given.push(known.name);
            if let Err(expected) = (known.set)(&mut read, text) {
                return config_err!("option \"{key}\" can't be \"{text}\": expected {expected}");
            }
        }
        Ok(read)
    }
}

fn unknown<T>(key: &str) -> Result<T> {
    let mut list = String::new();
    for Known { name, default, meaning, .. } in &KNOWN {
        // Writing to a string can't fail.
        let _ = write!(list, "\n  {name}: {meaning} (default: {default})");
    }
    config_err!("unknown option \"{key}\"; a TROMMEL table's options are:{list}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;
    use rstest::rstest;

    fn read(options: &[(&str, &str)]) -> Result<TableOptions> {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        TableOptions::from_sql(&options, &SessionContext::new().state())
    }

    #[rstest]
    #[case::none(&[], TableOptions::default())]
    #[case::bare(&[("distrust_statistics", "true")], TableOptions { distrust_statistics: true, ..Default::default() })]
    #[case::of_the_format(
        &[("format.report_live_filters", "FALSE")],
        TableOptions { report_live_filters: false, ..Default::default() }
    )]
    #[case::of_trommel(
        &[("trommel.infer_partitions", "false")],
        TableOptions { infer_partitions: Some(false), ..Default::default() }
    )]
    #[case::of_the_parquet_format(
        &[("format.binary_as_string", "true")],
        TableOptions { binary_as_string: Some(true), ..Default::default() }
    )]
    #[case::several(
        &[("format.file_extension", ".pq"), ("format.infer_partitions", "true")],
        TableOptions { file_extension: Some(".pq".into()), infer_partitions: Some(true), ..Default::default() }
    )]
    fn options_are_read(#[case] given: &[(&str, &str)], #[case] expected: TableOptions) {
        assert_eq!(read(given).unwrap(), expected);
    }

    #[rstest]
    #[case::misspelt(&[("format.distrust_statistic", "true")], "unknown option \"format.distrust_statistic\"")]
    #[case::of_another_format(&[("format.pushdown_filters", "true")], "unknown option")]
    #[case::of_an_unknown_namespace(&[("aws.region", "x")], "unknown option \"aws.region\"")]
    #[case::of_the_session(&[("execution.batch_size", "1")], "unknown option")]
    #[case::not_a_boolean(&[("distrust_statistics", "yes")], "can't be \"yes\": expected true or false")]
    #[case::twice(&[("infer_partitions", "true"), ("trommel.infer_partitions", "false")], "given twice")]
    fn wrong_options_are_errors(#[case] given: &[(&str, &str)], #[case] says: &str) {
        let error = read(given).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn an_unknown_option_lists_the_known_ones() {
        let error = read(&[("nope", "1")]).unwrap_err().to_string();
        for known in &KNOWN {
            assert!(error.contains(known.name) && error.contains(known.meaning), "{error}");
        }
    }
}
