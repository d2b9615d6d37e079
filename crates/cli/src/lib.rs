// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The library behind the `trommel` command.
//!
//! | module | what it holds |
//! |---|---|
//! | [`demo`] | `trommel demo`: TPC-H data, the same queries on three scans, what each of them read |

pub mod demo;
