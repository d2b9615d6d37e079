// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Bits of some rows as bits of all.

use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer};

/// For each row that is set in `rows`, in order, the next of `bits`; nothing is set for other rows.
///
/// `bits` has as many bits as are set in `rows`; bits that are missing count as unset.
pub fn scatter(rows: &BooleanBuffer, bits: &BooleanBuffer) -> BooleanBuffer {
    let source = bits.bit_chunks();
    let mut source = Reader::new(source.iter_padded());
    let chunks = rows.bit_chunks();
    let mut words = MutableBuffer::with_capacity((chunks.chunk_len() + 1) * 8);
    chunks.iter_padded().for_each(|word| words.push(deposit(word, source.take(word.count_ones()))));
    BooleanBuffer::new(Buffer::from(words), 0, rows.len())
}

/// Puts the lowest bits of `bits` where `mask` has its ones, from the lowest up.
fn deposit(mut mask: u64, mut bits: u64) -> u64 {
    if mask == u64::MAX {
        return bits;
    }
    let mut word = 0;
    while bits != 0 && mask != 0 {
        let lowest = mask & mask.wrapping_neg();
        word |= lowest & (bits & 1).wrapping_neg();
        bits >>= 1;
        mask ^= lowest;
    }
    word
}

/// Bits, some at a time.
struct Reader<W> {
    words: W,
    /// Bits that were read but not taken yet, and how many.
    left: u64,
    count: u32,
}

impl<W: Iterator<Item = u64>> Reader<W> {
    fn new(words: W) -> Self {
        Self { words, left: 0, count: 0 }
    }

    /// The next `count` bits, up to 64, lowest first.
    fn take(&mut self, count: u32) -> u64 {
        let mut taken = self.left;
        if count > self.count {
            let next = self.words.next().unwrap_or(0);
            taken |= next.checked_shl(self.count).unwrap_or(0);
            let used = count - self.count;
            self.left = next.checked_shr(used).unwrap_or(0);
            self.count = 64 - used;
        } else {
            self.left = self.left.checked_shr(count).unwrap_or(0);
            self.count -= count;
        }
        if count == 64 { taken } else { taken & ((1 << count) - 1) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_set_row_gets_the_next_bit(
            pairs in prop::collection::vec((any::<bool>(), any::<bool>()), 0..300),
            dense in any::<bool>(),
            skip in 0usize..70,
        ) {
            let rows: BooleanBuffer = pairs.iter().map(|(row, _)| *row || dense).collect();
            let rows = rows.slice(skip.min(rows.len()), rows.len() - skip.min(rows.len()));
            let bits: BooleanBuffer = pairs.iter().map(|(_, bit)| *bit).collect();
            let bits = bits.slice(bits.len() - rows.count_set_bits(), rows.count_set_bits());
            let mut next = bits.iter();
            let expect: Vec<_> = rows.iter().map(|row| row && next.next().unwrap()).collect();
            prop_assert_eq!(scatter(&rows, &bits).iter().collect::<Vec<_>>(), expect);
        }
    }
}
