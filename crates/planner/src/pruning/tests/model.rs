// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Tables of a few rows, and the zones that describe them, honestly but not always fully.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion_common::ScalarValue;
use proptest::prelude::*;
use smallvec::smallvec;

use crate::expr::BoundExpression;
use crate::expr::functions::GetItem;
use crate::floats::{load_lower, load_upper};
use crate::index::{ColumnPath, TableCol};
use crate::pruning::{Bound, Level, ZoneColumn, ZoneSource};

/// A non-null value, of whatever type its column has.
#[derive(Debug, Clone)]
pub enum Val {
    Int(i64),
    Float(f64),
    Str(String),
    Bool(bool),
}

impl Val {
    /// SQL order; the two are of one column.
    pub fn order(&self, other: &Val) -> std::cmp::Ordering {
        let fold = |v: f64| if v == 0.0 { 0.0 } else { v };
        match (self, other) {
            (Val::Int(a), Val::Int(b)) => a.cmp(b),
            (Val::Float(a), Val::Float(b)) => fold(*a).total_cmp(&fold(*b)),
            (Val::Str(a), Val::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
            (a, b) => panic!("{a:?} against {b:?}"),
        }
    }

    pub fn is_nan(&self) -> bool {
        matches!(self, Val::Float(v) if v.is_nan())
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int32,
    Int64,
    Float64,
    Text,
    Date,
    Decimal,
    Bool,
    /// The second field of a struct column.
    Nested,
    Dictionary,
    Timestamp,
}

/// The columns of every table.
pub const COLUMNS: [Kind; 10] = [
    Kind::Int32,
    Kind::Int64,
    Kind::Float64,
    Kind::Text,
    Kind::Date,
    Kind::Decimal,
    Kind::Bool,
    Kind::Nested,
    Kind::Dictionary,
    Kind::Timestamp,
];

impl Kind {
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Int32 | Kind::Nested => DataType::Int32,
            Kind::Int64 => DataType::Int64,
            Kind::Float64 => DataType::Float64,
            Kind::Text => DataType::Utf8View,
            Kind::Date => DataType::Date32,
            Kind::Decimal => DataType::Decimal128(10, 2),
            Kind::Bool => DataType::Boolean,
            Kind::Dictionary => DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        }
    }

    /// All values that predicates tell apart, and some far ones.
    pub fn all_values(self) -> Vec<Val> {
        let ints = |limit: i64, far: &[i64]| {
            let far = far.iter().flat_map(|v| [*v, -*v]);
            (-limit..=limit).chain(far).map(Val::Int).collect()
        };
        let ends = |last: i64| (last - 15..=last).chain([50, 100, 150, 200, 250]).collect::<Vec<_>>();
        match self {
            Kind::Int32 | Kind::Nested => {
                let least = i64::from(i32::MIN);
                let mut all: Vec<_> = ints(14, &ends(-least - 1));
                all.push(Val::Int(least));
                all
            }
            Kind::Date => ints(14, &[40_000]),
            Kind::Int64 => ints(310, &ends(i64::MAX)),
            Kind::Decimal => ints(120, &[99_999]),
            Kind::Timestamp => ints(3_600, &[86_400_000]),
            Kind::Bool => [false, true].map(Val::Bool).to_vec(),
            Kind::Float64 => {
                let payload = f64::from_bits(f64::NAN.to_bits() | 7);
                let values = [-9.0, -2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 9.0, f64::MAX, f64::MIN];
                let others = [f64::INFINITY, -f64::INFINITY, f64::NAN, -f64::NAN, payload, -payload];
                values.into_iter().chain(others).map(Val::Float).collect()
            }
            Kind::Text | Kind::Dictionary => {
                let letters = ["", "a", "b", "c", "A", "B", "%", "_", "ž", "\u{10ffff}"];
                let two = letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")));
                two.chain(["abc", "abd", "Abc", "ab\\"].map(str::to_owned)).map(Val::Str).collect()
            }
        }
    }

