// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The allocator of every program that links this crate: mimalloc, which can be told to count.
//!
//! Counting costs two atomic steps per allocation, which all threads share. It is therefore off, at the price of
//! one relaxed load, but while a [`PeakMemory`] lives: in the one run of a query that isn't timed.

// The one module that can't do without: an allocator is an unsafe trait. It hands every call on unchanged.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use mimalloc::MiMalloc;
use tokio::sync::{Mutex, MutexGuard};

struct CountedMiMalloc;

#[global_allocator]
static ALLOCATOR: CountedMiMalloc = CountedMiMalloc;

/// There is one count only.
static TURN: Mutex<()> = Mutex::const_new(());
static COUNTING: AtomicBool = AtomicBool::new(false);
/// Bytes allocated and not yet freed since counting began; what is freed of earlier ones counts against it.
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn count(bytes: i64) {
    if COUNTING.load(Ordering::Relaxed) {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bytes > 0 {
            PEAK.fetch_max(live, Ordering::Relaxed);
        }
    }
}

/// A size in bytes; no allocation is larger than `isize` allows.
fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: each method passes its arguments to mimalloc's and returns what that returns; counting allocates nothing.
unsafe impl GlobalAlloc for CountedMiMalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: the caller's promise is the one mimalloc asks for.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: as above, and every pointer came from mimalloc.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(size(new_size) - size(layout.size()));
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(pointer, layout, new_size) }
    }
}

/// Counts what the process allocates as long as it lives.
#[derive(Debug)]
pub struct PeakMemory {
    _turn: MutexGuard<'static, ()>,
}

impl PeakMemory {
    /// Starts from nought, once no other lives.
    pub async fn start() -> Self {
        let _turn = TURN.lock().await;
        LIVE.store(0, Ordering::Relaxed);
        PEAK.store(0, Ordering::Relaxed);
        COUNTING.store(true, Ordering::Relaxed);
        Self { _turn }
    }

    /// The most bytes that were allocated at one time, above those at the start.
    pub fn bytes(&self) -> u64 {
        u64::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        COUNTING.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_peak_is_what_lives_at_one_time() {
        // Other tests allocate too: only large numbers tell.
        const LARGE: usize = 1 << 30;
        let peak = PeakMemory::start().await;
        for _ in 0..3 {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
        }
        let bytes = peak.bytes();
        assert!((LARGE as u64..2 * LARGE as u64).contains(&bytes), "{bytes}");
    }
}
