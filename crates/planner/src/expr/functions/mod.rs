// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The functions the planner knows by name, one file each.
//!
//! | function | arguments | options |
//! |---|---|---|
//! | [`Compare`] | left, right | the operator |
//! | [`And`], [`Or`] | two or more booleans | |
//! | [`Not`] | a boolean | |
//! | [`IsNull`] | a value | whether negated |
//! | [`InSet`] | a value | the set, whether negated |
//! | [`Like`] | value, pattern | negated, case-insensitive |
//! | [`Cast`] | a value | target, whether errors give NULL |
//! | [`Case`] | see [`Case`] | its shape |
//! | [`GetItem`] | a struct | the field |
//! | [`Pack`] | the fields' values | the fields |

mod boolean;
mod case;
mod cast;
mod compare;
mod get_item;
mod in_set;
mod is_null;
mod like;
mod pack;

pub use boolean::{And, Not, Or};
pub use case::{Case, CaseShape};
pub use cast::{Cast, CastOptions};
pub use compare::{Compare, CompareOp};
pub use get_item::GetItem;
pub use in_set::{InSet, InSetOptions, ValueSet};
pub use is_null::IsNull;
pub use like::{Like, LikeOptions};
pub use pack::Pack;
