// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Claiming ten thousand units of work, alone and with others.

use std::hint::black_box;

use datafusion_trommel::exec::{Queue, Sharing};
use divan::Bencher;

// The allocator of the benchmarks.
use trommel_benchmarks as _;

const UNITS: u64 = 10_000;

#[inline(never)]
fn counted_region_claim(queue: &Queue<u64>, partition: usize) -> u64 {
    std::iter::from_fn(|| queue.claim(partition, |_| true)).sum()
}

/// The partitions of a plan, a thread each, until nothing is left.
#[divan::bench(args = [1, 2, 8])]
fn shared(bencher: Bencher, partitions: usize) {
    bencher.with_inputs(|| Queue::new((0..UNITS).collect(), Sharing::Queue, partitions)).bench_local_refs(
        |queue| {
            std::thread::scope(|scope| {
                for partition in 1..partitions {
                    let queue = &*queue;
                    scope.spawn(move || black_box(counted_region_claim(queue, partition)));
                }
                black_box(counted_region_claim(queue, 0))
            })
        },
    );
}

/// One partition takes its share of what is split beforehand.
#[divan::bench]
fn split(bencher: Bencher) {
    bencher
        .with_inputs(|| Queue::new((0..UNITS).collect(), Sharing::Static, 8))
        .bench_local_refs(|queue| black_box(counted_region_claim(queue, 3)));
}

fn main() {
    divan::main();
}
