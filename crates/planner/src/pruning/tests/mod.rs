// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Verdicts against rows: a model of tables with zones, predicates with a naive evaluator, and what must
//! hold between the two.

mod completeness;
mod families;
pub mod model;
pub mod predicate;
mod property;
