// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Whether an answer is right: compared with that of DataFusion's own scan, by the relation the tests use
//! ([`trommel_tests::relation`]).
//!
//! Where a query has a limit, the reference goes on until it holds every row that ties with the last one. An
//! answer too large to be kept is compared by its digest, which is exact but for rounding.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Float64Type, Schema, SchemaRef};
use datafusion::scalar::ScalarValue;
use trommel_tests::relation::{Answer, Relation, Window};

use crate::digest::Digest;
use crate::engine::Session;
use crate::measure::{self, MAX_VALUES, Run};
use crate::suites::{Order, Query};

/// Rows asked for beyond a limit, at first.
const MARGIN: usize = 100;

/// How far a float may be off, in units of the relation's own rounding: quotients of sums add up errors of
/// millions of rows in any order.
const SLACK: f64 = 1e3;

/// The right answer to one query.
pub enum Reference {
    /// All rows that matter, in order, with the sort keys.
    Rows {
        /// The rows; never an error.
        full: Result<Answer, String>,
        /// What the query leaves open.
        relation: Relation,
    },
    /// Of more rows than can be kept.
    Digest(Digest),
}

impl Reference {
    /// The right answer, from a session of a trusted engine.
    ///
    /// # Errors
    /// The engine fails, or an ordered answer has too many rows.
    pub async fn obtain(session: &Session, query: &Query) -> Result<Self> {
        let order = query.order();
        let keys: Vec<String> = order.iter().flat_map(Order::keys).map(str::to_owned).collect();
        let window = order.as_ref().and_then(|order| order.limit).map(|fetch| Window { skip: 0, fetch });
        let (schema, batches) = match (&order, window) {
            (Some(order), Some(window)) => beyond_limit(session, order, &keys, window.fetch).await?,
            _ => {
                let inspection = measure::inspect(session, &query.sql).await?;
                match inspection.run.answer {
                    Some(batches) => (inspection.run.schema, batches),
                    None if keys.is_empty() => return Ok(Self::Digest(inspection.digest)),
                    None => bail!("an ordered answer of {} rows is too large", inspection.run.rows),
                }
            }
        };
        let sums = float_columns(&schema, &batches)?;
        let (schema, batches) = with_keys(&schema, &batches, &keys)?;
        let full = Ok(Answer::try_new(&schema, &batches)?);
        Ok(Self::Rows { full, relation: Relation { keys: keys.len(), window, sums } })
    }

    /// Whether the answer of a run is right. `digest` is that of the answer, where it is known: one that was
    /// `accepted` before needs no second look.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, run: &Run, digest: Option<Digest>, accepted: Option<Digest>) -> Result<()> {
        if digest.is_some() && digest == accepted {
            return Ok(());
        }
        match (self, &run.answer) {
            (Self::Rows { full, relation }, Some(batches)) => {
                relation.check::<String, String>(full, &Ok(Answer::try_new(&run.schema, batches)?))
            }
            (Self::Rows { full, .. }, None) => {
                bail!("{} rows where {} are right", run.rows, full.as_ref().map_or(0, Answer::len))
            }
            (Self::Digest(expected), _) => {
                ensure!(run.rows == expected.rows, "{} rows where {} are right", run.rows, expected.rows);
                // A run that isn't inspected has no digest of an answer that is too large to be kept.
                ensure!(
                    digest.is_none_or(|digest| digest == *expected),
                    "{} rows, but not the right ones",
                    run.rows
                );
                Ok(())
            }
        }
    }
}

/// The digest of an answer that was kept.
///
/// # Errors
/// A value has no text.
pub fn digest(run: &Run) -> Result<Option<Digest>> {
    let Some(batches) = &run.answer else { return Ok(None) };
    let mut digest = Digest::default();
    batches.iter().try_for_each(|batch| digest.add(batch))?;
    Ok(Some(digest))
}

