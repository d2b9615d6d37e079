// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Locations as tables.
//!
//! Parquet is read by Trommel; a location of another format by DataFusion, as its own shell does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::execution::SessionState;
use datafusion_trommel::TrommelTable;
use datafusion_trommel::table::Location;
use parking_lot::RwLock;

use super::stores::connect;

/// The endings of files that Trommel has nothing to do with.
const FOREIGN: [&str; 5] = ["csv", "json", "ndjson", "avro", "arrow"];

/// Makes tables of the locations that queries name where a table's name would be.
#[derive(Debug, Default)]
pub struct LocationTables {
    session: OnceLock<Weak<RwLock<SessionState>>>,
    foreign: DynamicListTableFactory,
}

impl LocationTables {
    /// Makes tables for this session from now on; only the first call counts.
    pub fn serve(&self, session: Weak<RwLock<SessionState>>) {
        self.foreign.session_store().with_state(Weak::clone(&session) as _);
        let _ = self.session.set(session);
    }

    /// The table over a location.
    ///
    /// # Errors
    /// No file is there, or what is there can't be read.
    pub async fn open(&self, location: &str) -> Result<Arc<dyn TableProvider>> {
        let session = self.session.get().and_then(Weak::upgrade);
        let session = session.ok_or_else(|| plan_datafusion_err!("the session is gone"))?.read().clone();
        connect(&session, location, &HashMap::new()).await?;
        if !is_foreign(location) {
            return Ok(Arc::new(TrommelTable::open(location, &session).await?));
        }
        let table = self.foreign.try_new(location).await?;
        let location = Location::parse(location)?;
        table.ok_or_else(|| plan_datafusion_err!("no file found at '{location}'"))
    }
}

#[async_trait]
impl UrlTableFactory for LocationTables {
    /// `None` for what is rather the name of a table that there isn't.
    async fn try_new(&self, location: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.open(location).await {
            Ok(table) => Ok(Some(table)),
            Err(error) if location.contains(['/', '.', '*']) => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// Whether the location ends like a file of another format, compressed or not.
fn is_foreign(location: &str) -> bool {
    let name = ["gz", "bz2", "xz", "zst"]
        .iter()
        .find_map(|ending| location.strip_suffix(ending)?.strip_suffix('.'))
        .unwrap_or(location);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    FOREIGN.iter().any(|foreign| ending.eq_ignore_ascii_case(foreign))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::parquet("a/b.parquet", false)]
    #[case::folder("a.csv/", false)]
    #[case::no_ending("csv", false)]
    #[case::csv("s3://b/a.CSV", true)]
    #[case::compressed("a.json.gz", true)]
    #[case::glob("a/*.csv", true)]
    fn which_locations_are_foreign(#[case] location: &str, #[case] expected: bool) {
        assert_eq!(is_foreign(location), expected);
    }
}
