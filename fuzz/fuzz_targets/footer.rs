// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A whole file, of which the footer is what matters: it opens or is an error, and then reads or doesn't.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let file = Bytes::copy_from_slice(data);
    if let Ok(fragment) = trommel_fuzz::open(&file) {
        trommel_fuzz::look_at_zones(&fragment);
        trommel_fuzz::decode(&fragment, &file);
    }
});
