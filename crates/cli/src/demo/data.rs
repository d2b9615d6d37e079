// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Writes TPC-H tables as Parquet files, one file per table, and finds those already there.
//!
//! A file appears under its name only when it is complete, and its footer tells the table, the scale and the
//! generator: so a folder can be used again, and a run that was broken off leaves nothing that looks whole.
//! Row groups are made on several threads; memory holds one encoded row group per thread at most.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use tempfile::TempPath;

use super::layout::{self, TpchTable};

/// TPC-H tables of one scale in one folder: those that are there, and those still to be written.
#[derive(Debug)]
pub struct TpchData {
    folder: PathBuf,
    scale: f64,
    present: Vec<TpchTable>,
    missing: Vec<TpchTable>,
}

impl TpchData {
    /// Looks for `tables` at `scale` in `folder`, which is created if it isn't there.
    ///
    /// # Errors
    /// The folder can't be created or read; or it holds a file of one of the tables' names with other content,
    /// which is never overwritten.
    pub fn find(folder: &Path, scale: f64, tables: &[TpchTable]) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| {
            format!("can't create the folder {}: name another with --dir", folder.display())
        })?;
        let folder = fs::canonicalize(folder).with_context(|| format!("can't open {}", folder.display()))?;
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        for &table in tables {
            let path = folder.join(table.file_name());
            if !path.try_exists().with_context(|| format!("can't look at {}", path.display()))? {
                missing.push(table);
                continue;
            }
            let (expected, found) = (layout::content(table, scale), content_of(&path)?);
            if found.as_deref() != Some(&expected) {
                bail!(
                    "{} holds {}, and {expected} is wanted: name another folder with --dir, {}or remove the file",
                    path.display(),
                    found.as_deref().unwrap_or("data this command did not write"),
                    if found.is_some() { "ask for that scale with --scale, " } else { "" },
                );
            }
            present.push(table);
        }
        Ok(Self { folder, scale, present, missing })
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of `table`.
    pub fn file(&self, table: TpchTable) -> PathBuf {
        self.folder.join(table.file_name())
    }

    /// Tables that are complete.
    pub fn present(&self) -> &[TpchTable] {
        &self.present
    }

    /// Tables that [`write_missing`](Self::write_missing) would write.
    pub fn missing(&self) -> &[TpchTable] {
        &self.missing
    }

    /// Rows that [`write_missing`](Self::write_missing) would write, near enough for a progress bar.
    pub fn missing_rows(&self) -> u64 {
        self.missing.iter().map(|table| table.expected_rows(self.scale)).sum()
    }

    /// Writes the missing tables on `threads` threads, telling `written` the number of rows after each batch.
    ///
    /// # Errors
    /// A file can't be written. The tables that were finished before stay.
    pub fn write_missing(&mut self, threads: usize, written: &(dyn Fn(u64) + Sync)) -> Result<()> {
        for table in std::mem::take(&mut self.missing) {
            let path = self.file(table);
            write_table(table, self.scale, &path, threads, written)
                .with_context(|| format!("can't write {}", path.display()))?;
            self.present.push(table);
        }
        Ok(())
    }
}

/// What the footer of the file says about its content, if anything.
fn content_of(path: &Path) -> Result<Option<String>> {
    let open = || -> Result<_> { Ok(SerializedFileReader::new(File::open(path)?)?) };
    let reader = open().with_context(|| {
        format!(
            "{} isn't a readable Parquet file: remove it, or name another folder with --dir",
            path.display()
        )
    })?;
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let entry = entries.and_then(|entries| entries.iter().find(|entry| entry.key == layout::CONTENT_KEY));
    Ok(entry.and_then(|entry| entry.value.clone()))
}

fn write_table(
    table: TpchTable,
    scale: f64,
    path: &Path,
    threads: usize,
    written: &(dyn Fn(u64) + Sync),
) -> Result<()> {
    // A dot in front: table scans skip hidden files. Removed again if anything below fails.
    let unfinished = path.with_file_name(format!(".{}.{}", table.file_name(), std::process::id()));
    let file = BufWriter::new(File::create(&unfinished)?);
    let unfinished = TempPath::try_from_path(unfinished)?;

    let schema = Arc::clone(table.batches(scale, 0).schema());
    let options = layout::writer_options(table, scale);
    let (mut writer, encoders) =
        ArrowWriter::try_new_with_options(file, schema, options)?.into_serialized_writer()?;

    // Row groups of a table are equally long, so rounds keep the threads busy and the memory bounded.
    let row_groups: Vec<u32> = (0..table.row_groups(scale)).collect();
    for round in row_groups.chunks(threads.max(1)) {
        for columns in encode_round(table, scale, round, &encoders, written)? {
            append(&mut writer, columns)?;
        }
    }
    writer.into_inner()?.into_inner().map_err(|error| error.into_error())?;
    unfinished.persist(path)?;
    Ok(())
}

