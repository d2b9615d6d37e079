// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A scenario made concrete: the rows of every file, ready to be written, judged and made smaller.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::ListingOptions;
use datafusion::prelude::SessionContext;

use super::evolve::{self, Change};
use super::layout::{self, Layout};
use super::order::{self, Order};
use super::query::Query;
use super::random::Random;
use super::scenario::Scenario;
use crate::session::{DynamicFilters, Format, Mode};

/// A scenario made concrete.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The files of `t`; there is one at least.
    pub files: Vec<DataFile>,
    /// The order of each file, as a clause of `CREATE EXTERNAL TABLE`; empty if there is none.
    pub order: String,
    /// The rows of `u`.
    pub build: RecordBatch,
    /// How the file of `u` is written; it stays in memory if absent.
    pub build_layout: Option<Layout>,
    /// When the scan evaluates live filters for each row.
    pub live_row_filters: &'static str,
    /// The session.
    pub mode: Mode,
    /// Whether DataFusion's own scan is asked too.
    pub ask_stock: bool,
    /// The queries.
    pub queries: Vec<Query>,
}

/// One file of `t`.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Its rows as rows of the table.
    pub rows: RecordBatch,
    /// In what it differs from the table.
    pub changes: Vec<(String, Change)>,
    /// How it is written.
    pub layout: Layout,
    /// The value of `part`, if there is that column.
    pub partition: Option<Option<String>>,
}

/// The type of partition columns that aren't declared.
fn partition_type() -> DataType {
    DataType::Dictionary(DataType::UInt16.into(), DataType::Utf8.into())
}

impl Instance {
    /// Makes a scenario concrete.
    ///
    /// # Errors
    /// None but the engine's.
    pub fn of(scenario: &Scenario) -> Result<Self> {
        let order = scenario.order.as_ref();
        let dealt = order::deal(order, &scenario.table.batch("")?, scenario.layouts.len())?;
        let mut random = Random::new(scenario.evolution.unwrap_or(0));
        let file = |(number, (rows, layout)): (usize, (RecordBatch, &Layout))| -> Result<DataFile> {
            let (rows, changes) = match scenario.evolution {
                Some(_) if number > 0 => evolve::draw(&rows, &["id"], &mut random)?,
                _ => (rows, Vec::new()),
            };
            // NULL for the last of four, and never for the first file, whose schema comes first.
            let partition = scenario.has_partitions.then(|| (number < 3).then(|| (number % 2).to_string()));
            Ok(DataFile { rows, changes, layout: *layout, partition })
        };
        let files = dealt.into_iter().zip(&scenario.layouts).enumerate().map(file).collect::<Result<_>>()?;
        Ok(Self {
            files,
            order: order.map(Order::clause).unwrap_or_default(),
            build: scenario.build.batch("u")?,
            build_layout: scenario.build_layout,
            live_row_filters: scenario.live_row_filters,
            mode: scenario.mode,
            ask_stock: scenario.ask_stock,
            queries: scenario.queries.clone(),
        })
    }

    /// Whether `t` has a partition column.
    pub fn has_partitions(&self) -> bool {
        self.files.iter().any(|file| file.partition.is_some())
    }

    /// The schema of the files' rows, as the table has it.
    fn file_schema(&self) -> Result<SchemaRef> {
        Ok(self.files.first().context("a table has a file")?.rows.schema())
    }

    /// All rows of `t`, its partition column included.
    ///
    /// # Errors
    /// None but the engine's.
    pub fn rows(&self) -> Result<RecordBatch> {
        let files: Vec<_> = self.files.iter().map(|file| file.rows.clone()).collect();
        let rows = concat_batches(&self.file_schema()?, &files)?;
        if !self.has_partitions() {
            return Ok(rows);
        }
        let value = |file: &DataFile| vec![file.partition.clone().flatten(); file.rows.num_rows()];
        let values: ArrayRef = Arc::new(StringArray::from_iter(self.files.iter().flat_map(value)));
        let fields = rows
            .schema()
            .fields()
            .iter()
            .cloned()
            .chain([Arc::new(Field::new("part", partition_type(), true))])
            .collect::<Vec<_>>();
        let columns = rows.columns().iter().cloned().chain([cast(&values, &partition_type())?]).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }

