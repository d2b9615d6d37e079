// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Opening and listing tables end to end, from SQL and from code.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use datafusion::catalog::TableProvider;
use datafusion::common::{Constraint, Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::functions::math::random;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, scalar_subquery};
use datafusion::prelude::{SessionContext, col, lit};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::Int96;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rstest::rstest;
use url::Url;

use super::*;
use crate::TrommelSessionExt;

/// A session with stores of its own at `memory://` and `other://`.
struct Fixture {
    context: SessionContext,
    memory: Arc<InMemory>,
    other: Arc<InMemory>,
}

impl Fixture {
    fn new() -> Self {
        let state = SessionStateBuilder::new_with_default_features().with_trommel().build();
        let context = SessionContext::new_with_state(state);
        let (memory, other) = (Arc::new(InMemory::new()), Arc::new(InMemory::new()));
        context.register_object_store(&Url::parse("memory://").unwrap(), Arc::clone(&memory) as _);
        context.register_object_store(&Url::parse("other://").unwrap(), Arc::clone(&other) as _);
        Self { context, memory, other }
    }

    /// Puts a Parquet file of one column of numbers.
    async fn numbers(&self, path: &str, column: &str, values: &[i64]) {
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        put(&self.memory, path, &[(column, values)]).await;
    }

    async fn sql(&self, sql: &str) -> Result<Arc<dyn TableProvider>> {
        self.context.sql(sql).await?;
        self.context.table_provider("t").await
    }

    async fn open(&self, location: &str) -> Result<TrommelTable> {
        TrommelTable::open(location, &self.context.state()).await
    }

    async fn snapshot(&self, table: &TrommelTable, filters: &[Expr]) -> Result<Snapshot> {
        let session = self.context.state();
        table.snapshot(&session, &table.physical_filters(&session, filters)?).await
    }
}

async fn put(store: &Arc<InMemory>, path: &str, columns: &[(&str, ArrayRef)]) {
    let batch = RecordBatch::try_from_iter(columns.iter().map(|(n, v)| (*n, Arc::clone(v)))).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    store.put(&Path::parse(path).unwrap(), bytes.into()).await.unwrap();
}

fn columns(schema: &SchemaRef) -> Vec<(&str, &DataType)> {
    schema.fields().iter().map(|field| (field.name().as_str(), field.data_type())).collect()
}

/// Path, partition values and rows of each file.
fn contents(snapshot: &Snapshot) -> Vec<(String, Vec<ScalarValue>, u64)> {
    let fragment = |f: &ScanFragment| {
        let fragment = &f.open.fragment;
        (fragment.location.to_string(), fragment.partition_values.clone(), f.open.metadata.rows())
    };
    snapshot.fragments.iter().map(fragment).collect()
}

fn trommel(provider: &Arc<dyn TableProvider>) -> &TrommelTable {
    provider.downcast_ref().unwrap()
}

#[tokio::test]
async fn a_declared_table() {
    let fixture = Fixture::new();
    fixture.numbers("t/p=1/a.parquet", "v", &[1, 2]).await;
    fixture.numbers("t/p=10/a.parquet", "v", &[3]).await;
    let table = fixture
        .sql(
            "CREATE EXTERNAL TABLE t (p INT, v BIGINT NOT NULL, w VARCHAR DEFAULT 'x', PRIMARY KEY (v)) \
             STORED AS TROMMEL PARTITIONED BY (p) WITH ORDER (v DESC NULLS LAST) LOCATION 'memory:///t/' \
             OPTIONS (report_live_filters false)",
        )
        .await
        .unwrap();
    let expected = [("v", &DataType::Int64), ("w", &DataType::Utf8View), ("p", &DataType::Int32)];
    assert_eq!(columns(&table.schema()), expected);
    let key = Constraint::PrimaryKey(vec![0]);
    assert_eq!(table.constraints().unwrap().iter().collect::<Vec<_>>(), [&key]);
    assert_eq!(table.get_column_default("w"), Some(&lit("x")));
    assert!(!trommel(&table).options().report_live_filters);

    let snapshot = fixture.snapshot(trommel(&table), &[]).await.unwrap();
    assert_eq!(snapshot.name, "memory:///t/");
    assert_eq!(snapshot.partition_columns, 1);
    assert_eq!(snapshot.order[0][0].to_string(), "v@0 DESC NULLS LAST");
    let (one, ten) = (ScalarValue::Int32(Some(1)), ScalarValue::Int32(Some(10)));
    let expected =
        [("t/p=1/a.parquet".to_owned(), vec![one], 2), ("t/p=10/a.parquet".to_owned(), vec![ten], 1)];
    assert_eq!(contents(&snapshot), expected);
}

