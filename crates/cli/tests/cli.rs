// Licensed under the Apache License, Version 2.0. See LICENSE.

//! `trommel sql` and `trommel inspect` as their users meet them: through the binary.

// Tests fail by panicking, their helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

/// What a call of the binary gave.
#[derive(Debug)]
struct Answer {
    code: i32,
    out: String,
    error: String,
}

impl Answer {
    fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), out: text(output.stdout), error: text(output.stderr) }
    }
}

/// A folder to call the binary in: `flights.parquet` of two row groups and several pages, and `sales/`, partitioned.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let made = folder.call(&[
            "sql",
            "-c",
            "COPY (SELECT value AS id, value % 7 AS delay, 'city ' || (value % 3) AS origin, \
             CASE WHEN value % 2 = 0 THEN value END AS even FROM generate_series(1, 2000)) \
             TO 'flights.parquet' OPTIONS ('format.max_row_group_size' 1000, 'format.data_page_row_count_limit' 100, \
             'format.write_batch_size' 100)",
            "-c",
            "COPY (VALUES (1, 'a', 2023), (2, 'b', 2024), (3, 'c', 2024)) TO 'sales/' STORED AS PARQUET \
             PARTITIONED BY (column3)",
        ]);
        assert_eq!(made.code, 0, "{made:?}");
        folder
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trommel"));
        command.args(args).current_dir(self.0.path()).env("HOME", self.0.path());
        command
    }

    fn call(&self, args: &[&str]) -> Answer {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    fn pipe(&self, args: &[&str], input: &str) -> Answer {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }
}

/// Files of the project that are damaged in one way each.
fn case_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/files").join(name)
}

#[test]
fn commands_run_in_order() {
    let folder = Folder::new();
    let answer =
        folder.call(&["sql", "--format", "csv", "-c", "SELECT 1 AS a; SELECT 2 AS b", "-c", "SELECT 3 AS c"]);
    assert_eq!((answer.code, answer.out.as_str()), (0, "a\n1\nb\n2\nc\n3\n"), "{answer:?}");
}

#[test]
fn tables_tell_counts_and_times() {
    let answer = Folder::new().call(&["sql", "-c", "SELECT 1 AS one"]);
    assert!(answer.out.contains("| one |") && answer.out.contains("1 row(s) fetched"), "{answer:?}");
}

#[test]
fn no_row_of_a_machine_format_is_left_out() {
    let answer =
        Folder::new().call(&["sql", "--format", "csv", "-c", "SELECT * FROM generate_series(1, 50000)"]);
    assert_eq!(answer.lines().len(), 50_001);
}

#[rstest]
#[case::a_file("flights.parquet", "2000")]
#[case::a_glob("*.parquet", "2000")]
#[case::a_folder("sales/", "3")]
#[case::a_folder_without_slash("sales", "3")]
#[case::a_partition("sales/column3=2024/", "2")]
fn a_location_is_a_table_of_trommels(#[case] location: &str, #[case] rows: &str) {
    let folder = Folder::new();
    let count = |table: &str| format!("SELECT count(*) AS n FROM {table}");
    let explain = "EXPLAIN SELECT * FROM t";
    let table = format!("t={location}");
    let answer =
        folder.call(&["sql", "--table", &table, "--format", "csv", "-c", &count("t"), "-c", explain]);
    assert_eq!((answer.code, &answer.lines()[..2]), (0, &["n", rows][..]), "{answer:?}");
    assert!(answer.out.contains("FilteredRead"), "{answer:?}");
    let answer = folder.call(&["sql", "--format", "csv", "-c", &count(&format!("'{location}'"))]);
    assert_eq!((answer.code, answer.lines()), (0, vec!["n", rows]), "{answer:?}");
}

#[test]
fn other_formats_are_read_too() {
    let folder = Folder::new();
    folder.write("a.csv", "x,y\n1,2\n");
    let answer = folder.call(&["sql", "--table", "a=a.csv", "--format", "csv", "-c", "SELECT y FROM a"]);
    assert_eq!((answer.code, answer.lines()), (0, vec!["y", "2"]), "{answer:?}");
}

#[test]
fn tables_of_trommels_have_options() {
    let answer = Folder::new().call(&[
        "sql",
        "--quiet",
        "--format",
        "csv",
        "-c",
        "CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'flights.parquet' OPTIONS (distrust_statistics true)",
        "-c",
        "SELECT max(id) AS m FROM t",
    ]);
    assert_eq!((answer.code, answer.lines()), (0, vec!["m", "2000"]), "{answer:?}");
}

