// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet files made for one test: known rows in row groups of a known size.

use std::fs;
use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array};
use arrow::record_batch::RecordBatch;
use datafusion::prelude::SessionContext;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use crate::session::Format;

/// Integer columns of equal length, by name.
///
/// # Errors
/// Columns of different lengths.
pub fn integers(columns: &[(&str, Vec<Option<i64>>)]) -> Result<RecordBatch> {
    let columns = columns.iter().map(|(name, values)| {
        let values: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        (*name, values, true)
    });
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// `rows` as a Parquet file, so many to a row group and to a page.
///
/// # Errors
/// The writer's.
pub fn parquet(rows: &RecordBatch, row_group_rows: usize, page_rows: usize) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(row_group_rows))
        .set_data_page_row_count_limit(page_rows)
        // Pages are cut between write batches only.
        .set_write_batch_size(page_rows)
        .set_dictionary_enabled(false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties))?;
    // The writer recurses once per row group that it cuts off a batch.
    for start in (0..rows.num_rows()).step_by(row_group_rows) {
        writer.write(&rows.slice(start, row_group_rows.min(rows.num_rows() - start)))?;
    }
    writer.close()?;
    Ok(bytes)
}

/// A folder of Parquet files that lasts as long as this does.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// One file per batch, in order of their names, each cut into row groups of so many rows, one page each.
    ///
    /// # Errors
    /// The writer's, and the file system's.
    pub fn new(files: &[RecordBatch], row_group_rows: usize) -> Result<Self> {
        Self::of_pages(files, row_group_rows, row_group_rows)
    }

    /// The same with so many rows to a page.
    ///
    /// # Errors
    /// The writer's, and the file system's.
    pub fn of_pages(files: &[RecordBatch], row_group_rows: usize, page_rows: usize) -> Result<Self> {
        let folder = TempDir::with_prefix("trommel-test-")?;
        for (number, rows) in files.iter().enumerate() {
            let bytes = parquet(rows, row_group_rows, page_rows)?;
            fs::write(folder.path().join(format!("{number}.parquet")), bytes)?;
        }
        Ok(Self(folder))
    }

    /// Makes it the table `name` of a session; `clause` goes between format and location (`WITH ORDER (…)`).
    ///
    /// # Errors
    /// The session's.
    pub async fn create(
        &self,
        session: &SessionContext,
        name: &str,
        format: Format,
        clause: &str,
    ) -> Result<()> {
        let location = self.0.path().display();
        create(session, name, format, clause, &format!("{location}/")).await
    }
}

/// Makes the files at `location` the table `name` of a session.
///
/// # Errors
/// The session's.
pub async fn create(
    session: &SessionContext,
    name: &str,
    format: Format,
    clause: &str,
    location: &str,
) -> Result<()> {
    // OPTIONS come after the location.
    let (before, after) = if clause.starts_with("OPTIONS") { ("", clause) } else { (clause, "") };
    let sql =
        format!("CREATE EXTERNAL TABLE {name} STORED AS {format} {before} LOCATION '{location}' {after}");
    session.sql(&sql).await?;
    Ok(())
}
