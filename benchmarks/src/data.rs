// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The files the queries read: TPC-H tables, and a table of keys drawn from them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand::SeedableRng;
use rand::rngs::StdRng;
use trommel::demo::data::TpchData;
use trommel::demo::layout::TpchTable;

/// The table of keys drawn from `lineitem`: `k` is an order, `n` the number of a line.
pub const SOURCE: &str = "source";

/// How many keys it has, if there are as many lines.
const SOURCE_ROWS: usize = 1000;

/// The same keys are drawn each time.
const SEED: u64 = 20;

/// The tables of one scale in one folder.
#[derive(Debug)]
pub struct BenchmarkData {
    tpch: TpchData,
    folder: PathBuf,
}

impl BenchmarkData {
    /// Finds the tables of these names in `folder`.
    ///
    /// # Errors
    /// The folder can't be created or read, or holds files of these names with other content.
    pub fn find(folder: &Path, scale: f64, tables: &[&str]) -> Result<Self> {
        let from_lineitem = tables.contains(&SOURCE);
        let wanted = |table: &TpchTable| {
            tables.contains(&table.name()) || (from_lineitem && *table == TpchTable::LineItem)
        };
        let wanted: Vec<_> = TpchTable::ALL.into_iter().filter(wanted).collect();
        let tpch = TpchData::find(folder, scale, &wanted)?;
        let folder = tpch.folder().to_owned();
        Ok(Self { tpch, folder })
    }

    /// Rows that [`write_missing`](Self::write_missing) would write, near enough for a progress bar.
    pub fn missing_rows(&self) -> u64 {
        self.tpch.missing_rows()
    }

    /// Writes the tables that aren't there on `threads` threads, telling `written` the number of rows after each
    /// batch.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn write_missing(&mut self, threads: usize, written: &(dyn Fn(u64) + Sync)) -> Result<()> {
        let lineitem_is_new = self.tpch.missing().contains(&TpchTable::LineItem);
        self.tpch.write_missing(threads, written)?;
        let source = self.file(SOURCE);
        let has_lineitem = self.tpch.present().contains(&TpchTable::LineItem);
        if has_lineitem && (lineitem_is_new || !source.exists()) {
            write_source(&self.file(TpchTable::LineItem.name()), &source)
                .with_context(|| format!("can't write {}", source.display()))?;
        }
        Ok(())
    }

    /// The folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a table.
    pub fn file(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}.parquet"))
    }
}

/// Draws keys from the lines in `lineitem`, each line at most once, and writes them to `path`.
fn write_source(lineitem: &Path, path: &Path) -> Result<()> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(lineitem)?)?;
    let keys = ProjectionMask::columns(reader.parquet_schema(), ["l_orderkey", "l_linenumber"]);
    let reader = reader.with_projection(keys).with_batch_size(1 << 16).build()?;
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    let first = batches.first().context("lineitem is empty")?;
    ensure!(first.num_columns() == 2, "lineitem has no keys");
    let lines = concat_batches(first.schema_ref(), &batches)?;

    let count = SOURCE_ROWS.min(lines.num_rows());
    let drawn = rand::seq::index::sample(&mut StdRng::seed_from_u64(SEED), lines.num_rows(), count);
    let drawn =
        take_record_batch(&lines, &UInt64Array::from_iter_values(drawn.iter().map(|row| row as u64)))?;
    let fields = ["k", "n"].into_iter().zip(drawn.columns());
    let fields: Vec<_> = fields.map(|(name, c)| Field::new(name, c.data_type().clone(), false)).collect();
    let source = RecordBatch::try_new(Arc::new(Schema::new(fields)), drawn.columns().to_vec())?;

    // A dot in front until it is complete: table scans skip hidden files.
    let unfinished = path.with_file_name(format!(".{SOURCE}.{}", std::process::id()));
    let mut writer = ArrowWriter::try_new(File::create(&unfinished)?, source.schema(), None)?;
    writer.write(&source)?;
    writer.close()?;
    fs::rename(&unfinished, path)?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use arrow::array::AsArray;
    use arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    /// The tables of these names at scale 0.001, in a folder that lives as long as the guard.
    pub fn tiny(tables: &[&str]) -> (BenchmarkData, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut data = BenchmarkData::find(folder.path(), 0.001, tables).unwrap();
        data.write_missing(2, &|_| ()).unwrap();
        (data, folder)
    }

    #[test]
    fn source_holds_distinct_keys_and_the_same_each_time() {
        let (data, _folder) = tiny(&[SOURCE]);
        let path = data.file(SOURCE);
        let first = fs::read(&path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let mut keys = HashSet::new();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let (k, n) = (batch["k"].as_primitive::<Int64Type>(), batch["n"].as_primitive::<Int32Type>());
            keys.extend(k.values().iter().copied().zip(n.values().iter().copied()));
        }
        assert_eq!(keys.len(), SOURCE_ROWS);

        fs::remove_file(&path).unwrap();
        let mut again = BenchmarkData::find(data.folder(), 0.001, &[SOURCE]).unwrap();
        again.write_missing(1, &|_| ()).unwrap();
        assert!(fs::read(&path).unwrap() == first, "the draw changed");
    }
}
