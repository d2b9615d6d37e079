// Licensed under the Apache License, Version 2.0. See LICENSE.

//! One request for a range of one version of a file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt as _};

use super::IoCounters;
use super::local::LocalFile;
use crate::ScanError;
use crate::fragment::Version;

/// What a store answers.
pub(super) enum Answer {
    /// The bytes asked for.
    Bytes(Bytes),
    /// The file that they are in; nothing of it has been read yet.
    File(LocalFile),
}

/// The bytes of a range of a file that is of this version.
pub(crate) async fn request(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    version: &Version,
    range: Range<u64>,
    counters: &IoCounters,
) -> Result<Bytes, ScanError> {
    match ask(store, path, version, range.clone(), counters).await? {
        Answer::Bytes(bytes) => Ok(bytes),
        Answer::File(file) => file.read_counted(path, range, counters),
    }
}

/// The same, as the store gives it.
pub(super) async fn ask(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    version: &Version,
    range: Range<u64>,
    counters: &IoCounters,
) -> Result<Answer, ScanError> {
    check_range(path, version, &range)?;
    let store_error = |source| ScanError::Store { path: path.clone(), range: range.clone(), source };
    // A weak tag never matches a precondition; it is compared with the answer's.
    let if_match = version.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
    let options =
        GetOptions { range: Some(GetRange::Bounded(range.clone())), if_match, ..Default::default() };
    counters.asked();
    let answer = match store.get_opts(path, options).await {
        Ok(answer) => answer,
        Err(object_store::Error::Precondition { .. }) => {
            return Err(changed(path, version, "another version".to_owned()));
        }
        // Stores differ in what they say of a range beyond a file that shrank: ask what is there now.
        Err(source) => {
            return Err(match store.head(path).await.map(|meta| Version::of(&meta)) {
                Ok(found) if !is_version(&found, version) => changed(path, version, found.to_string()),
                _ => store_error(source),
            });
        }
    };
    let found = Version::of(&answer.meta);
    if !is_version(&found, version) {
        return Err(changed(path, version, found.to_string()));
    }
    if let GetResultPayload::File(file, _) = answer.payload {
        return Ok(Answer::File(LocalFile::new(file)));
    }
    let bytes = answer.bytes().await.map_err(store_error)?;
    if bytes.len() as u64 != range.end - range.start {
        let detail = format!("bytes {range:?} were asked for, but {} bytes came", bytes.len());
        return Err(ScanError::Malformed { path: path.clone(), detail });
    }
    counters.received(&bytes);
    Ok(Answer::Bytes(bytes))
}

/// An error when a range reaches beyond the file.
pub(super) fn check_range(path: &Path, version: &Version, range: &Range<u64>) -> Result<(), ScanError> {
    if range.end <= version.size {
        return Ok(());
    }
    let detail = format!("bytes {range:?} are needed, but it has {} bytes", version.size);
    Err(ScanError::Malformed { path: path.clone(), detail })
}

pub(super) fn changed(path: &Path, planned: &Version, found: String) -> ScanError {
    ScanError::Changed { path: path.clone(), expected: planned.to_string(), found }
}

/// Whether what was found is the planned version, as far as both tell.
pub(super) fn is_version(found: &Version, planned: &Version) -> bool {
    let tags_differ = match (&found.e_tag, &planned.e_tag) {
        (Some(found), Some(planned)) => found != planned,
        _ => {
            // Listings may give the time to the millisecond where answers give it to the second.
            let (a, b) = (found.last_modified, planned.last_modified);
            let coarse = a.timestamp_subsec_nanos() == 0 || b.timestamp_subsec_nanos() == 0;
            if coarse { a.timestamp() != b.timestamp() } else { a != b }
        }
    };
    found.size == planned.size && !tags_differ
}
