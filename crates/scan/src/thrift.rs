// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Lengths that Thrift structures of a file claim, checked before the parquet crate makes room for them; and what
//! must be known of a page before it is read.
//!
//! The crate believes the number of row groups, of a node's children and of page locations, and how large a page gets when
//! it is decompressed; and it recurses as deep as a schema is. Out of memory and out of stack both end the process. So what
//! is read is walked once beforehand, which makes room for nothing. What can't be walked is left to the crate, which doesn't
//! get further.

use parquet::basic::Compression;

/// Structures within structures, as deep as the format has them; a few more do no harm.
const MOST_NESTED: usize = 32;
/// Groups within groups of a schema.
const MOST_GROUPS: usize = 128;
/// A compressed page is allowed this much more than its codec's best.
const SLACK: u64 = 1 << 10;

/// Checks a footer.
///
/// # Errors
/// What it claims that can't be.
pub fn check_footer(bytes: &[u8]) -> Result<(), &'static str> {
    let mut walk = Walk(bytes);
    let mut children = Vec::new();
    let walked = walk.fields(&mut |walk, id, kind| match (id, kind) {
        (2, LIST) => walk.elements(0, &mut |walk, kind| {
            let mut count = 0;
            if kind != STRUCT {
                return walk.element(kind, 1);
            }
            walk.fields(&mut |walk, id, kind| match (id, kind) {
                (5, I32) => walk.integer().map(|children| count = children),
                _ => walk.skip(kind, 2),
            })?;
            children.push(count);
            Ok(())
        }),
        _ => walk.skip(kind, 1),
    });
    if walked == Err(Stop::Claim) {
        return Err("its footer says that it has more than fits in it");
    }
    check_schema(&children)
}

/// Checks the numbers of children of a schema's nodes, which come in depth-first order.
fn check_schema(children: &[i64]) -> Result<(), &'static str> {
    // The children still to come of each open group.
    let mut open: Vec<i64> = Vec::new();
    for (node, count) in children.iter().enumerate() {
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if *count > (children.len() - node) as i64 {
            return Err("a group of its schema says that it has more fields than there are");
        }
        if *count > 0 {
            open.push(*count);
        }
        if open.len() > MOST_GROUPS {
            return Err("its schema is nested too deep");
        }
    }
    Ok(())
}

/// Whether a structure claims nothing that can't be.
pub fn is_plausible(bytes: &[u8]) -> bool {
    Walk(bytes).skip(STRUCT, 0) != Err(Stop::Claim)
}

/// Checks what the pages that these bytes begin with say that they decompress to.
///
/// # Errors
/// What can't be.
pub fn check_pages(mut bytes: &[u8], codec: Compression) -> Result<(), &'static str> {
    let Some(most) = most_expansion(codec) else { return Ok(()) };
    while let Some((sizes, rest)) = PageSizes::read(bytes) {
        let most = sizes.compressed.saturating_mul(most).saturating_add(SLACK);
        if sizes.uncompressed > most {
            return Err("a page says that it decompresses to more than it can");
        }
        let Some(rest) = usize::try_from(sizes.compressed).ok().and_then(|at| rest.get(at..)) else { break };
        bytes = rest;
    }
    Ok(())
}

/// How many bytes a byte decompresses to at most; `None` where nothing is decompressed.
fn most_expansion(codec: Compression) -> Option<u64> {
    Some(match codec {
        Compression::UNCOMPRESSED => return None,
        // Three bytes that copy 64.
        Compression::SNAPPY => 22,
        // A byte that lengthens a copy by 255.
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        // 258 bytes for two bits.
        Compression::GZIP(_) | Compression::LZO => 1032,
        // Four bytes that repeat one 131 072 times.
        Compression::ZSTD(_) => 1 << 15,
        // A few bytes that repeat some 2^24 times.
        Compression::BROTLI(_) => 1 << 22,
    })
}

