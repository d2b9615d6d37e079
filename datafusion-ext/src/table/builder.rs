// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Opening a table: its locations, and whatever of it is declared instead of found.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::{Constraint, Constraints, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{Expr, SortExpr};
use trommel_scan::ScanError;
use trommel_scan::fragment::Fragment;
use trommel_scan::io::IoCounters;

use super::caches::metadata_cache;
use super::listing::{self, ListedFile};
use super::location::Location;
use super::options::TableOptions;
use super::{TrommelTable, partitions, schema, side_by_side};

/// Opens a [`TrommelTable`]; made by [`TrommelTable::builder`].
///
/// What isn't declared is found in the files. With [`schema`](Self::schema) no file is opened, and there need
/// not be any.
#[derive(Debug, Default)]
pub struct TrommelTableBuilder {
    locations: Vec<String>,
    schema: Option<SchemaRef>,
    partition_columns: Vec<(String, Option<DataType>)>,
    order: Vec<Vec<SortExpr>>,
    options: TableOptions,
    constraints: Constraints,
    column_defaults: HashMap<String, Expr>,
    definition: Option<String>,
}

impl TrommelTableBuilder {
    /// A table over all files of these locations: paths or URLs of files and folders, or globs.
    pub fn new(locations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { locations: locations.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Declares the table's columns, partition columns among them or not. Files are read as this schema:
    /// columns by name, cast where a file has another type, NULL where a file has none.
    #[must_use]
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Declares a column whose values are in the names of folders, `name=value`. It comes after all columns
    /// read from files, whatever its place in the declared schema, and after partition columns declared
    /// before it.
    #[must_use]
    pub fn partition_column(mut self, name: impl Into<String>, data_type: DataType) -> Self {
        self.partition_columns.push((name.into(), Some(data_type)));
        self
    }

    /// Declares a partition column of the type it has in the declared schema, or text if no schema is
    /// declared.
    #[must_use]
    pub fn partition_column_named(mut self, name: impl Into<String>) -> Self {
        self.partition_columns.push((name.into(), None));
        self
    }

    /// Declares an order that each file's rows are in. May be called for several orders.
    #[must_use]
    pub fn order(mut self, keys: Vec<SortExpr>) -> Self {
        self.order.push(keys);
        self
    }

    /// Sets how to list and read the files.
    #[must_use]
    pub fn options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }

    /// Declares constraints, by the places of their columns in the declared schema. Nothing checks them.
    #[must_use]
    pub fn constraints(mut self, constraints: Constraints) -> Self {
        self.constraints = constraints;
        self
    }

    /// Declares default values of columns.
    #[must_use]
    pub fn column_defaults(mut self, defaults: HashMap<String, Expr>) -> Self {
        self.column_defaults = defaults;
        self
    }

    /// Keeps the SQL that made the table.
    #[must_use]
    pub fn definition(mut self, sql: Option<String>) -> Self {
        self.definition = sql;
        self
    }

    /// Opens the table. Unless the schema is declared, lists its files and reads their metadata.
    ///
    /// # Errors
    /// No location, or one that can't be understood or listed; nothing there to take a schema from; a
    /// file that isn't readable Parquet, or doesn't go together with another; an order by something that the
    /// table doesn't have.
    pub async fn open(self, session: &dyn Session) -> Result<TrommelTable> {
        let locations = self.parse_locations()?;
        let declared = self.declared_partitions()?;
        let (columns, partitions) = match &self.schema {
            Some(columns) => (Arc::clone(columns), declared),
            None => {
                let files = listing::list(&locations, session, &self.options).await?;
                if files.is_empty() {
                    let places: Vec<_> = locations.iter().map(|location| format!("'{location}'")).collect();
                    return plan_err!(
                        "no Parquet file found at {}: declare the table's columns, or add files first (hidden \
                         files, files of no bytes and, in folders, files not named .parquet or .parq don't \
                         count; see the option file_extension)",
                        places.join(", ")
                    );
                }
                let session_infers =
                    session.config_options().execution.listing_table_factory_infer_partitions;
                let infer = self.options.infer_partitions.unwrap_or(session_infers);
                let partitions =
                    if declared.is_empty() && infer { partitions::infer(&files)? } else { declared };
                (infer_columns(&files, &partitions, session, &self.options).await?, partitions)
            }
        };
        let addresses = self.options.row_addresses.then(|| schema::row_addresses(&columns, &partitions));
        let schema = schema::table_schema(&columns, addresses.as_ref(), &partitions)?;
        let table = TrommelTable {
            locations,
            constraints: constraints_of(&self.constraints, &columns, &schema)?,
            schema,
            partition_columns: partitions,
            order: self.order,
            options: Arc::new(self.options),
            column_defaults: self.column_defaults,
            definition: self.definition,
        };
        // An order that makes no sense should fail now, not in each query.
        table.physical_order(session)?;
        Ok(table)
    }

    fn parse_locations(&self) -> Result<Vec<Location>> {
        if self.locations.is_empty() {
            return plan_err!("a table needs a location");
        }
        let twice = self.locations.iter().enumerate().find(|(i, text)| self.locations[..*i].contains(*text));
        match twice {
            Some((_, text)) => plan_err!("location '{text}' is given twice"),
            None => self.locations.iter().map(|text| Location::parse(text)).collect(),
        }
    }

    fn declared_partitions(&self) -> Result<Vec<FieldRef>> {
        self.partition_columns
            .iter()
            .map(|(name, data_type)| {
                let data_type = match (data_type, &self.schema) {
                    (Some(data_type), _) => data_type.clone(),
                    (None, None) => partitions::undeclared_type(),
                    (None, Some(schema)) => {
                        let declared = schema.field_with_name(name).map_err(|_| {
                            plan_datafusion_err!(
                                "partition column \"{name}\" is not one of the table's columns"
                            )
                        })?;
                        declared.data_type().clone()
                    }
                };
                Ok(partitions::field(name, data_type))
            })
            .collect()
    }
}

/// The union of the files' schemas, without the partition columns.
async fn infer_columns(
    files: &[ListedFile],
    partitions: &[FieldRef],
    session: &dyn Session,
    options: &TableOptions,
) -> Result<SchemaRef> {
    let counters = Arc::new(IoCounters::default());
    let int96 = schema::int96(session)?;
    let schema_of = async |file: &ListedFile| {
        let cache = metadata_cache(&file.store, session);
        let fragment = Fragment::new(file.meta.clone());
        let metadata = cache.get_or_load(&file.store, &fragment, &counters).await?;
        Ok::<SchemaRef, ScanError>(match &int96 {
            Some(as_type) => metadata.schema_with_int96(as_type),
            None => Arc::clone(metadata.schema()),
        })
    };
    let schemas = side_by_side(session, files.iter().map(schema_of).collect()).await?;
    let schemas: Vec<_> = files.iter().map(|file| &file.meta.location).zip(schemas).collect();
    schema::infer(&schemas, partitions, session, options)
}

/// Constraints over the declared columns as constraints over the table, where partition columns come last.
fn constraints_of(declared: &Constraints, columns: &Schema, table: &Schema) -> Result<Constraints> {
    let place = |column: &usize| -> Result<usize> {
        match columns.fields().get(*column) {
            Some(field) => Ok(table.index_of(field.name())?),
            None => plan_err!("a constraint is about column number {column}, which there isn't"),
        }
    };
    let places = |columns: &[usize]| columns.iter().map(place).collect::<Result<Vec<_>>>();
    let constraints = declared.iter().map(|constraint| {
        Ok(match constraint {
            Constraint::PrimaryKey(columns) => Constraint::PrimaryKey(places(columns)?),
            Constraint::Unique(columns) => Constraint::Unique(places(columns)?),
        })
    });
    Ok(Constraints::new_unverified(constraints.collect::<Result<_>>()?))
}
