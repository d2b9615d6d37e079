// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A scan never hangs, leaks, fills the memory or mixes versions, whatever is above and below it.
//!
//! | file | what it shows |
//! |---|---|
//! | [`hang`] | queries with many partitions, recursive ones, partitions left alone: all finish |
//! | [`cancel`] | a dropped stream stops its requests and tasks, and leaves nothing behind |
//! | [`memory`] | queries in 64 MB of memory run, or say that it isn't enough |
//! | [`faults`] | a store that fails: the right answer or one clear error |
//! | [`http`] | the same across a network, where object_store tries again |

mod cancel;
mod faults;
mod hang;
mod http;
mod memory;
mod server;
#[path = "../guards/support.rs"]
#[allow(dead_code)] // the guards use all of it
mod support;
mod tpch;
