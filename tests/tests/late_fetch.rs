// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A TopK that fetches wide columns for its winners alone gives the rows that one which doesn't gives.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, DictionaryArray, Int64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Int8Type};
use arrow::record_batch::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use rstest::rstest;
use trommel_tests::files::Folder;
use trommel_tests::session::{Format, Mode};

const FILES: i64 = 3;
const ROWS: i64 = 1000;

/// Rows of file `file`: `k` is unique over all files and in no order, `g` has few values and NULLs.
fn rows(file: i64) -> Result<RecordBatch> {
    let keys: Vec<_> = (0..ROWS).map(|row| (row * FILES + file) * 7919 % (ROWS * FILES)).collect();
    let names: StringArray = keys.iter().map(|k| (k % 13 != 1).then(|| format!("name {k}"))).collect();
    let kinds: DictionaryArray<Int8Type> =
        keys.iter().map(|k| Some(["x", "y", "z"][*k as usize % 3])).collect();
    let inner: ArrayRef =
        Arc::new(keys.iter().map(|k| (k % 5 != 0).then_some(k * 2)).collect::<Int64Array>());
    let nest = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), inner)]);
    let columns: [(&str, ArrayRef); 5] = [
        ("g", Arc::new(keys.iter().map(|k| (k % 9 != 2).then_some(k % 10)).collect::<Int64Array>())),
        ("name", Arc::new(names)),
        ("k", Arc::new(Int64Array::from(keys.clone()))),
        ("kind", Arc::new(kinds)),
        ("nest", Arc::new(nest)),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))?)
}

async fn answer(session: &SessionContext, sql: &str) -> Result<String> {
    Ok(pretty_format_batches(&session.sql(sql).await?.collect().await?)?.to_string())
}

#[rstest]
#[case::all_columns("SELECT * FROM t ORDER BY k DESC LIMIT 7")]
#[case::offset("SELECT name, k FROM t ORDER BY k LIMIT 5 OFFSET 3")]
#[case::several_keys("SELECT name, nest, g FROM t ORDER BY g NULLS FIRST, k LIMIT 40")]
#[case::nulls_last("SELECT name, kind FROM t ORDER BY g DESC NULLS LAST, k DESC LIMIT 200")]
#[case::computed("SELECT upper(name) AS n, k + 1 AS next FROM t ORDER BY next DESC LIMIT 5")]
#[case::filtered("SELECT name FROM t WHERE g = 3 AND k > 100 ORDER BY k LIMIT 9")]
#[case::picked_twice("SELECT k, k AS again, name FROM t ORDER BY again LIMIT 4")]
#[case::key_not_put_out("SELECT name FROM t ORDER BY g + k, k LIMIT 3")]
#[case::volatile_filter("SELECT name, k FROM t WHERE random() < 2 ORDER BY k LIMIT 3")]
#[case::nested("SELECT nest['x'], name FROM t ORDER BY k LIMIT 8")]
#[case::more_than_there_are("SELECT * FROM t ORDER BY k LIMIT 5000")]
#[case::below_a_join(
    "SELECT x.k, x.name, u.g FROM (SELECT * FROM t ORDER BY k DESC LIMIT 5) x JOIN t u USING (k) ORDER BY k"
)]
#[case::in_a_union(
    "SELECT * FROM (SELECT name, k FROM t ORDER BY k LIMIT 3)
     UNION ALL SELECT * FROM (SELECT name, k FROM t ORDER BY k DESC LIMIT 3) ORDER BY k"
)]
#[case::no_row_passes("SELECT * FROM t WHERE k > 1000000 ORDER BY k LIMIT 3")]
#[tokio::test]
async fn rows_are_the_same(#[case] sql: &str) -> Result<()> {
    let all: Vec<_> = (0..FILES).map(rows).collect::<Result<_>>()?;
    let memory = SessionContext::new();
    memory.register_table("t", Arc::new(MemTable::try_new(all[0].schema(), vec![all.clone()])?))?;
    let expected = answer(&memory, sql).await?;
    let files = Folder::new(&all, 100)?;
    for partitions in [1, 4] {
        for batch_size in [None, Some(1)] {
            for (option, fetches) in [("always", true), ("never", false)] {
                let mode = Mode { split_files: true, batch_size, ..Mode::new(Format::Trommel, partitions) };
                let session = mode.session();
                let option = format!("OPTIONS ('late_fetch' '{option}')");
                files.create(&session, "t", Format::Trommel, &option).await?;
                assert_eq!(answer(&session, sql).await?, expected, "{mode} {option}");
                let plan = answer(&session, &format!("EXPLAIN {sql}")).await?;
                assert_eq!(plan.contains("FetchRowsExec"), fetches, "{mode} {option}\n{plan}");
            }
        }
    }
    Ok(())
}

/// Rows that chance picks must take less than half of the bytes; a sort key or a row's order must not hang on what
/// is computed anew.
#[rstest]
#[case::few_of_many("SELECT * FROM t ORDER BY k LIMIT 3", true)]
#[case::too_many("SELECT * FROM t ORDER BY k LIMIT 300", false)]
#[case::nothing_else("SELECT k FROM t ORDER BY k LIMIT 3", false)]
#[case::no_limit("SELECT * FROM t ORDER BY k", false)]
#[case::no_order("SELECT * FROM t LIMIT 3", false)]
#[case::volatile_key("SELECT name, k + random() AS v FROM t ORDER BY v LIMIT 3", false)]
#[case::volatile_column("SELECT name, random() AS v FROM t ORDER BY k LIMIT 3", true)]
#[case::join_between("SELECT t.* FROM t JOIN t u USING (k) ORDER BY t.k LIMIT 3", false)]
#[tokio::test]
async fn done_where_it_pays(#[case] sql: &str, #[case] fetches: bool) -> Result<()> {
    let files = Folder::new(&[rows(0)?, rows(1)?, rows(2)?], 100)?;
    let session = Mode { split_files: true, ..Mode::new(Format::Trommel, 2) }.session();
    files.create(&session, "t", Format::Trommel, "").await?;
    let plan = answer(&session, &format!("EXPLAIN {sql}")).await?;
    assert_eq!(plan.contains("FetchRowsExec"), fetches, "{plan}");
    Ok(())
}
