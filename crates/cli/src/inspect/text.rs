// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A report as tables for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

use comfy_table::modifiers::UTF8_ROUND_CORNERS;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::leaves::Source;
use super::report::{Column, FileReport, Outcome, Report};
use super::storage::Dictionaries;
use super::zones::{Value, Zone};
use crate::demo::report::bytes;

/// A bound longer than this is cut off.
const LONGEST: usize = 24;

/// Writes the report as tables of files, of columns, and of the zones asked for.
///
/// # Errors
/// `out` can't be written.
pub fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let readable: Vec<_> = report.files.iter().filter(|file| file.contents().is_some()).collect();
    if !readable.is_empty() {
        writeln!(out, "{}\n{}\n", totals(report, &readable), files(&readable))?;
    }
    let merged = report.merged();
    if !merged.is_empty() {
        writeln!(out, "Columns\n{}\n", columns(&merged))?;
    }
    let folder = common_folder(&readable);
    for file in &readable {
        for column in file.contents().iter().flat_map(|contents| &contents.columns) {
            if let Some(of_column) = &column.zones {
                writeln!(
                    out,
                    "Zones of {} in {}\n{}\n",
                    column.name,
                    &file.path[folder..],
                    zones(of_column)
                )?;
            }
        }
    }
    Ok(())
}

/// What is wrong, a line each.
pub fn errors(report: &Report) -> Vec<String> {
    let damaged = report.files.iter().filter_map(|file| match &file.outcome {
        Outcome::Damaged { error } => Some(format!("{}: {error}", file.path)),
        Outcome::Readable(_) => None,
    });
    let conflict = report.conflict.iter().map(|why| format!("these files are no table together: {why}"));
    damaged.chain(conflict).collect()
}

fn totals(report: &Report, readable: &[&FileReport]) -> String {
    let contents = || readable.iter().filter_map(|file| file.contents());
    format!(
        "{}: {}, {}, {}, {}",
        report.location,
        counted(readable.len(), "file"),
        bytes(readable.iter().map(|file| file.bytes).sum()),
        counted(contents().map(|contents| contents.rows).sum::<u64>() as usize, "row"),
        counted(contents().map(|contents| contents.row_groups).sum(), "row group"),
    )
}

fn files(readable: &[&FileReport]) -> Table {
    let mut table = table(&["file", "size", "rows", "row groups", "written by"]);
    let folder = common_folder(readable);
    for file in readable {
        let Some(contents) = file.contents() else { continue };
        table.add_row([
            file.path[folder..].to_owned(),
            bytes(file.bytes),
            grouped(contents.rows),
            grouped(contents.row_groups as u64),
            cut(contents.created_by.as_deref().unwrap_or("not told"), 40),
        ]);
    }
    align_right(&mut table, &[1, 2, 3]);
    table
}

/// How long the folders are that all paths begin with.
fn common_folder(files: &[&FileReport]) -> usize {
    let Some(first) = files.first() else { return 0 };
    let is_common = |end: &usize| files.iter().all(|file| file.path.starts_with(&first.path[..*end]));
    let mut ends = first.path.match_indices('/').map(|(slash, _)| slash + 1);
    ends.rfind(is_common).unwrap_or(0)
}

fn columns(columns: &[Column]) -> Table {
    let header =
        ["column", "type", "stored as", "size", "dictionary", "NULLs", "lower", "upper", "zones", "unknown"];
    let mut table = table(&header);
    for column in columns {
        table.add_row([
            column.name.clone(),
            column.data_type.clone(),
            stored_as(column),
            size(column),
            column
                .storage
                .as_ref()
                .map_or(String::new(), |storage| dictionary(&storage.dictionary, storage.compressed_bytes)),
            column.nulls.map_or("?".to_owned(), grouped),
            bound(column.lower.as_ref(), column.lower_is_exact),
            bound(column.upper.as_ref(), column.upper_is_exact),
            zone_counts(column),
            unknown(column),
        ]);
    }
    align_right(&mut table, &[3, 5]);
    table
}

fn stored_as(column: &Column) -> String {
    let join = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    match (&column.storage, column.source) {
        (Some(storage), _) => format!("{}\n{}", join(&storage.encodings), join(&storage.compression)),
        (None, Source::Partition) => "folder names".to_owned(),
        (None, _) => "missing: NULL".to_owned(),
    }
}

