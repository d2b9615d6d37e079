// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What the fuzz targets share: small sound files to damage, and reading all of a file.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{WriterProperties, WriterVersion};
use trommel_planner::index::{FragmentCol, TableCol};
use trommel_planner::plan::SegmentId;
use trommel_planner::pruning::{ColumnPath, Level, ZoneSource};
use trommel_planner::rows::RowRanges;
use trommel_scan::ScanError;
use trommel_scan::fragment::{Fragment, OpenFragment};
use trommel_scan::io::{FetchedRanges, IoCounters};
use trommel_scan::metadata::FragmentMetadata;
use trommel_scan::segments::{CodeTable, SegmentRead};

/// A sound file: two row groups of a few pages.
pub struct Sample {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// Its footer and page indexes.
    pub metadata: ParquetMetaData,
}

impl Sample {
    /// The bytes of a column's chunk in the first row group.
    pub fn chunk(&self, leaf: usize) -> Range<usize> {
        let (start, length) = self.metadata.row_group(0).column(leaf).byte_range();
        start as usize..(start + length) as usize
    }

    /// The bytes of all page indexes.
    pub fn page_indexes(&self) -> Range<usize> {
        let chunks = self.metadata.row_groups().iter().flat_map(|group| group.columns());
        let places = chunks.flat_map(|chunk| {
            [
                (chunk.column_index_offset(), chunk.column_index_length()),
                (chunk.offset_index_offset(), chunk.offset_index_length()),
            ]
        });
        let ranges: Vec<_> = places
            .filter_map(|(offset, length)| Some(offset? as usize..(offset? + i64::from(length?)) as usize))
            .collect();
        let start = ranges.iter().map(|range| range.start).min().unwrap();
        start..ranges.iter().map(|range| range.end).max().unwrap()
    }

    /// The file with other bytes in this range: as many as there are, the others left as they were.
    pub fn with(&self, range: Range<usize>, bytes: &[u8]) -> Bytes {
        let mut file = self.bytes.clone();
        let count = bytes.len().min(range.len());
        file[range.start..range.start + count].copy_from_slice(&bytes[..count]);
        file.into()
    }
}

/// Plain, dictionary-encoded, compressed, of version 2.
pub static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let properties = WriterProperties::builder;
    [
        properties().set_dictionary_enabled(false),
        properties(),
        properties().set_compression(Compression::SNAPPY),
        properties().set_dictionary_enabled(false).set_writer_version(WriterVersion::PARQUET_2_0),
    ]
    .map(|properties| {
        let properties = properties
            .set_max_row_group_row_count(Some(40))
            .set_data_page_row_count_limit(20)
            .set_write_batch_size(20)
            .set_bloom_filter_enabled(true)
            .set_bloom_filter_max_ndv(8);
        let rows = rows();
        let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties.build())).unwrap();
        writer.write(&rows).unwrap();
        let metadata = writer.finish().unwrap();
        Sample { bytes: writer.into_inner().unwrap(), metadata }
    })
    .into()
});

fn rows() -> RecordBatch {
    let some = |row: i64| (row % 3 > 0).then_some(row % 7);
    let lists = (0..60).map(|row| (row % 4 > 0).then(|| (0..row % 4).map(Some).collect::<Vec<_>>()));
    let columns: [(&str, ArrayRef); 5] = [
        ("i", Arc::new(Int32Array::from_iter_values(0..60))),
        ("l", Arc::new((0..60).map(some).collect::<Int64Array>())),
        ("b", Arc::new((0..60).map(|row| some(row).map(|v| v > 3)).collect::<BooleanArray>())),
        ("s", Arc::new((0..60).map(|row| some(row).map(|v| format!("text {v}"))).collect::<StringArray>())),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Opens a file as a table of its own columns.
pub fn open(file: &Bytes) -> Result<OpenFragment, ScanError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (store, path) = (InMemory::new(), Path::from("f.parquet"));
        store.put(&path, file.clone().into()).await.unwrap();
        let fragment = Fragment::new(store.head(&path).await.unwrap());
        let store: Arc<dyn ObjectStore> = Arc::new(store);
        let metadata = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await?;
        let table = Arc::clone(metadata.schema());
        OpenFragment::open(Arc::new(fragment), Arc::new(metadata), &table, 0)
    })
}

/// Looks at all that is known of the zones of all columns.
pub fn look_at_zones(fragment: &OpenFragment) {
    for column in 0..fragment.adaptation.table().fields().len() {
        for level in [Level::RowGroup, Level::Page] {
            let Some(zones) = fragment.zones.zones(&ColumnPath::from(TableCol(column)), level) else { continue };
            assert!(zones.starts().is_sorted(), "{:?}", zones.starts());
            assert_eq!(zones.starts().last(), Some(&fragment.metadata.rows()));
            for bound in [zones.lower(), zones.upper()].into_iter().flatten() {
                assert_eq!(bound.values.len(), zones.len());
            }
        }
    }
}

/// Decodes every column, all rows and some; an array has the rows it was asked for.
pub fn decode(fragment: &OpenFragment, file: &Bytes) {
    let (segments, held) = (&fragment.segments, FetchedRanges::whole(file.clone()));
    for (row_group, rows) in fragment.metadata.row_groups().iter().enumerate() {
        let count = rows.end - rows.start;
        for column in 0..fragment.metadata.schema().fields().len() {
            let segment = SegmentId { row_group, column: FragmentCol(column) };
            let mut some = RowRanges::empty();
            (0..count.min(100)).step_by(7).for_each(|row| some.push(row..(row + 2).min(count)));
            for rows in [RowRanges::all(count), some.clone()] {
                if let Ok(array) = segments.decode(&segment, &rows, &held) {
                    assert_eq!(array.len() as u64, rows.len());
                }
            }
            if !segments.has_dictionary(&segment) {
                continue;
            }
            let Ok(dictionary) = segments.dictionary(&segment, &held) else { continue };
            let keep: BooleanArray = (0..=dictionary.len()).map(|at| Some(at % 2 == 0)).collect();
            let read = SegmentRead::of(segment, some.clone());
            if let Some(table) = CodeTable::new(&keep)
                && let Ok(kept) = segments.look_up(&read, &some, &table, &held)
            {
                assert_eq!(kept.len() as u64, some.len());
            }
        }
    }
}
