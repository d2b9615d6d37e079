// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Partition columns: columns whose values are in the names of folders, `k=v`.
//!
//! Names and values are percent-decoded; `__HIVE_DEFAULT_PARTITION__` is NULL. A declared column is looked for
//! by name in all folders of a file's path, the innermost first, whatever their order. Every file must have it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue, exec_err, plan_datafusion_err, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use percent_encoding::percent_decode_str;
use trommel_planner::floats::is_float;

use super::listing::ListedFile;

/// How Hive writes NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A partition column of this name and type. It can be NULL.
pub fn field(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, true))
}

/// The type of partition columns nobody declared: text, each distinct value once.
pub fn undeclared_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
}

/// The values of these partition columns for a file.
///
/// # Errors
/// A file that is in no folder of a column's name, or a value that isn't one of the column's type.
pub fn values(file: &ListedFile, columns: &[FieldRef]) -> Result<Vec<ScalarValue>> {
    let path = &file.meta.location;
    let folders: Vec<_> = file.folders().rev().filter_map(key_and_value).collect();
    columns
        .iter()
        .map(|column| {
            let Some((_, text)) = folders.iter().find(|(key, _)| key == column.name()) else {
                return plan_err!("{path}: no folder of its path is named {}=…", column.name());
            };
            let data_type = column.data_type();
            match text.as_str() {
                NULL => ScalarValue::try_new_null(data_type),
                text => ScalarValue::try_from_string(text.to_owned(), data_type),
            }
            .map_err(|e| {
                plan_datafusion_err!(
                    "{path}: \"{text}\" isn't a value of \"{}\" ({data_type}): {e}",
                    column.name()
                )
            })
        })
        .collect()
}

/// The partition columns that the folders below the locations show.
///
/// # Errors
/// Two files whose folders show different columns, or one column twice.
pub fn infer(files: &[ListedFile]) -> Result<Vec<FieldRef>> {
    let keys = |file: &ListedFile| -> Vec<String> {
        file.folders_below().filter_map(key_and_value).map(|(key, _)| key).collect()
    };
    let Some((first, others)) = files.split_first() else { return Ok(Vec::new()) };
    let columns = keys(first);
    if let Some(twice) =
        columns.iter().enumerate().find_map(|(i, key)| columns[..i].contains(key).then_some(key))
    {
        return plan_err!("{}: two folders of its path are named {twice}=…", first.meta.location);
    }
    match others.iter().find(|other| keys(other) != columns) {
        Some(other) => plan_err!(
            "the partition columns of {} are {columns:?}, but those of {} are {:?}; declare them with PARTITIONED BY, \
             or set the option infer_partitions to false",
            first.meta.location,
            other.meta.location,
            keys(other)
        ),
        None => Ok(columns.iter().map(|name| field(name, undeclared_type())).collect()),
    }
}

/// What a folder name `k=v` says.
fn key_and_value(folder: &str) -> Option<(String, String)> {
    let (key, value) = folder.split_once('=')?;
    (!key.is_empty()).then(|| (decode(key), decode(value)))
}

/// Undoes percent-encoding; a name that then isn't UTF-8 was not encoded.
fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

/// Which rows of partition values may satisfy conjuncts over a table whose last columns are the
/// partition columns; conjuncts that read other columns say nothing here. All rows, when evaluating fails.
pub fn may_match(
    filters: &[Arc<dyn PhysicalExpr>],
    table: &SchemaRef,
    partition_columns: usize,
    rows: &[&[ScalarValue]],
) -> Vec<bool> {
    let first = table.fields().len() - partition_columns;
    let partitions = Arc::new(Schema::new(table.fields()[first..].to_vec()));
    let mut may = vec![true; rows.len()];
    let decidable = filters.iter().filter(|filter| {
        collect_columns(filter).iter().all(|column| {
            // DataFusion's IN tells -0.0 from 0.0 where its = doesn't, so floats are left to the scan.
            column.index() >= first
                && !table.fields().get(column.index()).is_some_and(|f| is_float(f.data_type()))
        })
    });
    for filter in decidable {
        if let Ok(matches) = evaluate(filter, &partitions, rows) {
            may.iter_mut().zip(matches.iter()).for_each(|(may, matches)| *may &= matches == Some(true));
        }
    }
    may
}

