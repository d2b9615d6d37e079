// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The crates that decode bytes panic at some damage; here is where that ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `decode` gives; `None` when it panics.
///
/// Only for code of other crates that was seen to panic at damaged input that can't be told beforehand, and
/// that works on nothing which is used afterwards. Each use names the test that shows the panic.
pub(crate) fn unless_it_panics<T>(decode: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(decode)).ok()
}
