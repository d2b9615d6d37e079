// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Footers and page indexes of fragments, read leniently.
//!
//! What only speeds a query up may be missing or damaged: page indexes and statistics that can't be read
//! are left out. What the rows depend on may not: any other damage is an error that names the file.

mod cache;
mod int96;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::{Bytes, BytesMut};
use object_store::ObjectStore;
use object_store::path::Path;
use parking_lot::Mutex;
use parquet::DecodeResult;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataPushDecoder, ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::file::page_index::offset_index::PageLocation;
use trommel_planner::index::FragmentCol;
use trommel_planner::plan::FieldPath;
use trommel_planner::pruning::{Level, ZoneColumn};

pub use cache::MetadataCache;
pub use int96::is_utc;

use crate::ScanError;
use crate::fragment::Fragment;
use crate::guard::unless_it_panics;
use crate::io::{IoCounters, request};
use crate::thrift;

/// How much of a file's end the first request asks for: enough for most footers with their page indexes.
const TAIL: u64 = 64 << 10;
/// The last bytes of a file: the footer's length and a magic number.
const FOOTER: u64 = 8;
/// Page indexes longer than this are not read.
const MAX_PAGE_INDEX: u64 = 256 << 20;
/// No row group has more rows. A few bytes can say, and even hold, any number of equal ones.
const MOST_ROWS: i64 = 1 << 34;

/// What a file's footer and page indexes say.
#[derive(Debug, Clone)]
pub struct FragmentMetadata {
    path: Path,
    parquet: Arc<ParquetMetaData>,
    schema: SchemaRef,
    row_groups: Vec<Range<u64>>,
    /// The leaves of each top-level column.
    leaves: Vec<Range<usize>>,
    /// The Arrow type of each leaf.
    leaf_types: Vec<DataType>,
    /// For each row group, then each leaf: whether its page locations can be relied on.
    paged: Vec<bool>,
    /// Whether any chunk has a Bloom filter.
    has_blooms: bool,
    /// What was made of the leaves' statistics.
    zones: ZoneCache,
}

/// The zones of a leaf: its number, the type of its bounds, and how fine they are.
pub(crate) type LeafZones = (usize, DataType, Level);

/// Zones made once. A copy has none: it is made to read leaves as other types.
#[derive(Debug, Default)]
struct ZoneCache(Mutex<HashMap<LeafZones, Option<Arc<ZoneColumn>>>>);

impl Clone for ZoneCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl FragmentMetadata {
    /// Reads a fragment's footer, then its page indexes where they are readable.
    ///
    /// An error when the store fails, when the file is no longer the planned version, or when the footer
    /// is damaged.
    pub async fn load(
        store: &Arc<dyn ObjectStore>,
        fragment: &Fragment,
        counters: &IoCounters,
    ) -> Result<Self, ScanError> {
        let (path, version) = (&fragment.location, &fragment.version);
        let malformed = |detail: String| ScanError::Malformed { path: path.clone(), detail };
        let damaged = |source: ParquetError| ScanError::Parquet { path: path.clone(), source };
        let read = |range: Range<u64>| request(store, path, version, range, counters);

        let size = version.size;
        if size < FOOTER {
            return Err(malformed(format!("{size} bytes are too few for a Parquet file")));
        }
        let mut tail = Tail { start: size.saturating_sub(TAIL), bytes: Bytes::new() };
        tail.bytes = read(tail.start..size).await?;
        let end = FooterTail::try_from(&tail.bytes[tail.bytes.len() - FOOTER as usize..]).map_err(damaged)?;
        let length = end.metadata_length() as u64;
        let Some(start) = (size - FOOTER).checked_sub(length) else {
            let detail = format!("a footer of {length} bytes can't be in a file of {size} bytes");
            return Err(malformed(detail));
        };
        if end.is_encrypted_footer() {
            return Err(malformed("its footer is encrypted, which is not supported".to_owned()));
        }
        if start < tail.start {
            tail.grow(start, &read(start..tail.start).await?);
        }
        let footer = tail.get(&(start..size - FOOTER)).unwrap_or_default();
        thrift::check_footer(&footer).map_err(|what| malformed(what.to_owned()))?;
        let mut parquet = decode_footer(&footer).map_err(damaged)?;

        let mut decoder = page_index_decoder(size, &parquet);
        if let Ok(DecodeResult::NeedsData(ranges)) = decoder.as_mut().map_or_else(no_index, try_decode)
            && ranges.iter().all(|r| r.end <= size && r.end.saturating_sub(r.start) <= MAX_PAGE_INDEX)
        {
            let mut buffers = Vec::with_capacity(ranges.len());
            for range in &ranges {
                buffers.push(match tail.get(range) {
                    Some(bytes) => bytes,
                    None => read(range.clone()).await?,
                });
            }
            if are_plausible(&parquet, &ranges, &buffers)
                && let Some(indexed) = decoder.and_then(|d| decode_page_index(d, ranges, buffers))
            {
                parquet = indexed;
            }
        }
        Self::try_new(path.clone(), parquet)
    }