#[tokio::test]
async fn a_found_table() {
    let fixture = Fixture::new();
    fixture.numbers("t/k=a/1.parquet", "v", &[1]).await;
    fixture.numbers("t/k=b/1.parquet", "w", &[1]).await;
    let table =
        fixture.sql("CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'memory:///t/'").await.unwrap();
    let undeclared = partitions::undeclared_type();
    let expected = [("v", &DataType::Int64), ("w", &DataType::Int64), ("k", &undeclared)];
    assert_eq!(columns(&table.schema()), expected);
}

#[rstest]
#[case::by_option(true)]
#[case::by_session(false)]
#[tokio::test]
async fn partitions_need_not_be_inferred(#[case] by_option: bool) {
    let fixture = Fixture::new();
    fixture.numbers("t/k=a/1.parquet", "v", &[1]).await;
    let mut sql = "CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'memory:///t/'".to_owned();
    if by_option {
        sql += " OPTIONS (infer_partitions false)";
    } else {
        let set = "SET datafusion.execution.listing_table_factory_infer_partitions = false";
        fixture.context.sql(set).await.unwrap();
    }
    assert_eq!(columns(&fixture.sql(&sql).await.unwrap().schema()), [("v", &DataType::Int64)]);
}

#[tokio::test]
async fn a_partition_column_hides_a_column_of_its_name() {
    let fixture = Fixture::new();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    put(&fixture.memory, "t/k=1/1.parquet", &[("k", text), ("v", Arc::new(Int64Array::from(vec![1])))]).await;
    let table = TrommelTable::builder(["memory:///t/"])
        .partition_column("k", DataType::Int16)
        .open(&fixture.context.state())
        .await
        .unwrap();
    assert_eq!(columns(&table.schema()), [("v", &DataType::Int64), ("k", &DataType::Int16)]);
    let snapshot = fixture.snapshot(&table, &[]).await.unwrap();
    assert_eq!(contents(&snapshot)[0].1, [ScalarValue::Int16(Some(1))]);
}

#[tokio::test]
async fn each_snapshot_sees_the_files_there_are() {
    let fixture = Fixture::new();
    fixture.numbers("t/1.parquet", "v", &[1, 2, 3]).await;
    let table = fixture.open("memory:///t/").await.unwrap();
    let see = async || contents(&fixture.snapshot(&table, &[]).await.unwrap());
    let file = |name: &str, rows| (format!("t/{name}"), vec![], rows);

    assert_eq!(see().await, [file("1.parquet", 3)]);
    fixture.numbers("t/1.parquet", "v", &[1, 2, 3, 4]).await;
    assert_eq!(see().await, [file("1.parquet", 4)]);
    fixture.numbers("t/2.parquet", "v", &[5]).await;
    assert_eq!(see().await, [file("1.parquet", 4), file("2.parquet", 1)]);
    fixture.memory.delete(&Path::from("t/1.parquet")).await.unwrap();
    assert_eq!(see().await, [file("2.parquet", 1)]);
    fixture.memory.delete(&Path::from("t/2.parquet")).await.unwrap();
    assert_eq!(see().await, []);
}

#[tokio::test]
async fn metadata_of_one_version_is_read_once() {
    let fixture = Fixture::new();
    fixture.numbers("t/1.parquet", "v", &[1]).await;
    let table = fixture.open("memory:///t/").await.unwrap();
    let bytes = async || fixture.snapshot(&table, &[]).await.unwrap().planning_io.bytes();
    assert_eq!(bytes().await, 0);
    fixture.numbers("t/1.parquet", "v", &[2]).await;
    assert!(bytes().await > 0);
    assert_eq!(bytes().await, 0);
}

