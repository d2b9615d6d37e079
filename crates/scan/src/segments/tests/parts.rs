// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Fields of structs as segments of their own: what they hold, and that nothing else is read for them.

use arrow::compute::nullif;
use arrow::datatypes::Fields;
use trommel_planner::plan::FieldPath;

use super::*;

/// Structs that are never NULL, with fields of every kind of nesting.
fn wide() -> ArrayRef {
    let texts: StringArray = (0..ROWS).map(|i| (i % 4 != 1).then(|| text(i % 5))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("t", Arc::new(texts)),
        ("s", structs()),
        ("l", lists()),
        ("m", maps()),
        ("ls", lists_of_structs()),
        ("z", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
    ];
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), *name != "z");
    let fields: Fields = columns.iter().map(field).collect();
    Arc::new(StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None))
}

/// What a path leads to, NULL where one of the structs is: arrow's own kernels, level by level.
fn at_path(array: &ArrayRef, path: &[usize]) -> ArrayRef {
    path.iter().fold(Arc::clone(array), |of, field| {
        let child = Arc::clone(of.as_struct().column(*field));
        match of.nulls() {
            Some(nulls) => nullif(&child, &BooleanArray::new(!nulls.inner(), None)).unwrap(),
            None => child,
        }
    })
}

fn nulls(array: &ArrayRef) -> Vec<bool> {
    (0..array.len()).map(|at| array.is_null(at)).collect()
}

/// The path, and which leaves of `wide` it leads to.
const PATHS: [(&[usize], Range<usize>); 9] = [
    (&[], 0..9),
    (&[0], 0..1),
    (&[1], 1..3),
    (&[1, 0], 1..2),
    (&[1, 1], 2..3),
    (&[1, 1, 0], 2..3),
    (&[2], 3..4),
    (&[4], 6..8),
    (&[5], 8..9),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn parts_hold_what_the_whole_holds(layout in layouts(), rows in some_ranges(), salt in 0..3usize) {
        let file = file_of(&[("x", column("i64")), ("w", wide())], layout);
        let (whole, metadata) = (oracle(&file), metadata(&file));
        let reader = SegmentReader::new(Arc::clone(&metadata));
        let group = metadata.row_groups()[0].clone();
        let rows = rows.clip(&(0..group.end - group.start));
        for (path, leaves) in PATHS {
            let column = SegmentId::new(0, FragmentCol(1));
            let segment = path.iter().try_fold(column, |of, field| of.field(*field)).unwrap();
            let field = metadata.field_of(FragmentCol(1), &segment.path).unwrap();
            prop_assert_eq!(metadata.leaves_of(FragmentCol(1), &segment.path), leaves.start + 1..leaves.end + 1);
            // Exactly some rows, or pages with some rows of them.
            let selected: BooleanBuffer = (0..rows.len() as usize).map(|at| salt == 0 || at % (salt * 5) == 0).collect();
            let read = reader.read(&segment, &rows, Some(&selected));
            let reach = reader.reach(&segment, &read.rows);
            let count = selected.count_set_bits();
            let mut stream = reader.open(&read, &held(&file, &reach), 64).unwrap();
            let got = stream.next(count).unwrap();
            let wanted = rows.select(&selected);
            let indices: UInt64Array = wanted.iter().flatten().collect::<Vec<_>>().into();
            let expect = take(&at_path(whole.column(1), path), &indices, None).unwrap();
            prop_assert_eq!(got.data_type(), field.data_type());
            prop_assert!(field.is_nullable() || got.null_count() == 0);
            // Fields of NULL structs below, of which the oracle knows nothing, aren't told apart.
            if !path.is_empty() && !field.data_type().is_nested() {
                prop_assert_eq!(&got, &expect, "{:?}", path);
            } else {
                prop_assert_eq!(nulls(&got), nulls(&expect), "{:?}", path);
            }
            // Nothing is reached but the leaves' own chunks.
            let chunks = metadata.parquet().row_group(0).columns()[leaves.start + 1..leaves.end + 1].iter();
            let chunks: Vec<_> = chunks.filter_map(crate::metadata::chunk_range).collect();
            let is_own = |range: &Range<u64>| {
                let inside = chunks.iter().map(|c| range.end.min(c.end).saturating_sub(range.start.max(c.start)));
                inside.sum::<u64>() == range.end - range.start
            };
            prop_assert!(reach.iter().all(is_own), "{:?} beyond {:?}", reach, chunks);
        }
    }
}

/// The codes of a field that is NULL with no struct are as good as those of a column.
#[test]
fn a_field_has_its_dictionary() {
    let batch = RecordBatch::try_from_iter_with_nullable([("w", wide(), false)]).unwrap();
    let file = write_batch(&batch, WriterProperties::builder().set_data_page_row_count_limit(40).build());
    let reader = SegmentReader::new(metadata(&file));
    let column = SegmentId::new(0, FragmentCol(0));
    assert!(!reader.has_dictionary(&column));
    let segment = column.field(0).unwrap();
    assert!(reader.has_dictionary(&segment));
    let values = reader.dictionary(&segment, &held(&file, &reader.dictionaries(&segment))).unwrap();
    let mut texts: Vec<_> = values.as_string::<i32>().iter().flatten().collect();
    texts.sort_unstable();
    let mut expect: Vec<_> = (0..5).map(text).collect();
    expect.sort_unstable();
    assert_eq!(texts, expect);
}

#[test]
fn parts_that_are_not_there_are_errors() {
    let file = file_of(&[("w", wide())], PLAIN);
    let metadata = metadata(&file);
    let reader = SegmentReader::new(Arc::clone(&metadata));
    for path in [&[6][..], &[0, 0], &[2, 0], &[1, 2]] {
        let segment =
            path.iter().try_fold(SegmentId::new(0, FragmentCol(0)), |of, field| of.field(*field)).unwrap();
        assert!(metadata.field_of(FragmentCol(0), &segment.path).is_none());
        assert!(reader.reach(&segment, &RowRanges::single(0..5)).is_empty());
        let error = reader.decode(&segment, &RowRanges::single(0..5), &FetchedRanges::whole(file.clone()));
        assert!(error.unwrap_err().to_string().starts_with("f.parquet: malformed: "));
    }
    assert_eq!(metadata.leaves_of(FragmentCol(7), &FieldPath::EMPTY), 0..0);
}
