// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Dictionary-encoded chunks: their values apart from their codes.
//!
//! A predicate over a column whose chunk has a dictionary needs to be asked once for each value, and for
//! NULL; then each row is one look-up by its code. The values are decoded by the parquet crate, which is
//! served the dictionary page as if it were a data page; the codes are read here, straight from their runs:
//! the public readers give them as arrays of integers only, at about three times the cost
//! (`benchmarks/benches/decoding.rs`).

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use bytes::{BufMut, Bytes, BytesMut};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use trommel_planner::rows::{RowGroupRows, RowRanges, scatter};

use super::hybrid::{Damaged, Run, Runs, append_bits, packed, unpack};

/// Which values of a dictionary satisfy a filter, and whether NULL does.
#[derive(Debug, Clone)]
pub struct CodeTable {
    /// One entry for each value: [`KEPT`] or 0.
    entries: Vec<u8>,
    null: bool,
}

const KEPT: u8 = 1;
/// No code of a sound page.
const BEYOND: u8 = 2;

impl CodeTable {
    /// From a filter's value for each value of the dictionary and, last, for NULL; `None` for none at all.
    pub fn new(values: &BooleanArray) -> Option<Self> {
        let kept = |at| values.is_valid(at) && values.value(at);
        let null = values.len().checked_sub(1)?;
        Some(Self { entries: (0..null).map(|at| u8::from(kept(at))).collect(), null: kept(null) })
    }

    /// Whether no row can be kept, if some of them may be NULL or not.
    pub fn keeps_none(&self, nullable: bool) -> bool {
        !((nullable && self.null) || self.entries.contains(&KEPT))
    }

    /// Whether every row is kept, if some of them may be NULL or not.
    pub fn keeps_all(&self, nullable: bool) -> bool {
        (!nullable || self.null) && !self.entries.contains(&0)
    }

    /// The code that NULL has beside those of the values.
    fn null_code(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    /// The entries with one for each code of `width` bits, as far as that is few.
    fn padded(&self, width: usize) -> Vec<u8> {
        let mut entries = self.entries.clone();
        if width <= 16 {
            entries.resize(entries.len().max(1 << width), BEYOND);
        }
        entries
    }
}

/// Looks codes up in a table, page after page.
pub(super) struct Lookup<'a> {
    table: &'a CodeTable,
    padded: Option<(usize, Vec<u8>)>,
    kept: BooleanBufferBuilder,
    /// Where the codes of the rows that are kept are put, if they are asked for.
    codes: Option<&'a mut Vec<u32>>,
}

impl<'a> Lookup<'a> {
    pub fn new(table: &'a CodeTable, rows: usize, codes: Option<&'a mut Vec<u32>>) -> Self {
        Self { table, padded: None, kept: BooleanBufferBuilder::new(rows), codes }
    }

    /// Appends rows that aren't asked for.
    pub fn skip(&mut self, rows: usize) {
        self.kept.append_n(rows, false);
    }

