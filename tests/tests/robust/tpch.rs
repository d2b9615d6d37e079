// Licensed under the Apache License, Version 2.0. See LICENSE.

//! TPC-H in small, shared by the tests of this program.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use datafusion::prelude::SessionContext;
use tempfile::TempDir;
use trommel::demo::data::TpchData;
use trommel::demo::layout::TpchTable;
use trommel_tests::files::create;
use trommel_tests::session::Format;

/// 120 000 lines of orders.
const SCALE: f64 = 0.02;

/// Makes TPC-H's tables tables of a session.
pub async fn create_tables(session: &SessionContext, format: Format) -> Result<()> {
    static FOLDER: OnceLock<Result<TempDir>> = OnceLock::new();
    let folder = match FOLDER.get_or_init(write) {
        Ok(folder) => folder,
        Err(error) => bail!("no TPC-H data: {error:#}"),
    };
    for table in TpchTable::ALL {
        let location = folder.path().join(table.file_name());
        create(session, table.name(), format, "", &location.display().to_string()).await?;
    }
    Ok(())
}

fn write() -> Result<TempDir> {
    let folder = TempDir::with_prefix("trommel-tpch-")?;
    TpchData::find(folder.path(), SCALE, &TpchTable::ALL)?.write_missing(2, &|_| ())?;
    Ok(folder)
}

/// The queries of TPC-H by name.
pub fn queries() -> Result<Vec<(String, String)>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../benchmarks/src/suites/tpch"));
    let query = |number: usize| {
        let name = format!("q{number:02}");
        let sql = fs::read_to_string(folder.join(format!("{name}.sql"))).with_context(|| name.clone())?;
        Ok((name, sql.replace("{fraction}", &format!("{:.12}", 0.0001 / SCALE))))
    };
    (1..=22).map(query).collect()
}
