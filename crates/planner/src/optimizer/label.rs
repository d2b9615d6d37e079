// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Nodes in words, for errors: cut short, since a tree may be of any size.

use std::fmt::{self, Display, Write};

/// How many characters are enough.
const LENGTH: usize = 120;

/// The first part of a node's text.
pub(super) fn label(node: &impl Display) -> String {
    let mut label = Label { text: String::new(), left: LENGTH };
    match write!(label, "{node}") {
        Ok(()) => label.text,
        Err(_) => label.text + "…",
    }
}

/// Text that ends after so many characters.
struct Label {
    text: String,
    left: usize,
}

impl Write for Label {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for c in s.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}
