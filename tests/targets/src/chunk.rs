// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Column chunks made by hand: page headers, and what a footer would say of them.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};

/// Columns of one leaf each; those with lists come last.
const COLUMNS: [&str; 12] = [
    "optional int32 c",
    "required int64 c",
    "optional binary c (STRING)",
    "required binary c",
    "optional boolean c",
    "optional double c",
    "optional int96 c",
    "required fixed_len_byte_array(3) c",
    "optional fixed_len_byte_array(16) c (DECIMAL(38, 2))",
    "optional int32 c (INTEGER(8, true))",
    "optional group c (LIST) { repeated group list { optional int64 element; } }",
    "optional group c (LIST) { repeated group list { required group element { optional binary s (STRING); } } }",
];

/// How many of the columns have no lists.
pub const FLAT: usize = COLUMNS.len() - 2;

static SCHEMAS: LazyLock<Vec<SchemaDescPtr>> = LazyLock::new(|| {
    let schema = |column: &&str| {
        let end = if column.ends_with('}') { "" } else { ";" };
        let message = parse_message_type(&format!("message m {{ {column}{end} }}")).unwrap();
        Arc::new(SchemaDescriptor::new(Arc::new(message)))
    };
    COLUMNS.iter().map(schema).collect()
});

/// The schema of a file with one of the columns.
pub fn schema(column: usize) -> &'static SchemaDescPtr {
    &SCHEMAS[column % COLUMNS.len()]
}

/// A chunk: a dictionary page, if any, and data pages.
pub struct Chunk {
    /// Which column's it is.
    pub column: usize,
    /// The rows of its row group.
    pub rows: i64,
    /// How its pages are compressed.
    pub codec: Compression,
    /// The dictionary page, with its header; may be empty.
    pub dictionary: Vec<u8>,
    /// The data pages, with their headers.
    pub data: Vec<u8>,
    /// Whether it is known where pages are: one data page, and only codes in it if there is a dictionary.
    pub is_located: bool,
}

/// Where a chunk lies in its file.
const START: i64 = 4;

impl Chunk {
    /// A file of this chunk, and what is read of its footer.
    pub fn file(self) -> (ParquetMetaData, Bytes) {
        let schema = schema(self.column);
        let data = START + self.dictionary.len() as i64;
        let has_dictionary = !self.dictionary.is_empty();
        let encoding = if has_dictionary { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN };
        let chunk = ColumnChunkMetaData::builder(schema.column(0))
            .set_num_values(self.rows)
            .set_compression(self.codec)
            .set_dictionary_page_offset(has_dictionary.then_some(START))
            .set_data_page_offset(data)
            .set_page_encoding_stats_mask(EncodingMask::new_from_encodings([encoding].iter()))
            .set_total_compressed_size((self.dictionary.len() + self.data.len()) as i64)
            .build()
            .unwrap();
        let group = RowGroupMetaData::builder(Arc::clone(schema))
            .set_num_rows(self.rows)
            .set_column_metadata(vec![chunk])
            .build()
            .unwrap();
        let page =
            PageLocation { offset: data, compressed_page_size: self.data.len() as i32, first_row_index: 0 };
        let index = OffsetIndexMetaData { page_locations: vec![page], unencoded_byte_array_data_bytes: None };
        let file = FileMetaData::new(2, self.rows, None, None, Arc::clone(schema), None);
        let parquet = ParquetMetaDataBuilder::new(file)
            .set_row_groups(vec![group])
            .set_offset_index(self.is_located.then(|| vec![vec![index]]))
            .build();
        (parquet, [&b"PAR1"[..], &self.dictionary, &self.data].concat().into())
    }
}

/// A field's header and an integer, in Thrift's compact protocol; the field comes `step` after the last.
fn integer(step: u8, value: i32) -> Vec<u8> {
    let (mut value, mut bytes) = (((value << 1) ^ (value >> 31)) as u32, vec![step << 4 | 5]);
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A page of a kind: its header's number in the format, and how many fields after the sizes that is.
fn page(kind: i32, step: u8, fields: &[Vec<u8>], body: &[u8]) -> Vec<u8> {
    let size = body.len() as i32;
    let sizes = [integer(1, kind), integer(1, size), integer(1, size)].concat();
    [sizes, vec![step << 4 | 0x0c], fields.concat(), vec![0, 0], body.to_vec()].concat()
}

/// A dictionary page that says it has so many values.
pub fn dictionary_page(values: i32, body: &[u8]) -> Vec<u8> {
    page(2, 4, &[integer(1, values), integer(1, Encoding::PLAIN as i32)], body)
}

/// A data page of version 1.
pub fn data_page(values: i32, encoding: i32, body: &[u8]) -> Vec<u8> {
    let rle = Encoding::RLE as i32;
    page(0, 2, &[integer(1, values), integer(1, encoding), integer(1, rle), integer(1, rle)], body)
}

/// A data page of version 2, its levels of these lengths.
pub fn data_page_v2(
    values: i32,
    encoding: i32,
    [repetition, definition]: [usize; 2],
    body: &[u8],
) -> Vec<u8> {
    let counts = [integer(1, values), integer(1, 0), integer(1, values), integer(1, encoding)];
    let levels = [integer(1, definition as i32), integer(1, repetition as i32)];
    let uncompressed = vec![0x12];
    page(3, 5, &[counts.concat(), levels.concat(), uncompressed], body)
}