/// The lengths at the start of a page header.
struct PageSizes {
    uncompressed: u64,
    compressed: u64,
}

impl PageSizes {
    /// The sizes, and what follows the header.
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (mut walk, mut sizes) = (Walk(bytes), [None; 2]);
        let walked = walk.fields(&mut |walk, id, kind| match (id, kind) {
            (2 | 3, I32) => walk.integer().map(|size| sizes[id as usize - 2] = u64::try_from(size).ok()),
            _ => walk.skip(kind, 1),
        });
        walked.ok()?;
        Some((Self { uncompressed: sizes[0]?, compressed: sizes[1]? }, walk.0))
    }
}

/// Where the headers of data pages of both versions are in a page's header, and the encoding in them.
const DATA_PAGES: [(i64, i64); 2] = [(5, 2), (8, 4)];

/// The encoding of the data page that starts with these bytes, by its number in the format; `None` where its
/// header can't be walked, or is that of another kind of page.
pub fn page_encoding(bytes: &[u8]) -> Option<i64> {
    let mut encoding = None;
    let walked = Walk(bytes).fields(&mut |walk, id, kind| match DATA_PAGES
        .iter()
        .find(|(page, _)| *page == id && kind == STRUCT)
    {
        None => walk.skip(kind, 1),
        Some((_, wanted)) => walk.fields(&mut |walk, id, kind| match kind {
            I32 if id == *wanted => walk.integer().map(|value| encoding = Some(value)),
            _ => walk.skip(kind, 2),
        }),
    });
    walked.ok()?;
    encoding
}

const BOOLEANS: std::ops::RangeInclusive<u8> = 1..=2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// More is claimed than there are bytes for, or it is nested deeper than the format is.
    Claim,
    /// The bytes aren't Thrift's compact protocol.
    Damage,
}

/// The rest of some bytes in Thrift's compact protocol.
struct Walk<'a>(&'a [u8]);

