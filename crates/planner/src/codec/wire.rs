// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The messages. Tags are for good: a field may be added, never changed or used again.

#[derive(Clone, PartialEq, prost::Message)]
pub struct Plan {
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Children before parents; the last is the root.
    #[prost(message, repeated, tag = "2")]
    pub nodes: Vec<PlanNode>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PlanNode {
    #[prost(string, tag = "1")]
    pub operator: String,
    #[prost(message, optional, tag = "2")]
    pub field: Option<Field>,
    #[prost(uint64, tag = "3")]
    pub rows: u64,
    #[prost(bool, tag = "4")]
    pub filtered: bool,
    #[prost(uint32, repeated, tag = "5")]
    pub children: Vec<u32>,
    #[prost(bytes = "vec", tag = "6")]
    pub metadata: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Expression {
    /// Children before parents; the last is the root.
    #[prost(message, repeated, tag = "1")]
    pub nodes: Vec<ExprNode>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExprNode {
    #[prost(oneof = "ExprKind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<ExprKind>,
    #[prost(uint32, repeated, tag = "6")]
    pub children: Vec<u32>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ExprKind {
    #[prost(message, tag = "1")]
    Root(Field),
    #[prost(message, tag = "2")]
    Literal(Array),
    #[prost(message, tag = "3")]
    Param(Param),
    #[prost(message, tag = "4")]
    Call(Call),
    #[prost(bytes, tag = "5")]
    Foreign(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Param {
    #[prost(uint32, tag = "1")]
    pub slot: u32,
    #[prost(message, optional, tag = "2")]
    pub field: Option<Field>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Call {
    #[prost(string, tag = "1")]
    pub function: String,
    #[prost(bytes = "vec", tag = "2")]
    pub options: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Field {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub data_type: Option<DataType>,
    #[prost(bool, tag = "3")]
    pub nullable: bool,
    /// Sorted by key.
    #[prost(message, repeated, tag = "4")]
    pub metadata: Vec<Entry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Entry {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A type: which one, and what it is made with.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DataType {
    #[prost(uint32, tag = "1")]
    pub kind: u32,
    #[prost(sint64, repeated, tag = "2")]
    pub numbers: Vec<i64>,
    #[prost(string, optional, tag = "3")]
    pub text: Option<String>,
    #[prost(message, repeated, tag = "4")]
    pub fields: Vec<Field>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Array {
    #[prost(message, optional, tag = "1")]
    pub data_type: Option<DataType>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<ArrayData>,
}

/// An array as arrow lays it out, without its type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArrayData {
    #[prost(uint64, tag = "1")]
    pub len: u64,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub nulls: Option<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub buffers: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub children: Vec<ArrayData>,
}
