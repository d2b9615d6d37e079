// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The bytes no reader could avoid.
//!
//! An all-knowing reader of pages still has to read, for each needed value, the data page it is on, and the
//! dictionary page of that chunk where one of these pages is coded by it. It also has to read metadata: footers,
//! and page indexes, of all files of the query. Which rows are needed a query of its own tells, run over the
//! files with the place of each row; which pages hold them, the offset index.
//!
//! Of rows that tie under a limit those are taken that DataFusion's scan returns.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use object_store::local::LocalFileSystem;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::data::BenchmarkData;
use crate::engine::{Caches, Engine, Host};
use crate::suites::{Needed, Query};

/// The length of a footer, and the magic number.
const FOOTER_END: u64 = 8;

/// What an all-knowing reader reads for one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavoidable {
    /// Data pages and dictionary pages.
    pub pages: u64,
    /// Footers and page indexes.
    pub metadata: u64,
}

impl Unavoidable {
    /// What it reads for `query`; `None` where the query doesn't say what it needs.
    ///
    /// # Errors
    /// A file can't be read, or has no page index.
    pub async fn of(data: &BenchmarkData, query: &Query) -> Result<Option<Self>> {
        if query.needed.is_empty() {
            return Ok(None);
        }
        let mut pages = 0;
        for needed in &query.needed {
            let rows = needed_rows(data, query, needed).await?;
            pages += page_bytes(&data.file(needed.table), &needed.columns, &rows)?;
        }
        let files = query.tables().into_iter().map(|table| metadata_bytes(&data.file(table)));
        let metadata = files.sum::<Result<u64>>()?;
        Ok(Some(Self { pages, metadata }))
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.pages + self.metadata
    }
}

/// The places of the needed rows, counted from 0 in their file.
async fn needed_rows(data: &BenchmarkData, query: &Query, needed: &Needed) -> Result<BTreeSet<u64>> {
    // One partition reads a file from its start to its end, and no live filter leaves a row out.
    let mut query = query.clone();
    query.settings.push(("datafusion.optimizer.enable_dynamic_filter_pushdown", "false"));
    let host = Host::new(Engine::DataFusion, Arc::new(LocalFileSystem::new()), false, 1)?;
    let session = host.open(data, &query, Caches::All).await?;
    let context = session.context();
    for table in query.tables() {
        let view = format!(
            "CREATE VIEW {table}_rows AS SELECT CAST(row_number() OVER () AS BIGINT) - 1 AS row, * FROM {table}"
        );
        context.sql(&view).await?.collect().await?;
    }
    let mut rows = BTreeSet::new();
    for batch in context.sql(&needed.rows).await?.collect().await? {
        let places = cast(batch.column(0), &DataType::Int64)?;
        rows.extend(places.as_primitive::<Int64Type>().values().iter().map(|row| row.unsigned_abs()));
    }
    Ok(rows)
}

/// Bytes of the pages that hold `rows` of these columns (all where there are none), with their dictionaries.
///
/// # Errors
/// The file can't be read, has no page index, or has no such column.
fn page_bytes(path: &Path, columns: &[&str], rows: &BTreeSet<u64>) -> Result<u64> {
    let file = Arc::new(File::open(path).with_context(|| format!("can't open {}", path.display()))?);
    let metadata = indexed_metadata(&file, path)?;
    let names = metadata.file_metadata().schema_descr().columns().iter().map(|c| c.path().string());
    let names: Vec<String> = names.collect();
    let known = |name: &&str| names.iter().any(|known| known == name);
    ensure!(columns.iter().all(known), "{} lacks one of {columns:?}", path.display());

    let mut bytes = 0;
    let mut first_row = 0;
    for (group, index) in metadata.row_groups().iter().zip(metadata.offset_index().into_iter().flatten()) {
        let end = first_row + group.num_rows().unsigned_abs();
        let in_group: Vec<u64> = rows.range(first_row..end).map(|row| row - first_row).collect();
        first_row = end;
        if in_group.is_empty() {
            continue;
        }
        for ((chunk, index), name) in group.columns().iter().zip(index).zip(&names) {
            if columns.is_empty() || columns.contains(&name.as_str()) {
                let pages = &index.page_locations;
                bytes += chunk_bytes(&file, chunk, pages, group.num_rows(), &in_group)
                    .with_context(|| format!("column {name} of {}", path.display()))?;
            }
        }
    }
    Ok(bytes)
}

/// Bytes of the pages of one chunk that hold these rows, with its dictionary.
fn chunk_bytes(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
    pages: &[PageLocation],
    group_rows: i64,
    rows: &[u64],
) -> Result<u64> {
    let page_of = |row: &u64| {
        pages.partition_point(|page| page.first_row_index.unsigned_abs() <= *row).saturating_sub(1)
    };
    let needed: BTreeSet<usize> = rows.iter().map(page_of).collect();
    let size =
        |page: &usize| pages.get(*page).map_or(0, |page| u64::from(page.compressed_page_size.unsigned_abs()));
    let data: u64 = needed.iter().map(size).sum();
    let start = chunk.byte_range().0;
    let dictionary = pages.first().map_or(0, |first| first.offset.unsigned_abs().saturating_sub(start));
    let coded = dictionary > 0 && any_dictionary_coded(file, chunk, pages, group_rows, &needed)?;
    Ok(data + if coded { dictionary } else { 0 })
}