/// Walks the value of a field, by its number and type.
type Field<'f> = &'f mut dyn FnMut(&mut Walk<'_>, i64, u8) -> Result<(), Stop>;

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8, Stop> {
        let (byte, rest) = self.0.split_first().ok_or(Stop::Damage)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn bytes(&mut self, count: u64) -> Result<(), Stop> {
        let rest = usize::try_from(count).ok().and_then(|count| self.0.get(count..));
        self.0 = rest.ok_or(Stop::Claim)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Damage)
    }

    fn integer(&mut self) -> Result<i64, Stop> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Walks a structure's fields.
    fn fields(&mut self, field: Field<'_>) -> Result<(), Stop> {
        let mut id = 0i64;
        loop {
            let header = self.byte()?;
            if header & 0x0f == 0 {
                return Ok(());
            }
            id = match header >> 4 {
                0 => self.integer()?,
                step => id.wrapping_add(i64::from(step)),
            };
            field(self, id, header & 0x0f)?;
        }
    }

    /// Walks a list's elements, by their type. Each takes a byte at least.
    fn elements(
        &mut self,
        depth: usize,
        element: &mut dyn FnMut(&mut Walk<'_>, u8) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        if count > self.0.len() as u64 || depth > MOST_NESTED {
            return Err(Stop::Claim);
        }
        (0..count).try_for_each(|_| element(self, header & 0x0f))
    }

    /// Walks a value of a type.
    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Stop> {
        if depth > MOST_NESTED {
            return Err(Stop::Claim);
        }
        match kind {
            kind if BOOLEANS.contains(&kind) => Ok(()),
            BYTE => self.bytes(1),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.bytes(8),
            UUID => self.bytes(16),
            BINARY => {
                let length = self.varint()?;
                self.bytes(length)
            }
            LIST | SET => self.elements(depth, &mut |walk, kind| walk.element(kind, depth + 1)),
            MAP => {
                let count = self.varint()?;
                if count > self.0.len() as u64 {
                    return Err(Stop::Claim);
                }
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.element(kinds >> 4, depth + 1)?;
                    self.element(kinds & 0x0f, depth + 1)
                })
            }
            STRUCT => self.fields(&mut |walk, _, kind| walk.skip(kind, depth + 1)),
            _ => Err(Stop::Damage),
        }
    }

    /// Walks a value in a list or a map, where booleans take a byte.
    fn element(&mut self, kind: u8, depth: usize) -> Result<(), Stop> {
        if BOOLEANS.contains(&kind) { self.bytes(1) } else { self.skip(kind, depth) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BooleanArray, StringArray};
    use parquet::basic::GzipLevel;
    use parquet::file::properties::WriterProperties;
    use rstest::rstest;

    use super::*;
    use crate::testing::write;

    fn file() -> bytes::Bytes {
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
        let strings: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(5000), "b".repeat(5000)]));
        write(&[("b", booleans), ("s", strings)], WriterProperties::builder())
    }

    #[test]
    fn a_footer_is_walked_to_its_end() {
        let file = file();
        let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
        let footer = &file[file.len() - 8 - length..file.len() - 8];
        let mut walk = Walk(footer);
        assert_eq!(walk.skip(STRUCT, 0), Ok(()));
        assert!(walk.0.is_empty());
        assert_eq!(check_footer(footer), Ok(()));
    }

    #[rstest]
    // Field 4, a list of 2^31 structures.
    #[case::row_groups(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0], "more than fits")]
    // Field 2, one schema element, whose field 5 is 1 000.
    #[case::children(&[0x29, 0x1c, 0x55, 0xd0, 0x0f, 0, 0], "more fields than there are")]
    // Field 6, a list of booleans in lists.
    #[case::booleans(&[0x69, 0xf9, 0x02, 0xf1, 0xff, 0xff, 0xff, 0x07, 0], "more than fits")]
    // Field 7, text of 127 bytes.
    #[case::text(&[0x78, 0x7f, 0], "more than fits")]
    fn what_cannot_be_is_told(#[case] footer: &[u8], #[case] says: &str) {
        let told = check_footer(footer).unwrap_err();
        assert!(told.contains(says), "{told}");
    }

    #[test]
    fn schemas_may_be_wide_but_not_deep() {
        let deep = |groups: usize| [vec![1; groups], vec![0]].concat();
        assert_eq!(check_schema(&deep(MOST_GROUPS)), Ok(()));
        assert_eq!(check_schema(&deep(MOST_GROUPS + 1)), Err("its schema is nested too deep"));
        // A root with many groups of one column each.
        let wide = [vec![1000], [1, 0].repeat(1000)].concat();
        assert_eq!(check_schema(&wide), Ok(()));
    }

    #[rstest]
    #[case::fits(2000, 100, Ok(()))]
    #[case::too_much(i32::MAX, 100, Err("a page says that it decompresses to more than it can"))]
    fn sizes_of_pages(
        #[case] uncompressed: i32,
        #[case] compressed: i32,
        #[case] expect: Result<(), &'static str>,
    ) {
        let varint = |value: i32| {
            let (mut value, mut bytes) = ((value as u32) << 1, Vec::new());
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        };
        // Type, sizes, a structure with a boolean in it; then the page and a second one.
        let header = |uncompressed| {
            let sizes = [vec![0x15, 0, 0x15], varint(uncompressed), vec![0x15], varint(compressed)].concat();
            [sizes, vec![0x2c, 0x11, 0, 0], vec![7; compressed as usize]].concat()
        };
        let pages = [header(100), header(uncompressed)].concat();
        assert_eq!(check_pages(&pages, Compression::SNAPPY), expect);
        assert_eq!(check_pages(&pages, Compression::UNCOMPRESSED), Ok(()));
        let gzip = check_pages(&header(100 * 1000), Compression::GZIP(GzipLevel::default()));
        assert_eq!(gzip, Ok(()));
    }
}
