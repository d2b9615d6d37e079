// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Children of null structs are null.
//!
//! A required child of an optional struct has no NULLs of its own in Parquet, and the readers fill its
//! values with zeros where the struct is null. Nobody may see those: SQL says that a field of NULL is NULL,
//! and the statistics of the leaf, which leave such values out, agree.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait,
    StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::nullif;
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;

/// The array with every child of a null struct null, at any depth.
pub(super) fn mask_children(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        data_type if !has_struct(data_type) => Ok(Arc::clone(array)),
        DataType::Struct(fields) => {
            let parent = array.as_struct();
            let nulls = parent.nulls().filter(|nulls| nulls.null_count() > 0);
            let hidden = nulls.map(|nulls| BooleanArray::new(!nulls.inner(), None));
            let child = |child: &ArrayRef| match &hidden {
                // What is hidden here hides what is below.
                Some(hidden) => mask_children(&nullif(child, hidden)?),
                None => mask_children(child),
            };
            let children = parent.columns().iter().map(child).collect::<Result<Vec<_>, _>>()?;
            let nulls: Option<NullBuffer> = parent.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, parent.len())?))
        }
        DataType::List(field) => mask_list::<i32>(array, field),
        DataType::LargeList(field) => mask_list::<i64>(array, field),
        DataType::FixedSizeList(field, size) => {
            let list = array.as_fixed_size_list();
            let values = mask_children(list.values())?;
            let nulls = list.nulls().cloned();
            Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(field), *size, values, nulls)?))
        }
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let entries = mask_children(&(Arc::new(map.entries().clone()) as ArrayRef))?;
            let (offsets, entries) = (map.offsets().clone(), entries.as_struct().clone());
            let nulls = map.nulls().cloned();
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn mask_list<O: OffsetSizeTrait>(array: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let list = array.as_list::<O>();
    let (values, offsets) = (mask_children(list.values())?, list.offsets().clone());
    let nulls = list.nulls().cloned();
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(field), offsets, values, nulls)?))
}

/// Whether there is a struct in values of the type, other than a map's entries (which are never null).
fn has_struct(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) => true,
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_struct(field.data_type())
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.iter().any(|field| has_struct(field.data_type())),
            _ => false,
        },
        _ => false,
    }
}
