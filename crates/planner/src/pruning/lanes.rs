// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Truth sets of 64 zones at a time, one bit per zone and truth value.
//!
//! The same tables as [`Truth`]'s, bit-sliced: comparison kernels give bitmaps, and so a whole word of
//! zones is combined by a handful of instructions. Lanes beyond the last zone hold nothing of meaning.

use arrow::buffer::BooleanBuffer;

use super::Truth;

/// The truth sets of 64 zones: bit `i` of each word belongs to zone `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Zones in which some row may be TRUE.
    pub t: u64,
    /// Zones in which some row may be FALSE.
    pub f: u64,
    /// Zones in which some row may be NULL.
    pub n: u64,
}

impl Lanes {
    /// The same set in every lane.
    pub fn splat(truth: Truth) -> Self {
        let word = |on: bool| if on { u64::MAX } else { 0 };
        Self { t: word(truth.may_be_true()), f: word(truth.may_be_false()), n: word(truth.may_be_null()) }
    }

    /// The set in one lane.
    pub fn get(self, lane: usize) -> Truth {
        let bit = |word: u64| word >> lane & 1 == 1;
        Truth::of(bit(self.t), bit(self.f)).or_null(bit(self.n))
    }

    /// The sets in the lanes of `mask`, nothing in the others.
    pub fn only(self, mask: u64) -> Self {
        Self { t: self.t & mask, f: self.f & mask, n: self.n & mask }
    }

    /// The values in either set.
    pub fn or_else(self, other: Self) -> Self {
        Self { t: self.t | other.t, f: self.f | other.f, n: self.n | other.n }
    }

    /// NOT of each value.
    pub fn negate(self) -> Self {
        Self { t: self.f, f: self.t, n: self.n }
    }

    /// AND of each pair of values.
    pub fn and(self, other: Self) -> Self {
        Self {
            t: self.t & other.t,
            f: self.f | other.f,
            n: self.n & (other.t | other.n) | other.n & (self.t | self.n),
        }
    }

    /// OR of each pair of values.
    pub fn or(self, other: Self) -> Self {
        self.negate().and(other.negate()).negate()
    }

    /// Each value replaced by a set: what TRUE, FALSE and NULL become.
    pub fn map(self, [on_true, on_false, on_null]: [Truth; 3]) -> Self {
        Self::splat(on_true)
            .only(self.t)
            .or_else(Self::splat(on_false).only(self.f))
            .or_else(Self::splat(on_null).only(self.n))
    }

    /// The zones in which every row is TRUE.
    pub fn all_true(self) -> u64 {
        self.t & !self.f & !self.n
    }
}

/// How many words hold one bit for each of `len` zones.
pub(super) fn word_count(len: usize) -> usize {
    len.div_ceil(64)
}

/// The bits as words, the last one padded.
pub(super) fn words(bits: &BooleanBuffer) -> impl Iterator<Item = u64> + '_ {
    let chunks = bits.bit_chunks();
    let last = std::iter::once(chunks.remainder_bits());
    chunks.iter().chain(last).take(word_count(bits.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> impl Iterator<Item = Truth> + Clone {
        (0..8).map(|i| Truth::of(i & 1 != 0, i & 2 != 0).or_null(i & 4 != 0))
    }

    /// The word tables are the set tables, save that nothing AND something isn't nothing.
    #[test]
    fn lanes_compute_what_truths_do() {
        for a in sets() {
            let x = Lanes::splat(a);
            assert_eq!(x.get(17), a);
            assert_eq!(x.negate().get(0), a.negate());
            assert_eq!(x.all_true() == u64::MAX, a.is_all_true());
            assert_eq!(x.map([Truth::TRUE, Truth::FALSE, Truth::NULL]), x);
            let expect = Truth::of(a.may_be_null(), a.may_be_true() || a.may_be_false());
            assert_eq!(x.map([Truth::FALSE, Truth::FALSE, Truth::TRUE]).get(63), expect);
            for b in sets() {
                let y = Lanes::splat(b);
                assert_eq!(x.or_else(y).get(5), a.or_else(b));
                if a != Truth::NONE && b != Truth::NONE {
                    assert_eq!(x.and(y).get(5), a.and(b), "{a:?} AND {b:?}");
                    assert_eq!(x.or(y).get(5), a.or(b), "{a:?} OR {b:?}");
                }
            }
        }
    }
}
