// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random nested columns, as rows and as plans.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use proptest::prelude::*;

use super::oracle::Value;
use crate::index::FragmentCol;
use crate::plan::memory::Memory;
use crate::plan::operators::PackData;
use crate::plan::{ConcatPlan, ListPackPlan, PackPlan, PlanRef, SegmentId, SegmentScanPlan, TakePlan};

/// A type.
#[derive(Debug, Clone)]
pub enum Kind {
    Int,
    Text,
    Struct(Vec<Kind>),
    List,
}

/// A column: what each row is, and how it is laid out.
#[derive(Debug, Clone)]
pub struct Column {
    rows: Vec<Value>,
    layout: Layout,
}

#[derive(Debug, Clone)]
enum Layout {
    /// Values as they are, in pieces that end at these rows.
    Plain { values: Vec<Value>, cuts: Vec<usize>, kind: Kind },
    /// Codes into values.
    Codes { codes: Vec<Option<u8>>, values: Vec<Value>, kind: Kind },
    /// Structs, with hidden fields where they aren't valid.
    Struct { fields: Vec<Column>, valid: Option<Vec<bool>>, masked: bool },
    /// Lists of elements, hidden ones among them.
    List { elements: Box<Column>, offsets: Vec<i32>, valid: Option<Vec<bool>> },
}

/// The arrays of plans.
#[derive(Default)]
pub struct Store {
    pub memory: Memory,
}

impl Store {
    fn scan(&mut self, array: ArrayRef) -> PlanRef {
        let segment = SegmentId::new(0, FragmentCol(self.memory.segments.len()));
        let field = Field::new("file", array.data_type().clone(), array.null_count() > 0);
        let rows = array.len() as u64;
        self.memory.segments.insert(segment, array);
        SegmentScanPlan::new(segment, Arc::new(field), rows).into()
    }
}

impl Column {
    pub fn rows(&self) -> &[Value] {
        &self.rows
    }

    pub fn kind(&self) -> Kind {
        match &self.layout {
            Layout::Plain { kind, .. } | Layout::Codes { kind, .. } => kind.clone(),
            Layout::Struct { fields, .. } => Kind::Struct(fields.iter().map(Self::kind).collect()),
            Layout::List { .. } => Kind::List,
        }
    }

    pub fn plan(&self, store: &mut Store) -> PlanRef {
        match &self.layout {
            Layout::Plain { values, cuts, kind } => {
                if cuts.is_empty() {
                    return store.scan(array(values, kind));
                }
                let mut ends = cuts.clone();
                ends.push(values.len());
                let mut start = 0;
                let pieces: Vec<PlanRef> = ends
                    .into_iter()
                    .map(|end| {
                        let piece = &values[start..end.max(start)];
                        start = end.max(start);
                        store.scan(array(piece, kind))
                    })
                    .collect();
                let nullable = pieces.iter().any(|piece| piece.field().is_nullable());
                let field = pieces[0].field().as_ref().clone().with_nullable(nullable);
                ConcatPlan::try_new(Arc::new(field), pieces.into()).unwrap().into()
            }
            Layout::Codes { codes, values, kind } => {
                let codes = store.scan(Arc::new(codes.iter().collect::<UInt8Array>()));
                TakePlan::try_new(codes, store.scan(array(values, kind))).unwrap().into()
            }
            Layout::Struct { fields, valid, masked } => {
                let mut children: Vec<PlanRef> = fields.iter().map(|field| field.plan(store)).collect();
                let named =
                    |(i, plan): (usize, &PlanRef)| plan.field().as_ref().clone().with_name(format!("f{i}"));
                let fields: Fields = children.iter().enumerate().map(named).collect();
                children.extend(
                    valid.iter().map(|valid| store.scan(Arc::new(BooleanArray::from(valid.clone())))),
                );
                let field = Field::new("s", DataType::Struct(fields), valid.is_some());
                let rows = self.rows.len() as u64;
                let data = PackData { masked: *masked };
                PackPlan::of(Arc::new(field), rows, data, children.into()).unwrap().into()
            }
            Layout::List { elements, offsets, valid } => {
                let elements = elements.plan(store);
                let item: FieldRef = Arc::new(elements.field().as_ref().clone().with_name("item"));
                let mut children = vec![elements, store.scan(Arc::new(Int32Array::from(offsets.clone())))];
                children.extend(
                    valid.iter().map(|valid| store.scan(Arc::new(BooleanArray::from(valid.clone())))),
                );
                let field = Arc::new(Field::new("l", DataType::List(item), valid.is_some()));
                ListPackPlan::try_new(field, self.rows.len() as u64, children.into()).unwrap().into()
            }
        }
    }
}

fn array(values: &[Value], kind: &Kind) -> ArrayRef {
    match kind {
        Kind::Int => Arc::new(Int64Array::from_iter(values.iter().map(|value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        }))),
        _ => Arc::new(StringArray::from_iter(values.iter().map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        }))),
    }
}