/// Whether one of these pages holds indexes into the dictionary.
fn any_dictionary_coded(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
    pages: &[PageLocation],
    group_rows: i64,
    needed: &BTreeSet<usize>,
) -> Result<bool> {
    let rows = usize::try_from(group_rows)?;
    let mut reader = SerializedPageReader::new(Arc::clone(file), chunk, rows, Some(pages.to_vec()))?;
    let mut page = 0;
    while let Some(next) = reader.peek_next_page()? {
        if next.is_dict {
            reader.skip_next_page()?;
            continue;
        }
        if !needed.contains(&page) {
            reader.skip_next_page()?;
        } else if let Some(read) = reader.get_next_page()?
            && is_dictionary_coded(&read)
        {
            return Ok(true);
        }
        page += 1;
    }
    Ok(false)
}

// Old writers call the encoding by another name.
fn is_dictionary_coded(page: &Page) -> bool {
    matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

fn indexed_metadata(file: &File, path: &Path) -> Result<ParquetMetaData> {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.parse_and_finish(file).with_context(|| format!("can't read the page index of {}", path.display()))
}

/// Bytes of the footer and the page indexes.
fn metadata_bytes(path: &Path) -> Result<u64> {
    let file = File::open(path).with_context(|| format!("can't open {}", path.display()))?;
    let mut length = [0; 4];
    file.read_exact_at(&mut length, file.metadata()?.len().saturating_sub(FOOTER_END))?;
    let footer = u64::from(u32::from_le_bytes(length)) + FOOTER_END;
    let metadata = indexed_metadata(&file, path)?;
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let indexes = chunks.map(|c| c.column_index_length().unwrap_or(0) + c.offset_index_length().unwrap_or(0));
    Ok(footer + indexes.map(|length| u64::from(length.unsigned_abs())).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use parquet::schema::types::ColumnPath;
    use rstest::rstest;

    use super::*;
    use crate::data::tests::tiny;

    /// Two row groups of 40 rows in pages of ten: `k` is plain, `s` has a dictionary.
    fn write(path: &Path) -> ParquetMetaData {
        let k: ArrayRef = Arc::new(Int64Array::from_iter_values(0..80));
        let s: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..80).map(|row| format!("value {}", row % 7))));
        let batch = RecordBatch::try_from_iter([("k", k), ("s", s)]).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(40))
            .set_data_page_row_count_limit(10)
            .set_write_batch_size(10)
            .set_column_dictionary_enabled(ColumnPath::from("k"), false);
        let mut writer =
            ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties.build()))
                .unwrap();
        for start in (0..80).step_by(10) {
            writer.write(&batch.slice(start, 10)).unwrap();
        }
        writer.close().unwrap();
        indexed_metadata(&File::open(path).unwrap(), path).unwrap()
    }

    /// Pages by (row group, column, page), dictionaries by (row group, column), from the offset index.
    #[rstest]
    #[case::nothing(&[], &[], &[], &[])]
    #[case::one_row(&[], &[25], &[(0, 0, 2), (0, 1, 2)], &[(0, 1)])]
    #[case::plain_column(&["k"], &[25, 26], &[(0, 0, 2)], &[])]
    #[case::coded_column(&["s"], &[0, 39, 79], &[(0, 1, 0), (0, 1, 3), (1, 1, 3)], &[(0, 1), (1, 1)])]
    #[case::borders(&["k"], &[9, 10, 40], &[(0, 0, 0), (0, 0, 1), (1, 0, 0)], &[])]
    fn pages_of_the_needed_rows(
        #[case] columns: &[&str],
        #[case] rows: &[u64],
        #[case] pages: &[(usize, usize, usize)],
        #[case] dictionaries: &[(usize, usize)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.parquet");
        let metadata = write(&path);
        let index = metadata.offset_index().unwrap();
        let page = |(group, column, page): &(usize, usize, usize)| {
            let pages = &index[*group][*column].page_locations;
            assert_eq!(pages.len(), 4);
            pages[*page].compressed_page_size as u64
        };
        let dictionary = |(group, column): &(usize, usize)| {
            let chunk = metadata.row_group(*group).column(*column);
            let dictionary = chunk.dictionary_page_offset().unwrap();
            (chunk.data_page_offset() - dictionary) as u64
        };
        let expected = pages.iter().map(page).sum::<u64>() + dictionaries.iter().map(dictionary).sum::<u64>();
        let found = page_bytes(&path, columns, &rows.iter().copied().collect()).unwrap();
        assert_eq!(found, expected);
        assert_eq!(found > 0, !rows.is_empty());
    }

    #[test]
    fn metadata_and_pages_make_up_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.parquet");
        write(&path);
        let everything = page_bytes(&path, &[], &(0..80).collect()).unwrap();
        let magic = 4;
        let size = path.metadata().unwrap().len();
        assert_eq!(everything + metadata_bytes(&path).unwrap() + magic, size);
    }

    #[test]
    fn an_unknown_column_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.parquet");
        write(&path);
        assert!(
            page_bytes(&path, &["x"], &BTreeSet::new()).unwrap_err().to_string().contains("lacks one of")
        );
    }

    #[tokio::test]
    async fn rows_are_found_at_their_places() {
        let (data, _folder) = tiny(&["nation", "region"]);
        let needed = Needed::all(
            "nation",
            "SELECT n.row FROM nation_rows n JOIN region_rows r ON n_regionkey = r_regionkey WHERE r_name = 'ASIA'",
        );
        let query = Query::new("q", "", "SELECT * FROM nation, region");
        let rows = needed_rows(&data, &query, &needed).await.unwrap();
        // India, Indonesia, Japan, China, Vietnam; rows are in the order of their keys.
        assert_eq!(rows, BTreeSet::from([8, 9, 12, 18, 21]));
        let top = Needed::all("nation", "SELECT row FROM nation_rows ORDER BY n_nationkey DESC LIMIT 2");
        assert_eq!(needed_rows(&data, &query, &top).await.unwrap(), BTreeSet::from([23, 24]));
    }
}
