// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet files in memory, for the tests of this crate.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use crate::metadata::FragmentMetadata;

/// The bytes of a file with these columns (nullable), one row group per batch of `group` rows.
pub fn write(columns: &[(&str, ArrayRef)], properties: WriterPropertiesBuilder) -> Bytes {
    write_batch(
        &RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, a)| (*n, Arc::clone(a), true)))
            .unwrap(),
        properties.build(),
    )
}

pub fn write_batch(batch: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    // The writer recurses once for each row group in a batch.
    for start in (0..batch.num_rows()).step_by(100) {
        writer.write(&batch.slice(start, 100.min(batch.num_rows() - start))).unwrap();
    }
    writer.close().unwrap();
    file.into()
}

/// What the parquet crate reads of a file, page indexes included.
pub fn parquet(file: &Bytes) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.parse_and_finish(file).unwrap()
}

/// The metadata of a file called `f.parquet`.
pub fn metadata(file: &Bytes) -> Arc<FragmentMetadata> {
    Arc::new(FragmentMetadata::try_new(Path::from("f.parquet"), parquet(file)).unwrap())
}
