// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The TPC-H tables that one test reads, made anew as text: DataFusion's developers make them with a program.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// The file of tests that reads them.
pub const TESTS: &str = "tpch/tpch.slt";

/// The scale of which its answers are.
const SCALE: f64 = 0.1;

/// Writes the tables where the tests, run from `home`, look for them.
///
/// # Errors
/// A file that can't be written.
pub fn write_tables(home: &Path) -> Result<()> {
    let folder = home.join("test_files/tpch/data");
    fs::create_dir_all(&folder)?;
    write(&folder, "nation", NationGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "region", RegionGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "part", PartGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "supplier", SupplierGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "partsupp", PartSuppGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "customer", CustomerGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "orders", OrderGenerator::new(SCALE, 1, 1).iter())?;
    write(&folder, "lineitem", LineItemGenerator::new(SCALE, 1, 1).iter())
}

fn write<T: Display>(folder: &Path, table: &str, rows: impl Iterator<Item = T>) -> Result<()> {
    let mut file = BufWriter::new(File::create(folder.join(format!("{table}.tbl")))?);
    for row in rows {
        writeln!(file, "{row}")?;
    }
    Ok(file.flush()?)
}
