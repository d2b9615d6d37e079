// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A local file that a store has handed out, read at given places.
//!
//! Reads run on the thread that asks: what the operating system has in its cache comes in less time than
//! it takes to hand the work to another thread. The file stays the one that was opened, whatever happens to
//! its name; whether somebody has written into it is looked at before each fetch.

use std::fs::File;
use std::ops::Range;

use bytes::Bytes;
use object_store::path::Path;

use super::IoCounters;
use super::request::{changed, check_range, is_version};
use crate::ScanError;
use crate::buffers::Buffer;
use crate::fragment::Version;

/// An open local file.
#[derive(Debug)]
pub(super) struct LocalFile(File);

impl LocalFile {
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// An error when the file was written to since it was planned.
    pub fn check(&self, path: &Path, planned: &Version) -> Result<(), ScanError> {
        let unknown = |error| store_error(path, 0..planned.size, error);
        let metadata = self.0.metadata().map_err(unknown)?;
        let modified = metadata.modified().map_err(unknown)?;
        let found = Version { size: metadata.len(), e_tag: None, last_modified: modified.into() };
        if is_version(&found, planned) { Ok(()) } else { Err(changed(path, planned, found.to_string())) }
    }

    /// The bytes of a range, which lies within the planned file.
    pub fn read(
        &self,
        path: &Path,
        planned: &Version,
        range: Range<u64>,
        counters: &IoCounters,
    ) -> Result<Bytes, ScanError> {
        check_range(path, planned, &range)?;
        counters.asked();
        self.read_counted(path, range, counters)
    }

    /// The bytes of a range that was asked for, and counted, already.
    pub fn read_counted(
        &self,
        path: &Path,
        range: Range<u64>,
        counters: &IoCounters,
    ) -> Result<Bytes, ScanError> {
        let mut buffer = Buffer::of((range.end - range.start) as usize);
        read_at(&self.0, buffer.bytes_mut(), range.start).map_err(|e| store_error(path, range, e))?;
        let bytes = buffer.freeze();
        counters.received(&bytes);
        Ok(bytes)
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

fn store_error(path: &Path, range: Range<u64>, error: std::io::Error) -> ScanError {
    let source = object_store::Error::Generic { store: "LocalFileSystem", source: Box::new(error) };
    ScanError::Store { path: path.clone(), range, source }
}
