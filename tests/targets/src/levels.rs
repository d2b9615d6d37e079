// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the levels and the codes of a page that has a dictionary, against a decoder that takes bit after bit:
//! rows looked up by their codes are those that it finds, and damage that it finds is an error; so does decoding agree,
//! where it gives anything.
//!
//! The first bytes say how many rows there are, the version of the page, and how long the levels are.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::datatypes::Int32Type;
use parquet::basic::Compression;
use trommel_planner::index::FragmentCol;
use trommel_planner::plan::SegmentId;
use trommel_planner::rows::RowRanges;
use trommel_scan::io::FetchedRanges;
use trommel_scan::metadata::FragmentMetadata;
use trommel_scan::segments::{CodeTable, SegmentRead, SegmentReader};

use crate::chunk::{Chunk, data_page, data_page_v2, dictionary_page};

/// The dictionary: 0, 1, …
const VALUES: u32 = 300;

pub fn run(data: &[u8]) {
    let Some(([count, how, length], data)) = data.split_first_chunk::<3>() else { return };
    let (count, is_v2, keeps_null) = (usize::from(*count).max(1), how & 1 > 0, how & 2 > 0);
    let (levels, codes) = data.split_at(usize::from(*length).min(data.len()));
    let page = match is_v2 {
        true => data_page_v2(count as i32, 8, [0, levels.len()], data),
        false => {
            let length = (levels.len() as u32).to_le_bytes();
            data_page(count as i32, 8, &[&length, levels, codes].concat())
        }
    };
    let values: Vec<u8> = (0..VALUES).flat_map(u32::to_le_bytes).collect();
    let (column, rows, codec) = (0, count as i64, Compression::UNCOMPRESSED);
    let dictionary = dictionary_page(VALUES as i32, &values);
    let chunk = Chunk { column, rows, codec, dictionary, data: page, is_located: true };
    let (parquet, bytes) = chunk.file();
    let metadata = FragmentMetadata::try_new("f.parquet".into(), parquet).expect("pages aren't looked at");
    let (segments, held) = (SegmentReader::new(Arc::new(metadata)), FetchedRanges::whole(bytes));

    let (segment, rows) = (SegmentId::new(0, FragmentCol(0)), RowRanges::all(count as u64));
    let keeps = |value: Option<u32>| value.map_or(keeps_null, |value| value % 3 == 0);
    let table: BooleanArray = (0..VALUES).map(Some).chain([None]).map(|v| Some(keeps(v))).collect();
    let table = CodeTable::new(&table).expect("a dictionary");
    let mut found_codes = Vec::new();
    let read = SegmentRead::of(segment, rows.clone());
    let found = segments.look_up(&read, &rows, &table, &held, Some(&mut found_codes));
    let expected = naive(levels, codes, count);
    if let (Ok(_), Some(expected)) = (&found, &expected) {
        let of_kept = expected.iter().filter(|row| keeps(**row)).map(|row| row.unwrap_or(VALUES));
        assert_eq!(found_codes, of_kept.collect::<Vec<_>>());
    }
    let kept = expected.as_ref().map(|rows| rows.iter().map(|row| keeps(*row)).collect::<Vec<_>>());
    assert_eq!(found.ok().map(|bits| bits.iter().collect::<Vec<_>>()), kept);

    let (Some(expected), Ok(decoded)) = (expected, segments.decode(&segment, &rows, &held)) else { return };
    let decoded: Vec<_> = decoded.as_primitive::<Int32Type>().iter().map(|v| v.map(|v| v as u32)).collect();
    assert_eq!(decoded, expected);
}

/// The rows; `None` where something is damaged.
fn naive(levels: &[u8], codes: &[u8], count: usize) -> Option<Vec<Option<u32>>> {
    let levels = hybrid(levels, 1, count)?;
    let valid = levels.iter().filter(|level| **level != 0).count();
    let mut codes = match codes.split_first() {
        _ if valid == 0 => Vec::new(),
        Some((width, codes)) if *width <= 32 => hybrid(codes, usize::from(*width), valid)?,
        _ => return None,
    }
    .into_iter();
    let rows: Vec<_> = levels.iter().map(|level| (*level != 0).then(|| codes.next()).flatten()).collect();
    rows.iter().flatten().all(|code| *code < VALUES).then_some(rows)
}

/// Parquet's hybrid of run lengths and bit packing, as its description has it; a last group of packed values may be cut
/// short, and counts are of 32 bits, as the parquet crate's decoders take them.
fn hybrid(mut data: &[u8], width: usize, count: usize) -> Option<Vec<u32>> {
    let mut values = Vec::new();
    while values.len() < count {
        let mut header = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = data.split_first()?;
            data = rest;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            } else if shift == 63 {
                return None;
            }
        }
        let (before, runs) = (values.len(), (header >> 1) as u32 as usize);
        if header & 1 == 0 {
            let (value, rest) = data.split_at_checked(width.div_ceil(8))?;
            let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            data = rest;
            values.extend(repeat_n(value, runs.min(count - before)));
        } else {
            let bit = |at: usize| data.get(at / 8).map(|byte| u32::from(byte >> (at % 8) & 1));
            let value = |at: usize| (0..width).map(|i| Some(bit(at * width + i)? << i)).sum::<Option<u32>>();
            values.extend((0..runs.saturating_mul(8).min(count - before)).map_while(value));
            data = &data[runs.saturating_mul(width).min(data.len())..];
        }
        if values.len() == before {
            return None;
        }
    }
    Some(values)
}

pub fn seeds() -> Vec<Vec<u8>> {
    // Ten rows, none NULL, of one code; nine of which every other is NULL, of codes of two bits.
    let same = [&[10, 0, 2][..], &[10 << 1, 1], &[9, 10 << 1, 44, 1]].concat();
    let packed = [&[9, 3, 3][..], &[5, 0b0101_0101, 1], &[2, 3, 0b1110_0100, 0b1110_0100]].concat();
    let wide = [&[8, 1, 2][..], &[8 << 1, 1], &[16, 3], &[7, 0].repeat(8)].concat();
    vec![same, packed, wide]
}