#[tokio::test]
async fn excluded_partitions_are_not_opened() {
    let fixture = Fixture::new();
    fixture.numbers("t/p=1/1.parquet", "v", &[1]).await;
    fixture.memory.put(&Path::from("t/p=2/1.parquet"), "not Parquet at all".into()).await.unwrap();
    let table = fixture
        .sql("CREATE EXTERNAL TABLE t (v BIGINT, p INT) STORED AS TROMMEL PARTITIONED BY (p) LOCATION 'memory:///t/'")
        .await
        .unwrap();
    let table = trommel(&table);
    let one = fixture.snapshot(table, &[col("p").eq(lit(1)).and(col("v").gt(lit(0_i64)))]).await.unwrap();
    assert_eq!(one.fragments.len(), 1);
    let error = fixture.snapshot(table, &[]).await.unwrap_err().to_string();
    assert!(error.contains("t/p=2/1.parquet"), "{error}");
}

#[tokio::test]
async fn files_of_several_stores_and_folders() {
    let fixture = Fixture::new();
    fixture.numbers("a/p=1/1.parquet", "v", &[1]).await;
    put(&fixture.other, "b/p=2/2.parquet", &[("v", Arc::new(Int64Array::from(vec![1, 2])))]).await;
    let table = fixture
        .sql(
            "CREATE EXTERNAL TABLE t (v BIGINT, p INT) STORED AS TROMMEL PARTITIONED BY (p) \
             LOCATION ('other:///b/*/*.parquet', 'memory:///a/p=1/1.parquet')",
        )
        .await
        .unwrap();
    let snapshot = fixture.snapshot(trommel(&table), &[]).await.unwrap();
    let (one, two) = (ScalarValue::Int32(Some(1)), ScalarValue::Int32(Some(2)));
    let expected =
        [("b/p=2/2.parquet".to_owned(), vec![two], 2), ("a/p=1/1.parquet".to_owned(), vec![one], 1)];
    assert_eq!(contents(&snapshot), expected);
    let other: Arc<dyn ObjectStore> = Arc::clone(&fixture.other) as _;
    assert!(Arc::ptr_eq(&snapshot.fragments[0].store, &other));
}

#[tokio::test]
async fn local_files() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let batch =
            RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
        let file = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    ["k=a b%2Fc/1.parquet", "k=é/x/2.parquet", ".hidden/3.parquet", "_SUCCESS"].into_iter().for_each(write);
    let snapshot = |location: String| {
        let fixture = &fixture;
        async move { fixture.snapshot(&fixture.open(&location).await.unwrap(), &[]).await.unwrap() }
    };

    let root = folder.path().display();
    let all = snapshot(root.to_string()).await;
    let values: Vec<_> = contents(&all).into_iter().map(|(_, values, _)| values[0].to_string()).collect();
    assert_eq!(values, ["a b/c", "é"]);
    assert_eq!(snapshot(format!("{root}/k=é/**/*.parquet")).await.fragments.len(), 1);
    assert_eq!(snapshot(format!("{root}/_SUCCESS")).await.fragments.len(), 1);
    assert_eq!(snapshot(format!("file://{root}/**/[13].parquet")).await.fragments.len(), 1);
}

#[tokio::test]
async fn without_files_there_is_a_table_only_if_it_is_declared() {
    let fixture = Fixture::new();
    fixture.memory.put(&Path::from("t/empty.parquet"), "".into()).await.unwrap();
    fixture.numbers("t/data.bin", "v", &[1]).await;
    let error = fixture.open("memory:///t/").await.unwrap_err().to_string();
    assert!(error.contains("no Parquet file found at 'memory:///t/'"), "{error}");

    let declared =
        fixture.sql("CREATE EXTERNAL TABLE t (v BIGINT) STORED AS TROMMEL LOCATION 'memory:///t/'").await;
    let snapshot = fixture.snapshot(trommel(&declared.unwrap()), &[]).await.unwrap();
    assert!(snapshot.fragments.is_empty());
}

