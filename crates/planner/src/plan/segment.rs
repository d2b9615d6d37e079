// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What a plan reads in one piece.

use std::fmt;

use crate::index::FragmentCol;

/// A column of one row group, or a part of it: what a plan reads in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId {
    /// The row group, counted in the file.
    pub row_group: usize,
    /// The top-level column.
    pub column: FragmentCol,
    /// The part of the column that is read, with all its leaves: the whole, when the path is empty.
    pub path: FieldPath,
}

impl SegmentId {
    /// A whole column of a row group.
    pub const fn new(row_group: usize, column: FragmentCol) -> Self {
        Self { row_group, column, path: FieldPath::EMPTY }
    }

    /// A field of this segment, which holds structs; `None` when it lies too deep to be read by itself.
    pub fn field(self, field: usize) -> Option<Self> {
        Some(Self { path: self.path.field(field)?, ..self })
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row group {}, column {}", self.row_group, self.column.0)?;
        self.path.iter().try_for_each(|field| write!(f, ".{field}"))
    }
}

/// A field of structs within structs, by position, from the outermost in. It is NULL where one of the
/// structs is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath {
    len: u8,
    fields: [u16; Self::DEPTH],
}

impl FieldPath {
    /// No field: the whole.
    pub const EMPTY: Self = Self { len: 0, fields: [0; Self::DEPTH] };

    /// How long a path may be.
    pub const DEPTH: usize = 7;

    /// A field of what this path leads to; `None` when the path would be too long.
    pub fn field(mut self, field: usize) -> Option<Self> {
        *self.fields.get_mut(usize::from(self.len))? = u16::try_from(field).ok()?;
        self.len += 1;
        Some(self)
    }

    /// The path of these positions; `None` when it would be too long.
    pub fn of(fields: impl IntoIterator<Item = usize>) -> Option<Self> {
        fields.into_iter().try_fold(Self::EMPTY, Self::field)
    }

    /// The positions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.fields[..usize::from(self.len)].iter().map(|field| usize::from(*field))
    }

    /// Whether the path leads nowhere: to the whole.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end() {
        let segment = SegmentId::new(3, FragmentCol(2));
        assert_eq!(segment.to_string(), "row group 3, column 2");
        let field = segment.field(1).and_then(|s| s.field(300)).unwrap();
        assert_eq!(field.to_string(), "row group 3, column 2.1.300");
        assert_eq!(field.path.iter().collect::<Vec<_>>(), [1, 300]);
        let longest = (0..FieldPath::DEPTH).try_fold(segment, SegmentId::field).unwrap();
        assert!(longest.field(0).is_none());
        assert!(segment.field(1 << 16).is_none());
    }
}