    /// Checks what the parquet crate has read of the file at `path`.
    ///
    /// An error when row counts or columns can't be true, or when a type has no Arrow type.
    pub fn try_new(path: Path, parquet: ParquetMetaData) -> Result<Self, ScanError> {
        let malformed = |detail: String| ScanError::Malformed { path: path.clone(), detail };
        let file = parquet.file_metadata();
        let descriptor = file.schema_descr();

        let mut row_groups = Vec::with_capacity(parquet.num_row_groups());
        let mut end = 0u64;
        for (at, group) in parquet.row_groups().iter().enumerate() {
            let rows = group.num_rows();
            let next = u64::try_from(rows).ok().and_then(|rows| end.checked_add(rows));
            // Rows are counted in i64 by the format and in usize by arrow.
            let Some(next) = next.filter(|next| rows <= MOST_ROWS && i64::try_from(*next).is_ok()) else {
                return Err(malformed(format!("row group {at} can't have {rows} rows")));
            };
            row_groups.push(end..next);
            end = next;
            if group.columns().len() != descriptor.num_columns() {
                let (found, expected) = (group.columns().len(), descriptor.num_columns());
                return Err(malformed(format!("row group {at} has {found} columns, not {expected}")));
            }
            // What is known of rows without decoding any (counts, NULLs) stands on these.
            let mut flat = group.columns().iter().filter(|chunk| chunk.column_descr().max_rep_level() == 0);
            if let Some(chunk) = flat.find(|chunk| chunk.num_values() != rows) {
                let (column, values) = (chunk.column_path().string(), chunk.num_values());
                let detail =
                    format!("column \"{column}\" has {values} values in the {rows} rows of row group {at}");
                return Err(malformed(detail));
            }
        }

        // arrow-ipc unwraps what a damaged embedded schema lacks (`damaged_footers_are_errors_or_read`).
        let schema = unless_it_panics(|| parquet_to_arrow_schema(descriptor, file.key_value_metadata()))
            .ok_or_else(|| malformed("the Arrow schema in it is damaged".to_owned()))?
            .map_err(|source| ScanError::Parquet { path: path.clone(), source })?;
        let schema = Arc::new(read_schema(&schema));
        let roots = descriptor.root_schema().get_fields();
        let mut leaves = vec![0..0; roots.len()];
        for leaf in 0..descriptor.num_columns() {
            let range = &mut leaves[descriptor.get_column_root_idx(leaf)];
            *range = if range.end == 0 { leaf..leaf + 1 } else { range.start..leaf + 1 };
        }
        let mut leaf_types = Vec::with_capacity(descriptor.num_columns());
        for field in schema.fields() {
            collect_leaves(field.data_type(), &mut leaf_types);
        }
        let same_names = schema.fields().iter().zip(roots).all(|(field, root)| field.name() == root.name());
        if schema.fields().len() != roots.len() || leaf_types.len() != descriptor.num_columns() || !same_names
        {
            return Err(malformed("its Arrow schema does not fit its Parquet schema".to_owned()));
        }

        let mut paged = Vec::with_capacity(row_groups.len() * descriptor.num_columns());
        let split_records = may_split_records(file.created_by());
        for (at, group) in parquet.row_groups().iter().enumerate() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let pages = parquet.offset_index().and_then(|index| index.get(at)?.get(leaf));
                let repeated = chunk.column_descr().max_rep_level() > 0;
                paged.push(pages.is_some_and(|pages| {
                    !(repeated && split_records) && are_sound(pages.page_locations(), chunk, group.num_rows())
                }));
            }
        }
        let mut chunks = parquet.row_groups().iter().flat_map(|group| group.columns());
        let has_blooms = chunks.any(|chunk| chunk.bloom_filter_offset().is_some());
        let parquet = Arc::new(parquet);
        Ok(Self {
            path,
            parquet,
            schema,
            row_groups,
            leaves,
            leaf_types,
            paged,
            has_blooms,
            zones: ZoneCache::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The footer, with page indexes where the file has readable ones.
    pub fn parquet(&self) -> &Arc<ParquetMetaData> {
        &self.parquet
    }

    /// The file's columns in Arrow's types, as the scan reads them: like DataFusion's own scan does by
    /// default, top-level strings and binaries as views, and without the file's key-value metadata.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of each row group, as fragment rows.
    pub fn row_groups(&self) -> &[Range<u64>] {
        &self.row_groups
    }

    /// Whether any chunk has a Bloom filter.
    pub fn has_blooms(&self) -> bool {
        self.has_blooms
    }

    /// How many rows the file has.
    pub fn rows(&self) -> u64 {
        self.row_groups.last().map_or(0, |r| r.end)
    }

    /// How many bytes this takes in memory, about, with what may be made of its statistics: as much again at most.
    pub fn memory_size(&self) -> usize {
        let schema: usize = self.schema.fields().iter().map(|f| f.size()).sum();
        2 * self.parquet.memory_size() + schema + self.paged.len() + size_of::<Self>()
    }

    /// The leaves of a column, as indices into the Parquet schema's leaves; none for a number beyond.
    pub fn leaves(&self, column: FragmentCol) -> Range<usize> {
        self.leaves.get(column.0).cloned().unwrap_or_default()
    }

    /// The leaves of a part of a column; none for a part that isn't there.
    pub fn leaves_of(&self, column: FragmentCol, path: &FieldPath) -> Range<usize> {
        let mut leaves = self.leaves(column);
        let mut data_type = self.schema.fields().get(column.0).map(|field| field.data_type());
        for step in path.iter() {
            let Some(DataType::Struct(fields)) = data_type else { return 0..0 };
            let Some(field) = fields.get(step) else { return 0..0 };
            let start = leaves.start + fields[..step].iter().map(count_leaves).sum::<usize>();
            leaves = start..start + count_leaves(field);
            data_type = Some(field.data_type());
        }
        leaves
    }

    /// The field of a part of a column, called by its path; `None` for a part that isn't there. It may be NULL
    /// if a struct that it is in may.
    pub fn field_of(&self, column: FragmentCol, path: &FieldPath) -> Option<FieldRef> {
        let whole = self.schema.fields().get(column.0)?;
        path.iter().try_fold(Arc::clone(whole), |of, step| {
            let DataType::Struct(fields) = of.data_type() else { return None };
            let field = fields.get(step)?;
            let nullable = of.is_nullable() || field.is_nullable();
            let name = format!("{}.{}", of.name(), field.name());
            Some(Arc::new(Field::clone(field).with_name(name).with_nullable(nullable)))
        })
    }

    /// What `make` makes of a leaf's statistics: once for all queries that read the file.
    pub(crate) fn leaf_zones(
        &self,
        which: LeafZones,
        make: impl FnOnce() -> Option<ZoneColumn>,
    ) -> Option<Arc<ZoneColumn>> {
        if let Some(known) = self.zones.0.lock().get(&which) {
            return known.clone();
        }
        // Not under the lock: two who ask at once may both convert, and get equal zones.
        let zones = make().map(Arc::new);
        self.zones.0.lock().entry(which).or_insert(zones).clone()
    }

    /// The Arrow type of a leaf.
    pub(crate) fn leaf_type(&self, leaf: usize) -> Option<&DataType> {
        self.leaf_types.get(leaf)
    }

    /// Where the pages of a chunk are; `None` unless that is known and consistent.
    pub fn page_locations(&self, row_group: usize, leaf: usize) -> Option<&[PageLocation]> {
        let paged = *self.paged.get(row_group * self.leaf_types.len() + leaf)?;
        let index = self.parquet.offset_index().filter(|_| paged)?;
        Some(index.get(row_group)?.get(leaf)?.page_locations())
    }
}

/// Bytes at the end of a file.
struct Tail {
    start: u64,
    bytes: Bytes,
}

impl Tail {
    fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let from = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(self.start)?).ok()?;
        (from <= to && to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }

    fn grow(&mut self, start: u64, front: &Bytes) {
        let mut bytes = BytesMut::with_capacity(front.len() + self.bytes.len());
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(&self.bytes);
        *self = Self { start, bytes: bytes.freeze() };
    }
}

