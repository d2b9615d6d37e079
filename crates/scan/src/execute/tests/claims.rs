// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Rows that a file says it has, and hasn't, are an error before memory is taken for them.

use arrow::array::Int64Array;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt as _};
use parquet::file::properties::WriterProperties;

use trommel_planner::index::FragmentCol;

use super::*;
use crate::fragment::Fragment;
use crate::io::IoCounters;
use crate::metadata::FragmentMetadata;
use crate::testing::{parquet, write};

/// What the footer says. A bit for each would take 2 GiB.
const CLAIMED: i64 = 1 << 34;

#[rstest]
fn rows_that_are_not_there(#[values(false, true)] dictionary: bool) {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1000).map(|row| row % 5)));
    let file = write(&[("x", values)], WriterProperties::builder().set_dictionary_enabled(dictionary));
    let parquet = parquet(&file);
    let group = parquet.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder().set_num_values(CLAIMED).build().unwrap();
    let group = group.into_builder().set_num_rows(CLAIMED).set_column_metadata(vec![chunk]).build().unwrap();
    let parquet = parquet.into_builder().set_row_groups(vec![group]).build();

    let (store, path) = (Arc::new(InMemory::new()), Path::from("f.parquet"));
    block_on(store.put(&path, file.into())).unwrap();
    let fragment = Fragment::new(block_on(store.head(&path)).unwrap());
    let metadata = Arc::new(FragmentMetadata::try_new(path, parquet).unwrap());
    let store: Arc<dyn ObjectStore> = store;
    let io = RangeReader::new(store, &fragment, Distance::Local, Arc::<IoCounters>::default());
    let table = Arc::clone(metadata.schema());
    let root = BoundExpression::root(table_field(&table));
    let filter = compare(CompareOp::Gt, GetItem::of(root, 0).unwrap(), 2i64);
    let fragment = OpenFragment::open(Arc::new(fragment), metadata, &table, 0).unwrap();
    assert_eq!(fragment.segments.has_dictionary(&SegmentId::new(0, FragmentCol(0))), dictionary);

    let plan = ReadPlan::new(&fragment, columns(&[TableCol(0).into()]), &counted(&[filter])).unwrap();
    let rows = RowRanges::all(CLAIMED as u64);
    let morsel = Morsel { rows: &rows, proven: &RowRanges::empty(), live: &[], at_once: false };
    let error = block_on(read_morsel(&fragment, &plan, morsel, &io, STEP)).unwrap_err().to_string();
    let says = if dictionary { "a page ends before its rows do" } else { "its pages end" };
    assert!(error.starts_with("f.parquet: ") && error.contains(says), "{error}");
}

/// A part of a row group at a time: the rows are the same.
#[test]
fn large_row_groups_come_in_parts() {
    let most = prepared::MOST_ROWS;
    let (groups, end) = ([0..5, 5..3 * most], 3 * most);
    let rows: RowRanges<FragmentRows> = [2..9, 20..2 * most, 2 * most + 1..end].into_iter().collect();
    let parts: Vec<_> = Part::of(&rows, &groups).collect();
    assert!(parts.len() > 3 && parts.iter().all(|part| part.rows.len() <= most));
    let mut again = RowRanges::empty();
    parts.iter().for_each(|part| {
        part.rows.in_fragment(part.group.start).iter().for_each(|range| again.push(range));
    });
    assert_eq!(again, rows);
}
