// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How the TPC-H tables are laid out in Parquet: as `tpchgen-cli` 3 lays them out when it is given no options.
//!
//! A file holds a whole table, cut into row groups of equal shares: as many as fit an estimated 7 MiB each.
//! Pages are compressed with snappy; dictionaries, page statistics and the page index are on; Arrow's own
//! schema isn't embedded. At scale 1, `lineitem` has 53 row groups of some 113 200 rows.

use std::fmt;

use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RecordBatchIterator,
    RegionArrow, SupplierArrow,
};

/// The size a row group is planned for, in bytes.
const ROW_GROUP_BYTES: u64 = 7 * 1024 * 1024;

/// Row groups in one file at most: Parquet numbers them with 16 bits.
const MAX_ROW_GROUPS: u64 = 32_767;

/// The footer entry that tells which data a file holds; a file without it isn't ours.
pub(crate) const CONTENT_KEY: &str = "trommel.tpch";

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TpchTable {
    /// `region`
    Region,
    /// `nation`
    Nation,
    /// `supplier`
    Supplier,
    /// `part`
    Part,
    /// `partsupp`
    PartSupp,
    /// `customer`
    Customer,
    /// `orders`
    Orders,
    /// `lineitem`
    LineItem,
}

impl TpchTable {
    /// Every table, small ones first.
    pub const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Part,
        Self::PartSupp,
        Self::Customer,
        Self::Orders,
        Self::LineItem,
    ];

    /// The table's name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Part => "part",
            Self::PartSupp => "partsupp",
            Self::Customer => "customer",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// Name of the table's file inside a data folder.
    pub fn file_name(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// Rows at `scale`: exact for every table but `lineitem`, where it is four per order, near the truth.
    pub fn expected_rows(self, scale: f64) -> u64 {
        let rows = match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Supplier => SupplierGenerator::calculate_row_count(scale, 1, 1),
            Self::Part => PartGenerator::calculate_row_count(scale, 1, 1),
            // The generator counts parts here, each of which has four suppliers.
            Self::PartSupp => 4 * PartSuppGenerator::calculate_row_count(scale, 1, 1),
            Self::Customer => CustomerGenerator::calculate_row_count(scale, 1, 1),
            Self::Orders => OrderGenerator::calculate_row_count(scale, 1, 1),
            Self::LineItem => 4 * OrderGenerator::calculate_row_count(scale, 1, 1),
        };
        rows.max(0).unsigned_abs()
    }

    /// Row groups at `scale`.
    pub fn row_groups(self, scale: f64) -> u32 {
        let groups = match self {
            // The generators of these two can't make a share of their table.
            Self::Region | Self::Nation => 1,
            _ => self.expected_rows(scale) * self.estimated_row_bytes() / ROW_GROUP_BYTES + 1,
        };
        u32::try_from(groups.min(MAX_ROW_GROUPS)).unwrap_or(1)
    }

    /// The rows of one row group (counted from 0) of the table at `scale`, in batches.
    pub(crate) fn batches(self, scale: f64, row_group: u32) -> Box<dyn RecordBatchIterator> {
        let share = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let (part, parts) = (share(row_group + 1), share(self.row_groups(scale)));
        match self {
            Self::Region => Box::new(RegionArrow::new(RegionGenerator::new(scale, part, parts))),
            Self::Nation => Box::new(NationArrow::new(NationGenerator::new(scale, part, parts))),
            Self::Supplier => Box::new(SupplierArrow::new(SupplierGenerator::new(scale, part, parts))),
            Self::Part => Box::new(PartArrow::new(PartGenerator::new(scale, part, parts))),
            Self::PartSupp => Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, part, parts))),
            Self::Customer => Box::new(CustomerArrow::new(CustomerGenerator::new(scale, part, parts))),
            Self::Orders => Box::new(OrderArrow::new(OrderGenerator::new(scale, part, parts))),
            Self::LineItem => Box::new(LineItemArrow::new(LineItemGenerator::new(scale, part, parts))),
        }
    }

    /// What `tpchgen-cli` takes one row for when it counts row groups. Not the size a row turns out to have.
    fn estimated_row_bytes(self) -> u64 {
        match self {
            Self::Region => 151,
            Self::Nation => 117,
            Self::Supplier => 164,
            Self::Part => 70,
            Self::PartSupp => 141,
            Self::Customer => 168,
            Self::Orders => 75,
            Self::LineItem => 64,
        }
    }
}

impl fmt::Display for TpchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the footer entry [`CONTENT_KEY`] of a complete file says.
pub(crate) fn content(table: TpchTable, scale: f64) -> String {
    format!("{table} at scale {scale}, tpchgen 3")
}

/// How the writer of a table's file is set up.
pub(crate) fn writer_options(table: TpchTable, scale: f64) -> ArrowWriterOptions {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(true)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(vec![KeyValue::new(CONTENT_KEY.to_owned(), content(table, scale))]))
        .build();
    ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // The numbers tpchgen-cli 3 promises for its default layout.
    #[rstest]
    #[case::lineitem(TpchTable::LineItem, 1.0, 53)]
    #[case::lineitem_of_ten(TpchTable::LineItem, 10.0, 524)]
    #[case::orders(TpchTable::Orders, 1.0, 16)]
    #[case::partsupp(TpchTable::PartSupp, 1.0, 16)]
    #[case::customer(TpchTable::Customer, 1.0, 4)]
    #[case::part(TpchTable::Part, 1.0, 2)]
    #[case::supplier(TpchTable::Supplier, 1.0, 1)]
    #[case::nation_never_splits(TpchTable::Nation, 100.0, 1)]
    #[case::small_scale(TpchTable::LineItem, 0.01, 1)]
    fn row_groups(#[case] table: TpchTable, #[case] scale: f64, #[case] expected: u32) {
        assert_eq!(table.row_groups(scale), expected);
    }

    #[test]
    fn shares_of_row_groups_make_the_whole_table() {
        let scale = 0.05;
        let groups = TpchTable::Orders.row_groups(scale);
        let rows: usize = (0..groups)
            .flat_map(|group| TpchTable::Orders.batches(scale, group))
            .map(|batch| batch.num_rows())
            .sum();
        assert_eq!(rows as u64, TpchTable::Orders.expected_rows(scale));
    }
}