#[tokio::test]
async fn a_damaged_file_makes_no_table() {
    let fixture = Fixture::new();
    fixture.numbers("t/1.parquet", "v", &[1]).await;
    fixture.memory.put(&Path::from("t/2.parquet"), "PAR1PAR1PAR1".into()).await.unwrap();
    let error = fixture
        .sql("CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'memory:///t/'")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("t/2.parquet"), "{error}");
    assert!(!fixture.context.table_exist("t").unwrap());
}

#[rstest]
#[case::unknown_option("", "", "OPTIONS (pushdown_filters true)", "distrust_statistics: ")]
#[case::order_by_a_missing_column("", "WITH ORDER (nope)", "", "nope")]
#[case::partition_column_not_declared(
    "(v BIGINT)",
    "PARTITIONED BY (p)",
    "",
    "\"p\" is not one of the table's columns"
)]
#[case::partition_value_of_another_type("(v BIGINT, k INT)", "PARTITIONED BY (k)", "", "t/k=a/1.parquet")]
#[case::no_such_folder("(v BIGINT, p INT)", "PARTITIONED BY (p)", "", "no folder of its path is named p=")]
#[tokio::test]
async fn statements_that_go_wrong(
    #[case] columns: &str,
    #[case] clauses: &str,
    #[case] options: &str,
    #[case] says: &str,
) {
    let fixture = Fixture::new();
    fixture.numbers("t/k=a/1.parquet", "v", &[1]).await;
    let sql = format!(
        "CREATE EXTERNAL TABLE t {columns} STORED AS TROMMEL {clauses} LOCATION 'memory:///t/' {options}"
    );
    // What only the files show, only a query finds.
    let outcome = match fixture.sql(&sql).await {
        Ok(table) => fixture.snapshot(trommel(&table), &[]).await.map(drop),
        Err(error) => Err(error),
    };
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[rstest]
#[case::no_location(&[], "needs a location")]
#[case::twice(&["memory:///t/", "memory:///t/"], "given twice")]
#[case::unknown_store(&["s3://bucket/t/"], "s3://bucket")]
#[tokio::test]
async fn locations_that_go_wrong(#[case] locations: &[&str], #[case] says: &str) {
    let fixture = Fixture::new();
    let table = TrommelTable::builder(locations.iter().copied());
    let error = table.open(&fixture.context.state()).await.unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[rstest]
#[case::comparison(col("v").gt(lit(1_i64)), TableProviderFilterPushDown::Exact)]
#[case::constant(lit(false), TableProviderFilterPushDown::Exact)]
#[case::fallible((lit(1_i64) / col("v")).gt(lit(0_i64)), TableProviderFilterPushDown::Exact)]
#[case::volatile(random().call(vec![]).gt(lit(0.5)), TableProviderFilterPushDown::Unsupported)]
#[case::volatile_inside(col("v").gt(lit(1_i64)).or(random().call(vec![]).gt(lit(0.5))), TableProviderFilterPushDown::Unsupported)]
#[case::subquery(
    col("v").eq(scalar_subquery(Arc::new(datafusion::logical_expr::LogicalPlanBuilder::empty(true).build().unwrap()))),
    TableProviderFilterPushDown::Unsupported
)]
#[tokio::test]
async fn which_filters_are_applied(#[case] filter: Expr, #[case] expected: TableProviderFilterPushDown) {
    let fixture = Fixture::new();
    fixture.numbers("t/1.parquet", "v", &[1]).await;
    let table = TrommelTable::builder(["memory:///t/"])
        .schema(Arc::new(arrow::datatypes::Schema::empty()))
        .open(&fixture.context.state())
        .await
        .unwrap();
    assert_eq!(table.supports_filters_pushdown(&[&filter]).unwrap(), [expected]);
}

