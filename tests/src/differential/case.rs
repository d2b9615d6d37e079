// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A failing instance as an SQL case: everything it needs, the right answer, and what each engine says.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use arrow::array::RecordBatch;
use sqllogictest::ColumnType as _;
use tempfile::TempDir;

use super::check::{Failure, vote};
use super::evolve::apply;
use super::instance::Instance;
use super::layout::Layout;
use super::literal;
use crate::session::{DynamicFilters, Mode};
use crate::slt::{columns, rows};

/// How long an engine may take to vote.
const PATIENCE: Duration = Duration::from_secs(10);

/// The case `name` of the instance's only query.
///
/// # Errors
/// The writer's; that an engine fails is its vote.
pub async fn write(name: &str, failure: &Failure, instance: &Instance) -> Result<String> {
    let Some(query) = instance.queries.first() else { anyhow::bail!("there is no query") };
    let folder = TempDir::with_prefix("trommel-case-")?;
    instance.write(folder.path())?;
    let memory = instance.in_memory()?;

    let mut case = String::new();
    writeln!(case, "control substitution on\n")?;
    writeln!(case, "# case {name}: {}", query.shape)?;
    for line in failure.to_string().lines() {
        writeln!(case, "#   {line}")?;
    }
    writeln!(case, "# votes:")?;
    let votes = [
        ("memory", Ok(memory.clone())),
        ("stock", instance.stock(folder.path()).await),
        ("tested", instance.tested(folder.path()).await),
    ];
    for (engine, session) in votes {
        let answer = match session {
            Ok(session) => vote(query, &session, PATIENCE).await,
            Err(error) => Err(format!("{error:#}")),
        };
        let answer = answer.map_or_else(|error| error, |answer| answer.sample(12));
        writeln!(case, "#   {engine}: {}", answer.replace('\n', " "))?;
    }
    writeln!(case, "# full answer: {}", query.reference)?;
    writeln!(case)?;

    for setting in settings(&instance.mode) {
        writeln!(case, "statement ok\nSET {setting}\n")?;
    }
    let scratch = format!("${{SCRATCH}}/{name}");
    for (number, file) in instance.files.iter().enumerate() {
        let path = format!("{scratch}/t/{}", instance.path(number));
        writeln!(case, "{}", copy(&apply(&file.rows, &file.changes)?, &path, &file.layout))?;
    }
    writeln!(case, "statement ok\n{}\n", instance.definition("t", "${FORMAT}", &scratch))?;
    match &instance.build_layout {
        Some(layout) => {
            writeln!(case, "{}", copy(&instance.build, &format!("{scratch}/u/0.parquet"), layout))?;
            writeln!(case, "statement ok\n{}\n", instance.definition("u", "${FORMAT}", &scratch))?;
        }
        None => writeln!(case, "statement ok\nCREATE TABLE u AS {}\n", select(&instance.build))?,
    }

    let frame = memory.sql(&query.sql).await?;
    let types: String =
        columns(frame.schema().as_arrow().fields()).iter().map(|column| column.to_char()).collect();
    match frame.collect().await {
        Ok(batches) => {
            let mut lines: Vec<_> = rows(&batches)?.iter().map(|row| row.join(" ")).collect();
            let sorts = query.relation.keys == 0;
            if sorts {
                lines.sort();
            }
            let sort = if sorts { " rowsort" } else { "" };
            writeln!(case, "query {types}{sort}\n{}\n----\n{}", query.sql, lines.join("\n"))?;
        }
        Err(error) => writeln!(case, "statement error {error}\n{}", query.sql)?,
    }
    Ok(case)
}

/// What sets a session up to be of this mode, but for what only its builder can.
fn settings(mode: &Mode) -> Vec<String> {
    let set = |name: &str, value: &str| format!("datafusion.{name} = {value}");
    let mut settings = vec![set("execution.target_partitions", &mode.partitions.to_string())];
    settings.extend(mode.batch_size.map(|rows| set("execution.batch_size", &rows.to_string())));
    let DynamicFilters { join, topk, aggregate } = mode.dynamic_filters;
    for (on, producer) in [(join, "join"), (topk, "topk"), (aggregate, "aggregate")] {
        if !on {
            settings.push(set(&format!("optimizer.enable_{producer}_dynamic_filter_pushdown"), "false"));
        }
    }
    if mode.partitioned_joins {
        settings.push(set("optimizer.hash_join_single_partition_threshold", "0"));
        settings.push(set("optimizer.hash_join_single_partition_threshold_rows", "0"));
    }
    if mode.split_files {
        settings.push(set("optimizer.repartition_file_min_size", "0"));
    }
    settings
}

fn copy(rows: &RecordBatch, path: &str, layout: &Layout) -> String {
    let options = layout.options();
    format!("statement ok\nCOPY ({})\nTO '{path}' STORED AS PARQUET OPTIONS ({options})\n", select(rows))
}

/// The rows as a query without a table.
fn select(rows: &RecordBatch) -> String {
    let schema = rows.schema();
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    if rows.num_rows() == 0 {
        let null = |(name, field): (&str, &arrow::datatypes::FieldRef)| {
            format!("arrow_cast(NULL, '{}') AS {name}", field.data_type())
        };
        let nulls: Vec<_> = names().zip(schema.fields()).map(null).collect();
        return format!("SELECT {} WHERE false", nulls.join(", "));
    }
    let row = |row: usize| {
        let values: Vec<_> = rows.columns().iter().map(|column| literal::element(column, row)).collect();
        format!("({})", values.join(", "))
    };
    let all: Vec<_> = (0..rows.num_rows()).map(row).collect();
    format!("SELECT * FROM (VALUES {}) v({})", all.join(",\n  "), names().collect::<Vec<_>>().join(", "))
}
