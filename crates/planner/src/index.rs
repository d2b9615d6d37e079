// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Index spaces: a column number says in its type which schema it counts in.
//!
//! A scan knows four numberings of columns, and mixing them up gives wrong answers rather than errors.
//! So each is a type of its own, and the only way from one to another is a [`ColumnMap`].

use std::fmt;
use std::marker::PhantomData;

/// A space in which columns are numbered.
pub trait ColumnIndex: Copy + Eq + fmt::Debug {
    /// The column with this number.
    fn from_index(index: usize) -> Self;
    /// This column's number.
    fn index(self) -> usize;
}

macro_rules! column_space {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl ColumnIndex for $name {
            fn from_index(index: usize) -> Self {
                Self(index)
            }

            fn index(self) -> usize {
                self.0
            }
        }
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

/// The total mapping of one column space into another: the n-th column of `A` is `to(A(n))` in `B`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnMap<A, B> {
    targets: Vec<B>,
    from: PhantomData<A>,
}

impl<A: ColumnIndex, B: ColumnIndex> ColumnMap<A, B> {
    /// The map whose n-th column of `A` is `targets[n]`.
    pub fn new(targets: Vec<B>) -> Self {
        Self { targets, from: PhantomData }
    }

    /// The map of `len` columns that keeps each number.
    pub fn identity(len: usize) -> Self {
        Self::new((0..len).map(B::from_index).collect())
    }

    /// How many columns `A` has.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether `A` has no columns.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where a column of `A` lies in `B`; `None` for a number beyond `A`.
    pub fn to(&self, column: A) -> Option<B> {
        self.targets.get(column.index()).copied()
    }

    /// The first column of `A` that lies at `target`.
    pub fn from(&self, target: B) -> Option<A> {
        self.targets.iter().position(|t| *t == target).map(A::from_index)
    }

    /// The targets in the order of `A`.
    pub fn targets(&self) -> &[B] {
        &self.targets
    }
}
