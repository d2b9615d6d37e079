// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Files that are damaged, odd or made to harm: the stock scan's answer or a clear error, within bounds of time and memory.
//!
//! | file | what it reads |
//! |---|---|
//! | [`parquet_testing`] | every file of `parquet-testing`, which the variable `PARQUET_TESTING` names |
//! | [`damage`] | small files of many types, damaged at random places |
//! | [`read`] | one file by one scan, in a task with a time limit |
//! | [`bounded`] | a test in a process of its own with bounded memory |
//! | [`samples`] | the small files |

// What makes files for the tests may give up as the tests may.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

mod bounded;
mod damage;
mod parquet_testing;
mod read;
mod samples;