#[rstest]
#[case::no_file(&["sql", "--table", "t=nowhere/"], 1, "table t")]
#[case::no_file_there(&["sql", "--table", "t=nowhere/"], 1, "no Parquet file found at 'nowhere/'")]
#[case::no_file_in_a_query(&["sql", "-c", "SELECT * FROM 'no.parquet'"], 1, "no Parquet file found at 'no.parquet'")]
#[case::no_table(&["sql", "-c", "SELECT * FROM nothing"], 1, "nothing")]
#[case::no_store(&["sql", "--table", "t=ftp://host/a.parquet", "-c", "SELECT 1"], 1, "no store for 'ftp'")]
#[case::no_column(&["sql", "-c", "SELECT nope FROM 'flights.parquet'"], 1, "nope")]
#[case::bad_sql(&["sql", "-c", "SELEC 1"], 1, "SELEC")]
#[case::no_script(&["sql", "-f", "no.sql"], 1, "reading no.sql")]
#[case::unknown_option(
    &["sql", "-c", "CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'flights.parquet' OPTIONS (nope 1)"], 1,
    "distrust_statistics"
)]
#[case::table_without_location(&["sql", "--table", "t"], 2, "NAME=LOCATION")]
#[case::no_size(&["sql", "--memory-limit", "much"], 2, "512M")]
#[case::no_partition(&["sql", "--partitions", "0"], 2, "partitions")]
#[case::nothing_to_inspect(&["inspect"], 2, "LOCATION")]
#[case::nothing_there(&["inspect", "nowhere"], 1, "no Parquet file found at 'nowhere'")]
#[case::no_column_to_inspect(&["inspect", "flights.parquet", "--column", "nope"], 1, "id, delay, origin, even")]
#[case::plan_of_another_table(&["inspect", "flights.parquet", "--plan", "SELECT 1"], 1, "doesn't read the table t")]
#[case::pages_of_what(&["inspect", "flights.parquet", "--pages"], 2, "--column")]
fn what_goes_wrong_is_told(#[case] args: &[&str], #[case] code: i32, #[case] says: &str) {
    let answer = Folder::new().call(args);
    assert_eq!(answer.code, code, "{answer:?}");
    assert!(answer.error.contains(says), "{answer:?}");
}

#[test]
fn a_script_ends_at_the_first_failure_and_tells_its_line() {
    let folder = Folder::new();
    folder.write(
        "script.sql",
        "-- a comment; with a semicolon\nSELECT 1 AS a;\n\nSELECT\nnope;\nSELECT 2 AS b;\n",
    );
    let answer = folder.call(&["sql", "--format", "csv", "-f", "script.sql", "-c", "SELECT 3 AS c"]);
    assert_eq!((answer.code, answer.out.as_str()), (1, "a\n1\n"), "{answer:?}");
    assert!(answer.error.starts_with("error: script.sql, line 4: "), "{answer:?}");
}

#[test]
fn statements_are_read_from_a_pipe() {
    let folder = Folder::new();
    let script = "\\pset format csv\nSELECT 'a;b' AS x;\n\\d\nSELECT max(id)\nAS y\nFROM 'flights.parquet';";
    let answer = folder.pipe(&["sql"], script);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.contains("x\na;b\n") && answer.out.ends_with("y\n2000\n"), "{answer:?}");
    let stopped = folder.pipe(&["sql", "--format", "csv"], "SELECT 1 AS a;\\q\nSELECT 2 AS b;");
    assert_eq!((stopped.code, stopped.out.as_str()), (0, "a\n1\n"), "{stopped:?}");
    let failed = folder.pipe(&["sql", "-f", "-"], "\nSELECT nope");
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.error.starts_with("error: standard input, line 2: "), "{failed:?}");
    let unknown = folder.pipe(&["sql"], "\\nope");
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.error.contains("\\nope"), "{unknown:?}");
    // A shell that nobody types in keeps no history.
    assert!(!folder.0.path().join(".trommel_history").exists());
}

#[test]
fn limits_reach_the_plan() {
    let folder = Folder::new();
    let show = "SHOW datafusion.execution.target_partitions";
    let answer = folder.call(&["sql", "--partitions", "3", "--format", "csv", "-c", show]);
    assert!(answer.out.contains(",3"), "{answer:?}");
    let sort = "SELECT DISTINCT value FROM generate_series(1, 1000000)";
    let answer = folder.call(&["sql", "--memory-limit", "100K", "-c", sort]);
    assert_eq!(answer.code, 1, "{answer:?}");
}

/// The only file of a report.
fn file(report: &Value) -> &Value {
    let files = report["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{report}");
    &files[0]
}

fn column<'a>(file: &'a Value, name: &str) -> &'a Value {
    let mut columns = file["columns"].as_array().unwrap().iter();
    columns.find(|column| column["name"] == name).unwrap_or_else(|| panic!("no {name} in {file}"))
}

