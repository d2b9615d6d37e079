// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The files of a location, opened as a query opens them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion_trommel::TrommelTable;
use datafusion_trommel::table::Location;
use futures::future::join_all;
use object_store::ObjectStore;
use trommel_scan::ScanError;
use trommel_scan::fragment::{Fragment, OpenFragment};
use trommel_scan::io::IoCounters;
use trommel_scan::metadata::FragmentMetadata;
use url::Url;

use crate::failure::describe;
use crate::session::stores::connect;

/// The files of a location.
#[derive(Debug)]
pub struct Found {
    /// What goes before the files' paths: the URL of their store, or a slash for local files.
    pub root: String,
    /// The files, in order of their paths.
    pub files: Vec<FoundFile>,
    /// Why they are no table together, if they aren't though each can be read.
    pub conflict: Option<String>,
}

/// A file.
#[derive(Debug)]
pub struct FoundFile {
    /// The file.
    pub fragment: Arc<Fragment>,
    /// Its metadata, fitted into the table of all files if there is such a table; or what is wrong with it.
    pub outcome: Result<Arc<OpenFragment>, ScanError>,
}

/// Opens the files of a location: as one table, or each alone where a table can't be made of them.
///
/// # Errors
/// No file is there, or the location can't be listed.
pub async fn open(session: &SessionState, location: &str) -> Result<Found> {
    connect(session, location, &HashMap::new()).await?;
    let store = Location::parse(location)?.store();
    let mut store = AsRef::<Url>::as_ref(&store).clone();
    // It is shown. A URL that has no password can't lose it.
    let _ = store.set_password(None);
    let root = store.as_str().strip_prefix("file://").unwrap_or(store.as_str()).to_owned();
    let error = match open_together(session, location).await {
        Ok(files) => return Ok(Found { root, files, conflict: None }),
        Err(error) => error,
    };
    // With a declared schema no file is opened for a table.
    let listed = TrommelTable::builder([location]).schema(Arc::new(Schema::empty())).open(session).await?;
    let listed = listed.list(session).await?;
    if listed.is_empty() {
        return Err(error);
    }
    let files = join_all(listed.into_iter().map(|(fragment, store)| open_alone(fragment, store))).await;
    let conflict = files.iter().all(|file| file.outcome.is_ok()).then(|| describe(&error.into()));
    Ok(Found { root, files, conflict })
}

async fn open_together(session: &SessionState, location: &str) -> Result<Vec<FoundFile>> {
    let table = TrommelTable::open(location, session).await?;
    let snapshot = table.snapshot(session, &[]).await?;
    let file =
        |open: Arc<OpenFragment>| FoundFile { fragment: Arc::clone(&open.fragment), outcome: Ok(open) };
    Ok(snapshot.fragments.into_iter().map(|fragment| file(fragment.open)).collect())
}

async fn open_alone(fragment: Fragment, store: Arc<dyn ObjectStore>) -> FoundFile {
    let fragment = Arc::new(fragment);
    let outcome = FragmentMetadata::load(&store, &fragment, &IoCounters::default()).await;
    let outcome = outcome.and_then(|metadata| {
        let schema = Arc::clone(metadata.schema());
        OpenFragment::open(Arc::clone(&fragment), Arc::new(metadata), &schema, 0).map(Arc::new)
    });
    FoundFile { fragment, outcome }
}
