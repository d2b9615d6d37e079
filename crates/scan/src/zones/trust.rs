// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Which bounds of a leaf can be relied on, as far as its type and the file's declarations decide.

use parquet::basic::{ColumnOrder, ConvertedType, LogicalType, SortOrder, Type};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::ColumnDescriptor;

/// How far a leaf's bounds can be relied on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trust {
    /// Bounds in the fields that replaced the deprecated ones.
    pub current: bool,
    /// Bounds in the deprecated fields, which were written in signed order whatever the type.
    pub deprecated: bool,
    /// Whether the leaf holds decimals as byte arrays, of which only bounds that aren't truncated can be
    /// used; page indexes don't say which are.
    pub decimal_bytes: bool,
    /// Whether the leaf holds half floats, whose bounds may be NaN.
    pub float16: bool,
}

impl Trust {
    /// `None` for a leaf of which nothing can be known: a repeated one, whose statistics count levels
    /// and not rows.
    pub fn of(file: &FileMetaData, leaf: usize) -> Option<Self> {
        let descriptor = file.schema_descr().column(leaf);
        if descriptor.max_rep_level() > 0 {
            return None;
        }
        let natural = natural_order(&descriptor);
        let signed_number = natural == SortOrder::SIGNED
            && matches!(descriptor.physical_type(), Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE);
        let declared = file.column_orders().and_then(|orders| orders.get(leaf)).copied();
        let current = match declared {
            Some(ColumnOrder::TYPE_DEFINED_ORDER(order)) => {
                order != SortOrder::UNDEFINED && natural != SortOrder::UNDEFINED
            }
            None | Some(ColumnOrder::UNDEFINED) => signed_number,
            Some(ColumnOrder::UNKNOWN) => false,
        };
        let deprecated = signed_number && declared != Some(ColumnOrder::UNKNOWN);
        let decimal_bytes = descriptor.physical_type() == Type::BYTE_ARRAY && is_decimal(&descriptor);
        let float16 = matches!(descriptor.logical_type_ref(), Some(LogicalType::Float16));
        Some(Self { current, deprecated, decimal_bytes, float16 })
    }
}

/// The order that the format defines for a column's type.
fn natural_order(descriptor: &ColumnDescriptor) -> SortOrder {
    if descriptor.physical_type() == Type::INT96 {
        return SortOrder::UNDEFINED;
    }
    let logical = descriptor.logical_type_ref();
    ColumnOrder::sort_order_for_type(logical, descriptor.converted_type(), descriptor.physical_type())
}

fn is_decimal(descriptor: &ColumnDescriptor) -> bool {
    matches!(descriptor.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || descriptor.converted_type() == ConvertedType::DECIMAL
}
