// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A file in memory, read as scans read it.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::FieldRef;
use bytes::Bytes;
use datafusion_common::ScalarValue;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::file::metadata::ParquetMetaData;
use trommel_planner::expr::BoundExpression;
use trommel_planner::expr::functions::{Compare, CompareOp, GetItem, IsNull};
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_planner::pruning::{Level, ZoneSource};
use trommel_planner::rows::RowRanges;
use trommel_scan::ScanError;
use trommel_scan::execute::{Morsel, StepCounts, read_morsel};
use trommel_scan::fragment::{Fragment, OpenFragment};
use trommel_scan::io::{Distance, IoCounters, RangeReader};
use trommel_scan::lower::{Extra, Output, ReadPlan, table_field};
use trommel_scan::metadata::FragmentMetadata;
use trommel_scan::zones::FragmentBlooms;

/// The file's name, which every error must tell.
const NAME: &str = "f.parquet";
/// As many rows are asked for at a time, and as many times at most.
const BATCH: usize = 100;
const BATCHES: usize = 4;

/// A file as a table of its own columns.
pub struct File {
    bytes: Bytes,
    fragment: OpenFragment,
    io: RangeReader,
}

impl File {
    /// Opens the file that these bytes are; `None` where that is an error.
    pub fn open(bytes: Bytes) -> Option<Self> {
        let (store, fragment) = store(&bytes);
        let metadata = named(block_on(FragmentMetadata::load(&store, &fragment, &IoCounters::default())))?;
        Self::of(bytes, store, fragment, metadata)
    }

    /// A file of which this was read.
    pub fn with(parquet: ParquetMetaData, bytes: Bytes) -> Option<Self> {
        let (store, fragment) = store(&bytes);
        let metadata = named(FragmentMetadata::try_new(fragment.location.clone(), parquet))?;
        Self::of(bytes, store, fragment, metadata)
    }

    fn of(
        bytes: Bytes,
        store: Arc<dyn ObjectStore>,
        fragment: Fragment,
        metadata: FragmentMetadata,
    ) -> Option<Self> {
        let table = Arc::clone(metadata.schema());
        let io = RangeReader::new(store, &fragment, Distance::Local, Arc::default());
        let fragment = named(OpenFragment::open(Arc::new(fragment), Arc::new(metadata), &table, 0))?;
        Some(Self { bytes, fragment, io })
    }

    /// All its bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its Bloom filters, none of which is read yet.
    pub fn blooms(&self) -> FragmentBlooms {
        FragmentBlooms::new(Arc::clone(&self.fragment.metadata), Arc::clone(&self.fragment.adaptation))
    }

    fn columns(&self) -> Vec<TableCol> {
        (0..self.fragment.adaptation.table().fields().len()).map(TableCol).collect()
    }

    /// Looks at the zones of all columns: they cover the file's rows, and have a bound each.
    pub fn look_at_zones(&self) {
        for column in self.columns() {
            for level in [Level::RowGroup, Level::Page] {
                let Some(zones) = self.fragment.zones.zones(&ColumnPath::from(column), level) else {
                    continue;
                };
                assert!(zones.starts().is_sorted(), "{:?}", zones.starts());
                assert_eq!(zones.starts().last(), Some(&self.fragment.metadata.rows()));
                for bound in [zones.lower(), zones.upper()].into_iter().flatten() {
                    assert_eq!(bound.values.len(), zones.len());
                }
            }
        }
    }

    /// Reads the Bloom filters of a column.
    pub fn look_at_blooms(&self, column: TableCol) {
        let mut blooms = self.blooms();
        for (id, range) in blooms.wanted([&ColumnPath::from(column)], &RowRanges::all(u64::MAX)) {
            let range = range.start as usize..usize::try_from(range.end).unwrap_or(usize::MAX);
            if let Some(bytes) = self.bytes.get(range) {
                blooms.put(id, bytes);
            }
        }
    }

    /// Reads rows of the first row group, all and filtered by a column.
    pub fn read(&self, filtered: Option<usize>) {
        let columns = self.columns();
        let paths: Vec<_> = columns.iter().map(|column| ColumnPath::from(*column)).collect();
        let filtered = columns.get(filtered.unwrap_or(0) % columns.len().max(1));
        for filter in [None, filtered] {
            let conjuncts: Vec<_> = filter
                .map(|column| (self.filter(*column), Arc::<StepCounts>::default()))
                .into_iter()
                .collect();
            let output = Output { columns: &paths, extra: &[Extra::RowNumber(0)] };
            let Some(plan) = named(ReadPlan::new(&self.fragment, output, &conjuncts)) else { return };
            self.read_by(&plan);
        }
    }

    fn read_by(&self, plan: &ReadPlan) {
        let rows = self.fragment.metadata.row_groups().first().map_or(0, |group| group.end);
        let mut some = RowRanges::empty();
        (0..rows.min(100)).step_by(7).for_each(|row| some.push(row..(row + 2).min(rows)));
        for (rows, at_once) in [(RowRanges::all(rows), false), (some, true)] {
            let morsel = Morsel { rows: &rows, proven: &RowRanges::empty(), live: &[], at_once };
            let batches = block_on(read_morsel(&self.fragment, plan, morsel, &self.io, BATCH));
            let Some(mut batches) = named(batches) else { continue };
            assert!(batches.rows() <= rows.len());
            for _ in 0..BATCHES {
                let Some(Some(batch)) = named(batches.next(BATCH)) else { break };
                for column in &batch.columns {
                    assert_eq!(column.len(), batch.rows);
                    column.to_data().validate_full().expect("a sound array");
                }
            }
        }
    }

    /// A test that some values of a column pass and others don't.
    fn filter(&self, column: TableCol) -> BoundExpression {
        let root: FieldRef = table_field(self.fragment.adaptation.table());
        let column = GetItem::of(BoundExpression::root(root), column.0).expect("a column");
        let data_type = column.field().data_type();
        let default = Some(data_type).filter(|t| !t.is_nested()).map(ScalarValue::new_default);
        let compare =
            |value| Compare::of(CompareOp::Gt, column.clone(), BoundExpression::literal(value)).ok();
        match default.and_then(Result::ok).and_then(compare) {
            Some(compare) => compare,
            None => IsNull::of(column, true).expect("a test that takes any type"),
        }
    }
}

/// A store with this file.
fn store(bytes: &Bytes) -> (Arc<dyn ObjectStore>, Fragment) {
    let (store, location) = (InMemory::new(), Path::from(NAME));
    block_on(store.put(&location, bytes.clone().into())).expect("a store in memory");
    let fragment = Fragment::new(block_on(store.head(&location)).expect("the file that was put"));
    (Arc::new(store), fragment)
}

/// The value; `None` for an error, which must name the file.
fn named<T>(outcome: Result<T, ScanError>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(NAME), "an error that doesn't name the file: {text}");
            None
        }
    }
}
