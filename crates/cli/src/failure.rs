// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Errors as people read them.

use std::error::Error;
use std::io::ErrorKind;

use datafusion::common::DataFusionError;

/// The error and its causes, each told once, without DataFusion's names for the kinds of its own.
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = tell(cause);
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

fn tell(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<DataFusionError>() {
        Some(DataFusionError::Context(doing, error)) => format!("{doing}: {}", tell(error.as_ref())),
        Some(DataFusionError::Diagnostic(_, error)) => tell(error.as_ref()),
        Some(DataFusionError::Shared(error)) => tell(error.as_ref()),
        // Its message is the parser error's Debug text.
        Some(DataFusionError::SQL(error, _)) => error.to_string(),
        Some(error) => error.message().into_owned(),
        None => error.to_string(),
    }
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

    use super::*;

    #[test]
    fn causes_are_told_once() {
        let error = DataFusionError::External("the store is away".into());
        let error = error.context("listing 'a'").context("reading t");
        let error = Err::<(), _>(anyhow!(error)).context("line 3").unwrap_err();
        assert_eq!(describe(&error), "line 3: reading t: listing 'a': the store is away");
    }

    #[test]
    fn kinds_of_errors_are_left_out() {
        assert_eq!(describe(&anyhow!(DataFusionError::Plan("no table t".to_owned()))), "no table t");
    }
}
