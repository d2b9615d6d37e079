// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet's hybrid of run lengths and bit packing against a decoder that takes bit after bit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trommel_scan::segments::hybrid_values;

fuzz_target!(|data: &[u8]| {
    let Some(([width, count], data)) = data.split_first_chunk::<2>() else { return };
    let (width, count) = (usize::from(*width) % 33, usize::from(*count));
    assert_eq!(hybrid_values(data, width, count), naive(data, width, count), "{width} bits, {count} values");
});

/// As the format's description has it. A last group of packed values may be cut short.
fn naive(mut data: &[u8], width: usize, count: usize) -> Option<Vec<u32>> {
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
        // The decoders take 32 bits of a count.
        let runs = (header >> 1) as u32 as usize;
        if header == 0 || runs == 0 {
            return None;
        }
        if header & 1 == 0 {
            let bytes = width.div_ceil(8);
            let value = data.get(..bytes)?.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            data = &data[bytes..];
            values.extend(std::iter::repeat_n(value, runs.min(count - values.len())));
            continue;
        }
        let bits = |at: usize| data.get(at / 8).map(|byte| u32::from(byte >> (at % 8) & 1));
        let before = values.len();
        for value in 0..runs.saturating_mul(8).min(count - before) {
            let bit = |bit: usize| Some(bits(value * width + bit)? << bit);
            let Some(value) = (0..width).map(bit).sum::<Option<u32>>() else { break };
            values.push(value);
        }
        if values.len() == before {
            return None;
        }
        data = &data[runs.saturating_mul(width).min(data.len())..];
    }
    Some(values)
}
