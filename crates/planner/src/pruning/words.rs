// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Sets of zones as bits, 64 zones to a word.
//!
//! Everything that is asked of zones is asked of the *live* ones only, a set; what is found is a part of it. So
//! a word without a live zone costs one test, and bits beyond the last zone are never set.

use arrow::buffer::BooleanBuffer;

/// A set of zones: bit `i % 64` of word `i / 64` belongs to zone `i`.
pub(super) type Words = Vec<u64>;

/// The set of all of `len` zones.
pub(super) fn all(len: usize) -> Words {
    let mut words = vec![u64::MAX; len.div_ceil(64)];
    if let Some(last) = words.last_mut().filter(|_| !len.is_multiple_of(64)) {
        *last = (1 << (len % 64)) - 1;
    }
    words
}

/// The zones whose bits are set.
pub(super) fn of(bits: &BooleanBuffer) -> Words {
    let chunks = bits.bit_chunks();
    let last = std::iter::once(chunks.remainder_bits());
    chunks.iter().chain(last).take(bits.len().div_ceil(64)).collect()
}

/// Whether no zone is in the set.
pub(super) fn is_empty(words: &[u64]) -> bool {
    words.iter().all(|word| *word == 0)
}

/// Adds the zones from `from` up to `to`.
pub(super) fn set_range(words: &mut [u64], from: usize, to: usize) {
    if from >= to {
        return;
    }
    let (first, last) = (from / 64, (to - 1) / 64);
    let (head, tail) = (u64::MAX << (from % 64), u64::MAX >> (63 - (to - 1) % 64));
    if first == last {
        words[first] |= head & tail;
        return;
    }
    words[first] |= head;
    words[first + 1..last].fill(u64::MAX);
    words[last] |= tail;
}

/// Word by word.
pub(super) fn zip(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Words {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

/// The zones in both.
pub(super) fn and(a: &[u64], b: &[u64]) -> Words {
    zip(a, b, |a, b| a & b)
}

/// The zones of `a` that are not in `b`.
pub(super) fn minus(a: &[u64], b: &[u64]) -> Words {
    zip(a, b, |a, b| a & !b)
}

/// Adds the zones of `more`.
pub(super) fn add(words: &mut [u64], more: &[u64]) {
    words.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
}

/// The live zones whose value passes a test that costs no more than a branch.
pub(super) fn select<T: Copy>(values: &[T], live: &[u64], test: impl Fn(T) -> bool) -> Words {
    let word = |chunk: &[T]| {
        chunk.iter().enumerate().fold(0u64, |word, (bit, value)| word | u64::from(test(*value)) << bit)
    };
    let (chunks, rest) = values.as_chunks::<64>();
    let mut found = Words::with_capacity(live.len());
    found
        .extend(chunks.iter().zip(live).map(|(chunk, live)| if *live == 0 { 0 } else { word(chunk) & live }));
    if let Some(live) = live.get(chunks.len()) {
        found.push(word(rest) & live);
    }
    found
}

/// The live zones that pass a test, by number.
pub(super) fn select_each(live: &[u64], mut test: impl FnMut(usize) -> bool) -> Words {
    let word = |(at, live): (usize, &u64)| {
        if *live == u64::MAX {
            return (0..64).fold(0, |found, bit| found | u64::from(test(at * 64 + bit)) << bit);
        }
        let (mut left, mut found) = (*live, 0);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            found |= u64::from(test(at * 64 + bit as usize)) << bit;
        }
        found
    };
    live.iter().enumerate().map(word).collect()
}

/// Calls `visit` with each zone in the set.
pub(super) fn for_each(words: &[u64], mut visit: impl FnMut(usize)) {
    for_each_run(words, |from, to| (from..to).for_each(&mut visit));
}

/// The zones in the set.
pub(super) fn numbers(words: &[u64]) -> Vec<u64> {
    let mut numbers = Vec::new();
    for_each(words, |zone| numbers.push(zone as u64));
    numbers
}

/// Calls `visit` with each run of zones in the set, as first and one after the last.
pub(super) fn for_each_run(words: &[u64], mut visit: impl FnMut(usize, usize)) {
    let mut open: Option<usize> = None;
    for (at, word) in words.iter().enumerate() {
        let base = at * 64;
        match (open, *word) {
            (None, 0) | (Some(_), u64::MAX) => continue,
            _ => {}
        }
        let mut bit = 0;
        while bit < 64 {
            // What is left of the word, its lowest bit the next zone's.
            let left = word >> bit;
            match open {
                None if left == 0 => break,
                None => {
                    bit += left.trailing_zeros();
                    open = Some(base + bit as usize);
                }
                Some(from) => {
                    let ones = left.trailing_ones();
                    bit += ones;
                    if bit < 64 {
                        visit(from, base + bit as usize);
                        open = None;
                    }
                }
            }
        }
    }
    if let Some(from) = open {
        visit(from, words.len() * 64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(words: &[u64], len: usize) -> Vec<bool> {
        (0..len).map(|zone| words[zone / 64] >> (zone % 64) & 1 == 1).collect()
    }

    proptest! {
        #[test]
        fn sets_agree_with_bits(zones in prop::collection::vec(any::<(bool, bool)>(), 0..200), runs in 1usize..9, from in 0usize..200, to in 0usize..200) {
            let len = zones.len();
            let (a, b): (Vec<_>, Vec<_>) = (0..len).map(|i| zones[i / runs]).unzip();
            let (x, y) = (of(&BooleanBuffer::from(a.clone())), of(&BooleanBuffer::from(b.clone())));
            prop_assert_eq!(bits(&x, len), a.clone());
            let pairs = || a.iter().zip(&b);
            prop_assert_eq!(bits(&and(&x, &y), len), pairs().map(|(a, b)| *a && *b).collect::<Vec<_>>());
            prop_assert_eq!(bits(&minus(&x, &y), len), pairs().map(|(a, b)| *a && !*b).collect::<Vec<_>>());
            prop_assert_eq!(is_empty(&x), !a.contains(&true));
            prop_assert_eq!(select(&b, &x, |b| b), and(&x, &y));
            prop_assert_eq!(select_each(&x, |zone| b[zone]), and(&x, &y));
            prop_assert_eq!(minus(&all(len), &x), select_each(&all(len), |zone| !a[zone]));

            let mut again = vec![0; x.len()];
            let mut last = None;
            for_each_run(&x, |from, to| {
                assert!(from < to && last.is_none_or(|last| last < from), "runs are apart");
                set_range(&mut again, from, to);
                last = Some(to);
            });
            prop_assert_eq!(&again, &x);
            let (from, to) = (from.min(len), to.min(len));
            set_range(&mut again, from, to);
            prop_assert_eq!(bits(&again, len), (0..len).map(|i| a[i] || from <= i && i < to).collect::<Vec<_>>());
        }
    }
}
