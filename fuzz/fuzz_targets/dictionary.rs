// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Other bytes where the dictionary page of a column of integers or of strings is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trommel_fuzz::SAMPLES;

fuzz_target!(|data: &[u8]| {
    let Some(([which, leaf], data)) = data.split_first_chunk::<2>() else { return };
    let sample = &SAMPLES[1 + usize::from(*which) % 2];
    let leaf = [1, 3][usize::from(*leaf) % 2];
    let chunk = sample.metadata.row_group(0).column(leaf);
    let start = chunk.dictionary_page_offset().expect("it has a dictionary") as usize;
    let file = sample.with(start..chunk.data_page_offset() as usize, data);
    let fragment = trommel_fuzz::open(&file).expect("pages aren't looked at");
    trommel_fuzz::decode(&fragment, &file);
});
