// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A table's schema: the columns read from files, declared or the files' union, then those that say where a row
//! lies, then the partition columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::Session;
use datafusion::common::{Result, config_err, plan_err};
use object_store::path::Path;
use parquet::arrow::RowNumber;
use trommel_scan::adapt::union_schemas;
use trommel_scan::metadata::is_utc;

use super::options::TableOptions;

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
/// on unless changed); binary columns become text if the table's options, or else `binary_as_string`, say so.
///
/// # Errors
/// Two files, both named, where a column has types that don't go together.
pub fn infer(
    files: &[(&Path, SchemaRef)],
    partitions: &[FieldRef],
    session: &dyn Session,
    table: &TableOptions,
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
    let mut union = union_schemas(read.iter().map(|(path, schema)| (*path, schema)))?;
    if table.binary_as_string.unwrap_or(options.binary_as_string) {
        union = Arc::new(with_types(&union, |data_type| match data_type {
            DataType::Binary => Some(DataType::Utf8),
            DataType::LargeBinary => Some(DataType::LargeUtf8),
            DataType::BinaryView => Some(DataType::Utf8View),
            _ => None,
        }));
    }
    if options.schema_force_view_types {
        union = Arc::new(with_types(&union, |data_type| match data_type {
            DataType::Utf8 | DataType::LargeUtf8 => Some(DataType::Utf8View),
            DataType::Binary | DataType::LargeBinary => Some(DataType::BinaryView),
            _ => None,
        }));
    }
    Ok(union)
}

/// What columns of INT96 are read as, if the session says so (`datafusion.execution.parquet.coerce_int96` and
/// `coerce_int96_tz`): timestamps of another unit than nanoseconds, which end in the year 2262.
///
/// # Errors
/// An unknown unit, or a zone other than UTC.
pub fn int96(session: &dyn Session) -> Result<Option<DataType>> {
    let options = &session.config_options().execution.parquet;
    let Some(unit) = &options.coerce_int96 else { return Ok(None) };
    let unit = match unit.as_str() {
        "ns" => TimeUnit::Nanosecond,
        "us" => TimeUnit::Microsecond,
        "ms" => TimeUnit::Millisecond,
        "s" => TimeUnit::Second,
        _ => return config_err!("coerce_int96 can't be \"{unit}\": expected ns, us, ms or s"),
    };
    match options.coerce_int96_tz.as_deref() {
        Some(zone) if !is_utc(zone) => {
            config_err!("coerce_int96_tz can't be \"{zone}\": INT96 is read in UTC or without a zone")
        }
        zone => Ok(Some(DataType::Timestamp(unit, zone.map(Into::into)))),
    }
}

/// The schema with the columns of some types as other types.
fn with_types(schema: &Schema, other: impl Fn(&DataType) -> Option<DataType>) -> Schema {
    let retyped = |field: &FieldRef| match other(field.data_type()) {
        Some(data_type) => Arc::new(Field::clone(field).with_data_type(data_type)),
        None => Arc::clone(field),
    };
    Schema::new_with_metadata(
        schema.fields().iter().map(retyped).collect::<Vec<_>>(),
        schema.metadata().clone(),
    )
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
        let columns = infer(&files, &partitions, &session, &TableOptions::default()).unwrap();
        assert_eq!(columns, schema(&[("a", Int64), ("s", Utf8View), ("b", BinaryView)]));
    }

    #[test]
    fn views_are_a_choice_of_the_session() {
        let path = Path::from("1.parquet");
        let config =
            SessionConfig::new().set_bool("datafusion.execution.parquet.schema_force_view_types", false);
        let session = SessionContext::new_with_config(config).state();
        let files = [(&path, schema(&[("s", Utf8)]))];
        let columns = infer(&files, &[], &session, &TableOptions::default()).unwrap();
        assert_eq!(columns, schema(&[("s", Utf8)]));
    }

    #[test]
    fn binaries_are_text_as_the_session_or_the_table_says() {
        let path = Path::from("1.parquet");
        let text = |session: Option<bool>, table: Option<bool>| {
            let mut config = SessionConfig::new();
            if let Some(text) = session {
                config = config.set_bool("datafusion.execution.parquet.binary_as_string", text);
            }
            let options = TableOptions { binary_as_string: table, ..TableOptions::default() };
            let files = [(&path, schema(&[("b", BinaryView)]))];
            let session = SessionContext::new_with_config(config).state();
            infer(&files, &[], &session, &options).unwrap() == schema(&[("b", Utf8View)])
        };
        assert!(!text(None, None) && text(Some(true), None));
        assert!(text(None, Some(true)) && !text(Some(true), Some(false)));
    }

    #[test]
    fn the_session_tells_what_int96_is_read_as() {
        let read = |unit: &str, zone: Option<&str>| {
            let mut config = SessionConfig::new().set_str("datafusion.execution.parquet.coerce_int96", unit);
            if let Some(zone) = zone {
                config = config.set_str("datafusion.execution.parquet.coerce_int96_tz", zone);
            }
            int96(&SessionContext::new_with_config(config).state())
        };
        assert_eq!(int96(&SessionContext::new().state()).unwrap(), None);
        let milliseconds = |zone| DataType::Timestamp(TimeUnit::Millisecond, zone);
        assert_eq!(read("ms", None).unwrap(), Some(milliseconds(None)));
        assert_eq!(read("ms", Some("UTC")).unwrap(), Some(milliseconds(Some("UTC".into()))));
        let error = read("ms", Some("Europe/Rome")).unwrap_err().to_string();
        assert!(error.contains("\"Europe/Rome\": INT96 is read in UTC"), "{error}");
        assert!(read("day", None).unwrap_err().to_string().contains("\"day\": expected ns, us, ms or s"));
    }

    #[test]
    fn a_conflict_names_both_files() {
        let (one, two) = (Path::from("1.parquet"), Path::from("2.parquet"));
        let files = [(&one, schema(&[("a", DataType::Boolean)])), (&two, schema(&[("a", DataType::Date32)]))];
        let session = SessionContext::new().state();
        let error = infer(&files, &[], &session, &TableOptions::default()).unwrap_err().to_string();
        assert!(error.contains("1.parquet") && error.contains("2.parquet"), "{error}");
    }
}
