// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Buffers that are used again.
//!
//! A scan reads and decompresses megabytes, lets go of them, and goes on. Fresh memory for each costs more than copying
//! into it: the system clears every page of it first, and then it is filled with zeros (a tenth of the time of TPC-H Q6).

use std::cell::RefCell;

use bytes::Bytes;

/// How many bytes wait in each thread to be used again, and how large a buffer of them may be.
const MOST: usize = 8 << 20;
const LARGEST: usize = 2 << 20;
/// Smaller ones are made in no time.
const SMALLEST: usize = 8 << 10;

thread_local! {
    /// The buffers that wait, the smallest first.
    static WAITING: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that waits to be used again when the last of its bytes is let go, in the thread that does that.
pub(crate) struct Buffer {
    memory: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// A buffer of so many bytes, with whatever is in it. Its memory isn't much larger: arrays may hold on to it.
    pub fn of(len: usize) -> Self {
        let waiting = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            let at = waiting.partition_point(|memory| memory.len() < len);
            let fits = waiting.get(at).is_some_and(|memory| memory.len() / 2 <= len);
            fits.then(|| waiting.remove(at))
        });
        let memory = waiting.ok().flatten().unwrap_or_else(|| vec![0; len]);
        Self { memory, len }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }

    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !(SMALLEST..=LARGEST).contains(&self.memory.len()) {
            return;
        }
        // In a thread that ends nothing waits.
        _ = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            let bytes: usize = waiting.iter().map(Vec::len).sum();
            if bytes + self.memory.len() <= MOST {
                let at = waiting.partition_point(|memory| memory.len() < self.memory.len());
                waiting.insert(at, std::mem::take(&mut self.memory));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 100 << 10;

    fn waiting() -> Vec<usize> {
        WAITING.with(|waiting| waiting.borrow().iter().map(Vec::len).collect())
    }

    #[test]
    fn a_buffer_waits_when_the_last_of_its_bytes_goes() {
        let mut buffer = Buffer::of(SIZE);
        buffer.bytes_mut().fill(7);
        let bytes = buffer.freeze();
        let part = bytes.slice(SIZE - 10..);
        drop(bytes);
        assert!(waiting().is_empty());
        assert_eq!(part, vec![7; 10]);
        drop(part);
        assert_eq!(waiting(), [SIZE]);
        assert_eq!(Buffer::of(SIZE / 2).as_ref().len(), SIZE / 2);
        assert_eq!(waiting(), [SIZE], "the same memory");
    }

    #[test]
    fn the_smallest_that_fits_is_taken_if_it_is_not_much_larger() {
        drop([10 * SIZE, SIZE, 3 * SIZE].map(Buffer::of));
        assert_eq!(waiting(), [SIZE, 3 * SIZE, 10 * SIZE]);
        let [fits, too_large] = [2 * SIZE, 4 * SIZE].map(Buffer::of);
        assert_eq!([fits.memory.len(), too_large.memory.len()], [3 * SIZE, 4 * SIZE]);
        assert_eq!(waiting(), [SIZE, 10 * SIZE]);
    }

    #[test]
    fn few_bytes_wait() {
        drop((0..200).map(|_| Buffer::of(SIZE)).collect::<Vec<_>>());
        assert_eq!(waiting(), vec![SIZE; MOST / SIZE]);
        drop([Buffer::of(SMALLEST - 1), Buffer::of(LARGEST + 1)]);
        assert_eq!(waiting().len(), MOST / SIZE);
    }
}
