// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rows: which rows of what. A range of rows carries in its type the domain it counts in.

mod bits;
mod ranges;

pub use bits::scatter;
pub use ranges::RowRanges;

/// Something whose rows are numbered from 0.
pub trait Domain: Copy + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The domain's name, for messages.
    const NAME: &'static str;
}

macro_rules! domain {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name;

        impl Domain for $name {
            const NAME: &'static str = $text;
        }
    };
}

domain! {
    /// The rows of one fragment, row group after row group.
    FragmentRows, "fragment rows"
}
domain! {
    /// The rows of one row group.
    RowGroupRows, "row-group rows"
}
domain! {
    /// The rows of all fragments that a query sees of a table, fragment after fragment.
    TableRows, "table rows"
}