    /// Where file `number` of `t` is, below the folder of the table.
    pub fn path(&self, number: usize) -> String {
        match self.files.get(number).and_then(|file| file.partition.as_ref()) {
            None => format!("{number}.parquet"),
            Some(value) => {
                let value = value.as_deref().unwrap_or("__HIVE_DEFAULT_PARTITION__");
                format!("part={value}/{number}.parquet")
            }
        }
    }

    /// Writes `t` and, if it isn't to stay in memory, `u` into `folder`.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for (number, file) in self.files.iter().enumerate() {
            let rows = evolve::apply(&file.rows, &file.changes)?;
            layout::write(&rows, &file.layout, &folder.join("t").join(self.path(number)))?;
        }
        match &self.build_layout {
            Some(layout) => layout::write(&self.build, layout, &folder.join("u").join("0.parquet")),
            None => Ok(()),
        }
    }

    /// The statement that makes the files of `name` in `folder` a table of this format.
    pub fn definition(&self, name: &str, format: &str, folder: &str) -> String {
        let (mut clause, mut options) = (String::new(), String::new());
        if name == "t" {
            clause.clone_from(&self.order);
            if self.has_partitions() {
                clause = format!("PARTITIONED BY (part) {clause}");
            }
        }
        if self.mode.format == Format::Trommel && self.live_row_filters != "when_it_pays" {
            options = format!(" OPTIONS ('live_row_filters' '{}')", self.live_row_filters);
        }
        format!(
            "CREATE EXTERNAL TABLE {name} STORED AS {format} {clause} LOCATION '{folder}/{name}/'{options}"
        )
    }

    /// A session over tables in memory, with every dynamic filter off.
    ///
    /// # Errors
    /// None but the engine's.
    pub fn in_memory(&self) -> Result<SessionContext> {
        let session =
            Mode { dynamic_filters: DynamicFilters::OFF, ..Mode::new(Format::Parquet, 1) }.session();
        session.register_table("t", table(&self.rows()?)?)?;
        session.register_table("u", table(&self.build)?)?;
        Ok(session)
    }

    /// A session over the files in `folder` as DataFusion's own scan reads them, with every dynamic filter off.
    ///
    /// # Errors
    /// None but the engine's.
    pub async fn stock(&self, folder: &Path) -> Result<SessionContext> {
        let session =
            Mode { dynamic_filters: DynamicFilters::OFF, ..Mode::new(Format::Parquet, 1) }.session();
        let mut options = ListingOptions::new(Arc::new(ParquetFormat::new()));
        if self.has_partitions() {
            options = options.with_table_partition_cols(vec![("part".to_owned(), partition_type())]);
        }
        let location = format!("{}/t/", folder.display());
        session.register_listing_table("t", location, options, Some(self.file_schema()?), None).await?;
        session.register_table("u", table(&self.build)?)?;
        Ok(session)
    }

    /// The session to judge.
    ///
    /// # Errors
    /// Those of opening the tables.
    pub async fn tested(&self, folder: &Path) -> Result<SessionContext> {
        let session = self.mode.session();
        let (format, folder) = (self.mode.format.to_string(), folder.display().to_string());
        session.sql(&self.definition("t", &format, &folder)).await?;
        match self.build_layout {
            Some(_) => {
                session.sql(&self.definition("u", &format, &folder)).await?;
            }
            None => {
                session.register_table("u", table(&self.build)?)?;
            }
        }
        Ok(session)
    }
}

fn table(rows: &RecordBatch) -> Result<Arc<MemTable>> {
    Ok(Arc::new(MemTable::try_new(rows.schema(), vec![vec![rows.clone()]])?))
}
