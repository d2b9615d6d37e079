// Licensed under the Apache License, Version 2.0. See LICENSE.

//! How the parquet crate is told to read a column: which leaves, in which types.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use parking_lot::Mutex;
use parquet::arrow::FieldLevels;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use trommel_planner::index::FragmentCol;
use trommel_planner::plan::{FieldPath, SegmentId};

use crate::metadata::FragmentMetadata;

/// The field levels of a file's columns, made on demand.
#[derive(Debug)]
pub(super) struct ColumnLevels {
    levels: Vec<OnceLock<Arc<FieldLevels>>>,
    /// Those of parts of columns.
    parts: Mutex<HashMap<(FragmentCol, FieldPath), Arc<FieldLevels>>>,
    /// The file's Parquet schema, with strings marked as such.
    schema: OnceLock<SchemaDescriptor>,
}

impl ColumnLevels {
    pub fn new(columns: usize) -> Self {
        let levels = (0..columns).map(|_| OnceLock::new()).collect();
        Self { levels, parts: Mutex::default(), schema: OnceLock::new() }
    }

    /// The levels of a segment: of its column, or of the structs that lead to a part of it, with that part
    /// and nothing else in them.
    pub fn of(&self, file: &FragmentMetadata, segment: &SegmentId) -> Result<Arc<FieldLevels>> {
        let (column, path) = (segment.column, segment.path);
        let slot = self
            .levels
            .get(column.0)
            .ok_or_else(|| ParquetError::General(format!("there is no column {}", column.0)))?;
        if !path.is_empty() {
            if let Some(levels) = self.parts.lock().get(&(column, path)) {
                return Ok(Arc::clone(levels));
            }
            let levels = Arc::new(self.make(file, file.leaves_of(column, &path))?);
            return Ok(Arc::clone(self.parts.lock().entry((column, path)).or_insert(levels)));
        }
        if let Some(levels) = slot.get() {
            return Ok(Arc::clone(levels));
        }
        let levels = Arc::new(self.make(file, file.leaves(column))?);
        Ok(Arc::clone(slot.get_or_init(|| levels)))
    }

    fn make(&self, file: &FragmentMetadata, leaves: Range<usize>) -> Result<FieldLevels> {
        let schema = match self.schema.get() {
            Some(schema) => schema,
            None => {
                let made = mark_strings(file)?;
                self.schema.get_or_init(|| made)
            }
        };
        let mask = ProjectionMask::leaves(schema, leaves);
        let hint: Fields = file.schema().fields().iter().map(read_field).collect();
        parquet_to_arrow_field_levels(schema, mask, Some(&hint))
    }
}

/// The file's Parquet schema with the UTF-8 mark on every leaf that is read as a string.
///
/// The readers check UTF-8 only where the schema has that mark, and make invalid strings where a JSON
/// column, or a binary one that the file's Arrow schema calls a string, holds something else.
fn mark_strings(file: &FragmentMetadata) -> Result<SchemaDescriptor> {
    fn mark(node: &TypePtr, file: &FragmentMetadata, leaf: &mut usize) -> Result<TypePtr> {
        let info = node.get_basic_info();
        let id = info.has_id().then(|| info.id());
        if node.is_group() {
            let fields: Result<Vec<_>> = node.get_fields().iter().map(|f| mark(f, file, leaf)).collect();
            let mut group = Type::group_type_builder(node.name()).with_fields(fields?).with_id(id);
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            let group = group.with_converted_type(info.converted_type());
            return Ok(Arc::new(group.with_logical_type(info.logical_type_ref().cloned()).build()?));
        }
        let is_string = file.leaf_type(*leaf).is_some_and(reads_as_string);
        *leaf += 1;
        if node.get_physical_type() != Physical::BYTE_ARRAY
            || info.converted_type() == ConvertedType::UTF8
            || !is_string
        {
            return Ok(Arc::clone(node));
        }
        let marked = Type::primitive_type_builder(node.name(), Physical::BYTE_ARRAY)
            .with_repetition(info.repetition())
            .with_converted_type(ConvertedType::UTF8)
            .with_logical_type(Some(LogicalType::String))
            .with_id(id);
        Ok(Arc::new(marked.build()?))
    }
    let schema = file.parquet().file_metadata().schema_descr();
    let unmarked = |leaf: usize| {
        schema.column(leaf).converted_type() != ConvertedType::UTF8
            && file.leaf_type(leaf).is_some_and(reads_as_string)
    };
    if !(0..schema.num_columns()).any(unmarked) {
        return Ok(schema.clone());
    }
    Ok(SchemaDescriptor::new(mark(&schema.root_schema_ptr(), file, &mut 0)?))
}

fn reads_as_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => reads_as_string(value),
        _ => false,
    }
}

fn read_field(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(read_type(field.data_type())))
}

/// The type that a column is decoded as; it is cast to the file's type afterwards.
///
/// They differ for dictionaries alone. Only those of strings and binaries are read as such, and only with
/// keys that no dictionary page is too long for; the readers fail at others, or hash every value.
fn read_type(data_type: &DataType) -> DataType {
    let nested =
        |field: &FieldRef| Arc::new(Field::clone(field).with_data_type(read_type(field.data_type())));
    match data_type {
        DataType::Dictionary(key, value) => {
            use DataType::*;
            let read = matches!(**key, Int32 | UInt32 | Int64 | UInt64)
                && matches!(**value, Utf8 | LargeUtf8 | Binary | LargeBinary);
            if read { data_type.clone() } else { value.as_ref().clone() }
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nested).collect()),
        DataType::List(field) => DataType::List(nested(field)),
        DataType::LargeList(field) => DataType::LargeList(nested(field)),
        DataType::ListView(field) => DataType::ListView(nested(field)),
        DataType::LargeListView(field) => DataType::LargeListView(nested(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(nested(field), *size),
        DataType::Map(field, sorted) => DataType::Map(nested(field), *sorted),
        other => other.clone(),
    }
}