    /// Appends some rows of a page, as ranges counted in it.
    pub fn page(&mut self, page: &Page, max_def_level: i16, rows: &RowRanges<RowGroupRows>) -> Result<()> {
        // What a page says of itself may be far more than is asked for.
        let Some(count) = rows.span().map(|span| span.end as usize) else { return Ok(()) };
        if count > page.num_values() as usize {
            return Err(damaged("a page ends before its rows do"));
        }
        if !matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) {
            return Err(damaged("a page isn't in the encoding that the footer says"));
        }
        let (levels, codes) = parts(page, max_def_level)?;
        let valid = levels.map(|levels| validity(levels, count)).transpose()?.filter(|v| v.null_count() > 0);
        let kept = match &valid {
            None => self.kept_codes(codes, count)?,
            Some(valid) => {
                let kept = scatter(valid.inner(), &self.kept_codes(codes, count - valid.null_count())?);
                if self.table.null { &kept | &!valid.inner() } else { kept }
            }
        };
        for range in rows.iter() {
            self.kept.append_buffer(&kept.slice(range.start as usize, (range.end - range.start) as usize));
        }
        let null = self.table.null_code();
        if let Some(out) = &mut self.codes {
            let kept = &kept & &bits_of(rows, count);
            codes_of(codes, &kept, valid.as_ref(), null, out)?;
        }
        Ok(())
    }

    /// Which of a page's codes are those of values that are kept.
    fn kept_codes(&mut self, codes: &[u8], count: usize) -> Result<BooleanBuffer> {
        if count == 0 {
            return Ok(BooleanBuffer::new_unset(0));
        }
        let (width, data) = width_of(codes)?;
        let entries = match &self.padded {
            Some((padded, entries)) if *padded == width => entries,
            _ => &self.padded.insert((width, self.table.padded(width))).1,
        };
        // So that a code of up to eight bits is looked up without a check of its own.
        let mut small = [BEYOND; 256];
        small.iter_mut().zip(entries).for_each(|(small, entry)| *small = *entry);
        let entry = |code: u32| entries.get(code as usize).copied().unwrap_or(BEYOND);
        let mut found = Found::new(count);
        for run in Runs::new(data, width, count) {
            let sound = match run.map_err(|Damaged| damaged("codes of a page end early"))? {
                Run::Repeated(code, n) => found.repeat(entry(code), n),
                // Codes of no bits take no bytes, however many there are.
                Run::Packed(_, n) if width == 0 => found.repeat(entry(0), n),
                Run::Packed(bytes, n) if width <= 8 => {
                    unpack(bytes, width, n, |code| found.entries.push(small[usize::from(code as u8)]));
                    found.settle(MANY)
                }
                Run::Packed(bytes, n) => {
                    unpack(bytes, width, n, |code| found.entries.push(entry(code)));
                    found.settle(MANY)
                }
            };
            sound.ok_or_else(|| damaged("a code is beyond its dictionary"))?;
        }
        found.finish().ok_or_else(|| damaged("a code is beyond its dictionary"))
    }

    pub fn finish(mut self) -> BooleanBuffer {
        self.kept.finish()
    }
}

/// The bits of a page's codes, and what comes after they are told.
fn width_of(codes: &[u8]) -> Result<(usize, &[u8])> {
    match codes.split_first() {
        Some((width, data)) if *width <= 32 => Ok((usize::from(*width), data)),
        Some(_) => Err(damaged("codes of a page have more than 32 bits")),
        None => Err(damaged("a page of codes is empty")),
    }
}

/// Appends the codes of those of a page's rows that are kept; NULL has a code of its own.
fn codes_of(
    codes: &[u8],
    kept: &BooleanBuffer,
    valid: Option<&NullBuffer>,
    null: u32,
    out: &mut Vec<u32>,
) -> Result<()> {
    let Some(valid) = valid else { return append_codes(codes, kept, out) };
    let kept_of_valid: BooleanBuffer = valid.valid_indices().map(|row| kept.value(row)).collect();
    let mut of_valid = Vec::new();
    append_codes(codes, &kept_of_valid, &mut of_valid)?;
    let mut of_valid = of_valid.into_iter();
    out.extend(kept.set_indices().filter_map(|row| match valid.is_valid(row) {
        true => of_valid.next(),
        false => Some(null),
    }));
    Ok(())
}

/// Appends the codes at the places whose bits are set.
fn append_codes(codes: &[u8], places: &BooleanBuffer, out: &mut Vec<u32>) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let (width, data) = width_of(codes)?;
    let mut start = 0;
    for run in Runs::new(data, width, places.len()) {
        let run = run.map_err(|Damaged| damaged("codes of a page end early"))?;
        let places = places.slice(start, run.len());
        start += run.len();
        match run {
            Run::Repeated(code, _) => out.extend(std::iter::repeat_n(code, places.count_set_bits())),
            Run::Packed(bytes, _) => {
                out.extend(places.set_indices().map(|at| packed(bytes, width, at)));
            }
        }
    }
    Ok(())
}

