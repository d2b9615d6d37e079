// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The library behind the `trommel` command.
//!
//! | module | what it holds |
//! |---|---|
//! | [`session`] | the session that the commands run in: stores, locations as tables |
//! | [`sql`] | `trommel sql`: queries from the command line, from files, or typed in |
//! | [`inspect`] | `trommel inspect`: what files hold, and what pruning knows of them |
//! | [`failure`] | errors as people read them |
//! | [`demo`] | `trommel demo`: TPC-H data, the same queries on three scans, what each of them read |

pub mod demo;
pub mod failure;
pub mod inspect;
pub mod session;
pub mod sql;
