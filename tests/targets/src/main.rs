// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Writes the seeds of every fuzz target to a folder of corpora.

use std::path::Path;
use std::{env, fs, io};

use trommel_fuzz_targets::TARGETS;

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("no folder given"))?;
    for target in TARGETS {
        let corpus = Path::new(&folder).join(target.name);
        fs::create_dir_all(&corpus)?;
        for (at, seed) in (target.seeds)().iter().enumerate() {
            fs::write(corpus.join(format!("seed-{at:02}")), seed)?;
        }
    }
    Ok(())
}
