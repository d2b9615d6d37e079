// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Random tables: what is in them, told by a few numbers and a seed.
//!
//! Besides a column of each of some [`Kind`]s a table has `id`, which numbers its rows: unique, never NULL, clustered.

use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::scalar::ScalarValue;
use proptest::prelude::*;

use super::kind::Kind;
use super::kinds::Kinds;
use super::random::Random;

/// How the values of a column follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Nearly sorted, as by time of arrival: zones have narrow bounds.
    Clustered,
    /// Any value anywhere.
    Random,
    /// One value nearly everywhere.
    Skewed,
    /// One value per run of rows: zones whose bounds are one value.
    Runs,
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its type and name.
    pub kind: Kind,
    /// How many ordinary values it draws from.
    pub spread: u16,
    /// How they follow one another.
    pub arrangement: Arrangement,
    /// One value in so many is NULL; 1 makes all NULL, 0 none and the column required.
    pub nulls: u8,
    /// One value in so many is special (see [`Kind`]); 0 for none.
    pub specials: u8,
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// How many rows it has.
    pub rows: usize,
    /// Its columns but `id`.
    pub columns: Vec<Column>,
    /// What decides its values.
    pub seed: u64,
}

impl Table {
    /// The schema, each name after `prefix`.
    fn schema(&self, prefix: &str) -> SchemaRef {
        let id = Field::new(format!("{prefix}id"), DataType::Int64, false);
        let fields = self.columns.iter().map(|column| {
            Field::new(format!("{prefix}{}", column.kind.name()), column.kind.data_type(), column.nulls > 0)
        });
        Arc::new(Schema::new(std::iter::once(id).chain(fields).collect::<Vec<_>>()))
    }

    /// All rows; each column's name is after `prefix`.
    ///
    /// # Errors
    /// None but the engine's.
    pub fn batch(&self, prefix: &str) -> Result<RecordBatch> {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..self.rows as u64).map(|id| id as i64)));
        let columns = self.columns.iter().enumerate().map(|(number, column)| {
            column.values(self.rows as u64, &mut Random::new(self.seed.wrapping_add(number as u64)))
        });
        let arrays = std::iter::once(Ok(ids)).chain(columns).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(self.schema(prefix), arrays)?)
    }

    /// A strategy for tables of `rows` rows. `tame` tables hold no float or integer that DataFusion's own scan is
    /// known to get wrong.
    pub fn strategy(kinds: &Kinds, rows: BoxedStrategy<usize>, tame: bool) -> BoxedStrategy<Self> {
        let columns: Vec<_> = kinds.all().iter().map(|kind| Column::strategy(*kind, tame)).collect();
        (rows, columns, any::<u64>().no_shrink())
            .prop_map(|(rows, columns, seed)| Self { rows, columns, seed })
            .boxed()
    }
}

impl Column {
    fn values(&self, rows: u64, random: &mut Random) -> Result<ArrayRef> {
        if rows == 0 {
            return Ok(arrow::array::new_empty_array(&self.kind.data_type()));
        }
        let to = self.kind.data_type();
        // Made of scalars, a dictionary would have a value of its own for each row.
        let plain = match &to {
            DataType::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        let null = ScalarValue::try_from(plain)?;
        let values = (0..rows).map(|row| {
            if random.one_in(u64::from(self.nulls)) {
                return Ok(null.clone());
            }
            self.kind.value(self.index(row, rows, random)).cast_to(plain)
        });
        let values = values.collect::<datafusion::error::Result<Vec<_>>>()?;
        Ok(cast(&ScalarValue::iter_to_array(values)?, &to)?)
    }

    fn index(&self, row: u64, rows: u64, random: &mut Random) -> i64 {
        if random.one_in(u64::from(self.specials)) {
            return -1 - random.below(8) as i64;
        }
        let spread = u64::from(self.spread);
        let index = match self.arrangement {
            Arrangement::Clustered => row * spread / rows + random.below(2),
            Arrangement::Random => random.below(spread),
            Arrangement::Skewed if random.one_in(10) => random.below(spread),
            Arrangement::Skewed => spread / 2,
            Arrangement::Runs => (row / 16).wrapping_mul(7) % spread.max(1),
        };
        index as i64
    }

    fn strategy(kind: Kind, tame: bool) -> impl Strategy<Value = Self> {
        let arrangement = prop_oneof![
            3 => Just(Arrangement::Clustered),
            1 => Just(Arrangement::Random),
            1 => Just(Arrangement::Skewed),
            2 => Just(Arrangement::Runs),
        ];
        let nulls = prop_oneof![3 => Just(0u8), 3 => Just(10), 2 => Just(2), 1 => Just(1)];
        let specials = if tame && matches!(kind, Kind::Int32 | Kind::Int64 | Kind::Float64) {
            Just(0u8).boxed()
        } else {
            prop_oneof![3 => Just(0u8), 2 => Just(12), 1 => Just(2)].boxed()
        };
        (1u16..41, arrangement, nulls, specials).prop_map(move |(spread, arrangement, nulls, specials)| {
            Self { kind, spread, arrangement, nulls, specials }
        })
    }
}