/// A plain value: small numbers and large ones, texts that are numbers and some that aren't.
fn plain(kind: &Kind, nulls: bool) -> BoxedStrategy<Value> {
    let value = match kind {
        Kind::Int => prop_oneof![4 => -5..100i64, 1 => Just(1000i64)].prop_map(Value::Int).boxed(),
        _ => prop_oneof![4 => (0..30i64).prop_map(|n| n.to_string()), 1 => Just("1x".to_owned())]
            .prop_map(Value::Text)
            .boxed(),
    };
    match nulls {
        true => prop_oneof![4 => value, 1 => Just(Value::Null)].boxed(),
        false => value,
    }
}

fn leaf(rows: usize) -> BoxedStrategy<Column> {
    let kind = prop_oneof![Just(Kind::Int), Just(Kind::Text)];
    (kind, any::<bool>(), any::<bool>(), 0..5usize, any::<bool>())
        .prop_flat_map(move |(kind, nulls, coded, many, null_codes)| {
            if !coded {
                let cuts = prop::collection::vec(0..=rows, if rows > 0 { 0..3 } else { 0..1 });
                let values = prop::collection::vec(plain(&kind, nulls), rows);
                return (values, cuts)
                    .prop_map(move |(values, mut cuts)| {
                        cuts.sort_unstable();
                        let layout = Layout::Plain { values: values.clone(), cuts, kind: kind.clone() };
                        Column { rows: values, layout }
                    })
                    .boxed();
            }
            let many = if null_codes { many } else { many.max(1) };
            let values = prop::collection::vec(plain(&kind, nulls), many);
            let code = match (many, null_codes) {
                (0, _) => Just(None).boxed(),
                (_, true) => prop::option::weighted(0.8, 0..many as u8).boxed(),
                (_, false) => (0..many as u8).prop_map(Some).boxed(),
            };
            (values, prop::collection::vec(code, rows))
                .prop_map(move |(values, codes)| {
                    let value = |code: &Option<u8>| {
                        code.map_or(Value::Null, |code| values[usize::from(code)].clone())
                    };
                    let rows = codes.iter().map(value).collect();
                    Column { rows, layout: Layout::Codes { codes, values, kind: kind.clone() } }
                })
                .boxed()
        })
        .boxed()
}

fn structs(rows: usize, depth: u32) -> BoxedStrategy<Column> {
    let valid = prop::option::of(prop::collection::vec(prop::bool::weighted(0.7), rows));
    (prop::collection::vec(column(rows, depth - 1), 1..3), valid)
        .prop_map(move |(fields, valid)| {
            let row = |row: usize| match valid.as_ref().is_none_or(|valid| valid[row]) {
                true => Value::Struct(fields.iter().map(|field| field.rows[row].clone()).collect()),
                false => Value::Null,
            };
            let rows: Vec<_> = (0..rows).map(row).collect();
            // Children are masked where they happen to be.
            let hides = |field: &Column| {
                rows.iter().zip(&field.rows).all(|(of, value)| *of != Value::Null || *value == Value::Null)
            };
            let masked = valid.is_some() && fields.iter().all(hides);
            Column { rows, layout: Layout::Struct { fields, valid, masked } }
        })
        .boxed()
}

fn lists(rows: usize, depth: u32) -> BoxedStrategy<Column> {
    let lengths = prop::collection::vec(0..3i32, rows + 1);
    (lengths, prop::option::of(prop::collection::vec(prop::bool::weighted(0.7), rows)))
        .prop_flat_map(move |(lengths, valid)| {
            // What comes before the first list belongs to none.
            let mut offsets = vec![lengths[0]];
            lengths[1..].iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
            let elements = column(offsets[offsets.len() - 1] as usize + 1, depth - 1);
            (elements, Just(offsets), Just(valid))
        })
        .prop_map(move |(elements, offsets, valid)| {
            let row = |row: usize| match valid.as_ref().is_none_or(|valid| valid[row]) {
                true => Value::List(elements.rows[offsets[row] as usize..offsets[row + 1] as usize].to_vec()),
                false => Value::Null,
            };
            let rows = (0..rows).map(row).collect();
            Column { rows, layout: Layout::List { elements: Box::new(elements), offsets, valid } }
        })
        .boxed()
}

fn column(rows: usize, depth: u32) -> BoxedStrategy<Column> {
    match depth {
        0 => leaf(rows),
        _ => prop_oneof![2 => leaf(rows), 3 => structs(rows, depth), 1 => lists(rows, depth)].boxed(),
    }
}

/// One to three columns of so many rows.
pub fn columns(rows: usize) -> impl Strategy<Value = Vec<Column>> {
    prop::collection::vec(column(rows, 3), 1..4)
}
