// Licensed under the Apache License, Version 2.0. See LICENSE.

//! TPC-H in small, shared by the tests of this program.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use datafusion::prelude::SessionContext;
use tempfile::TempDir;
use trommel::demo::data::TpchData;
use trommel::demo::layout::TpchTable;
use trommel_tests::files::create;
use trommel_tests::session::Format;

/// 120 000 lines of orders.
const SCALE: f64 = 0.02;

/// Makes the tables of the folder tables of a session.
pub async fn create_tables(session: &SessionContext, format: Format) -> Result<()> {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = TempDir::with_prefix("trommel-tpch-").unwrap();
        TpchData::find(folder.path(), SCALE, &TpchTable::ALL).unwrap().write_missing(2, &|_| ()).unwrap();
        folder
    });
    for table in TpchTable::ALL {
        let location = folder.path().join(table.file_name());
        create(session, table.name(), format, "", &location.display().to_string()).await?;
    }
    Ok(())
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