    /// Values close enough to meet each other.
    pub fn values(self) -> BoxedStrategy<Val> {
        let ints = |range: std::ops::RangeInclusive<i64>, step: i64| {
            range.prop_map(move |i| Val::Int(i * step)).boxed()
        };
        match self {
            Kind::Int32 | Kind::Nested | Kind::Date => ints(-4..=4, 1),
            Kind::Int64 => ints(-5..=5, 50),
            Kind::Decimal => ints(-8..=8, 3),
            Kind::Timestamp => ints(-5..=5, 500),
            Kind::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
            Kind::Float64 => {
                let payload = f64::from_bits(f64::NAN.to_bits() | 7);
                let values = [-1.5, -0.0, 0.0, 1.0, 2.5, f64::INFINITY, f64::NEG_INFINITY];
                let nans = [f64::NAN, -f64::NAN, payload, -payload];
                prop_oneof![4 => prop::sample::select(values.to_vec()), 1 => prop::sample::select(nans.to_vec())]
                    .prop_map(Val::Float)
                    .boxed()
            }
            Kind::Text | Kind::Dictionary => prop::sample::select(
                &["", "a", "ab", "abc", "abd", "b", "ba", "a%", "a_", "ž", "a\u{10ffff}", "\u{10ffff}"][..],
            )
            .prop_map(|s| Val::Str(s.to_owned()))
            .boxed(),
        }
    }
}

/// A column, or the field of a struct column, as an expression.
pub fn column(index: usize) -> BoundExpression {
    let fields = COLUMNS.iter().enumerate().map(|(i, kind)| {
        let data_type = match kind {
            Kind::Nested => DataType::Struct(
                vec![Field::new("other", DataType::Utf8, true), Field::new("field", kind.data_type(), true)]
                    .into(),
            ),
            kind => kind.data_type(),
        };
        Field::new(format!("c{i}"), data_type, true)
    });
    let root = Field::new("table", DataType::Struct(fields.collect()), false);
    let column = GetItem::of(BoundExpression::root(Arc::new(root)), index).unwrap();
    if COLUMNS[index] == Kind::Nested { GetItem::of(column, 1).unwrap() } else { column }
}

/// A value of a type.
pub fn scalar(data_type: &DataType, value: Option<&Val>) -> ScalarValue {
    let Some(value) = value else { return ScalarValue::try_from(data_type).unwrap() };
    let int = |v: &i64| ScalarValue::Int64(Some(*v)).cast_to(data_type).unwrap();
    match (value, data_type) {
        (Val::Int(v), DataType::Decimal128(p, s)) => ScalarValue::Decimal128(Some(i128::from(*v)), *p, *s),
        (Val::Int(v), DataType::Date32) => ScalarValue::Date32(Some(*v as i32)),
        (Val::Int(v), _) => int(v),
        (Val::Float(v), _) => ScalarValue::Float64(Some(*v)),
        (Val::Bool(v), _) => ScalarValue::Boolean(Some(*v)),
        (Val::Str(v), DataType::Dictionary(_, _)) => ScalarValue::Utf8(Some(v.clone())),
        (Val::Str(v), data_type) => ScalarValue::Utf8(Some(v.clone())).cast_to(data_type).unwrap(),
    }
}

fn array(data_type: &DataType, values: &[Option<Val>]) -> ArrayRef {
    let scalars: Vec<_> = values.iter().map(|v| scalar(data_type, v.as_ref())).collect();
    let flat = match data_type {
        DataType::Dictionary(_, _) => {
            let values = values.iter().map(|v| scalar(&DataType::Utf8, v.as_ref()));
            ScalarValue::iter_to_array(values).unwrap()
        }
        _ => ScalarValue::iter_to_array(scalars).unwrap(),
    };
    cast(&flat, data_type).unwrap()
}

/// The values of one column.
pub type Rows = Vec<Option<Val>>;

/// How the statistics of one zone fall short of the best there could be.
#[derive(Debug, Clone, Default)]
pub struct Weakness {
    pub no_lower: bool,
    pub no_upper: bool,
    pub widen: u8,
    pub no_nulls: bool,
    pub no_nans: bool,
    pub crossed: bool,
}

