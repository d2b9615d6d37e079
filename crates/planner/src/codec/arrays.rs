// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Arrays, as arrow lays them out.

use arrow::array::{Array, ArrayData, ArrayRef, BufferSpec, UInt32Array, layout, make_array};
use arrow::buffer::Buffer;
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;

use super::types::{read_type, write_type};
use super::{CodecError, wire};

/// How many values an array may have: some types take no bytes for any number of them.
const MAX_LEN: usize = 1 << 24;

/// Writes an array.
pub fn write_array(array: &ArrayRef) -> Result<wire::Array, CodecError> {
    let len = u32::try_from(array.len()).ok().filter(|len| *len as usize <= MAX_LEN);
    // What a slice is cut from isn't written.
    let whole = UInt32Array::from_iter_values(0..len.ok_or(CodecError::TooLarge)?);
    let array = take(array, &whole, None)?;
    let data_type = Some(write_type(array.data_type())?);
    Ok(wire::Array { data_type, data: Some(write_data(&array.to_data())?) })
}

fn write_data(data: &ArrayData) -> Result<wire::ArrayData, CodecError> {
    if data.offset() > 0 {
        return Err(CodecError::Malformed("an array that begins within its buffers"));
    }
    Ok(wire::ArrayData {
        len: data.len() as u64,
        nulls: data.nulls().map(|nulls| nulls.inner().sliced().as_slice().to_vec()),
        buffers: data.buffers().iter().map(|buffer| buffer.as_slice().to_vec()).collect(),
        children: data.child_data().iter().map(write_data).collect::<Result<_, _>>()?,
    })
}

/// Reads an array.
pub fn read_array(array: wire::Array) -> Result<ArrayRef, CodecError> {
    let data = array.data.ok_or(CodecError::Malformed("no array"))?;
    Ok(make_array(read_data(&read_type(array.data_type)?, data)?))
}

fn read_data(data_type: &DataType, data: wire::ArrayData) -> Result<ArrayData, CodecError> {
    let len = usize::try_from(data.len).ok().filter(|len| *len <= MAX_LEN).ok_or(CodecError::TooLarge)?;
    if data.nulls.as_ref().is_some_and(|nulls| nulls.len() < len.div_ceil(8)) {
        return Err(CodecError::Malformed("fewer NULL bits than values"));
    }
    // arrow reads buffers as slices of values, and panics where they end within one.
    let whole = |(buffer, spec): (&Vec<u8>, &BufferSpec)| match spec {
        BufferSpec::FixedWidth { byte_width, .. } => buffer.len().checked_rem(*byte_width).unwrap_or(0) == 0,
        _ => true,
    };
    if !data.buffers.iter().zip(&layout(data_type).buffers).all(whole) {
        return Err(CodecError::Malformed("a buffer that ends within a value"));
    }
    let types: Vec<&DataType> = match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Dictionary(_, values) => vec![values],
        _ => Vec::new(),
    };
    if types.len() != data.children.len() {
        return Err(CodecError::Malformed("an array with other children than its type has"));
    }
    let children = types.into_iter().zip(data.children).map(|(of, child)| read_data(of, child));
    // Everything is checked here: lengths, offsets, codes, UTF-8.
    Ok(ArrayData::builder(data_type.clone())
        .len(len)
        .null_bit_buffer(data.nulls.map(Buffer::from_vec))
        .buffers(data.buffers.into_iter().map(Buffer::from_vec).collect())
        .child_data(children.collect::<Result<_, _>>()?)
        .align_buffers(true)
        .build()?)
}

/// Writes a constant.
pub fn write_scalar(value: &ScalarValue) -> Result<wire::Array, CodecError> {
    write_array(&value.to_array()?)
}

/// Reads a constant.
pub fn read_scalar(array: wire::Array) -> Result<ScalarValue, CodecError> {
    let array = read_array(array)?;
    match array.len() {
        1 => Ok(ScalarValue::try_from_array(&array, 0)?),
        _ => Err(CodecError::Malformed("a constant that isn't one value")),
    }
}