/// The rows up to the limit, and as many more as tie with the last of them.
async fn beyond_limit(
    session: &Session,
    order: &Order<'_>,
    keys: &[String],
    fetch: usize,
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let mut limit = fetch + MARGIN;
    loop {
        let Order { unordered, by, .. } = order;
        let run = measure::time(session, &format!("{unordered}ORDER BY {by} LIMIT {limit}")).await?;
        let Some(batches) = run.answer else { bail!("{} rows are too many to be compared", run.rows) };
        let all = concat_batches(&run.schema, &batches)?;
        if all.num_rows() < limit || fetch == 0 || !ties(&all, keys, fetch - 1, limit - 1)? {
            return Ok((run.schema, vec![all]));
        }
        limit = fetch + (limit - fetch) * 8;
        ensure!(limit.saturating_mul(all.num_columns()) <= MAX_VALUES, "too many rows tie under {by}");
    }
}

/// Whether two rows are equal in the sort keys.
fn ties(batch: &RecordBatch, keys: &[String], a: usize, b: usize) -> Result<bool> {
    for key in keys {
        let column = batch.column_by_name(key).with_context(|| format!("no column {key}"))?;
        if ScalarValue::try_from_array(column, a)? != ScalarValue::try_from_array(column, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same rows with the sort keys once more at their end.
fn with_keys(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    keys: &[String],
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let positions = keys.iter().map(|key| Ok(schema.index_of(key)?)).collect::<Result<Vec<_>>>()?;
    let columns: Vec<usize> = (0..schema.fields().len()).chain(positions).collect();
    let batches = batches.iter().map(|batch| batch.project(&columns)).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<_> = columns.iter().map(|column| Arc::clone(&schema.fields()[*column])).collect();
    Ok((Arc::new(Schema::new(fields)), batches))
}

/// The float columns, with the magnitude their rounding is relative to.
fn float_columns(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<(usize, f64)>> {
    let mut found = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        if field.data_type().is_floating() {
            let mut largest = 0.0_f64;
            for batch in batches {
                let values = cast(batch.column(index), &DataType::Float64)?;
                let values = values.as_primitive::<Float64Type>().iter().flatten();
                largest = values.fold(largest, |largest, value| largest.max(value.abs()));
            }
            found.push((index, largest * SLACK));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;
    use rstest::rstest;

    use super::*;
    use crate::data::tests::tiny;
    use crate::engine::{Caches, Engine, Host};

    #[rstest]
    #[case::same("SELECT n_name FROM nation", "SELECT n_name FROM nation ORDER BY n_name", true)]
    #[case::missing("SELECT n_name FROM nation", "SELECT n_name FROM nation WHERE n_nationkey > 0", false)]
    #[case::other(
        "SELECT n_nationkey FROM nation",
        "SELECT n_nationkey + 1 AS n_nationkey FROM nation",
        false
    )]
    #[case::tie(
        "SELECT n_name, n_regionkey FROM nation ORDER BY n_regionkey LIMIT 2",
        "SELECT n_name, n_regionkey FROM nation ORDER BY n_regionkey, n_name DESC LIMIT 2",
        true
    )]
    #[case::no_tie(
        "SELECT n_name, n_regionkey FROM nation ORDER BY n_regionkey LIMIT 2",
        "SELECT n_name, n_regionkey FROM nation ORDER BY n_regionkey DESC LIMIT 2",
        false
    )]
    #[case::order(
        "SELECT n_name FROM nation ORDER BY n_name",
        "SELECT n_name FROM nation ORDER BY n_name DESC",
        false
    )]
    #[case::rounding(
        "SELECT sum(CAST(n_nationkey AS DOUBLE)) / 7 AS s FROM nation",
        "SELECT sum(CAST(n_nationkey AS DOUBLE) / 7) AS s FROM nation",
        true
    )]
    #[tokio::test]
    async fn answers(#[case] asked: &str, #[case] given: &str, #[case] right: bool) {
        let (data, _folder) = tiny(&["nation"]);
        let query = Query::new("q", "", asked);
        let host = Host::new(Engine::DataFusion, Arc::new(LocalFileSystem::new()), false, 1).unwrap();
        let session = host.open(&data, &query, Caches::All).await.unwrap();
        let reference = Reference::obtain(&session, &query).await.unwrap();
        let run = measure::time(&session, given).await.unwrap();
        let checked = reference.check(&run, digest(&run).unwrap(), None);
        assert_eq!(checked.is_ok(), right, "{checked:?}");
    }
}
