// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Selected rows, in steps, and rows found by their codes: against the whole file and a filter of its values.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::*;

/// Whether a made-up filter keeps a value, told from its text so that any type will do.
fn keeps(salt: u64, value: Option<&str>) -> bool {
    let mut hasher = DefaultHasher::new();
    (salt, value).hash(&mut hasher);
    hasher.finish().is_multiple_of(3)
}

fn kept(salt: u64, array: &dyn Array) -> Vec<bool> {
    let options = FormatOptions::default();
    let text = ArrayFormatter::try_new(array, &options).unwrap();
    let nulls = array.logical_nulls();
    let is_null = |at| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
    let value = |at| (!is_null(at)).then(|| text.value(at).to_string());
    (0..array.len()).map(|at| keeps(salt, value(at).as_deref())).collect()
}

/// The bits of `rows`, of which most, some, few or none are selected, alone or in runs.
fn selections() -> impl Strategy<Value = Vec<bool>> {
    let run = prop_oneof![Just(1usize), 1usize..4, 20usize..200];
    prop::collection::vec((run, 0u32..10), 1..200).prop_flat_map(|runs| {
        (0u32..11).prop_map(move |share| {
            runs.iter().flat_map(|(len, dice)| std::iter::repeat_n(*dice < share, *len)).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn selected_rows_in_steps(
        layout in layouts(), rows in some_ranges(), selected in selections(), step in 1usize..150,
    ) {
        let columns: Vec<_> = COLUMNS.iter().map(|name| (*name, column(name))).collect();
        let file = file_of(&columns, layout);
        let (whole, metadata) = (oracle(&file), metadata(&file));
        let reader = SegmentReader::new(Arc::clone(&metadata));
        let group = &metadata.row_groups()[0];
        let rows = rows.clip(&(0..group.end - group.start));
        let selected: BooleanBuffer =
            (0..rows.len() as usize).map(|at| selected[at % selected.len()]).collect();
        let indices: UInt64Array =
            rows.iter().flatten().zip(&selected).filter(|(_, keep)| *keep).map(|(row, _)| row).collect();
        for (at, (name, _)) in columns.iter().enumerate() {
            let segment = SegmentId::new(0, FragmentCol(at));
            let data_type = metadata.schema().field(at).data_type();
            let read = reader.read(&segment, &rows, Some(&selected));
            let mut stream =
                reader.open(&read, &held(&file, &reader.reach(&segment, &read.rows)), step).unwrap();
            let mut left = indices.len();
            let expect = cast(whole.column(at), data_type).unwrap();
            while left > 0 {
                let got = stream.next(left.min(step)).unwrap();
                let expect = take(&expect, &indices.slice(indices.len() - left, got.len()), None).unwrap();
                prop_assert_eq!(got.len(), left.min(step));
                prop_assert_eq!(got.data_type(), data_type);
                let text = |array: &ArrayRef| kept(7, array);
                prop_assert_eq!(text(&got), text(&expect), "{}", name);
                left -= got.len();
            }
            prop_assert!(stream.next(1).is_err());
        }
    }

    #[test]
    fn rows_found_by_their_codes(
        version in prop_oneof![Just(WriterVersion::PARQUET_1_0), Just(WriterVersion::PARQUET_2_0)],
        compression in prop_oneof![Just(Compression::UNCOMPRESSED), Just(Compression::SNAPPY)],
        rows in some_ranges(), selected in selections(), salt in any::<u64>(),
    ) {
        let columns: Vec<_> = COLUMNS.iter().map(|name| (*name, column(name))).collect();
        let layout = Layout { version, page_index: true, compression, dictionary: true, row_group: ROWS };
        let file = file_of(&columns, layout);
        let (whole, metadata) = (oracle(&file), metadata(&file));
        let reader = SegmentReader::new(Arc::clone(&metadata));
        let rows = rows.clip(&(0..ROWS as u64));
        let selected: BooleanBuffer =
            (0..rows.len() as usize).map(|at| selected[at % selected.len()]).collect();
        let mut asked = 0;
        for (at, (name, _)) in columns.iter().enumerate() {
            let segment = SegmentId::new(0, FragmentCol(at));
            if !reader.has_dictionary(&segment) {
                continue;
            }
            asked += 1;
            let values = reader.dictionary(&segment, &held(&file, &reader.dictionaries(&segment))).unwrap();
            let data_type = metadata.schema().field(at).data_type();
            prop_assert_eq!(values.data_type(), data_type);
            let mut table = kept(salt, &values);
            table.push(keeps(salt, None));
            let table = CodeTable::new(&BooleanArray::from(table)).unwrap();
            let read = reader.touched(&segment, &rows, Some(&selected));
            let reach = reader.reach(&segment, &read.rows);
            let (held, mut codes) = (held(&file, &reach), Vec::new());
            let got = reader.look_up(&read, &rows, &table, &held, Some(&mut codes)).unwrap();
            prop_assert_eq!(&reader.look_up(&read, &rows, &table, &held, None).unwrap(), &got);
            let whole = cast(whole.column(at), data_type).unwrap();
            let found: Vec<_> = rows.iter().flatten().zip(&got).filter(|(_, got)| *got).collect();
            let found = UInt32Array::from_iter_values(found.iter().map(|(row, _)| *row as u32));
            let null = new_null_array(data_type, 1);
            let with_null = arrow::compute::concat(&[&values, &null]).unwrap();
            let of_codes = take(&with_null, &UInt32Array::from(codes), None).unwrap();
            let expect = take(&whole, &found, None).unwrap();
            prop_assert_eq!(of_codes.data_type(), data_type);
            prop_assert_eq!(kept(7, &of_codes), kept(7, &expect), "{}", name);
            let expect = kept(salt, &whole);
            prop_assert_eq!(got.len() as u64, rows.len());
            for ((row, got), selected) in rows.iter().flatten().zip(&got).zip(&selected) {
                let touched = read.rows.overlaps(&(row..row + 1));
                prop_assert!(touched || !selected);
                prop_assert_eq!(got, touched && expect[row as usize], "row {} of {}", row, name);
            }
        }
        prop_assert!(asked > 20, "{asked} columns have a dictionary");
    }
}

/// Damage to codes is an error, as it is where values are decoded.
#[rstest]
#[case::v1(WriterVersion::PARQUET_1_0)]
#[case::v2(WriterVersion::PARQUET_2_0)]
fn damaged_codes_are_an_error(#[case] version: WriterVersion) {
    let layout = Layout { dictionary: true, version, ..PLAIN };
    let file = file_of(&[("s", column("utf8").slice(0, 60)), ("i", column("i64").slice(0, 60))], layout);
    let reader = SegmentReader::new(metadata(&file));
    let end = reader.metadata.parquet().row_group(0).columns().iter().map(|c| c.byte_range());
    let end = end.map(|(start, len)| start + len).max().unwrap();
    let rows = RowRanges::single(0..60);
    let mut errors = 0;
    for at in 4..end as usize {
        for flip in [0x5A, 0xFF] {
            let mut damaged = file.to_vec();
            damaged[at] ^= flip;
            let held = FetchedRanges::whole(damaged.into());
            for column in 0..2 {
                let segment = SegmentId::new(0, FragmentCol(column));
                let values = match reader.dictionary(&segment, &held) {
                    Ok(values) => values,
                    Err(error) => {
                        assert!(error.to_string().starts_with("f.parquet: "), "{error}");
                        errors += 1;
                        continue;
                    }
                };
                let table = CodeTable::new(&BooleanArray::from(vec![true; values.len() + 1])).unwrap();
                let mut codes = Vec::new();
                let read = reader.touched(&segment, &rows, None);
                match reader.look_up(&read, &rows, &table, &held, Some(&mut codes)) {
                    Ok(bits) => assert_eq!([bits.len(), codes.len()], [60, bits.count_set_bits()]),
                    Err(error) => {
                        assert!(error.to_string().starts_with("f.parquet: "), "{error}");
                        errors += 1;
                    }
                }
            }
        }
    }
    assert!(errors > 100, "{errors}");
}
