// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Writes the seeds of the corpora that are made of sound files: `cargo run --example seeds`, in this folder.

use std::fs;
use std::io;
use std::path::Path;

use trommel_fuzz::SAMPLES;

fn main() -> io::Result<()> {
    for (which, sample) in SAMPLES.iter().enumerate() {
        let which = which as u8;
        write("footer", &format!("sample_{which}"), &sample.bytes)?;
        let index = &sample.bytes[sample.page_indexes()];
        write("page_index", &format!("sample_{which}"), &[&[which], index].concat())?;
        for leaf in 0..sample.metadata.row_group(0).num_columns() {
            let chunk = &sample.bytes[sample.chunk(leaf)];
            write("pages", &format!("sample_{which}_{leaf}"), &[&[which, leaf as u8, 0], chunk].concat())?;
        }
    }
    for which in 0..2u8 {
        let sample = &SAMPLES[1 + usize::from(which)];
        for (at, leaf) in [1, 3].into_iter().enumerate() {
            let chunk = sample.metadata.row_group(0).column(leaf);
            let dictionary = chunk.dictionary_page_offset().expect("it has a dictionary") as usize;
            let page = &sample.bytes[dictionary..chunk.data_page_offset() as usize];
            write("dictionary", &format!("sample_{which}_{leaf}"), &[&[which, at as u8], page].concat())?;
        }
    }
    let chunk = SAMPLES[0].metadata.row_group(0).column(3);
    let at = chunk.bloom_filter_offset().expect("it has a Bloom filter") as usize;
    let length = chunk.bloom_filter_length().expect("its length is known") as usize;
    write("bloom", "sample", &SAMPLES[0].bytes[at..at + length])?;
    // Bits of a value, number of values; then a run, packed values, both.
    write("levels", "run", &[1, 10, 20, 1])?;
    write("levels", "packed", &[3, 8, 3, 0x88, 0xc6, 0xfa])?;
    write("levels", "both", &[9, 12, 8, 1, 1, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;
    Ok(())
}

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}