/// The first `count` rows as bits, of which those in `rows` are set.
fn bits_of(rows: &RowRanges<RowGroupRows>, count: usize) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(count);
    for range in rows.iter() {
        bits.append_n(range.start as usize - bits.len(), false);
        bits.append_n((range.end - range.start) as usize, true);
    }
    bits.append_n(count - bits.len(), false);
    bits.finish()
}

/// From so many entries on they become bits.
const MANY: usize = 64 << 10;

/// The entries of codes, in order: bits for most of them, should they be many.
struct Found {
    bits: BooleanBufferBuilder,
    /// Those that come after the bits.
    entries: Vec<u8>,
}

impl Found {
    /// None of `count` yet.
    fn new(count: usize) -> Self {
        Self { bits: BooleanBufferBuilder::new(0), entries: Vec::with_capacity(count.min(MANY)) }
    }

    /// Adds the same entry some times; `None` where it is [`BEYOND`], as everywhere here.
    fn repeat(&mut self, entry: u8, times: usize) -> Option<()> {
        if times < MANY {
            self.entries.resize(self.entries.len() + times, entry);
            return self.settle(MANY);
        }
        self.settle(1)?;
        self.bits.append_n(times, entry == KEPT);
        (entry != BEYOND).then_some(())
    }

    /// Makes bits of the entries, if there are so many of them.
    fn settle(&mut self, many: usize) -> Option<()> {
        if self.entries.len() >= many {
            self.bits.append_buffer(&pack(&self.entries)?);
            self.entries.clear();
        }
        Some(())
    }

    fn finish(mut self) -> Option<BooleanBuffer> {
        if self.bits.is_empty() {
            return pack(&self.entries);
        }
        self.settle(1)?;
        Some(self.bits.finish())
    }
}

