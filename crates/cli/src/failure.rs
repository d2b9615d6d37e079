// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Errors as people read them.

use std::io::ErrorKind;

/// The error and its causes on one line. Causes that an error has told already, as DataFusion's do, are left out.
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

/// Whether the reader of a pipe left, which it may whenever it likes (`trommel demo | head`).
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};
    use datafusion::common::DataFusionError;

    use super::*;

    #[test]
    fn causes_are_told_once() {
        let error = anyhow!(DataFusionError::External("no such column".into()));
        let error = Err::<(), _>(error).context("line 3").unwrap_err();
        assert_eq!(describe(&error).matches("no such column").count(), 1);
        assert!(describe(&error).starts_with("line 3: "));
    }
}
