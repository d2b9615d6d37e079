// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Lengths that Thrift structures of a file claim, checked before the parquet crate makes room for them; and what
//! must be known of a page before it is read.
//!
//! The crate believes the number of row groups, of a node's children and of page locations, and how large a page gets when
//! it is decompressed; and it recurses as deep as a schema is. Out of memory and out of stack both end the process. So what
//! is read is walked once beforehand, which makes room for nothing. The walk must go where the crate goes: by the types that
//! the format has for fields, and nowhere where the crate skips too little (lists of booleans) or too much (numbers of more
//! than 64 bits). Whatever can't be walked so is damaged.

mod format;

use parquet::basic::Compression;

use self::format::{COLUMN_INDEX, FOOTER, Kind, OFFSET_INDEX, PAGE_HEADER};

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
    let mut walk = Walk::new(bytes);
    match walk.known(&FOOTER, STRUCT, 0) {
        Err(Stop::Claim) => Err("its footer says that it has more than fits in it"),
        Err(Stop::Damage) => Err("its footer is damaged"),
        Ok(()) => check_schema(&walk.children),
    }
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

/// Whether these bytes are a column index that claims nothing that can't be.
pub fn is_column_index(bytes: &[u8]) -> bool {
    Walk::new(bytes).known(&COLUMN_INDEX, STRUCT, 0).is_ok()
}

/// The same for an offset index.
pub fn is_offset_index(bytes: &[u8]) -> bool {
    Walk::new(bytes).known(&OFFSET_INDEX, STRUCT, 0).is_ok()
}

/// Checks the headers of the pages that these bytes begin with, and what they say that pages decompress to. Gives the
/// length of the pages that are whole and have sound headers.
///
/// # Errors
/// What can't be.
pub fn check_pages(bytes: &[u8], codec: Compression) -> Result<usize, &'static str> {
    let (mut rest, mut sound) = (bytes, 0);
    while let Some((header, body)) = PageHeader::read(rest) {
        if !header.is_plausible(codec) {
            return Err("a page says that it decompresses to more than it can");
        }
        let Some(next) = usize::try_from(header.compressed).ok().and_then(|at| body.get(at..)) else { break };
        rest = next;
        sound = bytes.len() - rest.len();
    }
    if sound == 0 { Err("a page is cut short, or has a damaged header") } else { Ok(sound) }
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

/// A page's header, as far as reading the page needs it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageHeader {
    /// The kind of page, by its number in the format.
    pub kind: i64,
    /// How many bytes follow the header when they are decompressed.
    pub uncompressed: u64,
    /// How many bytes follow the header.
    pub compressed: u64,
    /// The numbers in the fields of each part, by their ids; truth is a number too.
    parts: [[Option<i64>; 8]; PARTS.len()],
}

/// The ids of the parts of a page's header, of which it has that of its kind.
const PARTS: [i16; 3] = [Part::DataPage as i16, Part::DictionaryPage as i16, Part::DataPageV2 as i16];

/// A part of a page's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Of a data page of the first version.
    DataPage = 5,
    /// Of a dictionary page.
    DictionaryPage = 7,
    /// Of a data page of the second version.
    DataPageV2 = 8,
}

impl PageHeader {
    /// The header that these bytes begin with, and what follows it; `None` where it can't be walked.
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        Walk::new(bytes).known(&PAGE_HEADER, STRUCT, 0).ok()?;
        let (mut header, mut walk, mut numbers) = (Self::default(), Walk::new(bytes), [None; 4]);
        let walked = walk.fields(&mut |walk, id, kind| {
            if let (1..=3, I32) = (id, kind) {
                return walk.integer().map(|number| numbers[id as usize] = Some(number));
            }
            let Some(part) = PARTS.iter().position(|part| *part == id) else { return walk.skip(kind, 1) };
            walk.fields(&mut |walk, id, kind| {
                let mut skipped = None;
                let field = header.parts[part].get_mut(id as usize).unwrap_or(&mut skipped);
                match kind {
                    I32 => *field = Some(walk.integer()?),
                    kind if BOOLEANS.contains(&kind) => *field = Some(i64::from(kind == *BOOLEANS.start())),
                    _ => walk.skip(kind, 2)?,
                }
                Ok(())
            })
        });
        walked.ok()?;
        let [_, Some(kind), uncompressed, compressed] = numbers else { return None };
        let size = |number: Option<i64>| u64::try_from(number?).ok();
        (header.kind, header.uncompressed, header.compressed) =
            (kind, size(uncompressed)?, size(compressed)?);
        Some((header, walk.rest))
    }

    /// The number in a field of a part, by its id in the format.
    pub fn number(&self, part: Part, id: usize) -> Option<i64> {
        let part = PARTS.iter().position(|known| *known == part as i16)?;
        *self.parts[part].get(id)?
    }

    /// Whether what it says that the page decompresses to can be.
    pub fn is_plausible(&self, codec: Compression) -> bool {
        let most = most_expansion(codec).map(|most| self.compressed.saturating_mul(most));
        most.is_none_or(|most| self.uncompressed <= most.saturating_add(SLACK))
    }
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
    /// More is claimed than there are bytes for, it is nested deeper than the format is, or not of its types.
    Claim,
    /// The bytes aren't Thrift's compact protocol.
    Damage,
}

/// A walk of bytes in Thrift's compact protocol.
struct Walk<'a> {
    rest: &'a [u8],
    /// The number of children of each node of a schema on the way.
    children: Vec<i64>,
}

