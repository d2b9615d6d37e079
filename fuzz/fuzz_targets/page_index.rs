// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Other bytes where the page indexes of a sound file are: the file opens all the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trommel_fuzz::SAMPLES;

fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else { return };
    let sample = &SAMPLES[usize::from(*which) % SAMPLES.len()];
    let file = sample.with(sample.page_indexes(), data);
    let fragment = trommel_fuzz::open(&file).expect("page indexes aren't needed");
    trommel_fuzz::look_at_zones(&fragment);
    trommel_fuzz::decode(&fragment, &file);
});
