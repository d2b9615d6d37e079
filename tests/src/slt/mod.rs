// Licensed under the Apache License, Version 2.0. See LICENSE.

//! SQL cases (sqllogictest files) against any scan.

mod column;
mod database;
mod exceptions;
mod report;
mod run;
mod value;

pub use column::Column;
pub(crate) use column::columns;
pub(crate) use database::panic_text;
pub use exceptions::{Exception, Exceptions};
pub use report::{CaseId, Failure, Report};
pub use run::run;
pub(crate) use value::rows;
