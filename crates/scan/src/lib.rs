// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet fragments for Trommel: what a file holds, what is known of its zones, and how its rows are read.
//!
//! | module | what it holds |
//! |---|---|
//! | [`fragment`] | one Parquet file at one version |
//! | [`metadata`] | footers and page indexes, read leniently, cached by strong version |
//! | [`adapt`] | how a fragment's columns stand for the table's: by name, widened, missing, constant |
//! | [`zones`] | zone statistics from row groups and page indexes, with every rule of distrust |
//! | [`lower`] | a fragment as a scan plan |
//! | [`segments`] | which bytes a segment needs, and decoding them |
//! | [`io`] | coalesced range requests |
//! | [`execute`] | running a scan plan over a morsel's rows |

pub mod adapt;
mod buffers;
mod error;
pub mod execute;
pub mod explain;
pub mod fragment;
mod guard;
pub mod io;
pub mod lower;
pub mod metadata;
pub mod segments;
#[cfg(test)]
mod testing;
mod thrift;
pub mod zones;

pub use error::ScanError;
