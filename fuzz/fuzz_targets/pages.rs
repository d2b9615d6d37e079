// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Other bytes where a column's pages are: page headers, levels and values.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trommel_fuzz::SAMPLES;

fuzz_target!(|data: &[u8]| {
    let Some(([which, leaf, at], data)) = data.split_first_chunk::<3>() else { return };
    let sample = &SAMPLES[usize::from(*which) % SAMPLES.len()];
    let mut chunk = sample.chunk(usize::from(*leaf) % sample.metadata.row_group(0).num_columns());
    chunk.start += usize::from(*at) % chunk.len();
    let file = sample.with(chunk, data);
    let fragment = trommel_fuzz::open(&file).expect("pages aren't looked at");
    trommel_fuzz::decode(&fragment, &file);
});
