// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Why a tree couldn't be rewritten.

use std::error::Error;
use std::fmt;

/// Why a tree couldn't be rewritten. Whoever asked goes on with the tree as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// A rule failed.
    #[error("rule {rule} failed at {root}: {source}")]
    Rule {
        /// The rule.
        rule: &'static str,
        /// The node it failed at.
        root: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A rule gave back what it was given.
    #[error("rule {rule} rewrote {root} to itself")]
    Identical {
        /// The rule.
        rule: &'static str,
        /// The node.
        root: String,
    },
    /// A rule gave something that can't stand for what it was given.
    #[error("rule {rule} rewrote {root} to {replacement}, which {reason}")]
    Misfit {
        /// The rule.
        rule: &'static str,
        /// The node.
        root: String,
        /// What the rule gave.
        replacement: String,
        /// Why it can't stand there.
        reason: String,
    },
    /// A node can't be looked at, or rebuilt over its rewritten children.
    #[error("{root} can't be rebuilt: {source}{}", Recent(recent))]
    Node {
        /// The node.
        root: String,
        /// The last rules that fired, and where.
        recent: Vec<(&'static str, String)>,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Rules fired more often than is allowed.
    #[error("more than {budget} rewrites{}", Recent(recent))]
    Budget {
        /// How many were allowed.
        budget: usize,
        /// The last rules that fired, and where.
        recent: Vec<(&'static str, String)>,
    },
}

struct Recent<'a>(&'a [(&'static str, String)]);

impl fmt::Display for Recent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (rule, root)) in self.0.iter().enumerate() {
            write!(f, "{}{rule} at {root}", if i == 0 { "; most recently " } else { ", " })?;
        }
        Ok(())
    }
}