/// The zones of one column at one level: where they end (before the last row), and their weaknesses.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    pub cuts: Vec<usize>,
    pub weak: Vec<Weakness>,
    /// Statistics that aren't there at all.
    pub missing: Weakness,
}

impl Layout {
    fn zones(&self, rows: usize) -> Vec<usize> {
        let mut starts: Vec<_> = self.cuts.iter().map(|cut| cut % (rows + 1)).collect();
        starts.extend([0, rows]);
        starts.sort_unstable();
        starts
    }

    /// The statistics of `rows`, weakened.
    pub fn describe(&self, kind: Kind, rows: &Rows) -> ZoneColumn {
        let starts = self.zones(rows.len());
        let (strong, missing) = (Weakness::default(), &self.missing);
        let zones = || {
            starts.windows(2).enumerate().map(|(i, w)| {
                let weak = self.weak.get(i % self.weak.len().max(1)).unwrap_or(&strong);
                (&rows[w[0]..w[1]], weak)
            })
        };
        let bound = |upper: bool| -> Vec<Option<Val>> {
            zones()
                .map(|(rows, weak)| {
                    let values = || rows.iter().flatten().filter(|v| !v.is_nan());
                    let max = values().max_by(|a, b| a.order(b));
                    let min = values().min_by(|a, b| a.order(b));
                    let hide = if upper { weak.no_upper } else { weak.no_lower };
                    // Bounds that cross, as corrupt files have: that shows only where both are there.
                    let both = !(weak.no_lower || weak.no_upper || missing.no_lower || missing.no_upper);
                    let crosses =
                        both && weak.crossed && min.zip(max).is_some_and(|(min, max)| min.order(max).is_lt());
                    let best = if upper != crosses { max } else { min };
                    let widen = if crosses { 0 } else { weak.widen };
                    best.filter(|_| !hide).and_then(|v| widened(v, widen, upper))
                })
                .collect()
        };
        let count = |test: fn(&Option<Val>) -> bool, hide: fn(&Weakness) -> bool| {
            zones()
                .map(|(rows, weak)| (!hide(weak)).then(|| rows.iter().filter(|v| test(v)).count() as u64))
                .collect::<UInt64Array>()
        };
        let data_type = kind.data_type();
        let as_bound = |values: ArrayRef| Bound { exact: BooleanBuffer::new_unset(values.len()), values };
        let borders: Vec<u64> = starts.iter().map(|s| *s as u64).collect();
        let mut column = ZoneColumn::unknown(data_type.clone(), borders.into());
        if !self.missing.no_lower {
            column = column.with_lower(as_bound(load_lower(&array(&data_type, &bound(false)))));
        }
        if !self.missing.no_upper {
            column = column.with_upper(as_bound(load_upper(&array(&data_type, &bound(true)))));
        }
        if !self.missing.no_nulls {
            column = column.with_nulls(count(Option::is_none, |weak| weak.no_nulls));
        }
        if !self.missing.no_nans {
            column = column.with_nans(count(|v| v.as_ref().is_some_and(Val::is_nan), |weak| weak.no_nans));
        }
        column
    }
}

/// A bound further out; strings as writers truncate them.
fn widened(value: &Val, by: u8, upper: bool) -> Option<Val> {
    let sign = if upper { 1 } else { -1 };
    Some(match value {
        value if by == 0 => value.clone(),
        Val::Int(v) => Val::Int(v + sign * i64::from(by)),
        Val::Float(v) => Val::Float(v + f64::from(by) * sign as f64),
        Val::Bool(_) => Val::Bool(upper),
        Val::Str(s) if upper => Val::Str(format!("{}\u{10ffff}\u{10ffff}", s.chars().next()?)),
        Val::Str(s) => Val::Str(s.chars().take(1).collect()),
    })
}

/// A table and its zones.
#[derive(Debug, Clone)]
pub struct Table {
    /// One per column of [`COLUMNS`].
    pub columns: Vec<Rows>,
    pub zones: HashMap<(ColumnPath, Level), Arc<ZoneColumn>>,
}

/// The path of a column.
pub fn path(index: usize) -> ColumnPath {
    let fields = if COLUMNS[index] == Kind::Nested { smallvec![1] } else { smallvec![] };
    ColumnPath { column: TableCol(index), fields }
}

