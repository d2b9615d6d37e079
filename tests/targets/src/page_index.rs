// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Any bytes where the page indexes of a sound file are: the file opens all the same, its zones cover its rows, and it
//! reads or doesn't.
//!
//! The first byte says which file; what there are no bytes for stays as it is.

use crate::file::File;
use crate::samples::{of_each, sample};

pub fn run(data: &[u8]) {
    let Some((which, indexes)) = data.split_first() else { return };
    let sample = sample(*which);
    let file = File::open(sample.with(sample.page_indexes(), indexes)).expect("page indexes aren't needed");
    file.look_at_zones();
    file.read(Some(indexes.len()));
}

pub fn seeds() -> Vec<Vec<u8>> {
    of_each(|sample| sample.bytes[sample.page_indexes()].to_vec())
}
