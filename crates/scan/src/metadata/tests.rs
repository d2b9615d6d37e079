// Licensed under the Apache License, Version 2.0. See LICENSE.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt as _, PutPayload};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rstest::rstest;

use super::*;
use crate::testing::{parquet, write, write_batch};

fn testdata() -> Arc<dyn ObjectStore> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
    Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap())
}

async fn in_memory(file: &Bytes) -> (Arc<dyn ObjectStore>, Fragment) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let path = Path::from("f.parquet");
    store.put(&path, PutPayload::from(file.clone())).await.unwrap();
    let fragment = Fragment::new(store.head(&path).await.unwrap());
    (store, fragment)
}

async fn load(store: &Arc<dyn ObjectStore>, path: &str) -> Result<FragmentMetadata, ScanError> {
    let fragment = Fragment::new(store.head(&Path::from(path)).await.unwrap());
    FragmentMetadata::load(store, &fragment, &IoCounters::default()).await
}

fn numbers(rows: i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..rows))
}

#[rstest]
#[case::text("text.parquet")]
#[case::flipped("footer_flipped.parquet")]
#[case::four_bytes("truncated_four_bytes.parquet")]
#[case::half("truncated_half.parquet")]
#[case::no_tail("truncated_no_tail.parquet")]
#[tokio::test]
async fn what_is_no_parquet_file_is_an_error_with_its_name(#[case] file: &str) {
    let error = load(&testdata(), file).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("{file}: ")), "{error}");
}

