// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How many bytes a join or a TopK reads of a sorted file, next to the one page that DataFusion's own scan reads in
//! its best case.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array, StringArray, StructArray};
use arrow::record_batch::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::{ExecutionPlan, collect};
use rstest::rstest;
use tokio::sync::OnceCell;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

const ROWS: i64 = 100_000;

/// 100 000 rows in row groups of 5 000, in pages of 500: `k` and `j` rise, `u` is in no order.
fn rows() -> Result<RecordBatch> {
    let text = StringArray::from_iter_values((0..ROWS).map(|k| format!("text number {k:08}")));
    let integers =
        |value: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..ROWS).map(value))) as ArrayRef;
    let columns = [
        ("k", integers(|k| k)),
        ("j", integers(|k| k)),
        ("u", integers(|k| k * 7919 % ROWS)),
        ("s", Arc::new(text)),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

async fn files() -> Result<&'static Folder> {
    static FILES: OnceCell<Folder> = OnceCell::const_new();
    FILES.get_or_try_init(async || Folder::of_pages(&[rows()?], 5000, 500)).await
}

/// Keys of the build side.
fn keys(name: &str) -> Vec<Option<i64>> {
    match name {
        "contiguous" => (40_010..40_040).map(Some).collect(),
        "few at both ends" => (0..5).chain(ROWS - 5..ROWS).map(Some).collect(),
        "at both ends" => (0..15).chain(ROWS - 15..ROWS).map(Some).collect(),
        _ => Vec::new(),
    }
}

const JOIN: &str = "SELECT sum(u + t.j), max(s) FROM t JOIN b ON t.k = b.k";

/// The same rows, and once more as the fields of a struct.
async fn files_of_structs() -> Result<&'static Folder> {
    static FILES: OnceCell<Folder> = OnceCell::const_new();
    FILES
        .get_or_try_init(async || {
            let rows = rows()?;
            let fields = Arc::new(StructArray::from(rows.clone())) as ArrayRef;
            let names: Vec<_> = rows.schema().fields().iter().map(|f| f.name().clone()).collect();
            let columns = names.into_iter().zip(rows.columns().to_vec());
            let all = columns.chain([("f".to_owned(), fields)]);
            Folder::of_pages(&[RecordBatch::try_from_iter(all)?], 5000, 500)
        })
        .await
}

/// The bytes that the scans of a query read, footers aside.
async fn bytes(files: &Folder, mode: Mode, build: &str, sql: &str) -> Result<usize> {
    let session = mode.session();
    files.create(&session, "t", mode.format, "").await?;
    let build = integers(&[("k", keys(build)), ("j", keys(build))])?;
    session.register_table("b", Arc::new(MemTable::try_new(build.schema(), vec![vec![build]])?))?;
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    collect(Arc::clone(&plan), session.task_ctx()).await?;
    Ok(bytes_scanned(plan.as_ref()))
}

fn bytes_scanned(plan: &dyn ExecutionPlan) -> usize {
    let own = plan.metrics().and_then(|m| m.sum_by_name("bytes_scanned")).map_or(0, |m| m.as_usize());
    own + plan.children().into_iter().map(|child| bytes_scanned(child.as_ref())).sum::<usize>()
}

#[rstest]
#[case::contiguous_keys("contiguous", false, JOIN, 1)]
#[case::contiguous_keys_partitioned("contiguous", true, JOIN, 1)]
#[case::few_keys_at_both_ends("few at both ends", false, JOIN, 2)]
#[case::keys_at_both_ends("at both ends", false, JOIN, 2)]
#[case::keys_at_both_ends_partitioned("at both ends", true, JOIN, 2)]
#[case::two_keys(
    "contiguous",
    false,
    "SELECT sum(u + t.j), max(s) FROM t JOIN b ON t.k = b.k AND t.j = b.j",
    1
)]
#[case::computed_key("contiguous", false, "SELECT sum(u + t.j), max(s) FROM t JOIN b ON t.k + 0 = b.k", 1)]
#[case::topk("", false, "SELECT * FROM t ORDER BY k DESC LIMIT 5", 1)]
#[case::topk_of_a_computed_key("", false, "SELECT * FROM t ORDER BY k + 0 DESC LIMIT 5", 2)]
#[case::topk_of_a_range(
    "",
    false,
    "SELECT * FROM t WHERE k BETWEEN 20000 AND 69999 ORDER BY k DESC LIMIT 5",
    1
)]
#[tokio::test]
async fn no_more_than_the_pages_that_matter(
    #[case] build: &str,
    #[case] partitioned_joins: bool,
    #[case] sql: &str,
    #[case] pages: usize,
) -> Result<()> {
    let files = files().await?;
    let page = bytes(files, Mode::new(Format::Parquet, 2), "contiguous", JOIN).await?;
    let mode = Mode { partitioned_joins, split_files: true, ..Mode::new(Format::Trommel, 2) };
    let read = bytes(files, mode, build, sql).await?;
    assert!(read > 0 && read <= pages * page, "{read} bytes, {pages} pages of {page}");
    Ok(())
}

/// A field below a column is read as a column would be.
#[rstest]
#[case::all_rows("SELECT sum({k}) FROM t")]
#[case::one_row("SELECT {s} FROM t WHERE {k} = 70000")]
#[case::join("SELECT sum({u}) FROM t JOIN b ON {k} = b.k")]
#[case::topk("SELECT {s}, {k} FROM t ORDER BY {k} DESC LIMIT 5")]
#[tokio::test]
async fn fields_are_read_by_themselves(#[case] sql: &str) -> Result<()> {
    let files = files_of_structs().await?;
    let mode = Mode { split_files: true, ..Mode::new(Format::Trommel, 2) };
    let with = |column: fn(&str) -> String| {
        let name = |sql: String, name| sql.replace(&format!("{{{name}}}"), &column(name));
        ["k", "u", "s"].into_iter().fold(sql.to_owned(), name)
    };
    let of_columns = bytes(files, mode, "contiguous", &with(|name| format!("t.{name}"))).await?;
    let of_fields = bytes(files, mode, "contiguous", &with(|name| format!("t.f['{name}']"))).await?;
    assert!(of_fields > 0 && of_fields * 10 <= of_columns * 11, "{of_fields} bytes, {of_columns} of columns");
    Ok(())
}

/// `EXPLAIN VERBOSE` shows what a file's plan reads for a filter and an output on fields.
#[tokio::test]
async fn explain_verbose_shows_the_plan_of_a_file() -> Result<()> {
    let session = Mode::new(Format::Trommel, 2).session();
    files_of_structs().await?.create(&session, "t", Format::Trommel, "").await?;
    let plan = session.sql("EXPLAIN VERBOSE SELECT f['u'] FROM t WHERE f['k'] > 5").await?.collect().await?;
    let text = pretty_format_batches(&plan)?.to_string();
    for part in ["fragment_plan=", "eval($ > 5)", "segment_scan(row group 0, column 4.0)", "column 4.2)"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(!text.contains("column 4.3)"), "{text}");
    Ok(())
}
