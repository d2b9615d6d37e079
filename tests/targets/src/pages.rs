// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as all pages of a column without lists, headers and dictionary included: its rows are sound or an error.
//!
//! The first bytes say which column, how pages are compressed, whether it is known where they are, and how long the
//! dictionary page is.

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

use crate::chunk::{Chunk, FLAT, data_page, data_page_v2, dictionary_page};
use crate::file::File;

const ROWS: i64 = 50;

pub fn run(data: &[u8]) {
    let Some(([column, how, length], pages)) = data.split_first_chunk::<3>() else { return };
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::UNCOMPRESSED,
    ];
    let (dictionary, rest) = pages.split_at(usize::from(*length).min(pages.len()));
    let chunk = Chunk {
        column: usize::from(*column) % FLAT,
        rows: ROWS,
        codec: codecs[usize::from(how & 7)],
        dictionary: dictionary.to_vec(),
        data: rest.to_vec(),
        is_located: how & 8 > 0,
    };
    let (parquet, bytes) = chunk.file();
    File::with(parquet, bytes).expect("pages aren't looked at").read(None);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let plain = |column: u8, width: usize, page: fn(i32, &[u8]) -> Vec<u8>| {
        let body: Vec<u8> = (0..ROWS as usize * width).map(|at| (at % 5) as u8).collect();
        [vec![column, 0, 0], page(ROWS as i32, &body)].concat()
    };
    let v1 = |values: i32, body: &[u8]| data_page(values, 0, body);
    let v2 = |values: i32, body: &[u8]| data_page_v2(values, 0, [0, 0], body);
    // Three values, then the codes 0, 1, 2 in turn.
    let dictionary = dictionary_page(3, &[0, 0, 0, 7, 7, 7, 0, 0, 0]);
    let codes: Vec<u8> = [8, 7 << 1 | 1].into_iter().chain((0..56).map(|at| at % 3)).collect();
    let coded = |how: u8| {
        [&[7, how, dictionary.len() as u8][..], &dictionary, &data_page(ROWS as i32, 8, &codes)].concat()
    };
    // As many rows of one code as a page can have.
    let many = data_page(i32::MAX, 8, &[8, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1]);
    let many = [&[7, 8, dictionary.len() as u8][..], &dictionary, &many].concat();
    vec![plain(1, 8, v1), plain(1, 8, v2), plain(7, 3, v1), coded(0), coded(8), many]
}