fn size(column: &Column) -> String {
    let Some(storage) = &column.storage else { return String::new() };
    let (compressed, uncompressed) = (bytes(storage.compressed_bytes), bytes(storage.uncompressed_bytes));
    match storage.compressed_bytes == storage.uncompressed_bytes {
        true => compressed,
        false => format!("{compressed}\nof {uncompressed}"),
    }
}

fn dictionary(dictionaries: &Dictionaries, compressed: u64) -> String {
    let chunks = dictionaries.chunks();
    if dictionaries.no_page == chunks {
        return "none".to_owned();
    }
    let coded = match dictionaries.all_pages {
        all if all == chunks => "all".to_owned(),
        0 if dictionaries.some_pages == chunks => "in part".to_owned(),
        all => format!("{all} of {chunks}"),
    };
    match dictionaries.bytes {
        0 => coded,
        bytes => format!("{coded}\n{} % of size", (bytes * 100).checked_div(compressed).unwrap_or(0)),
    }
}

fn zone_counts(column: &Column) -> String {
    match column.page_zones {
        0 => counted(column.row_groups, "row group"),
        pages => format!("{}\n{}", counted(column.row_groups, "row group"), counted(pages, "page")),
    }
}

fn unknown(column: &Column) -> String {
    let mut lines = Vec::new();
    let mut add = |reasons: &BTreeMap<&str, usize>, total: usize, of: &str| {
        for (why, count) in reasons {
            lines.push(match total {
                total if *count == total => (*why).to_owned(),
                _ => format!("{}: {why}", counted(*count, of)),
            });
        }
    };
    add(&column.unknown, column.row_groups, "row group");
    add(&column.unknown_pages, usize::MAX, "page");
    // Where nothing has zones, it goes without saying that pages have none.
    if column.unknown.values().sum::<usize>() < column.row_groups {
        add(&column.without_pages, column.row_groups, "row group");
    }
    lines.join("\n")
}

fn zones(zones: &[Zone]) -> Table {
    let mut table = table(&["row group", "page", "first row", "rows", "NULLs", "lower", "upper", "unknown"]);
    for zone in zones {
        table.add_row([
            zone.row_group.to_string(),
            zone.page.map_or(String::new(), |page| page.to_string()),
            grouped(zone.first_row),
            grouped(zone.rows),
            zone.nulls.map_or("?".to_owned(), grouped),
            bound(zone.lower.as_ref(), zone.lower_is_exact),
            bound(zone.upper.as_ref(), zone.upper_is_exact),
            zone.unknown.join("\n"),
        ]);
    }
    align_right(&mut table, &[0, 1, 2, 3, 4]);
    table
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).apply_modifier(UTF8_ROUND_CORNERS);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

fn align_right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn bound(bound: Option<&Value>, is_exact: bool) -> String {
    let Some(bound) = bound else { return "?".to_owned() };
    let mut text = String::new();
    for char in bound.to_string().chars() {
        // Control characters would draw over the table.
        match char.is_control() {
            true => text.extend(char.escape_default()),
            false => text.push(char),
        }
    }
    format!("{}{}", if is_exact { "" } else { "~" }, cut(&text, LONGEST))
}

/// The text's first characters, with an ellipsis for more.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

/// A number and what it counts, in the plural where it should be.
fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

/// A number with thin gaps between groups of three digits.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use datafusion::common::ScalarValue;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::small(7, "7")]
    #[case::thousand(1000, "1 000")]
    #[case::large(12_345_678, "12 345 678")]
    fn numbers(#[case] count: u64, #[case] expected: &str) {
        assert_eq!(grouped(count), expected);
    }

    #[rstest]
    #[case::short("abc", true, "abc")]
    #[case::not_exact("abc", false, "~abc")]
    #[case::long("abcdefghijklmnopqrstuvwxyz", true, "abcdefghijklmnopqrstuvw…")]
    #[case::control("a\nb\u{1b}[0m", true, "a\\nb\\u{1b}[0m")]
    fn bounds(#[case] value: &str, #[case] is_exact: bool, #[case] expected: &str) {
        let value = Value(ScalarValue::Utf8View(Some(value.to_owned())));
        assert_eq!(bound(Some(&value), is_exact), expected);
    }
}