/// Encodes the row groups of one round, each on its own thread, and returns them in order.
fn encode_round(
    table: TpchTable,
    scale: f64,
    round: &[u32],
    encoders: &ArrowRowGroupWriterFactory,
    written: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Vec<ArrowColumnChunk>>> {
    thread::scope(|scope| {
        let threads: Vec<_> = round
            .iter()
            .map(|&group| scope.spawn(move || encode(table, scale, group, encoders, written)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<_>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread that makes {table} broke down")))
        };
        threads.into_iter().map(join).collect()
    })
}

fn encode(
    table: TpchTable,
    scale: f64,
    row_group: u32,
    encoders: &ArrowRowGroupWriterFactory,
    written: &(dyn Fn(u64) + Sync),
) -> Result<Vec<ArrowColumnChunk>> {
    // No column of TPC-H is nested: one encoder per column.
    let mut columns = encoders.create_column_writers(row_group as usize)?;
    for batch in table.batches(scale, row_group) {
        for ((encoder, field), values) in
            columns.iter_mut().zip(batch.schema_ref().fields()).zip(batch.columns())
        {
            for leaf in compute_leaves(field, values)? {
                encoder.write(&leaf)?;
            }
        }
        written(batch.num_rows() as u64);
    }
    columns.into_iter().map(|encoder| Ok(encoder.close()?)).collect()
}

fn append(writer: &mut SerializedFileWriter<BufWriter<File>>, columns: Vec<ArrowColumnChunk>) -> Result<()> {
    let mut row_group = writer.next_row_group()?;
    for column in columns {
        column.append_to_row_group(&mut row_group)?;
    }
    row_group.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use parquet::basic::{Compression, Encoding};
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

    use super::*;

    fn write(folder: &Path, scale: f64, tables: &[TpchTable]) -> u64 {
        let rows = AtomicU64::new(0);
        let mut data = TpchData::find(folder, scale, tables).unwrap();
        let count = |written| {
            rows.fetch_add(written, Ordering::Relaxed);
        };
        data.write_missing(2, &count).unwrap();
        assert!(data.missing().is_empty());
        rows.into_inner()
    }

    fn metadata(path: &Path) -> ParquetMetaData {
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        reader.try_parse(&File::open(path).unwrap()).unwrap();
        reader.finish().unwrap()
    }

    #[test]
    fn the_layout_is_that_of_tpchgen_cli() {
        let folder = tempfile::tempdir().unwrap();
        // The smallest scale (to a hundredth) at which lineitem has two row groups.
        let scale = 0.02;
        let rows = write(folder.path(), scale, &[TpchTable::LineItem]);
        let metadata = metadata(&folder.path().join("lineitem.parquet"));

        assert_eq!(metadata.num_row_groups(), 2);
        assert_eq!(metadata.file_metadata().num_rows() as u64, rows);
        let (first, second) = (metadata.row_group(0).num_rows(), metadata.row_group(1).num_rows());
        assert!(first.abs_diff(second) < first as u64 / 20, "{first} and {second} rows");
        assert_eq!(metadata.column_index().unwrap().len(), 2);
        for group in metadata.row_groups() {
            for column in group.columns() {
                assert_eq!(column.compression(), Compression::SNAPPY);
                assert!(column.statistics().is_some());
            }
            // A column of few different values: all its pages refer to the dictionary.
            let flag = group.columns().iter().find(|c| c.column_path().string() == "l_returnflag").unwrap();
            assert!(flag.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY));
            assert!(flag.dictionary_page_offset().is_some());
        }
        let pages = metadata.offset_index().unwrap()[0][0].page_locations();
        assert_eq!(pages.len(), 3);
        // The writer looks at the limit of 20 000 rows after each 1 024.
        let lengths = pages.windows(2).map(|pages| pages[1].first_row_index - pages[0].first_row_index);
        assert!(lengths.into_iter().all(|rows| (20_000..21_024).contains(&rows)), "{pages:?}");
    }

    #[test]
    fn all_tables_hold_the_rows_they_should() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0.001, &TpchTable::ALL);
        for table in TpchTable::ALL {
            let rows = metadata(&folder.path().join(table.file_name())).file_metadata().num_rows() as u64;
            let expected = table.expected_rows(0.001);
            let tolerance = if table == TpchTable::LineItem { expected / 20 } else { 0 };
            assert!(rows.abs_diff(expected) <= tolerance, "{table}: {rows} rows, {expected} expected");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8, "no unfinished file is left");
    }

    #[test]
    fn complete_files_are_used_again_and_others_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [TpchTable::Region, TpchTable::Nation];
        assert_eq!(write(folder.path(), 0.01, &tables[..1]), 5);
        assert_eq!(write(folder.path(), 0.01, &tables), 25, "only nation was missing");

        let error = TpchData::find(folder.path(), 0.02, &tables).unwrap_err().to_string();
        assert!(error.contains("region at scale 0.01") && error.contains("--scale"), "{error}");

        fs::write(folder.path().join("region.parquet"), "PAR1 and then nothing").unwrap();
        let error = TpchData::find(folder.path(), 0.01, &tables).unwrap_err().to_string();
        assert!(error.contains("region.parquet isn't a readable Parquet file"), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = TpchData::find(folder.path(), 0.01, &[TpchTable::Region]).unwrap();
        fs::remove_dir(folder.path()).unwrap();
        let error = data.write_missing(1, &|_| ()).unwrap_err();
        assert!(error.to_string().contains("region.parquet"), "{error}");
    }
}
