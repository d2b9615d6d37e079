// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What Parquet's differences of integers say of their number, without decoding them.

/// Whether as many sequences of differences, one after the other, have no more than `most` integers each.
pub(super) fn are_plausible(mut data: &[u8], sequences: usize, most: usize) -> bool {
    for sequence in 1..=sequences {
        let Some(header) = Header::read(&mut data) else { return false };
        if header.count > most as u64 {
            return false;
        }
        if sequence < sequences && header.skip(&mut data).is_none() {
            return false;
        }
    }
    true
}

/// The header of a sequence.
struct Header {
    /// Values in each of a block's parts.
    part: u64,
    /// Parts in a block.
    parts: u64,
    /// Integers in all.
    count: u64,
}

impl Header {
    fn read(data: &mut &[u8]) -> Option<Self> {
        let (block, parts, count) = (varint(data)?, varint(data)?, varint(data)?);
        // The first integer.
        varint(data)?;
        Some(Self { part: block.checked_div(parts)?, parts, count })
    }

    /// Leaves what follows the sequence.
    fn skip(&self, data: &mut &[u8]) -> Option<()> {
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            // The least difference of the block.
            varint(data)?;
            let (widths, rest) = data.split_at_checked(usize::try_from(self.parts).ok()?)?;
            *data = rest;
            if self.part == 0 {
                return None;
            }
            for width in widths {
                // Parts that hold nothing any more have no bytes, whatever their width.
                let bytes = if left == 0 { 0 } else { u64::from(*width).checked_mul(self.part)? / 8 };
                *data = data.get(usize::try_from(bytes).ok()?..)?;
                left = left.saturating_sub(self.part);
            }
        }
        Some(())
    }
}

fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Blocks of 8 in 2 parts; 6 integers: the first, and a block whose parts have 2 bits and 8 bits but end early.
    const SIX: [u8; 9] = [8, 2, 6, 10, 0, 2, 8, 0xff, 0xff];

    #[rstest]
    #[case::one(&SIX[..], 1, 6, true)]
    #[case::too_many(&SIX[..], 1, 5, false)]
    #[case::none_at_all(&[128, 1, 4, 0, 0], 1, 0, true)]
    #[case::no_header(&[8, 2], 1, 6, false)]
    #[case::far_too_many(&[128, 1, 4, 0xff, 0xff, 0xff, 0xff, 0x7f, 0], 1, 1000, false)]
    #[case::no_parts(&[8, 0, 6, 10, 0], 1, 6, false)]
    #[case::empty_parts(&[1, 2, 6, 10, 0, 0, 0, 8, 2, 6], 2, 6, false)]
    #[case::no_second(&SIX[..], 2, 6, false)]
    fn counts(#[case] data: &[u8], #[case] sequences: usize, #[case] most: usize, #[case] plausible: bool) {
        assert_eq!(are_plausible(data, sequences, most), plausible);
    }

    #[rstest]
    #[case::as_many(6, true)]
    #[case::more(7, false)]
    fn the_second_sequence_is_found(#[case] second: u8, #[case] plausible: bool) {
        // 2 bits × 4 values and 8 bits × 4 values: one byte and four.
        let first = [8, 2, 6, 10, 0, 2, 8, 0xff, 1, 2, 3, 4];
        let data = [&first[..], &[8, 2, second, 0]].concat();
        assert_eq!(are_plausible(&data, 2, 6), plausible);
    }
}