/// One bit for each entry; `None` where one is [`BEYOND`].
fn pack(entries: &[u8]) -> Option<BooleanBuffer> {
    let (mut bytes, mut seen) = (MutableBuffer::with_capacity(entries.len().div_ceil(8)), 0);
    for eight in entries.chunks(8) {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        let word = u64::from_le_bytes(word);
        seen |= word;
        // Moves the lowest bit of each byte into the highest byte, in order.
        bytes.push(((word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8);
    }
    let sound = seen & (u64::from(BEYOND) * 0x0101_0101_0101_0101) == 0;
    sound.then(|| BooleanBuffer::new(bytes.into(), 0, entries.len()))
}

/// The definition levels of a page, unless there are none, and its values.
fn parts(page: &Page, max_def_level: i16) -> Result<(Option<&[u8]>, &[u8])> {
    let early = || damaged("a page ends within its levels");
    match page {
        Page::DataPage { buf, .. } if max_def_level == 0 => Ok((None, buf)),
        Page::DataPage { buf, def_level_encoding: Encoding::RLE, .. } => {
            let (length, rest) = buf.split_first_chunk::<4>().ok_or_else(early)?;
            let split = rest.split_at_checked(u32::from_le_bytes(*length) as usize);
            split.map(|(levels, values)| (Some(levels), values)).ok_or_else(early)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let rest = buf.get(*rep_levels_byte_len as usize..).ok_or_else(early)?;
            let (levels, values) = rest.split_at_checked(*def_levels_byte_len as usize).ok_or_else(early)?;
            Ok(((max_def_level > 0).then_some(levels), values))
        }
        _ => Err(damaged("a page's levels are in an encoding long out of use")),
    }
}

/// Which of a page's rows aren't NULL.
fn validity(levels: &[u8], rows: usize) -> Result<NullBuffer> {
    let mut bits = BooleanBufferBuilder::new(rows.min(8 * levels.len()));
    for run in Runs::new(levels, 1, rows) {
        append_bits(run.map_err(|Damaged| damaged("a page's levels end early"))?, &mut bits);
    }
    Ok(NullBuffer::new(bits.finish()))
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// A dictionary page served as a page of data, so that the usual readers decode it as the column's type.
pub(super) struct AsData(Option<Page>);

impl AsData {
    pub fn new(dictionary: &Page, max_def_level: i16) -> Self {
        let (buf, num_values) = (dictionary.buffer(), dictionary.num_values());
        Self(Some(Page::DataPage {
            buf: if max_def_level > 0 { with_levels(buf, num_values) } else { buf.clone() },
            num_values,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }))
    }
}

/// Values with definition levels that say that none is NULL.
fn with_levels(values: &Bytes, count: u32) -> Bytes {
    let mut levels = BytesMut::new();
    let mut header = u64::from(count) << 1;
    while header >= 0x80 {
        levels.put_u8(header as u8 | 0x80);
        header >>= 7;
    }
    levels.put_u8(header as u8);
    levels.put_u8(1);
    let mut page = BytesMut::with_capacity(4 + levels.len() + values.len());
    page.put_u32_le(levels.len() as u32);
    page.extend_from_slice(&levels);
    page.extend_from_slice(values);
    page.freeze()
}

impl Iterator for AsData {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for AsData {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let rows = |page: &Page| page.num_values() as usize;
        Ok(self.0.as_ref().map(|page| PageMetadata {
            num_rows: Some(rows(page)),
            num_levels: Some(rows(page)),
            is_dict: false,
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0 = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The last entry is NULL's, which counts only where a row may be NULL.
    #[rstest]
    #[case::all(&[Some(true), Some(true)], [true, true], [false, false])]
    #[case::all_but_null(&[Some(true), None], [true, false], [false, false])]
    #[case::null_alone(&[Some(false), Some(true)], [false, false], [true, false])]
    #[case::none(&[Some(false), Some(false)], [false, false], [true, true])]
    #[case::some(&[Some(true), None, Some(true)], [false, false], [false, false])]
    fn what_a_table_says_of_all_rows(
        #[case] values: &[Option<bool>],
        #[case] all: [bool; 2],
        #[case] none: [bool; 2],
    ) {
        let table = CodeTable::new(&BooleanArray::from(values.to_vec())).unwrap();
        assert_eq!([false, true].map(|nullable| table.keeps_all(nullable)), all);
        assert_eq!([false, true].map(|nullable| table.keeps_none(nullable)), none);
    }

    /// More codes than entries are kept for, in runs long and short, and packed.
    #[test]
    fn many_codes() {
        fn header(data: &mut Vec<u8>, mut header: usize) {
            while header >= 0x80 {
                data.push(header as u8 | 0x80);
                header >>= 7;
            }
            data.push(header as u8);
        }
        let table = CodeTable::new(&BooleanArray::from(vec![true, false, true, false])).unwrap();
        let (mut data, mut expect) = (vec![2], Vec::new());
        for (code, times) in [(0, 3), (1, MANY + 5), (2, 7), (0, MANY - 1), (1, 2), (2, 2 * MANY)] {
            header(&mut data, times << 1);
            data.push(code);
            expect.extend(std::iter::repeat_n(code % 2 == 0, times));
            // Eight codes: 0, 1, 2, 0, and again.
            header(&mut data, (MANY / 2) | 1);
            data.extend([0b0010_0100; MANY / 2]);
            expect.extend([true, false, true, true].repeat(MANY / 2));
        }
        let rows = expect.len();
        let kept = |data: &[u8], rows| Lookup::new(&table, 0, None).kept_codes(data, rows);
        assert_eq!(kept(&data, rows).unwrap(), BooleanBuffer::from(expect));
        header(&mut data, MANY << 1);
        data.push(3);
        assert!(kept(&data, rows).is_ok());
        assert!(kept(&data, rows + 1).is_err(), "a code beyond the dictionary");
    }
}
