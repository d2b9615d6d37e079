// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Index spaces: a column number says in its type which schema it counts in.
//!
//! A scan knows four numberings of columns, and mixing them up gives wrong answers rather than errors.
//! So each is a type of its own, and a way from one to another is a function that says so.

use std::fmt;

use smallvec::SmallVec;

macro_rules! column_space {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    };
}

column_space! {
    /// A column of what a scan puts out: an index into its projected schema.
    OutputCol
}
column_space! {
    /// A column of the table: an index into the table's schema (file columns, then partition columns).
    TableCol
}
column_space! {
    /// A top-level column of one fragment: an index into the Arrow schema of that Parquet file.
    FragmentCol
}
column_space! {
    /// A leaf of one fragment: an index into the Parquet schema's leaves (depth first).
    LeafCol
}

/// A table column, or a field below one: the column, then the field number at each struct level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnPath {
    /// The table column.
    pub column: TableCol,
    /// The field to take at each level of nested structs; empty for the column itself.
    pub fields: SmallVec<[u32; 4]>,
}

impl From<TableCol> for ColumnPath {
    fn from(column: TableCol) -> Self {
        Self { column, fields: SmallVec::new() }
    }
}

impl fmt::Display for ColumnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.column.0)?;
        self.fields.iter().try_for_each(|field| write!(f, ".{field}"))
    }
}