impl Table {
    /// A table of these columns; each laid out twice, in row groups and in pages.
    pub fn new(columns: Vec<Rows>, layouts: &[[Option<Layout>; 2]]) -> Self {
        let mut zones = HashMap::new();
        for (index, (rows, layouts)) in columns.iter().zip(layouts).enumerate() {
            for (level, layout) in [Level::RowGroup, Level::Page].into_iter().zip(layouts) {
                if let Some(layout) = layout {
                    zones.insert((path(index), level), Arc::new(layout.describe(COLUMNS[index], rows)));
                }
            }
        }
        Self { columns, zones }
    }

    pub fn len(&self) -> usize {
        self.columns[0].len()
    }
}

impl ZoneSource for Table {
    fn zones(&self, column: &ColumnPath, level: Level) -> Option<Arc<ZoneColumn>> {
        self.zones.get(&(column.clone(), level)).cloned()
    }
}

fn weakness() -> impl Strategy<Value = Weakness> {
    let rarely = || prop::bool::weighted(0.15);
    let widen = prop_oneof![3 => Just(0u8), 1 => 1u8..3];
    (rarely(), rarely(), widen, rarely(), rarely(), prop::bool::weighted(0.05)).prop_map(
        |(no_lower, no_upper, widen, no_nulls, no_nans, crossed)| Weakness {
            no_lower,
            no_upper,
            widen,
            no_nulls,
            no_nans,
            crossed,
        },
    )
}

fn layout(cuts: usize) -> impl Strategy<Value = Option<Layout>> {
    let layout =
        (prop::collection::vec(0usize..40, 0..cuts), prop::collection::vec(weakness(), 0..4), weakness())
            .prop_map(|(cuts, weak, missing)| Layout { cuts, weak, missing });
    prop::option::weighted(0.9, layout)
}

/// Tables of a few rows, each column one zone at every level.
pub fn one_zone() -> impl Strategy<Value = Table> {
    (1usize..5)
        .prop_flat_map(|rows| {
            let value = |kind: Kind| prop_oneof![1 => Just(None), 9 => kind.values().prop_map(Some)];
            let columns: Vec<_> =
                COLUMNS.iter().map(|kind| prop::collection::vec(value(*kind), rows)).collect();
            let weak = prop::collection::vec(weakness(), COLUMNS.len());
            (columns, weak)
        })
        .prop_map(|(columns, weak)| {
            let layout = |weak| Layout { weak: vec![weak], ..Layout::default() };
            let layouts: Vec<_> = weak.into_iter().map(|weak| [Some(layout(weak)), None]).collect();
            let layouts: Vec<_> = layouts.into_iter().map(|[zone, _]| [zone.clone(), zone]).collect();
            Table::new(columns, &layouts)
        })
}

/// Tables of a few rows. Columns are often sorted, so that zones tell something.
pub fn tables() -> impl Strategy<Value = Table> {
    let column = |kind: Kind, rows: usize| {
        let value = prop_oneof![1 => Just(None), 6 => kind.values().prop_map(Some)];
        let same = (kind.values(), 0..=rows).prop_map(move |(v, nulls)| {
            (0..rows).map(|i| (i >= nulls || nulls < rows / 2).then(|| v.clone())).collect()
        });
        prop_oneof![
            3 => (prop::collection::vec(value, rows), any::<bool>()).prop_map(|(mut values, sort)| {
                if sort {
                    values.sort_by(|a, b| match (a, b) {
                        (Some(a), Some(b)) => a.order(b),
                        (a, b) => a.is_some().cmp(&b.is_some()),
                    });
                }
                values
            }),
            1 => same,
        ]
    };
    (1usize..24)
        .prop_flat_map(move |rows| {
            let columns: Vec<_> = COLUMNS.iter().map(|kind| column(*kind, rows)).collect();
            let layouts: Vec<_> = COLUMNS.iter().map(|_| [layout(3).boxed(), layout(8).boxed()]).collect();
            (columns, layouts)
        })
        .prop_map(|(columns, layouts)| Table::new(columns, &layouts))
}
