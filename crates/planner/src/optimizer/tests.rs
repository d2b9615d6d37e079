// Licensed under the Apache License, Version 2.0. See LICENSE.

mod arriving;
mod contract;
mod generate;
mod property;
mod size;
pub(crate) mod support;
