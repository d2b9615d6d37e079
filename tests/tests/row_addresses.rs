// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Columns that say where each row lies: in which file, and where there.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use rstest::rstest;
use trommel_tests::files::{Folder, integers};
use trommel_tests::session::{Format, Mode};

const FILES: i64 = 3;
const ROWS: i64 = 1000;
const OPTIONS: &str = "OPTIONS ('row_addresses' 'true')";

/// Keys of file `file`, in no order.
fn keys(file: i64) -> Vec<Option<i64>> {
    (0..ROWS).map(|row| Some((row * FILES + file) * 7919 % (ROWS * FILES))).collect()
}

/// The same rows in memory, with their addresses as columns like others.
fn in_memory() -> Result<SessionContext> {
    let of_file = |file: i64| -> Result<RecordBatch> {
        let columns: [(&str, ArrayRef); 3] = [
            ("k", Arc::new(Int64Array::from(keys(file)))),
            ("_row", Arc::new(Int64Array::from_iter_values(0..ROWS))),
            (
                "_fragment",
                Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| format!("{file}.parquet")))),
            ),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    };
    let all: Vec<_> = (0..FILES).map(of_file).collect::<Result<_>>()?;
    let session = SessionContext::new();
    session.register_table("t", Arc::new(MemTable::try_new(all[0].schema(), vec![all])?))?;
    Ok(session)
}

async fn answer(session: &SessionContext, sql: &str) -> Result<String> {
    Ok(pretty_format_batches(&session.sql(sql).await?.collect().await?)?.to_string())
}

fn metric(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.metrics().and_then(|m| m.sum_by_name(name)).map_or(0, |m| m.as_usize());
    own + plan.children().into_iter().map(|child| metric(child.as_ref(), name)).sum::<usize>()
}

#[rstest]
#[case::of_all_rows("SELECT k, _row, right(_fragment, 9) AS f FROM t ORDER BY k")]
#[case::of_rows_that_pass("SELECT _row, right(_fragment, 9) AS f FROM t WHERE k % 7 = 3 ORDER BY k")]
#[case::alone("SELECT _row FROM t ORDER BY _row")]
#[case::row("SELECT k FROM t WHERE _row = 417 ORDER BY k")]
#[case::address("SELECT k FROM t WHERE _row IN (3, 999) AND _fragment LIKE '%1.parquet' ORDER BY k")]
#[case::topk("SELECT k, _row FROM t ORDER BY _row DESC, k LIMIT 4")]
#[case::of_winners("SELECT _row, right(_fragment, 9) AS f, k FROM t ORDER BY k LIMIT 4")]
#[case::counted(
    "SELECT right(_fragment, 9) AS f, count(*), min(_row), max(_row) FROM t GROUP BY 1 ORDER BY 1"
)]
#[case::joined(
    "SELECT t.k FROM t JOIN (SELECT _fragment AS f, _row AS r FROM t ORDER BY k LIMIT 5) w
     ON t._fragment = w.f AND t._row = w.r ORDER BY t.k"
)]
#[tokio::test]
async fn addresses_are_columns(#[case] sql: &str) -> Result<()> {
    let expected = answer(&in_memory()?, sql).await?;
    let files: Vec<_> = (0..FILES).map(|file| integers(&[("k", keys(file))])).collect::<Result<_>>()?;
    let files = Folder::of_pages(&files, 200, 50)?;
    for partitions in [1, 4] {
        for late_fetch in ["always", "never"] {
            let mode = Mode { split_files: true, ..Mode::new(Format::Trommel, partitions) };
            let session = mode.session();
            let options = format!("OPTIONS ('row_addresses' 'true', 'late_fetch' '{late_fetch}')");
            files.create(&session, "t", Format::Trommel, &options).await?;
            assert_eq!(answer(&session, sql).await?, expected, "{mode} {late_fetch}");
        }
    }
    Ok(())
}

/// Where rows lie is known before anything is read.
#[rstest]
#[case::row("SELECT sum(k) FROM t WHERE _row = 417", 3)]
#[case::row_of_a_file("SELECT sum(k) FROM t WHERE _row = 417 AND _fragment LIKE '%1.parquet'", 1)]
#[case::last_row("SELECT k FROM t WHERE _fragment LIKE '%1.parquet' ORDER BY _row DESC LIMIT 1", 1)]
#[tokio::test]
async fn only_pages_of_the_rows_are_read(#[case] sql: &str, #[case] row_groups: usize) -> Result<()> {
    let files: Vec<_> = (0..FILES).map(|file| integers(&[("k", keys(file))])).collect::<Result<_>>()?;
    let files = Folder::of_pages(&files, 200, 50)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 1) }.session();
    files.create(&session, "t", Format::Trommel, OPTIONS).await?;
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    collect(Arc::clone(&plan), session.task_ctx()).await?;
    // A row group is 200 values of eight bytes in four pages.
    let read = metric(plan.as_ref(), "bytes_scanned");
    assert!(
        read > 0 && read < row_groups * 1000,
        "{read} bytes\n{}",
        answer(&session, &format!("EXPLAIN {sql}")).await?
    );
    Ok(())
}

#[tokio::test]
async fn without_the_option_there_are_none() -> Result<()> {
    let files = Folder::new(&[integers(&[("k", keys(0))])?], 100)?;
    let session = Mode::new(Format::Trommel, 1).session();
    files.create(&session, "t", Format::Trommel, "").await?;
    assert_eq!(session.table("t").await?.schema().fields().len(), 1);
    files.create(&session, "u", Format::Trommel, OPTIONS).await?;
    let names = session.table("u").await?.schema().field_names();
    assert_eq!(names, ["u.k", "u._row", "u._fragment"]);
    Ok(())
}
