// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The columns of a file, structs taken apart: what has zones of its own.

use arrow::datatypes::DataType;
use serde::Serialize;
use trommel_planner::index::{ColumnPath, TableCol};
use trommel_scan::adapt::ColumnSource;
use trommel_scan::fragment::OpenFragment;

/// Where a column's values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The file.
    File,
    /// The names of the file's folders.
    Partition,
    /// Nowhere: the file lacks the column, which is NULL.
    Missing,
}

/// A column of the table, or the innermost field of one.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Its names from outside in, with dots.
    pub name: String,
    /// Its type in the table; of what lies in a list, the file's.
    pub data_type: DataType,
    /// Where it is in the table; `None` in a list, where nothing has zones.
    pub path: Option<ColumnPath>,
    /// Its number among the leaves of the Parquet schema.
    pub parquet: Option<usize>,
    /// Where its values come from.
    pub source: Source,
}

/// The columns of the table, as this file has them.
pub fn leaves(file: &OpenFragment) -> Vec<Leaf> {
    let (table, metadata) = (file.adaptation.table(), &file.metadata);
    let partitions_from = table.fields().len() - file.fragment.partition_values.len();
    let mut leaves = Vec::new();
    for (at, (field, source)) in table.fields().iter().zip(file.adaptation.sources()).enumerate() {
        let stored = match source {
            ColumnSource::File { column, .. } => {
                let first = metadata.leaves(*column).start;
                metadata.schema().fields().get(column.0).map(|field| (field.data_type(), first))
            }
            ColumnSource::Constant(_) | ColumnSource::RowNumbers => None,
        };
        let absent = if at < partitions_from { Source::Missing } else { Source::Partition };
        let path = ColumnPath::from(TableCol(at));
        add(&mut leaves, field.name().clone(), field.data_type(), path, stored, absent);
    }
    leaves
}

/// Adds the leaves of a column of type `to`, stored as a type whose first leaf has a number.
fn add(
    leaves: &mut Vec<Leaf>,
    name: String,
    to: &DataType,
    path: ColumnPath,
    stored: Option<(&DataType, usize)>,
    absent: Source,
) {
    match (to, stored) {
        (DataType::Struct(fields), Some((DataType::Struct(stored), first))) => {
            for (at, field) in (0u32..).zip(fields) {
                let found = stored.iter().position(|stored| stored.name() == field.name());
                let found = found.map(|found| {
                    let before: usize = stored[..found].iter().map(|field| count(field.data_type())).sum();
                    (stored[found].data_type(), first + before)
                });
                let mut path = path.clone();
                path.fields.push(at);
                add(leaves, format!("{name}.{}", field.name()), field.data_type(), path, found, absent);
            }
        }
        (_, Some((from, first))) if from.is_nested() => {
            let mut inner = Vec::new();
            innermost(name, from, &mut inner);
            leaves.extend(inner.into_iter().enumerate().map(|(at, (name, data_type))| Leaf {
                name,
                data_type,
                path: None,
                parquet: Some(first + at),
                source: Source::File,
            }));
        }
        (_, stored) => leaves.push(Leaf {
            name,
            data_type: to.clone(),
            path: Some(path),
            parquet: stored.map(|(_, leaf)| leaf),
            source: if stored.is_some() { Source::File } else { absent },
        }),
    }
}

fn count(data_type: &DataType) -> usize {
    let mut inner = Vec::new();
    innermost(String::new(), data_type, &mut inner);
    inner.len()
}

/// The leaves of a type, depth first: Parquet's leaves.
fn innermost(name: String, data_type: &DataType, leaves: &mut Vec<(String, DataType)>) {
    match data_type {
        DataType::Struct(fields) => {
            for field in fields {
                innermost(format!("{name}.{}", field.name()), field.data_type(), leaves);
            }
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => innermost(format!("{name}[]"), field.data_type(), leaves),
        leaf => leaves.push((name, leaf.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, Fields};

    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, true)
    }

    #[test]
    fn structs_are_taken_apart_by_name_and_lists_by_leaf() {
        let point = |names: &[&str]| {
            let fields: Fields = names.iter().map(|name| field(name, DataType::Int32)).collect();
            DataType::Struct(fields)
        };
        let list = DataType::List(Arc::new(field("item", point(&["a", "b"]))));
        let to = DataType::Struct(vec![field("p", point(&["y", "x", "z"])), field("l", list.clone())].into());
        let from = DataType::Struct(vec![field("l", list), field("p", point(&["x", "y"]))].into());
        let mut leaves = Vec::new();
        let path = ColumnPath::from(TableCol(2));
        add(&mut leaves, "c".to_owned(), &to, path, Some((&from, 5)), Source::Missing);
        let found: Vec<_> = leaves
            .iter()
            .map(|leaf| (leaf.name.as_str(), leaf.parquet, leaf.path.as_ref().map(ToString::to_string)))
            .collect();
        let path = |text: &str| Some(text.to_owned());
        let expected = [
            ("c.p.y", Some(8), path("#2.0.0")),
            ("c.p.x", Some(7), path("#2.0.1")),
            ("c.p.z", None, path("#2.0.2")),
            ("c.l[].a", Some(5), None),
            ("c.l[].b", Some(6), None),
        ];
        assert_eq!(found, expected);
    }
}
