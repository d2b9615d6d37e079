// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Listing: which files a table has at this moment.
//!
//! Every query lists anew, through the session's stores and past its listing cache, so that a file replaced,
//! added or removed between two queries is seen. Left out are files of no bytes and whatever is hidden:
//! below the location, each file or folder whose name starts with `.` or `_`, save `_k=v` folders.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::location::Location;
use super::options::TableOptions;
use super::side_by_side;

/// A file that a listing found.
#[derive(Debug, Clone)]
pub struct ListedFile {
    /// Its path and its version.
    pub meta: ObjectMeta,
    /// The store it is in.
    pub store: Arc<dyn ObjectStore>,
    /// The URL of that store.
    pub store_url: ObjectStoreUrl,
    /// How many folders of its path are part of the location; the others were found.
    pub base_folders: usize,
}

impl ListedFile {
    /// The names of the folders it lies in, outermost first.
    pub fn folders(&self) -> impl DoubleEndedIterator<Item = &str> {
        let path = self.meta.location.as_ref();
        path.rsplit_once('/').map_or("", |(folders, _)| folders).split_terminator('/')
    }

    /// The names of the folders between the location and the file, outermost first.
    pub fn folders_below(&self) -> impl Iterator<Item = &str> {
        self.folders().skip(self.base_folders)
    }
}

/// The files of all locations, in order of their paths within a location; a file that two locations name
/// counts once.
///
/// A location where nothing is, or nothing is left, has no files; that is no error here.
///
/// # Errors
/// A store the session doesn't know, or a listing that fails.
pub async fn list(
    locations: &[Location],
    session: &dyn Session,
    options: &TableOptions,
) -> Result<Vec<ListedFile>> {
    let listings = locations.iter().map(|location| list_one(location, session, options)).collect();
    let listings = side_by_side(session, listings).await?;
    let mut seen = HashSet::new();
    let mut files: Vec<_> = listings.into_iter().flatten().collect();
    if locations.len() > 1 {
        files.retain(|file| seen.insert((file.store_url.clone(), file.meta.location.clone())));
    }
    Ok(files)
}

async fn list_one(
    location: &Location,
    session: &dyn Session,
    options: &TableOptions,
) -> Result<Vec<ListedFile>> {
    let store_url = location.store();
    // DataFusion's error shows the whole URL, with a password if it has one.
    let store = session.runtime_env().object_store(&store_url).map_err(|_| {
        plan_datafusion_err!("no object store for '{location}' (see RuntimeEnv::register_object_store)")
    })?;
    let failed =
        |e: Error| DataFusionError::ObjectStore(Box::new(e)).context(format!("listing '{location}'"));

    let mut found: Vec<ObjectMeta> = match head(&store, location).await.map_err(failed)? {
        Some(meta) => vec![meta],
        None => store.list(Some(location.base())).try_collect().await.map_err(failed)?,
    };
    found.retain(|meta| meta.size > 0 && belongs(location, &meta.location, options));
    found.sort_by(|a, b| a.location.cmp(&b.location));

    let base_folders = location.base().parts().count();
    Ok(found
        .into_iter()
        .map(|meta| ListedFile {
            meta,
            store: Arc::clone(&store),
            store_url: store_url.clone(),
            base_folders,
        })
        .collect())
}

