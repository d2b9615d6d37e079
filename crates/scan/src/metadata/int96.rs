// Licensed under the Apache License, Version 2.0. See LICENSE.

//! INT96, the times of old writers: a day, and nanoseconds within it.
//!
//! As nanoseconds in 64 bits only the years 1677 to 2262 can be told; INT96 reaches further. So where the table wants a
//! coarser unit, values are read in that unit, never cast to it: the nanoseconds of later years would have wrapped.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::basic::Type as Physical;
use trommel_planner::index::FragmentCol;

use super::FragmentMetadata;

impl FragmentMetadata {
    /// The file's columns with INT96, at any depth, as this type.
    pub fn schema_with_int96(&self, as_type: &DataType) -> SchemaRef {
        self.retyped(|_| Some(Wanted::Everywhere(as_type)))
    }

    /// The same file with INT96 read in the units in which the table has these columns.
    #[must_use]
    pub fn with_int96_for(self: Arc<Self>, table: &Schema) -> Arc<Self> {
        if !(0..self.leaf_types.len()).any(|leaf| self.is_int96(leaf)) {
            return self;
        }
        let schema = self.retyped(|field| Some(Wanted::Like(table.field_with_name(field.name()).ok()?)));
        if schema == self.schema {
            return self;
        }
        let mut leaf_types = Vec::with_capacity(self.leaf_types.len());
        schema.fields().iter().for_each(|field| super::collect_leaves(field.data_type(), &mut leaf_types));
        Arc::new(Self { schema, leaf_types, ..Self::clone(&self) })
    }

    /// The file's columns, those with INT96 as is wanted of each.
    fn retyped<'a>(&self, wanted: impl Fn(&Field) -> Option<Wanted<'a>>) -> SchemaRef {
        let fields = self.schema.fields().iter().enumerate().map(|(column, field)| match wanted(field) {
            Some(wanted) => retype(field, wanted, &mut self.leaves(FragmentCol(column)).start, &|leaf| {
                self.is_int96(leaf)
            }),
            None => Arc::clone(field),
        });
        Arc::new(Schema::new(fields.collect::<Fields>()))
    }

    fn is_int96(&self, leaf: usize) -> bool {
        let descriptor = self.parquet.file_metadata().schema_descr();
        leaf < descriptor.num_columns() && descriptor.column(leaf).physical_type() == Physical::INT96
    }
}

/// What INT96 is to be read as.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// As this type, wherever it is.
    Everywhere(&'a DataType),
    /// As its counterpart in this field of the table: timestamps in the same unit. What is declared in a zone is
    /// cast to it, as from the times of a zone's clocks, save UTC, where that is the instant itself.
    Like(&'a Field),
}

impl<'a> Wanted<'a> {
    /// What is wanted of a field of this name in a struct.
    fn of_field(self, name: &str) -> Option<Self> {
        match self {
            Self::Everywhere(_) => Some(self),
            Self::Like(table) => match table.data_type() {
                DataType::Struct(fields) => Some(Self::Like(fields.find(name)?.1)),
                _ => None,
            },
        }
    }

    /// What is wanted of the items of a list or a map.
    fn of_items(self) -> Option<Self> {
        use DataType::*;
        match self {
            Self::Everywhere(_) => Some(self),
            Self::Like(table) => match table.data_type() {
                List(items) | LargeList(items) | ListView(items) | LargeListView(items) => {
                    Some(Self::Like(items))
                }
                FixedSizeList(items, _) | Map(items, _) => Some(Self::Like(items)),
                _ => None,
            },
        }
    }

    /// The type to read a leaf as.
    fn of_leaf(self) -> Option<DataType> {
        match self {
            Self::Everywhere(data_type) => Some(data_type.clone()),
            Self::Like(table) => match table.data_type() {
                DataType::Timestamp(unit, zone) => {
                    Some(DataType::Timestamp(*unit, zone.clone().filter(|zone| is_utc(zone))))
                }
                _ => None,
            },
        }
    }
}

/// Whether a zone of this name is UTC, in which INT96 is.
pub fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00")
}

/// The field with its INT96 leaves as wanted; `leaf` is its first leaf, and becomes the one after its last.
fn retype(
    field: &FieldRef,
    wanted: Wanted<'_>,
    leaf: &mut usize,
    is_int96: &dyn Fn(usize) -> bool,
) -> FieldRef {
    use DataType::*;
    let items = |items: &FieldRef, leaf: &mut usize| match wanted.of_items() {
        Some(wanted) => retype(items, wanted, leaf, is_int96),
        None => skip(items, leaf),
    };
    let data_type = match field.data_type() {
        Struct(fields) => {
            let field = |field: &FieldRef| match wanted.of_field(field.name()) {
                Some(wanted) => retype(field, wanted, leaf, is_int96),
                None => skip(field, leaf),
            };
            Struct(fields.iter().map(field).collect())
        }
        List(field) => List(items(field, leaf)),
        LargeList(field) => LargeList(items(field, leaf)),
        ListView(field) => ListView(items(field, leaf)),
        LargeListView(field) => LargeListView(items(field, leaf)),
        FixedSizeList(field, size) => FixedSizeList(items(field, leaf), *size),
        Map(field, sorted) => Map(items(field, leaf), *sorted),
        file => {
            let wanted = if is_int96(*leaf) { wanted.of_leaf() } else { None };
            *leaf += 1;
            wanted.unwrap_or_else(|| file.clone())
        }
    };
    match data_type == *field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(Field::clone(field).with_data_type(data_type)),
    }
}

/// The field as it is; `leaf` moves beyond it.
fn skip(field: &FieldRef, leaf: &mut usize) -> FieldRef {
    *leaf += super::count_leaves(field);
    Arc::clone(field)
}
