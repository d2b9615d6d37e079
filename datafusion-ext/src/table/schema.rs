// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A table's schema: the columns read from files, declared or the files' union, then those that say where a row
//! lies, then the partition columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_err};
use object_store::path::Path;
use parquet::arrow::RowNumber;
use trommel_scan::adapt::union_schemas;

/// The columns that say where a row lies.
#[derive(Debug)]
pub struct RowAddresses {
    /// The number of the row in its file.
    row: FieldRef,
    /// The path of the file; the same for all of its rows, like the values of partition columns.
    fragment: FieldRef,
}

/// The columns that say where a row lies, under names that none of these columns has.
pub fn row_addresses(columns: &Schema, partitions: &[FieldRef]) -> RowAddresses {
    let is_taken = |name: &str| columns.fields().iter().chain(partitions).any(|field| field.name() == name);
    let free = |name: &str| {
        let mut name = name.to_owned();
        while is_taken(&name) {
            name.insert(0, '_');
        }
        name
    };
    RowAddresses {
        row: Arc::new(Field::new(free("_row"), DataType::Int64, false).with_extension_type(RowNumber)),
        fragment: Arc::new(Field::new(free("_fragment"), DataType::Utf8View, false)),
    }
}

/// The schema of a table with these columns declared, of which those named like partition columns
/// aren't read from files, and these partition columns, which come last, after the path of the file.
///
/// # Errors
/// Two columns of one name.
pub fn table_schema(
    columns: &Schema,
    addresses: Option<&RowAddresses>,
    partitions: &[FieldRef],
) -> Result<SchemaRef> {
    let is_partition = |name: &str| partitions.iter().any(|partition| partition.name() == name);
    let read = columns.fields().iter().filter(|column| !is_partition(column.name()));
    let addresses = addresses.into_iter().flat_map(|addresses| [&addresses.row, &addresses.fragment]);
    let fields: Vec<FieldRef> = read.chain(addresses).chain(partitions).map(Arc::clone).collect();
    let twice =
        fields.iter().enumerate().find(|(i, field)| fields[..*i].iter().any(|f| f.name() == field.name()));
    match twice {
        Some((_, field)) => plan_err!("the table has two columns named \"{}\"", field.name()),
        None => Ok(Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone()))),
    }
}

/// The columns of a table over files with these schemas: their union by name, widened where types differ.
///
/// A partition column hides a column of its name in the files. As the session asks, text and binary columns become
/// views, and metadata is left out (`datafusion.execution.parquet.schema_force_view_types` and `skip_metadata`, both
/// on unless changed).
///
/// # Errors
/// Two files, both named, where a column has types that don't go together.
pub fn infer(
    files: &[(&Path, SchemaRef)],
    partitions: &[FieldRef],
    session: &dyn Session,
) -> Result<SchemaRef> {
    let options = &session.config_options().execution.parquet;
    let read: Vec<(&Path, Schema)> = files
        .iter()
        .map(|(path, schema)| {
            let metadata = if options.skip_metadata { HashMap::new() } else { schema.metadata().clone() };
            let fields = schema.fields().iter().filter(|f| partitions.iter().all(|p| p.name() != f.name()));
            let fields = fields.map(|field| match options.skip_metadata {
                true => Arc::new(field.as_ref().clone().with_metadata(HashMap::new())),
                false => Arc::clone(field),
            });
            (*path, Schema::new_with_metadata(fields.collect::<Vec<FieldRef>>(), metadata))
        })
        .collect();
    let union = union_schemas(read.iter().map(|(path, schema)| (*path, schema)))?;
    Ok(if options.schema_force_view_types { Arc::new(with_views(&union)) } else { union })
}

/// The schema with text and binary columns as views, which decode and compare faster.
fn with_views(schema: &Schema) -> Schema {
    let view = |field: &FieldRef| -> FieldRef {
        let view = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            _ => return Arc::clone(field),
        };
        Arc::new(Field::clone(field).with_data_type(view))
    };
    Schema::new_with_metadata(schema.fields().iter().map(view).collect::<Vec<_>>(), schema.metadata().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::partitions;
    use DataType::{BinaryView, Int32, Int64, LargeUtf8, Utf8, Utf8View};
    use datafusion::prelude::{SessionConfig, SessionContext};

    fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
        let fields = columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    #[test]
    fn partition_columns_come_last_in_their_own_order() {
        let declared = schema(&[("q", Int32), ("a", Utf8), ("p", Int64), ("b", Utf8)]);
        let partitions = [partitions::field("p", Int64), partitions::field("q", Int32)];
        let table = table_schema(&declared, None, &partitions).unwrap();
        assert_eq!(table, schema(&[("a", Utf8), ("b", Utf8), ("p", Int64), ("q", Int32)]));
    }

    #[test]
    fn addresses_of_rows_take_names_that_are_free() {
        let (columns, partitions) = (schema(&[("_row", Utf8)]), [partitions::field("_fragment", Int64)]);
        let addresses = row_addresses(&columns, &partitions);
        let table = table_schema(&columns, Some(&addresses), &partitions).unwrap();
        let names: Vec<_> = table.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["_row", "__row", "__fragment", "_fragment"]);
    }

    #[test]
    fn two_columns_of_one_name_are_an_error() {
        let partitions = [partitions::field("p", Int64), partitions::field("p", Int64)];
        let error = table_schema(&schema(&[("a", Utf8)]), None, &partitions).unwrap_err().to_string();
        assert!(error.contains("two columns named \"p\""), "{error}");
    }

    #[test]
    fn the_union_of_files() {
        let (one, two) = (Path::from("1.parquet"), Path::from("2.parquet"));
        let files = [
            (&one, schema(&[("a", Int32), ("s", Utf8), ("p", Utf8)])),
            (&two, schema(&[("b", DataType::Binary), ("s", LargeUtf8), ("a", Int64)])),
        ];
        let partitions = [partitions::field("p", Int32)];
        let session = SessionContext::new().state();
        let columns = infer(&files, &partitions, &session).unwrap();
        assert_eq!(columns, schema(&[("a", Int64), ("s", Utf8View), ("b", BinaryView)]));
    }

    #[test]
    fn views_are_a_choice_of_the_session() {
        let path = Path::from("1.parquet");
        let config =
            SessionConfig::new().set_bool("datafusion.execution.parquet.schema_force_view_types", false);
        let session = SessionContext::new_with_config(config).state();
        let columns = infer(&[(&path, schema(&[("s", Utf8)]))], &[], &session).unwrap();
        assert_eq!(columns, schema(&[("s", Utf8)]));
    }

    #[test]
    fn a_conflict_names_both_files() {
        let (one, two) = (Path::from("1.parquet"), Path::from("2.parquet"));
        let files = [(&one, schema(&[("a", DataType::Boolean)])), (&two, schema(&[("a", DataType::Date32)]))];
        let error = infer(&files, &[], &SessionContext::new().state()).unwrap_err().to_string();
        assert!(error.contains("1.parquet") && error.contains("2.parquet"), "{error}");
    }
}