/// A file of nothing but this footer.
fn with_footer(footer: &[u8]) -> Bytes {
    [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat().into()
}

/// 2^31 row groups, or fields of a group of the schema: the parquet crate would make room for them.
#[rstest]
#[case::row_groups(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0], "more than fits in it")]
#[case::fields(&[0x29, 0x1c, 0x55, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0], "more fields than there are")]
#[tokio::test]
async fn footers_that_claim_what_cannot_be(#[case] footer: &[u8], #[case] says: &str) {
    let (store, fragment) = in_memory(&with_footer(footer)).await;
    let error =
        FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await.unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: malformed: ") && error.ends_with(says), "{error}");
}

#[rstest]
#[case::many(1 << 34, true)]
#[case::too_many((1 << 34) + 1, false)]
#[case::negative(-1, false)]
fn a_row_group_has_only_so_many_rows(#[case] rows: i64, #[case] possible: bool) {
    let parquet = parquet(&write(&[("x", numbers(3))], WriterProperties::builder()));
    let group = parquet.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder().set_num_values(rows).build().unwrap();
    let group = group.into_builder().set_num_rows(rows).set_column_metadata(vec![chunk]).build().unwrap();
    let parquet = parquet.into_builder().set_row_groups(vec![group]).build();
    match FragmentMetadata::try_new("f.parquet".into(), parquet) {
        Ok(metadata) => assert!(possible && metadata.rows() == rows as u64),
        Err(error) => assert!(!possible && error.to_string().ends_with(&format!("{rows} rows")), "{error}"),
    }
}

/// The parquet crate recurses as deep as a schema is, and a stack that is too short ends the process.
#[rstest]
#[case::deep(120, None)]
#[case::too_deep(130, Some("its schema is nested too deep"))]
#[tokio::test]
async fn schemas_are_only_so_deep(#[case] groups: usize, #[case] expect: Option<&str>) {
    let column = "optional int32 c;".to_owned();
    let nested = (1..groups).fold(column, |inner, group| format!("optional group g{group} {{ {inner} }}"));
    let schema = Arc::new(parse_message_type(&format!("message m {{ {nested} }}")).unwrap());
    let mut file = Vec::new();
    SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap().close().unwrap();
    let (store, fragment) = in_memory(&file.into()).await;
    let loaded = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await;
    match expect {
        None => assert_eq!(loaded.unwrap().schema().fields().len(), 1),
        Some(says) => assert!(loaded.unwrap_err().to_string().ends_with(says)),
    }
}

#[tokio::test]
async fn row_groups_are_fragment_rows() {
    let metadata = load(&testdata(), "empty_row_group.parquet").await.unwrap();
    assert_eq!(metadata.row_groups(), [0..2, 2..2, 2..4]);
    assert_eq!(metadata.rows(), 4);
    let none = load(&testdata(), "index_for_one_column.parquet").await.unwrap();
    assert!(none.page_locations(0, 0).is_none(), "a file with some offset indexes missing has none");
}

/// One request for a small file; a second one for what a long footer has before the tail.
#[tokio::test]
async fn the_tail_comes_in_one_request() {
    let small =
        write(&[("x", numbers(1000))], WriterProperties::builder().set_data_page_row_count_limit(100));
    let (store, fragment) = in_memory(&small).await;
    let counters = IoCounters::default();
    let metadata = FragmentMetadata::load(&store, &fragment, &counters).await.unwrap();
    assert_eq!((counters.requests(), counters.bytes()), (1, small.len().min(64 << 10) as u64));
    assert!(metadata.page_locations(0, 0).is_some() && metadata.parquet().column_index().is_some());

    let many = WriterProperties::builder().set_max_row_group_row_count(Some(1));
    let large = write(&[("x", numbers(2000))], many);
    let (store, fragment) = in_memory(&large).await;
    let counters = IoCounters::default();
    let metadata = FragmentMetadata::load(&store, &fragment, &counters).await.unwrap();
    assert_eq!((metadata.rows(), metadata.row_groups().len()), (2000, 2000));
    assert!(metadata.page_locations(1999, 0).is_some());
    assert_eq!(counters.requests(), 3);
}

/// Page indexes of nonsense are none; the rest of the metadata is as without the damage.
#[tokio::test]
async fn damaged_page_indexes_are_none() {
    let file = write(&[("x", numbers(1000))], WriterProperties::builder().set_data_page_row_count_limit(100));
    let group = parquet(&file).row_group(0).clone();
    let chunk = group.column(0);
    // The last is an offset index of 2^31 pages, for which the parquet crate would make room.
    let far_too_many = [0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0];
    for (offset, bytes) in [
        (chunk.column_index_offset(), [0xFF; 8]),
        (chunk.offset_index_offset(), [0xFF; 8]),
        (chunk.offset_index_offset(), far_too_many),
    ] {
        let mut damaged = file.to_vec();
        let at = offset.unwrap() as usize;
        damaged[at..at + 8].copy_from_slice(&bytes);
        let (store, fragment) = in_memory(&damaged.into()).await;
        let metadata = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await.unwrap();
        assert!(metadata.page_locations(0, 0).is_none());
        assert_eq!(metadata.rows(), 1000);
        assert!(metadata.parquet().row_group(0).column(0).statistics().is_some());
    }
}

/// Each byte of a footer flipped: metadata or an error that names the file, never a panic.
#[tokio::test]
async fn damaged_footers_are_errors_or_read() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let file = write(&[("x", numbers(3)), ("s", text)], WriterProperties::builder());
    let length = FooterTail::try_from(&file[file.len() - 8..]).unwrap().metadata_length();
    for at in file.len() - 8 - length..file.len() {
        for flip in [0x01, 0x5A, 0x80, 0xFF] {
            let mut damaged = file.to_vec();
            damaged[at] ^= flip;
            let (store, fragment) = in_memory(&damaged.into()).await;
            if let Err(error) = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await {
                assert!(error.to_string().starts_with("f.parquet: "), "{error}");
            }
        }
    }
}

/// Row groups of one column, each with a number of rows and a number of values.
#[rstest]
#[case::negative(&[(-1, -1)], "row group 0 can't have -1 rows")]
#[case::too_many(&[(i64::MAX, i64::MAX), (1, 1)], "row group 0 can't have 9223372036854775807 rows")]
#[case::more_rows(&[(3, 3), (4, 3)], "column \"x\" has 3 values in the 4 rows of row group 1")]
#[case::fewer_rows(&[(2, 3)], "column \"x\" has 3 values in the 2 rows of row group 0")]
#[case::no_rows(&[(0, 3)], "column \"x\" has 3 values in the 0 rows of row group 0")]
#[case::negative_values(&[(3, -3)], "column \"x\" has -3 values in the 3 rows of row group 0")]
fn row_counts_that_cannot_be(#[case] groups: &[(i64, i64)], #[case] message: &str) {
    let file = write(&[("x", numbers(3))], WriterProperties::builder());
    let error = counted(&file, groups).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: malformed: ") && error.contains(message), "{error}");
}