#[test]
fn inspect_tells_what_pruning_knows() {
    let folder = Folder::new();
    let answer = folder.call(&["inspect", "flights.parquet", "--json", "--column", "id", "--pages"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let report = answer.json();
    let file = file(&report);
    assert_eq!((&file["rows"], &file["row_groups"]), (&2000.into(), &2.into()));
    let id = column(file, "id");
    assert_eq!((&id["lower"], &id["upper"], &id["nulls"]), (&1.into(), &2000.into(), &0.into()));
    assert_eq!(id["lower_is_exact"], true);
    let zones = id["zones"].as_array().unwrap();
    assert_eq!((zones.len(), &id["page_zones"]), (20, &20.into()), "{id}");
    let third = &zones[12];
    assert_eq!(
        (&third["row_group"], &third["page"], &third["first_row"]),
        (&1.into(), &2.into(), &1200.into())
    );
    assert_eq!((&third["lower"], &third["upper"]), (&1201.into(), &1300.into()));
    let origin = column(file, "origin");
    assert_eq!((&origin["lower"], &origin["upper"]), (&"city 0".into(), &"city 2".into()));
    assert_eq!(origin["storage"]["dictionary"]["all_pages"], 2, "{origin}");
    assert_eq!(column(file, "even")["nulls"], 1000);
    assert!(origin.get("zones").is_none(), "{origin}");

    let text = folder.call(&["inspect", "flights.parquet", "--column", "id"]);
    assert_eq!(text.code, 0);
    for part in ["2 000 rows", "2 row groups", "20 pages", "Zones of id", "city 2", "1001"] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
}

#[test]
fn inspect_shows_what_a_query_runs() {
    let folder = Folder::new();
    let sql = "SELECT id FROM t WHERE delay > 5 AND origin LIKE '%1'";
    let answer = folder.call(&["inspect", "flights.parquet", "--plan", sql]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let (before, after) = answer.out.split_once("after pushdown:").unwrap();
    assert!(
        before.contains("$.delay > 5") && before.contains("segment_scan(row group 0, column 3)"),
        "{before}"
    );
    // Each column is asked for itself, and the fourth is not read.
    assert!(after.contains("eval($ > 5)") && after.contains("eval($ LIKE '%1')"), "{after}");
    assert!(!after.contains("column 3)"), "{after}");
}

#[test]
fn inspect_shows_partitions() {
    let folder = Folder::new();
    let report = folder.call(&["inspect", "sales", "--json"]).json();
    let files = report["files"].as_array().unwrap();
    let bounds: Vec<_> = files.iter().map(|file| &column(file, "column3")["lower"]).collect();
    assert_eq!(bounds, ["2023", "2024"], "{report}");
    assert_eq!(column(&files[0], "column3")["source"], "partition");
    let text = folder.call(&["inspect", "sales"]).out;
    assert!(text.contains("folder names") && text.contains("column3=2023/"), "{text}");
}

#[rstest]
#[case::no_bounds("bounds_missing.parquet", "no bounds")]
#[case::nan("nan_as_bound.parquet", "NaN as a bound")]
#[case::nulls("null_count_missing.parquet", "no count of NULLs")]
#[case::deprecated("legacy_bounds.parquet", "deprecated bounds")]
#[case::no_index("index_for_one_column.parquet", "no page index")]
fn inspect_tells_what_is_unknown(#[case] name: &str, #[case] says: &str) {
    let answer = Folder::new().call(&["inspect", case_file(name).to_str().unwrap(), "--json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.contains(says), "{}", answer.out);
}

#[test]
fn inspect_shows_the_files_beside_a_damaged_one() {
    let folder = Folder::new();
    let damaged = ["truncated_half.parquet", "truncated_no_tail.parquet", "footer_flipped.parquet"];
    for name in damaged {
        fs::copy(case_file(name), folder.0.path().join(name)).unwrap();
    }
    let text = folder.call(&["inspect", "."]);
    assert_eq!(text.code, 1, "{text:?}");
    assert!(text.out.contains("flights.parquet"), "{text:?}");
    for name in damaged {
        let about = |line: &&str| line.starts_with("error: ") && line.contains(name);
        assert_eq!(text.error.lines().filter(about).count(), 1, "{name}: {text:?}");
    }
    let json = folder.call(&["inspect", "*.parquet", "--json"]);
    assert_eq!(json.code, 1, "{json:?}");
    let report = json.json();
    let errors = report["files"].as_array().unwrap().iter().filter(|file| file["error"].is_string());
    assert_eq!(errors.count(), 3, "{report}");
}

#[test]
fn files_that_are_no_table_together_are_still_shown() {
    let folder = Folder::new();
    let copy = "COPY (SELECT DATE '2024-01-01' AS id) TO 'other.parquet'";
    assert_eq!(folder.call(&["sql", "-c", copy]).code, 0);
    let answer = folder.call(&["inspect", "*.parquet"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.error.contains("no table together"), "{answer:?}");
    assert!(answer.out.contains("other.parquet") && answer.out.contains("2024-01-01"), "{answer:?}");
}

#[rstest]
#[case::sql("sql")]
#[case::inspect("inspect")]
fn help_has_examples(#[case] command: &str) {
    let answer = Folder(tempfile::tempdir().unwrap()).call(&[command, "--help"]);
    assert_eq!(answer.code, 0);
    assert!(answer.out.contains("Examples:"), "{}", answer.out);
}
