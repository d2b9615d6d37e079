// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the Bloom filter of a column, which is then asked.

#![no_main]

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringViewArray};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use trommel_fuzz::SAMPLES;
use trommel_planner::index::TableCol;
use trommel_planner::pruning::{Candidates, ColumnPath};
use trommel_planner::rows::RowRanges;
use trommel_scan::fragment::OpenFragment;
use trommel_scan::zones::{BloomId, FragmentBlooms};

static FILE: LazyLock<(OpenFragment, Bytes)> = LazyLock::new(|| {
    let bytes = Bytes::copy_from_slice(&SAMPLES[0].bytes);
    (trommel_fuzz::open(&bytes).expect("a sound file"), bytes)
});

fuzz_target!(|data: &[u8]| {
    let (fragment, bytes) = &*FILE;
    let mut blooms = FragmentBlooms::new(Arc::clone(&fragment.metadata), Arc::clone(&fragment.adaptation));
    let values: [(usize, ArrayRef); 3] = [
        (0, Arc::new(Int32Array::from_iter_values(0..8))),
        (1, Arc::new(Int64Array::from_iter_values(0..8))),
        (3, Arc::new(StringViewArray::from_iter_values(["text 0", "text 1"]))),
    ];
    for (leaf, values) in &values {
        let path = ColumnPath::from(TableCol(*leaf));
        blooms.put(BloomId { row_group: 0, leaf: *leaf }, data);
        blooms.may_hold(&path, &(0..40), values);
        // The other row group has the file's own filter, which knows what is there.
        for (id, range) in blooms.wanted([&path], &RowRanges::all(60)) {
            blooms.put(id, &bytes[range.start as usize..range.end as usize]);
        }
        assert_eq!(*leaf == 0, !blooms.may_hold(&path, &(40..60), values));
    }
});
