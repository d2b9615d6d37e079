// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Why something is unknown of a zone, as far as the metadata tells.

use parquet::basic::{ColumnOrder, ConvertedType, LogicalType, SortOrder, Type};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;

/// What lies in a list has no zones.
pub const IN_A_LIST: &str = "in a list: statistics count levels, not rows";

/// Why a row group's bounds aren't used.
pub fn no_bounds(parquet: &ParquetMetaData, row_group: usize, leaf: usize) -> &'static str {
    let chunk = parquet.row_group(row_group).column(leaf);
    let column = chunk.column_descr();
    if column.max_rep_level() > 0 {
        return IN_A_LIST;
    }
    let Some(statistics) = chunk.statistics() else { return "no statistics" };
    let stated = [statistics.min_bytes_opt(), statistics.max_bytes_opt()];
    if stated.iter().all(Option::is_none) {
        return "no bounds";
    }
    let signed = matches!(column.physical_type(), Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE);
    let order = parquet.file_metadata().column_orders().and_then(|orders| orders.get(leaf)).copied();
    let natural = ColumnOrder::sort_order_for_type(
        column.logical_type_ref(),
        column.converted_type(),
        column.physical_type(),
    );
    let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL;
    let is_truncated = !statistics.min_is_exact() || !statistics.max_is_exact();
    match order {
        _ if column.physical_type() == Type::INT96 => "INT96 has no order",
        _ if natural == SortOrder::UNDEFINED => "the type has no order",
        Some(ColumnOrder::UNKNOWN) => "bounds in an unknown order",
        _ if statistics.is_min_max_deprecated() && !(signed && natural == SortOrder::SIGNED) => {
            "deprecated bounds, compared as signed bytes"
        }
        None | Some(ColumnOrder::UNDEFINED) if !(signed && natural == SortOrder::SIGNED) => {
            "bounds in an undeclared order"
        }
        _ if is_nan(statistics) => "NaN as a bound",
        _ if is_decimal && column.physical_type() == Type::BYTE_ARRAY && is_truncated => {
            "decimal bounds that may be truncated"
        }
        _ if stated.iter().any(Option::is_none) => "only one bound",
        _ => "bounds that can't be: crossed, or no values of the type",
    }
}

/// Why a page's bounds aren't used although its column has a page index that is.
pub const NO_PAGE_BOUNDS: &str = "no usable bounds in the page index";

/// Why a zone's count of NULLs isn't used.
pub fn no_nulls(parquet: &ParquetMetaData, row_group: usize, leaf: usize) -> &'static str {
    let chunk = parquet.row_group(row_group).column(leaf);
    match chunk.statistics() {
        _ if chunk.column_descr().max_rep_level() > 0 => IN_A_LIST,
        None => "no statistics",
        Some(statistics) if statistics.null_count_opt().is_none() => "no count of NULLs",
        Some(_) => "more NULLs than rows",
    }
}

/// Why a row group isn't divided into pages.
pub fn no_pages(parquet: &ParquetMetaData, row_group: usize, leaf: usize) -> &'static str {
    let chunk = parquet.row_group(row_group).column(leaf);
    match (chunk.column_index_offset(), chunk.offset_index_offset()) {
        (Some(_), Some(_)) => "a page index that can't be",
        _ => "no page index",
    }
}

fn is_nan(statistics: &Statistics) -> bool {
    match statistics {
        Statistics::Float(v) => v.min_opt().into_iter().chain(v.max_opt()).any(|bound| bound.is_nan()),
        Statistics::Double(v) => v.min_opt().into_iter().chain(v.max_opt()).any(|bound| bound.is_nan()),
        _ => false,
    }
}
