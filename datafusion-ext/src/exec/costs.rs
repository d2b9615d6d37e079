// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What it costs to put out a row that a live filter might have dropped.
//!
//! Whether a live filter is worth asking of each row hangs on that, and it differs from machine to machine and
//! from table to table. Decoding is measured as the scan goes. The work of the operators above can't be seen from
//! here: it is known from one machine. Where it is work on the row's bytes, it is taken to be as many times dearer
//! than there as decoding is; to take other work for less than it is costs a gain, never a loss.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use trommel_planner::index::ColumnPath;
use trommel_scan::execute::MorselBatches;

use super::units::{total_bytes, uncompressed_bytes};
use crate::live::Savings;
use crate::table::Snapshot;

/// What the operator that handed down a filter does to find out that a row doesn't matter, in nanoseconds: a
/// heap's comparison or a probe of a hash table, over whole batches. What is above it never sees the row.
const PROBE_A_ROW: f64 = 6.0;
/// What a partitioned join does with a byte of a row before it probes: it sends each row to its partition.
const MOVE_A_BYTE: f64 = 0.3;
/// What decoding a byte takes, as it is when decompressed, in nanoseconds: 11 ns for three narrow columns of
/// TPC-H's lineitem, 80 for all sixteen (suite `scan` of the benchmarks, one thread).
const DECODE_A_BYTE: f64 = 0.5;

/// Fewer rows than this tell too little.
const SAMPLE: u64 = 16 << 10;
/// How much slower or faster the machine is taken to be at most. What remains of a difference is the columns': some
/// decode slowly for their size.
const PACES: (f64, f64) = (0.5, 4.0);

/// What a row of some columns costs.
#[derive(Debug)]
pub struct RowCosts {
    /// How many bytes it takes when decompressed.
    bytes: f64,
    /// The rows of morsels that were decoded nearly whole, and how long that took.
    rows: AtomicU64,
    nanos: AtomicU64,
}

impl RowCosts {
    /// Of a row of these columns; nothing is measured yet.
    pub fn new(snapshot: &Snapshot, columns: &[ColumnPath]) -> Self {
        let bytes = bytes_a_row(snapshot, columns);
        Self { bytes, rows: AtomicU64::new(0), nanos: AtomicU64::new(0) }
    }

    /// Adds what decoding a morsel took, all of whose rows have been put out.
    pub fn add(&self, morsel: &MorselBatches, elapsed: Duration) {
        let (decoded, put_out) = (morsel.rows_to_decode(), morsel.rows());
        // Skipping rows costs something too.
        if put_out >= decoded / 2 {
            self.rows.fetch_add(decoded, Relaxed);
            self.nanos.fetch_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    /// What rows save that live filters drop.
    pub fn savings(&self) -> Savings {
        let usual = DECODE_A_BYTE * self.bytes;
        let rows = self.rows.load(Relaxed);
        let decoding = if rows < SAMPLE { usual } else { self.nanos.load(Relaxed) as f64 / rows as f64 };
        let pace = if usual > 0.0 { (decoding / usual).clamp(PACES.0, PACES.1) } else { 1.0 };
        Savings { probing: PROBE_A_ROW, moving: MOVE_A_BYTE * self.bytes * pace, decoding }
    }
}

/// How many bytes a row of some columns takes when decompressed.
fn bytes_a_row(snapshot: &Snapshot, columns: &[ColumnPath]) -> f64 {
    let all = total_bytes(snapshot, columns, uncompressed_bytes);
    all as f64 / snapshot.rows().max(1) as f64
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Columns of 100 bytes a row, and what decoding so many rows of them took.
    #[rstest]
    #[case::nothing_measured(0, 0, (6.0, 30.0, 50.0))]
    #[case::too_few_rows(1000, 1_000_000, (6.0, 30.0, 50.0))]
    #[case::twice_as_slow(100_000, 10_000_000, (6.0, 60.0, 100.0))]
    #[case::slow_columns(100_000, 100_000_000, (6.0, 120.0, 1000.0))]
    #[case::fast_columns(100_000, 500_000, (6.0, 15.0, 5.0))]
    fn costs_follow_what_decoding_takes(
        #[case] rows: u64,
        #[case] nanos: u64,
        #[case] expect: (f64, f64, f64),
    ) {
        let costs = RowCosts { bytes: 100.0, rows: rows.into(), nanos: nanos.into() };
        let (probing, moving, decoding) = expect;
        assert_eq!(costs.savings(), Savings { probing, moving, decoding });
    }

    #[test]
    fn rows_without_columns_cost_their_probing() {
        let costs = RowCosts { bytes: 0.0, rows: 0.into(), nanos: 0.into() };
        assert_eq!(costs.savings(), Savings { probing: 6.0, moving: 0.0, decoding: 0.0 });
    }
}
