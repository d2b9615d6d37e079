// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The structures of the format, as far as the parquet crate reads them.
//!
//! It reads a field that it knows as the type that the format has it in, whatever type the file says, and elements of
//! lists likewise: whoever walks by what the file says walks something else.

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List(&'static Kind),
    Struct(&'static [(i16, Kind)]),
    /// A node of the schema, which is a structure.
    Node(&'static [(i16, Kind)]),
    /// How many children a node has, an [`I32`](Self::I32).
    Children,
}

use Kind::{Binary, Bool, Byte, Children, Double, I16, I32, I64, List, Node, Struct};

pub(super) const FOOTER: Kind = Struct(&[
    (1, I32),
    (2, List(&SCHEMA_ELEMENT)),
    (3, I64),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&COLUMN_ORDER)),
    (8, Struct(&[])),
    (9, Binary),
]);

pub(super) const PAGE_HEADER: Kind = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Struct(&[(1, I32), (2, I32), (3, Bool)])),
    (8, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, I32), (6, I32), (7, Bool), (8, STATISTICS)])),
]);

pub(super) const COLUMN_INDEX: Kind = Struct(&[
    (1, List(&Bool)),
    (2, List(&Binary)),
    (3, List(&Binary)),
    (4, I32),
    (5, List(&I64)),
    (6, List(&I64)),
    (7, List(&I64)),
]);

pub(super) const OFFSET_INDEX: Kind =
    Struct(&[(1, List(&Struct(&[(1, I64), (2, I32), (3, I64)]))), (2, List(&I64))]);

const EMPTY: Kind = Struct(&[]);
const KEY_VALUE: Kind = Struct(&[(1, Binary), (2, Binary)]);
const COLUMN_ORDER: Kind = Struct(&[(1, EMPTY)]);

const SCHEMA_ELEMENT: Kind = Node(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Binary),
    (5, Children),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL_TYPE),
]);

const TIME: Kind = Struct(&[(1, Bool), (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

const LOGICAL_TYPE: Kind = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, I32)])),
]);

const ROW_GROUP: Kind = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&[(1, I32), (2, Bool), (3, Bool)]))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

const COLUMN_CHUNK: Kind = Struct(&[
    (1, Binary),
    (2, I64),
    (3, COLUMN_METADATA),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (8, Struct(&[])),
    (9, Binary),
]);

const COLUMN_METADATA: Kind = Struct(&[
    (1, I32),
    (2, List(&I32)),
    (3, List(&Binary)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&KEY_VALUE)),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    (16, Struct(&[(1, I64), (2, List(&I64)), (3, List(&I64))])),
    (17, Struct(&[(1, BOX), (2, List(&I32))])),
]);

const BOX: Kind = Struct(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);

const STATISTICS: Kind =
    Struct(&[(1, Binary), (2, Binary), (3, I64), (4, I64), (5, Binary), (6, Binary), (7, Bool), (8, Bool)]);
