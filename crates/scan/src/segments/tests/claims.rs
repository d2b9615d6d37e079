// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Pages that claim far more than they hold are errors before memory is taken for it.

use super::*;

/// A field's header and an integer, as Thrift's compact protocol has them; the field comes `step` after the last.
fn integer(step: u8, value: i32) -> Vec<u8> {
    let (mut value, mut bytes) = (((value << 1) ^ (value >> 31)) as u32, vec![step << 4 | 5]);
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The header of a page of this kind, then the page.
fn page(kind: i32, uncompressed: i32, header: &[Vec<u8>], page: &[u8]) -> Vec<u8> {
    let sizes = [integer(1, kind), integer(1, uncompressed), integer(1, page.len() as i32)].concat();
    let field = if kind == 2 { 0x4c } else { 0x2c };
    [sizes, vec![field], header.concat(), vec![0, 0], page.to_vec()].concat()
}

fn dictionary(values: i32, bytes: &[u8]) -> Vec<u8> {
    page(2, bytes.len() as i32, &[integer(1, values), integer(1, 0)], bytes)
}

fn data(encoding: i32, uncompressed: i32, bytes: &[u8]) -> Vec<u8> {
    let header = [integer(1, 3), integer(1, encoding), integer(1, 3), integer(1, 3)];
    page(0, uncompressed, &header, bytes)
}

/// The end of the error of reading three required values of these pages.
fn error(values: &ArrayRef, codec: Compression, pages: Vec<u8>) -> String {
    let batch = RecordBatch::try_from_iter([("x", values.slice(0, 3))]).unwrap();
    let file = write_batch(&batch, WriterProperties::builder().set_dictionary_enabled(false).build());
    let parquet = parquet(&file);
    let group = parquet.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder();
    let chunk = chunk
        .set_compression(codec)
        .set_data_page_offset(file.len() as i64)
        .set_total_compressed_size(pages.len() as i64);
    let group = group.into_builder().set_column_metadata(vec![chunk.build().unwrap()]).build().unwrap();
    let parquet = parquet.into_builder().set_row_groups(vec![group]).set_offset_index(None).build();
    let reader =
        SegmentReader::new(Arc::new(FragmentMetadata::try_new("f.parquet".into(), parquet).unwrap()));
    let segment = SegmentId::new(0, FragmentCol(0));
    let file = FetchedRanges::whole([file.to_vec(), pages].concat().into());
    let error = reader.decode(&segment, &RowRanges::single(0..3), &file).unwrap_err().to_string();
    assert!(error.starts_with("f.parquet: "), "{error}");
    error
}

fn integers() -> ArrayRef {
    Arc::new(Int64Array::from(vec![1, 2, 3]))
}

fn texts() -> ArrayRef {
    Arc::new(StringArray::from(vec!["a", "b", "c"]))
}

/// A sequence of 2^40 differences.
const FAR_TOO_MANY: [u8; 9] = [0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];

#[rstest]
#[case::dictionary_of_integers(integers(), Compression::UNCOMPRESSED, dictionary(i32::MAX, &[0; 24]), "too short")]
#[case::dictionary_of_texts(texts(), Compression::UNCOMPRESSED, dictionary(i32::MAX, &[0; 24]), "too short")]
#[case::lengths(texts(), Compression::UNCOMPRESSED, data(6, 10, &[&FAR_TOO_MANY[..], &[0]].concat()), "other lengths")]
#[case::prefixes(texts(), Compression::UNCOMPRESSED, data(7, 10, &[&FAR_TOO_MANY[..], &[0]].concat()), "other lengths")]
#[case::suffixes(texts(), Compression::UNCOMPRESSED, data(7, 10, &[&[0x80, 1, 4, 1, 0][..], &FAR_TOO_MANY, &[0]].concat()), "other lengths")]
#[case::decompressed(integers(), Compression::SNAPPY, data(0, i32::MAX, &[0xff; 24]), "decompresses to more")]
fn what_a_page_claims_is_checked(
    #[case] values: ArrayRef,
    #[case] codec: Compression,
    #[case] mut pages: Vec<u8>,
    #[case] says: &str,
) {
    if says == "too short" {
        pages.extend(data(8, 3, &[1, 6, 0]));
    }
    let error = error(&values, codec, pages);
    assert!(error.contains(says), "{error}");
}
