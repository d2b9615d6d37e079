// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What must be known of a page before it is read.
//!
//! A chunk that outgrew its dictionary has pages with codes and pages without, and only the headers tell which
//! are which. How many values a dictionary has is told there too.

use parquet::basic::Encoding;

use crate::thrift::{PageHeader, Part};

/// Whether the data page that starts with these bytes holds codes of a dictionary; `None` when its header
/// can't be read.
pub(super) fn is_dictionary_coded(page: &[u8]) -> Option<bool> {
    let (header, _) = PageHeader::read(page)?;
    let encoding = header.number(Part::DataPage, 2).or_else(|| header.number(Part::DataPageV2, 4))?;
    Some([Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY].iter().any(|e| *e as i64 == encoding))
}

/// How many values the dictionary page that starts with these bytes says it has; `None` when its header can't be
/// read.
pub(super) fn dictionary_len(page: &[u8]) -> Option<u64> {
    let (header, _) = PageHeader::read(page)?;
    u64::try_from(header.number(Part::DictionaryPage, 1)?).ok()
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
        let dictionary = metadata.row_group(0).column(0).dictionary_page_offset().unwrap();
        assert_eq!(dictionary_len(&file[dictionary as usize..]), Some(100 * first as u64));
        assert_eq!(dictionary_len(&file[pages[0].offset as usize..]), None);
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
