// Licensed under the Apache License, Version 2.0. See LICENSE.

//! A Parquet file in memory with every way in which a file's column can stand for a table's, and its rows.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StringDictionaryBuilder,
    StructArray, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::adapt::cast_array;
use crate::fragment::{Fragment, OpenFragment};
use crate::io::{Distance, IoCounters, RangeReader};
use crate::metadata::FragmentMetadata;

/// How many rows the file has, in row groups of 100.
pub const ROWS: usize = 350;
/// The columns of the table, in order.
pub const COLUMNS: [&str; 8] = ["k", "wide", "dict", "nest", "list", "text", "missing", "part"];

/// A row of the table, as far as the tests' predicates look at it.
#[derive(Debug, Clone)]
pub struct Row {
    pub k: Option<i64>,
    pub wide: Option<i64>,
    pub dict: Option<&'static str>,
    /// `nest.x`: NULL where `nest` is.
    pub x: Option<i64>,
    /// `nest.y`, which is "y" and this number.
    pub y: Option<usize>,
    pub list: bool,
    /// `text` as a number, if it is one.
    pub number: Option<i64>,
}

/// Row number `i`.
pub fn row(i: usize) -> Row {
    let nest = i % 9 != 4;
    Row {
        k: (i % 11 != 3).then_some(i as i64),
        wide: (!i.is_multiple_of(7)).then_some((i * 37 % 100) as i64),
        dict: (i % 5 != 1).then_some(["red", "green", "blue"][i / 60 % 3]),
        x: (nest && i % 3 != 1).then_some((i % 20) as i64),
        y: nest.then_some(i / 10),
        list: i % 6 != 2,
        number: (i % 13 != 5).then_some((i % 50) as i64),
    }
}

fn columns() -> RecordBatch {
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    let nest = NullBuffer::from((0..ROWS).map(|i| i % 9 != 4).collect::<Vec<_>>());
    let x = Arc::new(rows.iter().map(|r| r.x).collect::<Int64Array>()) as ArrayRef;
    let y = rows.iter().map(|r| r.y.map(|y| format!("y{y}"))).collect::<StringArray>();
    let fields = vec![Field::new("x", DataType::Int64, true), Field::new("y", DataType::Utf8, true)];
    let mut dict = StringDictionaryBuilder::<Int32Type>::new();
    rows.iter().for_each(|r| dict.append_option(r.dict));
    let list = |(i, r): (usize, &Row)| r.list.then(|| (0..i as i32 % 4).map(Some).collect::<Vec<_>>());
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(rows.iter().enumerate().map(list));
    let text = rows.iter().map(|r| r.number.map_or("bad".to_owned(), |n| n.to_string()));
    let arrays: [(&str, ArrayRef); 6] = [
        ("nest", Arc::new(StructArray::new(fields.into(), vec![x, Arc::new(y)], Some(nest)))),
        ("k", Arc::new(rows.iter().map(|r| r.k).collect::<Int64Array>())),
        ("wide", Arc::new(rows.iter().map(|r| r.wide.map(|w| w as i32)).collect::<Int32Array>())),
        ("dict", Arc::new(dict.finish())),
        ("list", Arc::new(list)),
        ("text", Arc::new(text.map(Some).collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(arrays.map(|(name, array)| (name, array, true))).unwrap()
}

/// An opened file, and what the table's columns hold for it.
pub struct Fixture {
    pub fragment: OpenFragment,
    pub expected: Vec<ArrayRef>,
    pub io: RangeReader,
    pub counters: Arc<IoCounters>,
    pub store: Arc<InMemory>,
}

impl Fixture {
    pub async fn new() -> Self {
        let batch = columns();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(100))
            .set_data_page_row_count_limit(20)
            .set_write_batch_size(10)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let store = Arc::new(InMemory::new());
        let path = Path::from("t/part=north/file.parquet");
        store.put(&path, writer.into_inner().unwrap().into()).await.unwrap();

        let counters = Arc::new(IoCounters::default());
        let erased: Arc<dyn ObjectStore> = Arc::clone(&store) as _;
        let part = ScalarValue::from("north");
        let fragment = Fragment::new(store.head(&path).await.unwrap()).with_partition_values(vec![part]);
        let metadata = FragmentMetadata::load(&erased, &fragment, &counters).await.unwrap();
        let table = table(metadata.schema());
        let io = RangeReader::new(erased, &fragment, Distance::Remote, Arc::clone(&counters));
        let fragment = OpenFragment::open(Arc::new(fragment), Arc::new(metadata), &table, 1).unwrap();
        let column = |field: &Arc<Field>| match field.name().as_str() {
            "missing" => new_null_array(field.data_type(), ROWS),
            "part" => ScalarValue::from("north").to_array_of_size(ROWS).unwrap(),
            name => cast_array(batch.column_by_name(name).unwrap(), field.data_type()).unwrap(),
        };
        let expected = table.fields().iter().map(column).collect();
        Self { fragment, expected, io, counters, store }
    }

    /// The table's schema.
    pub fn table(&self) -> &SchemaRef {
        self.fragment.adaptation.table()
    }
}

/// The table over a file with this schema.
fn table(file: &Schema) -> SchemaRef {
    let field = |name: &str| match name {
        "wide" | "missing" => Field::new(name, DataType::Int64, true),
        "part" => Field::new(name, DataType::Utf8, false),
        name => file.field_with_name(name).unwrap().clone(),
    };
    Arc::new(Schema::new(COLUMNS.map(field).to_vec()))
}