/// The file that the location names, unless it must be or turns out to be a folder.
async fn head(store: &Arc<dyn ObjectStore>, location: &Location) -> Result<Option<ObjectMeta>, Error> {
    if location.is_folder() {
        return Ok(None);
    }
    match store.head(location.base()).await {
        Ok(meta) => Ok(Some(meta)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a listed path is one of the location's data files.
fn belongs(location: &Location, path: &Path, options: &TableOptions) -> bool {
    let Some(below) = location.below(path) else { return false };
    let Some((file, folders)) = below.split_last() else {
        // The location is this very file: who names a file wants it, whatever its name.
        return true;
    };
    !is_hidden(file)
        && !folders.iter().any(|folder| is_hidden(folder) && !is_partition(folder))
        && location.takes(&below)
        && has_extension(file, location, options)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

/// Whether a folder with a leading `_` holds the values of a partition column that has one.
fn is_partition(folder: &str) -> bool {
    folder.starts_with('_') && folder.contains('=')
}

fn has_extension(file: &str, location: &Location, options: &TableOptions) -> bool {
    let file = file.to_ascii_lowercase();
    match &options.file_extension {
        Some(extension) => file.ends_with(&extension.to_ascii_lowercase()),
        None => location.is_glob() || file.ends_with(".parquet") || file.ends_with(".parq"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;
    use object_store::memory::InMemory;
    use rstest::rstest;
    use url::Url;

    const FILES: [&str; 14] = [
        "t/1.parquet",
        "t/2.PARQUET",
        "t/3.parq",
        "t/a/b/4.snappy.parquet",
        "t/k=1/5.parquet",
        "t/_k=1/6.parquet",
        "t/7.bin",
        "t/_SUCCESS",
        "t/_metadata.parquet",
        "t/.1.parquet",
        "t/_temporary/0/8.parquet",
        "t/.git/9.parquet",
        "t2/10.parquet",
        "_u/11.parquet",
    ];

    async fn session() -> SessionContext {
        let store = InMemory::new();
        for file in FILES {
            store.put(&Path::from(file), "PAR1".into()).await.unwrap();
        }
        store.put(&Path::from("t/empty.parquet"), "".into()).await.unwrap();
        let context = SessionContext::new();
        context.register_object_store(&Url::parse("memory://").unwrap(), Arc::new(store));
        context
    }

    async fn names(locations: &[&str], options: &TableOptions) -> Vec<String> {
        let locations: Vec<_> = locations.iter().map(|text| Location::parse(text).unwrap()).collect();
        let listed = list(&locations, &session().await.state(), options).await.unwrap();
        listed.into_iter().map(|file| file.meta.location.to_string()).collect()
    }

    #[rstest]
    #[case::folder(
        &["memory:///t/"],
        &["t/1.parquet", "t/2.PARQUET", "t/3.parq", "t/_k=1/6.parquet", "t/a/b/4.snappy.parquet", "t/k=1/5.parquet"]
    )]
    #[case::folder_without_slash(&["memory:///t2"], &["t2/10.parquet"])]
    #[case::hidden_only_below_the_location(&["memory:///_u/"], &["_u/11.parquet"])]
    #[case::file_of_any_name(&["memory:///t/7.bin"], &["t/7.bin"])]
    #[case::hidden_file_by_name(&["memory:///t/.1.parquet"], &["t/.1.parquet"])]
    #[case::file_of_no_bytes(&["memory:///t/empty.parquet"], &[])]
    #[case::glob(&["memory:///t/*.parq*"], &["t/1.parquet", "t/3.parq", "t/_k=1/6.parquet", "t/k=1/5.parquet"])]
    #[case::glob_decides_alone(&["memory:///t/*.bin"], &["t/7.bin"])]
    #[case::glob_never_takes_hidden_files(&["memory:///t/_*"], &[])]
    #[case::list(&["memory:///t2/10.parquet", "memory:///t/1.parquet"], &["t2/10.parquet", "t/1.parquet"])]
    #[case::overlapping_list(&["memory:///t2/", "memory:///t2/10.parquet"], &["t2/10.parquet"])]
    #[case::nothing_there(&["memory:///nowhere/"], &[])]
    #[tokio::test]
    async fn what_is_listed(#[case] locations: &[&str], #[case] expected: &[&str]) {
        assert_eq!(names(locations, &TableOptions::default()).await, expected);
    }

    #[rstest]
    #[case::another(".bin", "memory:///t/", &["t/7.bin"])]
    #[case::any("", "memory:///t2/", &["t2/10.parquet"])]
    #[case::of_a_glob(".parq", "memory:///t/*.p*", &["t/3.parq"])]
    #[case::not_of_a_named_file(".x", "memory:///t/1.parquet", &["t/1.parquet"])]
    #[tokio::test]
    async fn file_extension(#[case] extension: &str, #[case] location: &str, #[case] expected: &[&str]) {
        let options = TableOptions { file_extension: Some(extension.to_owned()), ..TableOptions::default() };
        assert_eq!(names(&[location], &options).await, expected);
    }

    #[tokio::test]
    async fn an_unknown_store_is_an_error() {
        let location = [Location::parse("s3://bucket/t/").unwrap()];
        let error =
            list(&location, &SessionContext::new().state(), &TableOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains("s3://bucket"), "{error}");
    }

    #[tokio::test]
    async fn local_folders_that_are_not_there_are_empty() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::parse(&format!("{}/gone/", folder.path().display())).unwrap();
        let session = SessionContext::new().state();
        assert!(list(&[location], &session, &TableOptions::default()).await.unwrap().is_empty());
    }
}
