// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the values of a dictionary page that says it has any number of them: the values read apart are those
//! that rows with their codes have.
//!
//! The first bytes say the column and the number of values.

use std::sync::Arc;

use parquet::basic::Compression;
use trommel_planner::index::FragmentCol;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::RowRanges;
use trommel_scan::io::FetchedRanges;
use trommel_scan::metadata::FragmentMetadata;
use trommel_scan::segments::SegmentReader;

use crate::chunk::{Chunk, FLAT, data_page, dictionary_page, schema};

pub fn run(data: &[u8]) {
    let Some((column, data)) = data.split_first() else { return };
    let Some((count, values)) = data.split_first_chunk::<4>() else { return };
    let (column, count) = (usize::from(*column) % FLAT, i32::from_le_bytes(*count));
    // Each value once, by codes of eight bits, as far as those go.
    let rows = count.clamp(1, 256);
    let groups = (rows as u32).div_ceil(8);
    let codes = [8, (groups << 1 | 1) as u8].into_iter().chain((0..groups * 8).map(|code| code as u8));
    let levels: &[u8] = &[3, 0, 0, 0, (rows << 1) as u8 | 0x80, (rows >> 6) as u8, 1];
    let levels = if schema(column).column(0).max_def_level() > 0 { levels } else { &[] };
    let page = data_page(rows, 8, &[levels, &codes.collect::<Vec<_>>()].concat());
    let (dictionary, codec) = (dictionary_page(count, values), Compression::UNCOMPRESSED);
    let chunk = Chunk { column, rows: i64::from(rows), codec, dictionary, data: page, is_located: true };
    let (parquet, bytes) = chunk.file();
    let metadata = FragmentMetadata::try_new("f.parquet".into(), parquet).expect("pages aren't looked at");
    let (segments, held) = (SegmentReader::new(Arc::new(metadata)), FetchedRanges::whole(bytes));

    let segment = SegmentId::new(0, FragmentCol(0));
    let Ok(apart) = segments.dictionary(&segment, &held) else { return };
    assert_eq!(apart.len(), count as usize);
    apart.to_data().validate_full().expect("a sound array");
    let decoded = segments.decode(&segment, &RowRanges::all(rows as u64), &held);
    if count > 0 {
        assert_eq!(&decoded.expect("codes of values that there are"), &apart.slice(0, rows as usize));
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let fixed = |column: u8, width: usize| {
        let values: Vec<u8> = (0..20 * width).map(|at| (at / width) as u8).collect();
        [&[column, 20, 0, 0, 0][..], &values].concat()
    };
    let texts = [&[2, 3, 0, 0, 0][..], &[1, 0, 0, 0, b'a', 0, 0, 0, 0, 2, 0, 0, 0, 0xc5, 0xbe]].concat();
    vec![fixed(0, 4), fixed(1, 8), fixed(5, 8), fixed(6, 12), fixed(7, 3), fixed(8, 16), fixed(9, 4), texts]
}
