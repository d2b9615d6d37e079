// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the body of a data page in any encoding, under a header that is right: its rows are sound or an error.
//!
//! The first bytes say the column, the encoding, the version of the page, and how many values and rows it has. Where they
//! say so, levels come from elsewhere and tell that nothing is NULL, so that the bytes are values and nothing else.

use parquet::basic::Compression;

use crate::chunk::{Chunk, data_page, data_page_v2, dictionary_page, schema};
use crate::file::File;

/// By their numbers in the format, in which 1 is none.
const ENCODINGS: [i32; 8] = [0, 2, 3, 4, 5, 6, 7, 9];

pub fn run(data: &[u8]) {
    let Some(([column, encoding, how, values, rows, split], body)) = data.split_first_chunk::<6>() else {
        return;
    };
    let (column, values) = (usize::from(*column), i32::from(*values).max(1));
    let (has_levels, is_v2, has_dictionary) = (how & 1 > 0, how & 2 > 0, how & 4 > 0);
    let encoding = ENCODINGS[usize::from(*encoding) % ENCODINGS.len()];
    let described = schema(column).column(0);
    // A value's row is its own, and nothing on the way to it is NULL.
    let run = |level: i16, most: i16| match most {
        0 => Vec::new(),
        _ => vec![(values << 1) as u8 | 0x80, (values >> 6) as u8, level as u8],
    };
    let (repetition, definition) = (described.max_rep_level(), described.max_def_level());
    let levels = [run(0, repetition), run(definition, definition)];
    let data = match (has_levels, is_v2) {
        (true, false) => data_page(values, encoding, body),
        (true, true) => {
            let lengths = [split & 0x0f, split >> 4].map(usize::from);
            data_page_v2(values, encoding, lengths, body)
        }
        (false, false) => {
            let mut page = Vec::new();
            for levels in levels.iter().filter(|levels| !levels.is_empty()) {
                page.extend((levels.len() as u32).to_le_bytes());
                page.extend(levels);
            }
            data_page(values, encoding, &[&page[..], body].concat())
        }
        (false, true) => {
            let lengths = levels.each_ref().map(Vec::len);
            data_page_v2(values, encoding, lengths, &[&levels.concat()[..], body].concat())
        }
    };
    let dictionary = if has_dictionary { dictionary_page(3, &[1; 48]) } else { Vec::new() };
    let is_located = how & 8 > 0;
    let rows = if repetition > 0 { i64::from(*rows).max(1) } else { i64::from(values) };
    let chunk = Chunk { column, rows, codec: Compression::UNCOMPRESSED, dictionary, data, is_located };
    let (parquet, bytes) = chunk.file();
    File::with(parquet, bytes).expect("pages aren't looked at").read(None);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |column: u8, encoding: u8, how: u8, values: u8, body: &[u8]| {
        [&[column, encoding, how, values, values, 0][..], body].concat()
    };
    let plain = (0..12).map(|column| seed(column, 0, 0, 3, &[1; 48]));
    // Differences: blocks of 128 in 4 parts, 3 values, the first, the least difference, widths.
    let deltas = [&[128, 1, 4, 3, 2, 2, 0, 0, 0, 0][..], b"abc"].concat();
    let others = [(4, 0), (4, 1), (4, 9), (5, 2), (5, 3), (5, 11), (7, 0), (7, 5), (7, 7)];
    let others = others.map(|(encoding, column)| seed(column, encoding, 2, 3, &deltas));
    // Prefixes of no length, then suffixes of one byte each.
    let prefixes = [128, 1, 4, 3, 0, 0, 0, 0, 0, 0];
    let suffixes = [128, 1, 4, 3, 2, 0, 0, 0, 0, 0];
    let prefixed = seed(3, 6, 0, 3, &[&prefixes[..], &suffixes, b"abc"].concat());
    // Codes of one bit; a list of two, its levels before its values.
    let coded = seed(0, 1, 4 | 8, 8, &[1, 3, 0b0101_0101]);
    let list = [&[2, 0, 0, 0, 3, 0b10, 2, 0, 0, 0, 4, 3][..], &[1; 16]].concat();
    let list = [&[10, 0, 1, 2, 1, 0][..], &list].concat();
    plain.chain(others).chain([prefixed, coded, list]).collect()
}