/// Walks the value of a field, by its number and type.
type Field<'f> = &'f mut dyn FnMut(&mut Walk<'_>, i16, u8) -> Result<(), Stop>;

impl<'a> Walk<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest, children: Vec::new() }
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let (byte, rest) = self.rest.split_first().ok_or(Stop::Damage)?;
        self.rest = rest;
        Ok(*byte)
    }

    fn bytes(&mut self, count: u64) -> Result<(), Stop> {
        let rest = usize::try_from(count).ok().and_then(|count| self.rest.get(count..));
        self.rest = rest.ok_or(Stop::Claim)?;
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
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header & 0x0f == 0 {
                return Ok(());
            }
            id = match header >> 4 {
                0 => self.integer()? as i16,
                step => id.checked_add(i16::from(step)).ok_or(Stop::Damage)?,
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
        if count > self.rest.len() as u64 || depth > MOST_NESTED {
            return Err(Stop::Claim);
        }
        (0..count).try_for_each(|_| element(self, header & 0x0f))
    }

    /// Walks a value that the format has, of the type that the file says.
    fn known(&mut self, kind: &Kind, is: u8, depth: usize) -> Result<(), Stop> {
        let fits = match kind {
            Kind::Bool => BOOLEANS.contains(&is),
            Kind::Byte => is == BYTE,
            Kind::I16 => is == I16,
            Kind::I32 | Kind::Children => is == I32,
            Kind::I64 => is == I64,
            Kind::Double => is == DOUBLE,
            Kind::Binary => is == BINARY,
            Kind::List(_) => is == LIST,
            Kind::Struct(_) | Kind::Node(_) => is == STRUCT,
        };
        if !fits || depth > MOST_NESTED {
            return Err(Stop::Claim);
        }
        match kind {
            Kind::List(of) => self.elements(depth, &mut |walk, is| match of {
                Kind::Bool if BOOLEANS.contains(&is) => walk.bytes(1),
                of => walk.known(of, is, depth + 1),
            }),
            Kind::Struct(fields) | Kind::Node(fields) => {
                if matches!(kind, Kind::Node(_)) {
                    self.children.push(0);
                }
                self.fields(&mut |walk, id, is| match fields.iter().find(|(known, _)| *known == id) {
                    Some((_, kind)) => walk.known(kind, is, depth + 1),
                    None => walk.skip(is, depth + 1),
                })
            }
            Kind::Children => {
                let count = self.integer()?;
                self.children.last_mut().into_iter().for_each(|children| *children = count);
                Ok(())
            }
            _ => self.skip(is, depth),
        }
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
                if count > self.rest.len() as u64 {
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

    /// Walks a value in a list or a map that the format doesn't have. Booleans take a byte there, but the crate takes none.
    fn element(&mut self, kind: u8, depth: usize) -> Result<(), Stop> {
        if BOOLEANS.contains(&kind) { Err(Stop::Claim) } else { self.skip(kind, depth) }
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
        let mut walk = Walk::new(footer);
        assert_eq!(walk.known(&FOOTER, STRUCT, 0), Ok(()));
        assert!(walk.rest.is_empty());
        assert_eq!(walk.children, [2, 0, 0]);
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
    // Field 10, three booleans: the crate would take their bytes for fields.
    #[case::skipped_booleans(&[0xa9, 0x31, 1, 1, 1, 0], "more than fits")]
    // Field 1 as a boolean: the crate would take the byte after it for the version.
    #[case::other_type(&[0x11, 0, 0], "more than fits")]
    // Field 65536 + 2, which is field 2 of 16 bits, is no list.
    #[case::wrapped_id(&[0x05, 0x84, 0x80, 0x08, 0, 0], "more than fits")]
    // Field 10, an integer of eleven bytes.
    #[case::endless_number(&[0xa5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0], "damaged")]
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
        // Type, sizes, a structure with a field that the format doesn't have; then the page and a second one.
        let header = |uncompressed| {
            let sizes = [vec![0x15, 0, 0x15], varint(uncompressed), vec![0x15], varint(compressed)].concat();
            [sizes, vec![0x2c, 0x91, 0, 0], vec![7; compressed as usize]].concat()
        };
        let pages = [header(100), header(uncompressed)].concat();
        assert_eq!(check_pages(&pages, Compression::SNAPPY), expect.map(|()| pages.len()));
        assert_eq!(check_pages(&pages, Compression::UNCOMPRESSED), Ok(pages.len()));
        let gzip = check_pages(&header(100 * 1000), Compression::GZIP(GzipLevel::default()));
        assert!(gzip.is_ok());
    }

    /// A page's header has no lists. The crate goes through one of booleans without taking a byte for any.
    #[test]
    fn headers_with_endless_lists() {
        let page =
            [&[0x15, 0, 0x15, 4, 0x15, 4, 0x49, 0xf1][..], &[0xff, 0xff, 0xff, 0xff, 0x07], &[0, 1, 2]]
                .concat();
        assert!(check_pages(&page, Compression::UNCOMPRESSED).is_err());
        let sound = [0x15, 0, 0x15, 4, 0x15, 4, 0, 1, 2];
        assert_eq!(check_pages(&sound, Compression::UNCOMPRESSED), Ok(sound.len()));
        assert_eq!(check_pages(&[&sound[..], &page].concat(), Compression::UNCOMPRESSED), Ok(sound.len()));
    }

    #[test]
    fn indexes_are_what_they_are() {
        // One page: not only NULLs, from a to b, unordered.
        let column = [0x19, 0x11, 2, 0x19, 0x18, 1, b'a', 0x19, 0x18, 1, b'b', 0x15, 0, 0];
        assert!(is_column_index(&column) && !is_offset_index(&column));
        let offset = [0x19, 0x1c, 0x16, 8, 0x15, 8, 0x16, 0, 0, 0];
        assert!(is_offset_index(&offset) && !is_column_index(&offset));
    }
}