/// The metadata of a file with its first row group once for each of these counts of rows and values.
fn counted(file: &Bytes, groups: &[(i64, i64)]) -> Result<FragmentMetadata, ScanError> {
    let parquet = parquet(file);
    let group = |(rows, values): &(i64, i64)| -> RowGroupMetaData {
        let group = parquet.row_group(0).clone();
        let chunk = group.column(0).clone().into_builder().set_num_values(*values).build().unwrap();
        group.into_builder().set_num_rows(*rows).set_column_metadata(vec![chunk]).build().unwrap()
    };
    let groups = groups.iter().map(group).collect();
    FragmentMetadata::try_new(
        "f.parquet".into(),
        parquet.clone().into_builder().set_row_groups(groups).build(),
    )
}

#[test]
fn row_groups_may_be_empty_or_missing_and_lists_have_as_many_values_as_they_like() {
    let flat = write(&[("x", numbers(3))], WriterProperties::builder());
    assert_eq!(counted(&flat, &[]).unwrap().rows(), 0);
    assert_eq!(counted(&flat, &[(0, 0), (3, 3), (0, 0)]).unwrap().row_groups(), [0..0, 0..3, 3..3]);
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None, Some(3)]),
        None,
    ]));
    let lists = write(&[("x", lists)], WriterProperties::builder());
    assert_eq!(crate::testing::metadata(&lists).rows(), 2);
}

/// The views of DataFusion's own scan at the top, the file's types below; no metadata.
#[test]
fn columns_are_read_as_stock_reads_them() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let binary: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a"]));
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let dictionary = arrow::compute::cast(&text, &dictionary).unwrap();
    let batch =
        RecordBatch::try_from_iter([("s", text), ("b", binary), ("d", Arc::clone(&dictionary))]).unwrap();
    let metadata = crate::testing::metadata(&write_batch(&batch, WriterProperties::builder().build()));
    let types: Vec<_> = metadata.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    assert_eq!(types, [DataType::Utf8View, DataType::BinaryView, dictionary.data_type().clone()]);
    assert!(metadata.schema().metadata().is_empty());
}

#[test]
fn statistics_are_optional() {
    let properties = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let metadata = crate::testing::metadata(&write(&[("x", numbers(5))], properties));
    assert!(metadata.parquet().row_group(0).column(0).statistics().is_none());
    assert_eq!(
        (metadata.rows(), metadata.leaves(FragmentCol(0)), metadata.leaves(FragmentCol(1))),
        (5, 0..1, 0..0)
    );
}

#[tokio::test]
async fn the_cache_serves_equal_versions_alone() {
    let file = write(&[("x", numbers(5))], WriterProperties::builder());
    let (store, fragment) = in_memory(&file).await;
    let (cache, counters) = (MetadataCache::new(1 << 20), Arc::new(IoCounters::default()));
    let get = |fragment: Fragment| {
        let (cache, store, counters) = (&cache, &store, &counters);
        async move { cache.get_or_load(store, &fragment, counters).await }
    };
    // Together: one read.
    let (a, b, c) = futures::join!(get(fragment.clone()), get(fragment.clone()), get(fragment.clone()));
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert!(Arc::ptr_eq(&a, &b) && Arc::ptr_eq(&a, &c));
    assert_eq!(counters.requests(), 1);
    assert!(Arc::ptr_eq(&a, &get(fragment.clone()).await.unwrap()));
    assert_eq!(counters.requests(), 1);

    // Written again: another version, though of the same size.
    store.put(&fragment.location, PutPayload::from(file)).await.unwrap();
    let again = Fragment::new(store.head(&fragment.location).await.unwrap());
    assert!(!Arc::ptr_eq(&a, &get(again).await.unwrap()));
    assert_eq!(counters.requests(), 2);

    // Replaced: the old version is an error for who still wants it, the new one is read.
    let longer = write(&[("x", numbers(6))], WriterProperties::builder());
    store.put(&fragment.location, PutPayload::from(longer)).await.unwrap();
    let new = Fragment::new(store.head(&fragment.location).await.unwrap());
    assert_eq!(get(new.clone()).await.unwrap().rows(), 6);
    let error = get(fragment).await.unwrap_err().to_string();
    assert!(error.contains("f.parquet was replaced"), "{error}");
    assert_eq!(get(new).await.unwrap().rows(), 6);
}

