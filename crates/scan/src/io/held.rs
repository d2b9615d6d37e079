// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bytes of a file that are in memory.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Bytes of a file that are in memory.
pub trait HeldBytes: Send + Sync {
    /// The bytes of a range of the file; `None` unless all of them are held.
    fn get(&self, range: &Range<u64>) -> Option<Bytes>;
}

/// Fetched ranges of one file.
#[derive(Debug, Clone, Default)]
pub struct FetchedRanges {
    /// Offsets and bytes; sorted, disjoint.
    pieces: Vec<(u64, Bytes)>,
}

impl FetchedRanges {
    /// A whole file of which these are the bytes.
    pub fn whole(bytes: Bytes) -> Self {
        Self { pieces: vec![(0, bytes)] }
    }

    /// Adds pieces; where something is held already, that is left as it is.
    pub(super) fn add(&mut self, pieces: Vec<(u64, Bytes)>) {
        for (offset, bytes) in pieces {
            let whole = offset..offset + bytes.len() as u64;
            for range in missing(vec![whole], self) {
                let at = self.pieces.partition_point(|(held, _)| *held < range.start);
                let part = bytes.slice((range.start - offset) as usize..(range.end - offset) as usize);
                self.pieces.insert(at, (range.start, part));
            }
        }
    }

    /// How many bytes are held, gaps that were fetched along included.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first piece that ends after this offset.
    fn first_after(&self, offset: u64) -> usize {
        self.pieces.partition_point(|(start, bytes)| start + bytes.len() as u64 <= offset)
    }
}

impl HeldBytes for FetchedRanges {
    /// Shares the fetched bytes; only a range that was cut into several requests is copied.
    fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.start >= range.end {
            return Some(Bytes::new());
        }
        let first = self.first_after(range.start);
        let part = |(start, bytes): &(u64, Bytes)| {
            let end = start + bytes.len() as u64;
            let (from, to) = (range.start.max(*start), range.end.min(end));
            (from < to).then(|| bytes.slice((from - start) as usize..(to - start) as usize))
        };
        let piece = self.pieces.get(first).filter(|(start, _)| *start <= range.start)?;
        let head = part(piece)?;
        let wanted = range.end - range.start;
        if head.len() as u64 == wanted {
            return Some(head);
        }
        let mut joined = BytesMut::from(head);
        for piece in &self.pieces[first + 1..] {
            if piece.0 != range.start + joined.len() as u64 || joined.len() as u64 == wanted {
                break;
            }
            joined.extend_from_slice(&part(piece)?);
        }
        (joined.len() as u64 == wanted).then(|| joined.freeze())
    }
}

/// The parts of `ranges` that aren't held.
pub(super) fn missing(ranges: Vec<Range<u64>>, held: &FetchedRanges) -> Vec<Range<u64>> {
    let mut missing = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut start = range.start;
        for (offset, bytes) in &held.pieces[held.first_after(start)..] {
            if *offset >= range.end {
                break;
            }
            if start < *offset {
                missing.push(start..*offset);
            }
            start = offset + bytes.len() as u64;
        }
        if start < range.end {
            missing.push(start..range.end);
        }
    }
    missing
}
