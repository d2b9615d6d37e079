// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Parquet's hybrid of run lengths and bit packing, as levels and dictionary codes are stored.

use arrow::array::BooleanBufferBuilder;

/// Damage in hybrid data: it ends early, or a run can't be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// A run of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run<'a> {
    /// One value, repeated.
    Repeated(u32, usize),
    /// This many values, packed from the lowest bit of the first byte on.
    Packed(&'a [u8], usize),
}

impl Run<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Repeated(_, count) | Self::Packed(_, count) => *count,
        }
    }
}

/// The runs of a number of values; an error, once, where the data is damaged.
#[derive(Debug, Clone)]
pub(super) struct Runs<'a> {
    data: &'a [u8],
    width: usize,
    left: usize,
}

impl<'a> Runs<'a> {
    /// The first `values` values of `width` bits each, up to 32.
    pub fn new(data: &'a [u8], width: usize, values: usize) -> Self {
        Self { data, width, left: values }
    }

    fn run(&mut self) -> Option<Run<'a>> {
        let header = self.varint().filter(|header| *header != 0)?;
        // As the parquet crate's decoders take it, or what passes here would end early there.
        let count = (header >> 1) as u32 as usize;
        if header & 1 == 1 {
            // The last group may be cut short.
            let bytes = self.split(count.saturating_mul(self.width).min(self.data.len()))?;
            let there = bytes.len().saturating_mul(8).checked_div(self.width).unwrap_or(usize::MAX);
            let count = count.saturating_mul(8).min(there).min(self.left);
            return (count > 0).then_some(Run::Packed(bytes, count));
        }
        let bytes = self.split(self.width.div_ceil(8))?;
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        (count > 0).then_some(Run::Repeated(value, count.min(self.left)))
    }

    fn split(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.data.split_at_checked(bytes)?;
        self.data = rest;
        Some(head)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.split(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Result<Run<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let run = self.run();
        self.left = run.map_or(0, |run| self.left - run.len());
        Some(run.ok_or(Damaged))
    }
}

/// Calls `each` with every packed value of `width` bits, up to 32.
pub(super) fn unpack(bytes: &[u8], width: usize, values: usize, mut each: impl FnMut(u32)) {
    // Eight values take as many bytes as one has bits; of a known width, this loop is unrolled.
    let done = match width {
        1 => unpack_eights::<1>(bytes, values, &mut each),
        2 => unpack_eights::<2>(bytes, values, &mut each),
        3 => unpack_eights::<3>(bytes, values, &mut each),
        4 => unpack_eights::<4>(bytes, values, &mut each),
        5 => unpack_eights::<5>(bytes, values, &mut each),
        6 => unpack_eights::<6>(bytes, values, &mut each),
        7 => unpack_eights::<7>(bytes, values, &mut each),
        8 => unpack_eights::<8>(bytes, values, &mut each),
        _ => 0,
    };
    (done..values).for_each(|at| each(packed(bytes, width, at)));
}

/// The packed value at a place.
#[inline]
pub(super) fn packed(bytes: &[u8], width: usize, at: usize) -> u32 {
    let bit = at * width;
    let at = (bit / 8).min(bytes.len());
    let word = match bytes[at..].first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => little_endian(&bytes[at..]),
    };
    (word >> (bit % 8) & ((1 << width) - 1)) as u32
}

/// The same for as many whole groups of eight values as there are; says how many values those were.
fn unpack_eights<const WIDTH: usize>(bytes: &[u8], values: usize, each: &mut impl FnMut(u32)) -> usize {
    let groups = (values / 8).min(bytes.len() / WIDTH);
    for group in bytes[..groups * WIDTH].chunks_exact(WIDTH) {
        let word = little_endian(group);
        for value in 0..8 {
            each((word >> (value * WIDTH)) as u32 & ((1 << WIDTH) - 1));
        }
    }
    groups * 8
}

/// Up to eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(word)
}

/// Appends one bit for each value of one bit.
pub(super) fn append_bits(run: Run<'_>, bits: &mut BooleanBufferBuilder) {
    match run {
        Run::Repeated(value, count) => bits.append_n(count, value != 0),
        Run::Packed(bytes, count) => bits.append_packed_range(0..count, bytes),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::run(&[10 << 1, 1], 1, 10, Ok(vec![Run::Repeated(1, 10)]))]
    #[case::run_too_short(&[10 << 1, 1], 1, 11, Err(Damaged))]
    #[case::run_without_value(&[10 << 1], 1, 10, Err(Damaged))]
    #[case::longer_run_than_wanted(&[10 << 1, 1], 1, 3, Ok(vec![Run::Repeated(1, 3)]))]
    #[case::wide_run(&[2 << 1, 1, 2], 9, 2, Ok(vec![Run::Repeated(513, 2)]))]
    #[case::no_bits_at_all(&[3], 0, 8, Ok(vec![Run::Packed(&[], 8)]))]
    #[case::packed(&[3, 0b1010_1010], 1, 8, Ok(vec![Run::Packed(&[0b1010_1010], 8)]))]
    #[case::packed_and_run(&[3, 0, 4 << 1, 0], 1, 12, Ok(vec![Run::Packed(&[0], 8), Run::Repeated(0, 4)]))]
    #[case::packed_cut_short(&[5, 0], 1, 9, Err(Damaged))]
    #[case::padding_ends_it(&[2, 0, 0, 8, 0], 1, 3, Err(Damaged))]
    #[case::nothing(&[], 1, 1, Err(Damaged))]
    #[case::endless_header(&[0xff; 12], 1, 1, Err(Damaged))]
    fn runs(
        #[case] data: &[u8],
        #[case] width: usize,
        #[case] values: usize,
        #[case] expect: Result<Vec<Run<'_>>, Damaged>,
    ) {
        assert_eq!(Runs::new(data, width, values).collect::<Result<Vec<_>, _>>(), expect);
    }

    #[rstest]
    fn what_was_packed_is_unpacked(#[values(1, 2, 3, 7, 8, 9, 13, 17, 24, 31, 32)] width: usize) {
        let values: Vec<u32> = (0..50u64).map(|i| (i * 2_654_435_761 % (1 << width)) as u32).collect();
        let mut bytes = vec![0u8; (50 * width).div_ceil(8)];
        for (i, value) in values.iter().enumerate() {
            for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
                bytes[(i * width + bit) / 8] |= 1 << ((i * width + bit) % 8);
            }
        }
        let mut got = Vec::new();
        unpack(&bytes, width, 50, |value| got.push(value));
        assert_eq!(got, values);
    }
}