/// Decodes a footer; without its statistics when it is they that can't be decoded.
fn decode_footer(bytes: &[u8]) -> Result<ParquetMetaData, ParquetError> {
    ParquetMetaDataReader::decode_metadata(bytes).or_else(|error| {
        let skip = ParquetStatisticsPolicy::SkipAll;
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(skip.clone())
            .with_encoding_stats_policy(skip.clone())
            .with_size_stats_policy(skip);
        ParquetMetaDataReader::decode_metadata_with_options(bytes, Some(&options)).map_err(|_| error)
    })
}

fn page_index_decoder(size: u64, parquet: &ParquetMetaData) -> Option<ParquetMetaDataPushDecoder> {
    if parquet.num_row_groups() == 0 {
        return None;
    }
    let decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, parquet.clone()).ok()?;
    Some(decoder.with_page_index_policy(PageIndexPolicy::Optional))
}

type Decoded = Result<DecodeResult<ParquetMetaData>, ParquetError>;

fn no_index() -> Decoded {
    Ok(DecodeResult::Finished)
}

fn try_decode(decoder: &mut ParquetMetaDataPushDecoder) -> Decoded {
    decoder.try_decode()
}

/// Whether every page index, in these buffers of these ranges, claims only what can be.
fn are_plausible(parquet: &ParquetMetaData, ranges: &[Range<u64>], buffers: &[Bytes]) -> bool {
    let chunks = parquet.row_groups().iter().flat_map(|group| group.columns());
    type Check = fn(&[u8]) -> bool;
    let places = chunks.flat_map(|chunk| {
        let column = (chunk.column_index_offset(), chunk.column_index_length());
        let offset = (chunk.offset_index_offset(), chunk.offset_index_length());
        [(column, thrift::is_column_index as Check), (offset, thrift::is_offset_index)]
    });
    let mut indexes = places.filter_map(|((offset, length), is_index)| {
        let (start, length) = (u64::try_from(offset?).ok()?, u64::try_from(length?).ok()?);
        Some((start..start.checked_add(length)?, is_index))
    });
    indexes.all(|(index, is_index)| {
        let holds = |range: &Range<u64>| range.start <= index.start && index.end <= range.end;
        ranges.iter().position(holds).is_some_and(|at| {
            let from = |offset: u64| (offset - ranges[at].start) as usize;
            buffers[at].get(from(index.start)..from(index.end)).is_some_and(is_index)
        })
    })
}

