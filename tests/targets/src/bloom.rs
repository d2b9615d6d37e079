// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes as the Bloom filter of a column, or as more bits of its own one: a filter with more bits excludes no value
//! that is there.
//!
//! The first byte says which column, and which of the two.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringViewArray};
use bytes::Bytes;
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::pruning::Candidates;
use trommel_planner::rows::RowRanges;

use crate::file::File;
use crate::samples::SAMPLES;

static FILE: LazyLock<File> =
    LazyLock::new(|| File::open(Bytes::copy_from_slice(&SAMPLES[0].bytes)).expect("a sound file"));

/// A value of each column without lists, which the first row group holds.
fn held() -> [ArrayRef; 4] {
    [
        Arc::new(Int32Array::from(vec![39])),
        Arc::new(Int64Array::from(vec![5])),
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(StringViewArray::from(vec!["text 5"])),
    ]
}

pub fn run(data: &[u8]) {
    let Some((which, bytes)) = data.split_first() else { return };
    let column = usize::from(*which) % 4;
    let (path, value) = (ColumnPath::from(TableCol(column)), &held()[column]);
    let mut blooms = FILE.blooms();
    // The rows of the first row group.
    let rows = RowRanges::all(40);
    for (id, range) in blooms.wanted([&path], &rows) {
        if which & 0x80 == 0 {
            blooms.put(id, bytes);
            blooms.may_hold(&path, &(0..40), value);
            continue;
        }
        let mut filter = FILE.bytes()[range.start as usize..range.end as usize].to_vec();
        // The header is shorter than the bits, of which there is a power of two.
        let bits = filter.len().next_power_of_two() / 2;
        let header = filter.len() - bits;
        filter[header..].iter_mut().zip(bytes).for_each(|(byte, more)| *byte |= more);
        blooms.put(id, &filter);
        assert!(blooms.has_any(), "a sound filter");
        assert!(blooms.may_hold(&path, &(0..40), value), "{value:?} is there");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let own = |column: u8| {
        let path = ColumnPath::from(TableCol(usize::from(column)));
        let (_, range) = FILE.blooms().wanted([&path], &RowRanges::all(40)).remove(0);
        [&[column][..], &FILE.bytes()[range.start as usize..range.end as usize]].concat()
    };
    [0, 1, 3].map(own).into_iter().chain([[vec![0x80], vec![0; 32]].concat()]).collect()
}
