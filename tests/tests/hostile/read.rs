// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Reading one file by one scan, in a task with a time limit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{DataFrame, ParquetReadOptions};
use datafusion::scalar::ScalarValue;
use datafusion_trommel::TrommelTable;
use trommel_tests::relation::{Answer, Relation};
use trommel_tests::session::{Format, Mode};

/// The most time that reading a file may take. The slowest takes some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of reading a file.
#[derive(Debug)]
pub enum Outcome {
    /// Its rows, and the values of one of them by column.
    Answer(Answer, Vec<(String, ScalarValue)>),
    /// An error.
    Error(String),
    /// A panic.
    Panic(String),
    /// Nothing, within the time there is.
    Nothing,
}

/// Reads the rows that pass `filter`.
pub async fn read(format: Format, path: &Path, filter: Option<Expr>) -> Outcome {
    let path = path.to_owned();
    let task = tokio::spawn(async move { answer(format, &path, filter).await });
    match tokio::time::timeout(PATIENCE, task).await {
        Ok(Ok(Ok((answer, row)))) => Outcome::Answer(answer, row),
        Ok(Ok(Err(error))) => Outcome::Error(format!("{error:#}")),
        Ok(Err(panic)) => Outcome::Panic(panic.to_string()),
        Err(_) => Outcome::Nothing,
    }
}

type Rows = (Answer, Vec<(String, ScalarValue)>);

async fn answer(format: Format, path: &Path, filter: Option<Expr>) -> Result<Rows> {
    let frame = frame(format, path).await?;
    let frame = match filter {
        Some(filter) => frame.filter(filter)?,
        None => frame,
    };
    let schema = Arc::clone(frame.schema().inner());
    let batches = frame.collect().await?;
    let mut row = Vec::new();
    if let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0) {
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let value = ScalarValue::try_from_array(column, batch.num_rows() / 2)?;
            row.push((field.name().clone(), value));
        }
    }
    Ok((Answer::try_new(&schema, &batches)?, row))
}

async fn frame(format: Format, path: &Path) -> Result<DataFrame> {
    let session = Mode { split_files: true, ..Mode::new(format, 2) }.session();
    let location = path.to_string_lossy();
    Ok(match format {
        Format::Trommel => {
            let table = TrommelTable::open(&*location, &session.state()).await?;
            session.read_table(Arc::new(table))?
        }
        Format::Parquet => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let options = ParquetReadOptions { file_extension: &name, ..ParquetReadOptions::default() };
            session.read_parquet(&*location, options).await?
        }
    })
}

/// How the two scans may disagree over a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// An answer where the stock scan has none.
    OnlyTrommelAnswers,
    /// An error that names the file, where the stock scan has an answer.
    OnlyStockAnswers,
    /// Rows where the stock scan finds none: a fault of its own, never what [`compare`] gives.
    StockFindsNone,
}

/// Compares both outcomes over the file of this name.
///
/// # Errors
/// What must never be: a panic, no outcome, an unclear error, another answer.
pub fn compare(name: &str, stock: &Outcome, trommel: &Outcome) -> Result<Option<Difference>> {
    match (stock, trommel) {
        (_, Outcome::Panic(panic)) => anyhow::bail!("{name}: a panic: {panic}"),
        (_, Outcome::Nothing) => anyhow::bail!("{name}: no answer in {} s", PATIENCE.as_secs()),
        (_, Outcome::Error(error)) if !error.contains(name) => {
            anyhow::bail!("{name}: an error that doesn't name the file: {error}")
        }
        (Outcome::Answer(stock, _), Outcome::Answer(trommel, _)) => {
            let (stock, trommel): (Result<_>, Result<_>) = (Ok(stock.clone()), Ok(trommel.clone()));
            let same = Relation::default().check(&stock, &trommel);
            same.map_err(|error| error.context(format!("{name}: another answer"))).map(|()| None)
        }
        (Outcome::Answer(..), Outcome::Error(_)) => Ok(Some(Difference::OnlyStockAnswers)),
        (_, Outcome::Answer(..)) => Ok(Some(Difference::OnlyTrommelAnswers)),
        (_, Outcome::Error(_)) => Ok(None),
    }
}
