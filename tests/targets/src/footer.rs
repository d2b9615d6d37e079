// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the footer of a file, whose pages are sound: it opens or is an error that names it; what opens has zones
//! that cover its rows, and reads or doesn't.
//!
//! The first byte says which file; the length says which column to filter by.

use parquet::file::metadata::{ParquetMetaDataWriter, RowGroupMetaData};
use trommel_planner::index::TableCol;

use crate::file::File;
use crate::samples::{of_each, sample};

pub fn run(data: &[u8]) {
    let Some((which, footer)) = data.split_first() else { return };
    let Some(file) = File::open(sample(*which).with_footer(footer)) else { return };
    file.look_at_zones();
    let column = footer.len();
    file.look_at_blooms(TableCol(column % 5));
    file.read(Some(column));
}

pub fn seeds() -> Vec<Vec<u8>> {
    let claims = of_each(|sample| {
        let groups = sample.metadata.row_groups().iter().cloned().map(with_many_rows);
        let parquet = sample.metadata.clone().into_builder().set_row_groups(groups.collect()).build();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &parquet).finish().unwrap();
        // It comes after page indexes, and has its length and the magic number at its end.
        let (rest, _) = footer.split_at(footer.len() - 8);
        let length = u32::from_le_bytes(footer[rest.len()..][..4].try_into().unwrap());
        rest[rest.len() - length as usize..].to_vec()
    });
    [of_each(|sample| sample.bytes[sample.footer()].to_vec()), claims].concat()
}

/// A row group that says that it has far more rows.
fn with_many_rows(group: RowGroupMetaData) -> RowGroupMetaData {
    let chunks = group.columns().iter().cloned();
    let chunks = chunks.map(|chunk| chunk.into_builder().set_num_values(1 << 34).build().unwrap()).collect();
    group.into_builder().set_num_rows(1 << 34).set_column_metadata(chunks).build().unwrap()
}
