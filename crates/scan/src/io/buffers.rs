// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Buffers that are used again.
//!
//! A scan reads megabytes, lets go of them, and reads again. Fresh memory for each costs more than copying
//! into it: the system clears every page of it first (a tenth of the time of TPC-H Q6).

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// How many buffers wait to be used again, and how large each may be.
const MOST: usize = 8;
const LARGEST: usize = 2 << 20;

/// Buffers that wait to be used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A buffer that goes back when the last of its bytes is let go.
pub(super) struct Buffer {
    memory: Vec<u8>,
    len: usize,
    home: Buffers,
}

impl Buffers {
    /// A buffer of so many bytes, with whatever is in it.
    pub fn take(&self, len: usize) -> Buffer {
        let mut waiting = self.0.lock();
        // The smallest that is large enough, or the memory of small reads would hold that of large ones.
        let fits = |(_, memory): &(usize, &Vec<u8>)| memory.len() >= len;
        let best = waiting.iter().enumerate().filter(fits).min_by_key(|(_, memory)| memory.len());
        let memory = match best.map(|(at, _)| at) {
            Some(at) => waiting.swap_remove(at),
            None => vec![0; len],
        };
        Buffer { memory, len, home: self.clone() }
    }
}

impl Buffer {
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
        let mut waiting = self.home.0.lock();
        if waiting.len() < MOST && self.memory.len() <= LARGEST {
            waiting.push(std::mem::take(&mut self.memory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_the_last_of_its_bytes_goes() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take(100);
        buffer.bytes_mut().fill(7);
        let bytes = buffer.freeze();
        let part = bytes.slice(90..);
        drop(bytes);
        assert!(buffers.0.lock().is_empty());
        assert_eq!(part, vec![7; 10]);
        drop(part);
        assert_eq!(buffers.0.lock().len(), 1);
        assert_eq!(buffers.take(50).as_ref().len(), 50);
        assert_eq!(buffers.0.lock().len(), 1, "the same memory");
    }

    #[test]
    fn the_smallest_that_fits_is_taken_and_few_wait() {
        let buffers = Buffers::default();
        drop([1000, 10, 100].map(|len| buffers.take(len)));
        assert_eq!(buffers.take(50).memory.len(), 100);
        drop((0..20).map(|_| buffers.take(10)).collect::<Vec<_>>());
        drop(buffers.take(LARGEST + 1));
        assert_eq!(buffers.0.lock().len(), MOST);
    }
}