#[rstest]
#[case::all("", &["1 NULL a", "2 NULL a", "NULL 3 NULL"])]
#[case::partition("WHERE k = 'a'", &["1 NULL a", "2 NULL a"])]
#[case::null_partition("WHERE k IS NULL", &["NULL 3 NULL"])]
#[case::partition_or_column("WHERE k IS NULL OR v = 2", &["2 NULL a", "NULL 3 NULL"])]
#[case::missing_column("WHERE w IS NULL AND v < 2", &["1 NULL a"])]
#[case::volatile("WHERE random() < 2 AND v = 1", &["1 NULL a"])]
#[tokio::test]
async fn queries(#[case] clause: &str, #[case] expected: &[&str]) {
    let fixture = Fixture::new();
    fixture.numbers("t/k=a/1.parquet", "v", &[1, 2]).await;
    fixture.numbers("t/k=__HIVE_DEFAULT_PARTITION__/1.parquet", "w", &[3]).await;
    fixture.sql("CREATE EXTERNAL TABLE t STORED AS TROMMEL LOCATION 'memory:///t/'").await.unwrap();
    let query = fixture.context.sql(&format!("SELECT v, w, k FROM t {clause} ORDER BY v")).await.unwrap();
    let mut rows = Vec::new();
    for batch in query.collect().await.unwrap() {
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| ScalarValue::try_from_array(column, row).unwrap().to_string();
            rows.push(batch.columns().iter().map(value).collect::<Vec<_>>().join(" "));
        }
    }
    assert_eq!(rows, expected);
}

/// A file whose times, in a column and in a struct, are INT96: the epoch, and 9999-12-31T01:00.
async fn put_int96(store: &Arc<InMemory>, path: &str) {
    let message = "message m { optional int96 t; optional group s { optional int32 i; optional int96 t; } }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let (epoch, last, hour) = (2_440_588, 2_440_588 + 2_932_896, 3_600_000_000_000u64);
    let int96 = |(day, nanos): (u32, u64)| Int96::from(vec![nanos as u32, (nanos >> 32) as u32, day]);
    let times = [(epoch, 0), (last, hour)].map(int96);
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut level = 1;
    while let Some(mut column) = group.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::Int32ColumnWriter(column) => {
                column.write_batch(&[1, 2], Some(&[2, 2]), None).unwrap();
            }
            ColumnWriter::Int96ColumnWriter(column) => {
                column.write_batch(&times, Some(&[level; 2]), None).unwrap();
                level += 1;
            }
            _ => unreachable!("there are no others"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    store.put(&Path::parse(path).unwrap(), bytes.into()).await.unwrap();
}

#[rstest]
#[case::as_the_session_says("", &["coerce_int96 = 'ms'"], "Timestamp(ms)")]
#[case::in_utc("", &["coerce_int96 = 'ms'", "coerce_int96_tz = 'UTC'"], "Timestamp(ms, \"UTC\")")]
#[case::as_declared("(t TIMESTAMP(3), s STRUCT<i INT, t TIMESTAMP(3)>)", &[], "Timestamp(ms)")]
#[tokio::test]
async fn int96_is_read_in_the_unit_wanted(
    #[case] declared: &str,
    #[case] settings: &[&str],
    #[case] data_type: &str,
) {
    let fixture = Fixture::new();
    put_int96(&fixture.memory, "t/1.parquet").await;
    for setting in settings {
        fixture.context.sql(&format!("SET datafusion.execution.parquet.{setting}")).await.unwrap();
    }
    let sql = format!("CREATE EXTERNAL TABLE t {declared} STORED AS TROMMEL LOCATION 'memory:///t/'");
    fixture.sql(&sql).await.unwrap();
    let sql = "SELECT arrow_typeof(t), t, arrow_typeof(s['t']), s['t'], s['i'] FROM t \
               WHERE date_part('year', t) > 3000 AND date_part('year', s['t']) > 3000";
    let rows = fixture.context.sql(sql).await.unwrap().collect().await.unwrap();
    let text = arrow::util::pretty::pretty_format_batches(&rows).unwrap().to_string();
    assert_eq!(text.matches(data_type).count(), 2, "{text}");
    assert_eq!(text.matches("9999-12-31T01:00:00").count(), 2, "{text}");
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1, "{text}");
}