fn evaluate(
    filter: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    rows: &[&[ScalarValue]],
) -> Result<BooleanArray> {
    let columns = (0..schema.fields().len())
        .map(|column| ScalarValue::iter_to_array(rows.iter().filter_map(|row| row.get(column)).cloned()))
        .collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
    let matches =
        reassign_expr_columns(Arc::clone(filter), schema)?.evaluate(&batch)?.into_array(rows.len())?;
    match matches.as_boolean_opt() {
        Some(matches) => Ok(matches.clone()),
        None => exec_err!("{filter} is {}, not Boolean", matches.data_type()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;
    use datafusion::common::DFSchema;
    use datafusion::execution::object_store::ObjectStoreUrl;
    use datafusion::logical_expr::Expr;
    use datafusion::prelude::{SessionContext, cast, col, lit};
    use object_store::ObjectMeta;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use rstest::rstest;

    fn file(path: &str, base_folders: usize) -> ListedFile {
        let location = Path::parse(path).unwrap();
        ListedFile {
            meta: ObjectMeta {
                location,
                last_modified: Default::default(),
                size: 1,
                e_tag: None,
                version: None,
            },
            store: Arc::new(InMemory::new()),
            store_url: ObjectStoreUrl::local_filesystem(),
            base_folders,
        }
    }

    fn value(path: &str, name: &str, data_type: DataType) -> Result<ScalarValue> {
        values(&file(path, 1), &[field(name, data_type)]).map(|mut values| values.remove(0))
    }

    #[rstest]
    #[case::text("t/k=a/1.parquet", ScalarValue::Utf8View(Some("a".into())))]
    #[case::integer("t/k=007/1.parquet", ScalarValue::Int32(Some(7)))]
    #[case::unsigned("t/k=18446744073709551615/1.parquet", ScalarValue::UInt64(Some(u64::MAX)))]
    #[case::date("t/k=2024-02-29/1.parquet", ScalarValue::Date32(Some(19_782)))]
    #[case::timestamp("t/k=1970-01-01 00%3A00%3A01/1.parquet", ScalarValue::TimestampSecond(Some(1), None))]
    #[case::boolean("t/k=true/1.parquet", ScalarValue::Boolean(Some(true)))]
    #[case::decimal("t/k=1.25/1.parquet", ScalarValue::Decimal128(Some(125), 10, 2))]
    #[case::escaped_value("t/k=a%2Fb%3Dc d%25/1.parquet", ScalarValue::Utf8(Some("a/b=c d%".into())))]
    #[case::stray_percent("t/k=100%/1.parquet", ScalarValue::Utf8(Some("100%".into())))]
    #[case::not_utf8("t/k=%FF/1.parquet", ScalarValue::Utf8(Some("%FF".into())))]
    #[case::escaped_name("t/%6B=a/1.parquet", ScalarValue::Utf8(Some("a".into())))]
    #[case::equals_sign_in_the_value("t/k=a=b/1.parquet", ScalarValue::Utf8(Some("a=b".into())))]
    #[case::empty_text("t/k=/1.parquet", ScalarValue::Utf8(Some(String::new())))]
    #[case::null("t/k=__HIVE_DEFAULT_PARTITION__/1.parquet", ScalarValue::Int32(None))]
    #[case::null_text("t/k=__HIVE_DEFAULT_PARTITION__/1.parquet", ScalarValue::Utf8(None))]
    #[case::deeper("t/year=2024/x/k=1/y/1.parquet", ScalarValue::Int64(Some(1)))]
    #[case::innermost("t/k=1/k=2/1.parquet", ScalarValue::Int64(Some(2)))]
    #[case::in_the_location("k=1/1.parquet", ScalarValue::Int64(Some(1)))]
    #[case::undeclared(
        "t/k=1/1.parquet",
        ScalarValue::Dictionary(Box::new(DataType::UInt16), Box::new(ScalarValue::Utf8(Some("1".into()))))
    )]
    fn partition_values(#[case] path: &str, #[case] expected: ScalarValue) {
        assert_eq!(value(path, "k", expected.data_type()).unwrap(), expected);
    }

    #[rstest]
    #[case::not_a_number("t/k=abc/1.parquet", DataType::Int32)]
    #[case::out_of_range("t/k=300/1.parquet", DataType::Int8)]
    #[case::a_fraction("t/k=1.5/1.parquet", DataType::Int64)]
    #[case::no_text("t/k=/1.parquet", DataType::Int64)]
    #[case::not_a_date("t/k=2023-02-29/1.parquet", DataType::Date32)]
    #[case::not_a_time("t/k=noon/1.parquet", DataType::Timestamp(TimeUnit::Second, None))]
    #[case::no_such_folder("t/j=1/1.parquet", DataType::Int32)]
    #[case::other_case("t/K=1/1.parquet", DataType::Int32)]
    #[case::only_the_file_is_named_so("t/k=1", DataType::Int32)]
    fn values_that_cannot_be_had(#[case] path: &str, #[case] data_type: DataType) {
        let error = value(path, "k", data_type).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    }

    #[rstest]
    #[case::none(&["t/1.parquet", "t/a/2.parquet"], &[])]
    #[case::one(&["t/k=1/1.parquet", "t/k=2/1.parquet"], &["k"])]
    #[case::nested(&["t/year=1/month=2/1.parquet", "t/year=1/x/month=3/1.parquet"], &["year", "month"])]
    #[case::no_files(&[], &[])]
    fn inferred(#[case] paths: &[&str], #[case] expected: &[&str]) {
        let files: Vec<_> = paths.iter().map(|path| file(path, 1)).collect();
        let columns = infer(&files).unwrap();
        assert_eq!(columns.iter().map(|column| column.name().as_str()).collect::<Vec<_>>(), expected);
        assert!(
            columns.iter().all(|column| column.is_nullable() && *column.data_type() == undeclared_type())
        );
    }

    #[rstest]
    #[case::mixed(&["t/k=1/1.parquet", "t/j=2/2.parquet"], &["t/k=1/1.parquet", "t/j=2/2.parquet"])]
    #[case::some_outside(&["t/k=1/1.parquet", "t/2.parquet"], &["t/k=1/1.parquet", "t/2.parquet"])]
    #[case::twice(&["t/k=1/k=2/1.parquet"], &["t/k=1/k=2/1.parquet"])]
    fn not_inferable(#[case] paths: &[&str], #[case] named: &[&str]) {
        let files: Vec<_> = paths.iter().map(|path| file(path, 1)).collect();
        let error = infer(&files).unwrap_err().to_string();
        assert!(named.iter().all(|path| error.contains(path)), "{error}");
    }

    #[test]
    fn folders_of_the_location_are_not_inferred() {
        assert!(infer(&[file("k=1/t/1.parquet", 2)]).unwrap().is_empty());
    }

    /// A table of columns `v`, `p` and `f` of which the last two are partition columns, with four files.
    #[rstest]
    #[case::no_filter(&[], [true, true, true, true])]
    #[case::equality(&[col("p").eq(lit(1))], [true, false, false, false])]
    #[case::null_is_not_true(&[col("p").not_eq(lit(1))], [false, true, false, true])]
    #[case::is_null(&[col("p").is_null()], [false, false, true, false])]
    #[case::conjuncts(&[col("p").gt(lit(1)), col("p").lt(lit(10))], [false, true, false, false])]
    #[case::other_columns_say_nothing(&[col("v").eq(lit(1)), col("p").eq(col("v"))], [true, true, true, true])]
    #[case::beside_other_columns(&[col("v").eq(lit(1)), col("p").eq(lit(2))], [false, true, false, false])]
    #[case::a_failure_keeps_all(&[(lit(1) / (col("p") - lit(1))).gt(lit(0))], [true, true, true, true])]
    #[case::constant(&[lit(false)], [false, false, false, false])]
    #[case::floats_are_left_to_the_scan(&[cast(col("f"), DataType::Float64).eq(lit(7.0))], [true, true, true, true])]
    #[tokio::test]
    async fn pruning_by_value(#[case] filters: &[Expr], #[case] expected: [bool; 4]) {
        let table: SchemaRef = Arc::new(Schema::new(vec![
            Field::new("v", DataType::Int32, true),
            Field::new("p", DataType::Int32, true),
            Field::new("f", DataType::Float64, true),
        ]));
        let schema = DFSchema::try_from(Arc::clone(&table)).unwrap();
        let session = SessionContext::new().state();
        let filters: Vec<_> = filters
            .iter()
            .map(|filter| session.create_physical_expr(filter.clone(), &schema).unwrap())
            .collect();
        let rows: Vec<_> = [Some(1), Some(2), None, Some(10)]
            .map(|p| [ScalarValue::Int32(p), ScalarValue::Float64(p.map(f64::from))])
            .into();
        let rows: Vec<&[ScalarValue]> = rows.iter().map(<[_; 2]>::as_slice).collect();
        assert_eq!(may_match(&filters, &table, 2, &rows), expected);
    }
}