/// The metadata with its page indexes; `None` when they can't be decoded.
fn decode_page_index(
    mut decoder: ParquetMetaDataPushDecoder,
    ranges: Vec<Range<u64>>,
    buffers: Vec<Bytes>,
) -> Option<ParquetMetaData> {
    decoder.push_ranges(ranges, buffers).ok()?;
    match decoder.try_decode() {
        Ok(DecodeResult::Data(parquet)) => Some(parquet),
        _ => None,
    }
}

/// The types that the scan reads a file's columns in.
fn read_schema(file: &Schema) -> Schema {
    let field = |field: &Arc<Field>| {
        let data_type = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            other => other.clone(),
        };
        Field::new(field.name(), data_type, field.is_nullable())
    };
    Schema::new(file.fields().iter().map(field).collect::<Vec<_>>())
}

fn count_leaves(field: &FieldRef) -> usize {
    let mut leaves = Vec::new();
    collect_leaves(field.data_type(), &mut leaves);
    leaves.len()
}

/// The types of the leaves of a type, depth first: Parquet's leaves of the column.
pub(crate) fn collect_leaves(data_type: &DataType, leaves: &mut Vec<DataType>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|f| collect_leaves(f.data_type(), leaves)),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => collect_leaves(field.data_type(), leaves),
        leaf => leaves.push(leaf.clone()),
    }
}

/// The first byte of a chunk and the byte after it; `None` when the file says what can't be.
///
/// Some writers store 0 as the dictionary's offset where there is no dictionary.
pub(crate) fn chunk_range(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let data = chunk.data_page_offset();
    let start = chunk.dictionary_page_offset().filter(|dict| 0 < *dict && *dict < data).unwrap_or(data);
    let (start, length) = (u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?);
    Some(start..start.checked_add(length)?)
}

/// Whether page locations can be relied on: rows from 0 on, rising, within the row group; bytes rising,
/// within the chunk.
fn are_sound(pages: &[PageLocation], chunk: &ColumnChunkMetaData, rows: i64) -> bool {
    let Some(range) = chunk_range(chunk) else { return false };
    let (mut byte, mut row) = (range.start, -1);
    let rising = pages.iter().all(|page| {
        let sound = page.first_row_index > row
            && u64::try_from(page.offset).is_ok_and(|offset| offset >= byte)
            && page.compressed_page_size > 0;
        row = page.first_row_index;
        byte = (page.offset as u64).saturating_add(page.compressed_page_size as u64);
        sound
    });
    rising && pages.first().is_some_and(|p| p.first_row_index == 0) && row < rows && byte <= range.end
}

/// Whether the writer may have started pages of repeated columns in the midst of a row, although it wrote
/// page locations: parquet-rs did so before version 48.
fn may_split_records(created_by: Option<&str>) -> bool {
    let version = created_by.and_then(|by| by.strip_prefix("parquet-rs version "));
    let major = version.and_then(|v| v.split('.').next()?.parse::<u32>().ok());
    version.is_some() && major.is_none_or(|major| major < 48)
}

#[cfg(test)]
// A list of one range is what is meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests;
