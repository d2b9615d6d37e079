// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The one thing in a data page's header that must be known before the page is read: its encoding.
//!
//! A chunk that outgrew its dictionary has pages with codes and pages without, and only the headers tell which
//! are which. They are Thrift structs in the compact protocol; the fields before the encoding are all integers.

use parquet::basic::Encoding;

const I32: u8 = 5;
const STRUCT: u8 = 12;

/// Where the headers of data pages of both versions are in a page's header, and the encoding in them.
const DATA_PAGE: (i16, i16) = (5, 2);
const DATA_PAGE_V2: (i16, i16) = (8, 4);

/// Whether the data page that starts with these bytes holds codes of a dictionary; `None` when its header
/// can't be read.
pub(super) fn is_dictionary_coded(page: &[u8]) -> Option<bool> {
    let mut header = Fields { bytes: page, id: 0 };
    loop {
        let (id, kind) = header.next()?;
        match kind {
            I32 => _ = header.varint()?,
            STRUCT => {
                let (_, encoding) = [DATA_PAGE, DATA_PAGE_V2].into_iter().find(|(page, _)| *page == id)?;
                let mut data = Fields { bytes: header.bytes, id: 0 };
                let code = loop {
                    let (id, kind) = data.next()?;
                    let value = (kind == I32).then(|| data.varint()).flatten()?;
                    if id == encoding {
                        break value;
                    }
                };
                let encodings = [Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY];
                return Some(encodings.iter().any(|encoding| zigzag(*encoding as u64) == code));
            }
            _ => return None,
        }
    }
}

/// An integer as it is written.
fn zigzag(value: u64) -> u64 {
    value << 1
}

/// The fields of a struct, as they come.
struct Fields<'a> {
    bytes: &'a [u8],
    /// The last field's number.
    id: i16,
}

impl Fields<'_> {
    /// The next field's number and type; `None` at the end. Its value is to be read next.
    fn next(&mut self) -> Option<(i16, u8)> {
        let (head, rest) = self.bytes.split_first()?;
        let (delta, kind) = (head >> 4, head & 0xf);
        // A field whose number is written in full is none that is looked for.
        if delta == 0 {
            return None;
        }
        self.bytes = rest;
        self.id = self.id.checked_add(i16::from(delta))?;
        Some((self.id, kind))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use bytes::Bytes;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use rstest::rstest;

    use super::*;

    /// A dictionary of some 300 values, then pages without it.
    #[rstest]
    #[case::version_1(WriterVersion::PARQUET_1_0)]
    #[case::version_2(WriterVersion::PARQUET_2_0)]
    fn headers_of_real_pages(#[case] version: WriterVersion) {
        let rows: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1000).map(|row| row * row)));
        let batch = RecordBatch::try_from_iter([("k", rows)]).unwrap();
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_page_size_limit(2400)
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(100)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let file = Bytes::from(writer.into_inner().unwrap());
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        reader.try_parse(&file).unwrap();
        let metadata = reader.finish().unwrap();
        let pages = &metadata.offset_index().unwrap()[0][0].page_locations;
        let coded: Vec<_> = pages.iter().map(|p| is_dictionary_coded(&file[p.offset as usize..])).collect();
        let first = coded.iter().filter(|coded| **coded == Some(true)).count();
        assert!(first > 1 && first < coded.len(), "{coded:?}");
        assert!(coded[..first].iter().all(|coded| *coded == Some(true)), "{coded:?}");
        assert!(coded[first..].iter().all(|coded| *coded == Some(false)), "{coded:?}");
    }

    #[rstest]
    #[case::nothing(&[])]
    #[case::a_dictionary_page(&[0x15, 4, 0x15, 8, 0x15, 8, 0x4c, 0x15, 8])]
    #[case::a_number_without_end(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]
    #[case::a_header_cut_short(&[0x15, 0, 0x15, 8, 0x15, 8, 0x2c, 0x15, 8])]
    fn what_can_not_be_read(#[case] bytes: &[u8]) {
        assert_eq!(is_dictionary_coded(bytes), None);
    }
}