/// Without a tag, a file of this second may change and look the same.
#[rstest]
#[case::new(0, 2)]
#[case::settled(10, 1)]
#[tokio::test]
async fn the_cache_keeps_no_untagged_file_that_was_just_written(#[case] age: u64, #[case] requests: u64) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let path = Path::from("f.parquet");
    let file = write(&[("x", numbers(5))], WriterProperties::builder());
    store.put(&path, PutPayload::from(file)).await.unwrap();
    let written = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
    let handle = std::fs::File::options().write(true).open(folder.path().join("f.parquet")).unwrap();
    handle.set_modified(written).unwrap();
    let mut fragment = Fragment::new(store.head(&path).await.unwrap());
    fragment.version.e_tag = None;
    let (cache, counters) = (MetadataCache::new(1 << 20), Arc::new(IoCounters::default()));
    for _ in 0..2 {
        assert_eq!(cache.get_or_load(&store, &fragment, &counters).await.unwrap().rows(), 5);
    }
    assert_eq!(counters.requests(), requests);
}

/// Statistics that are shorter than a value of their type: the footer is read without any.
#[tokio::test]
async fn statistics_that_cannot_be_decoded_are_left_out() {
    let (least, greatest) = (0x1122_3344_5566_7788i64, 0x1122_3344_5566_7799);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![least, greatest]));
    let file = write(&[("x", values)], WriterProperties::builder().set_dictionary_enabled(false));
    let end = file.len() - FOOTER as usize;
    let start = end - FooterTail::try_from(&file[end..]).unwrap().metadata_length();
    // In the footer a value is its length, then its bytes.
    let mut footer = file[start..end].to_vec();
    for value in [least, greatest] {
        let stored = [&[8], &value.to_le_bytes()[..]].concat();
        while let Some(at) = footer.windows(9).position(|window| window == stored) {
            footer.splice(at..at + 9, [4, 1, 2, 3, 4]);
        }
    }
    assert!(footer.len() < end - start && ParquetMetaDataReader::decode_metadata(&footer).is_err());
    let length = (footer.len() as u32).to_le_bytes();
    let short = [&file[..start], &footer, &length, b"PAR1"].concat();
    let (store, fragment) = in_memory(&short.into()).await;
    let metadata = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await.unwrap();
    assert_eq!(metadata.rows(), 2);
    assert!(metadata.parquet().row_group(0).column(0).statistics().is_none());
}

#[tokio::test]
async fn the_cache_is_bounded() {
    let file = write(&[("x", numbers(5))], WriterProperties::builder());
    let (store, first) = in_memory(&file).await;
    let size = crate::testing::metadata(&file).memory_size();
    let cache = MetadataCache::new(size * 7 / 2);
    let counters = Arc::new(IoCounters::default());
    let mut fragments = vec![first];
    for at in 0..5 {
        let path = Path::from(format!("{at}.parquet"));
        store.put(&path, PutPayload::from(file.clone())).await.unwrap();
        fragments.push(Fragment::new(store.head(&path).await.unwrap()));
    }
    for fragment in &fragments {
        cache.get_or_load(&store, fragment, &counters).await.unwrap();
        assert!(cache.memory_size() <= size * 7 / 2);
    }
    let requests = counters.requests();
    cache.get_or_load(&store, &fragments[5], &counters).await.unwrap();
    assert_eq!(counters.requests(), requests, "the newest is kept");
    cache.get_or_load(&store, &fragments[0], &counters).await.unwrap();
    assert_eq!(counters.requests(), requests + 1, "the oldest is not");
    cache.clear();
    assert_eq!(cache.memory_size(), 0);
}
